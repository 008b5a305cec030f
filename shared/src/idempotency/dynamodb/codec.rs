//! A record as a DynamoDB item, and back.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use serde_json::Value;

use super::super::record::{ErrorClass, JobRecord, LastError, Status};
use super::super::store::StoreError;
use super::super::view::JobView;
use crate::clock::{EpochMillis, EpochSeconds};
use crate::job::{Fingerprint, JobId, JobType};

/// An item as DynamoDB hands it out.
pub(super) type Item = HashMap<String, AttributeValue>;

/// Every attribute of the record that is set, by name. JSON is kept as text, so numbers stay digit for digit.
pub(super) fn attributes(record: &JobRecord) -> Vec<(&'static str, AttributeValue)> {
    let mut item = vec![
        ("job_id", text(record.job_id.as_str())),
        ("type", text(record.job_type.as_str())),
        ("schema_version", number(record.schema_version)),
        ("caller", text(&record.caller)),
        ("status", text(record.status.as_str())),
        ("generation", number(record.generation)),
        ("attempts", number(record.attempts)),
        ("crashes", number(record.crashes)),
        ("created_at", number(record.created_at.as_i64())),
        ("updated_at", number(record.updated_at.as_i64())),
    ];
    let mut set = |name, value: Option<AttributeValue>| item.extend(value.map(|value| (name, value)));
    set("idempotency_key", record.idempotency_key.as_deref().map(text));
    set("business_id", record.business_id.as_deref().map(text));
    set("account_id", record.account_id.as_deref().map(text));
    set("callback_url", record.callback_url.as_deref().map(text));
    set("payload", record.payload.as_ref().map(json));
    set("original_payload", record.original_payload.as_ref().map(json));
    set("original_payload_digest", record.original_payload_digest.as_deref().map(text));
    set("patched_payload_digests", texts(&record.patched_payload_digests));
    set("data", record.data.as_ref().map(json));
    set("fingerprint", record.fingerprint.as_ref().map(|digest| text(digest.as_str())));
    set("payload_digest", record.payload_digest.as_deref().map(text));
    set("lease_token", record.lease_token.as_deref().map(text));
    set("lease_until", record.lease_until.map(millis));
    set("parts", (record.parts > 0).then(|| number(record.parts)));
    set("progress", record.progress.as_ref().map(json));
    set("effect_begun", record.effect_begun.then_some(AttributeValue::Bool(true)));
    set("first_effect_at", record.first_effect_at.map(millis));
    set("provider_ref", record.provider_ref.as_deref().map(text));
    set("result", record.result.as_ref().map(json));
    set("last_error", record.last_error.as_ref().map(error));
    set("died_at", record.died_at.map(millis));
    set("accept_token", record.accept_token.as_deref().map(text));
    set("send_lease_until", record.send_lease_until.map(millis));
    set("enqueued_at", record.enqueued_at.map(millis));
    set("put_back_at", record.put_back_at.map(millis));
    set("retry_at", record.retry_at.map(millis));
    set("schema_held_since", record.schema_held_since.map(millis));
    set("expires_at", record.expires_at.map(|end| number(end.as_i64())));
    item
}

/// Reads a record back.
pub(super) fn record(item: &Item) -> Result<JobRecord, StoreError> {
    let read = Reading(item);
    let job_type = JobType::parse(read.required("type")?).map_err(|_| corrupt("type", "not a job type"))?;
    let status = Status::from_name(read.required("status")?).ok_or(corrupt("status", "not a known status"))?;
    Ok(JobRecord {
        idempotency_key: read.owned("idempotency_key")?,
        business_id: read.owned("business_id")?,
        account_id: read.owned("account_id")?,
        callback_url: read.owned("callback_url")?,
        payload: read.json("payload")?,
        original_payload: read.json("original_payload")?,
        original_payload_digest: read.owned("original_payload_digest")?,
        patched_payload_digests: read.texts("patched_payload_digests")?,
        data: read.json("data")?,
        fingerprint: read.owned("fingerprint")?.map(Fingerprint::parse),
        payload_digest: read.owned("payload_digest")?,
        generation: read.count("generation")?,
        attempts: read.count("attempts")?,
        crashes: read.count("crashes")?,
        parts: read.count("parts")?,
        progress: read.json("progress")?,
        lease_token: read.owned("lease_token")?,
        lease_until: read.millis("lease_until")?,
        effect_begun: matches!(item.get("effect_begun"), Some(AttributeValue::Bool(true))),
        first_effect_at: read.millis("first_effect_at")?,
        provider_ref: read.owned("provider_ref")?,
        result: read.json("result")?,
        last_error: read.error()?,
        died_at: read.millis("died_at")?,
        accept_token: read.owned("accept_token")?,
        send_lease_until: read.millis("send_lease_until")?,
        enqueued_at: read.millis("enqueued_at")?,
        put_back_at: read.millis("put_back_at")?,
        retry_at: read.millis("retry_at")?,
        schema_held_since: read.millis("schema_held_since")?,
        updated_at: read.millis("updated_at")?.unwrap_or(EpochMillis::from_i64(0)),
        expires_at: read.integer("expires_at")?.map(EpochSeconds::from_i64),
        ..JobRecord::new(
            JobId::parse_stored(read.required("job_id")?).map_err(|_| corrupt("job_id", "not a job id"))?,
            job_type,
            read.count("schema_version")?,
            read.required("caller")?,
            status,
            read.millis("created_at")?.unwrap_or(EpochMillis::from_i64(0)),
        )
    })
}

/// What is read of a record for a [`JobView`]. A role that may read these attributes alone needs no more.
pub(super) const VIEWED: [&str; 10] = [
    "job_id",
    "caller",
    "business_id",
    "callback_url",
    "status",
    "generation",
    "result",
    "last_error",
    "updated_at",
    "expires_at",
];

/// Reads the part of a record that may be told.
pub(super) fn view(item: &Item) -> Result<JobView, StoreError> {
    let read = Reading(item);
    Ok(JobView {
        caller: read.required("caller")?.to_owned(),
        business_id: read.owned("business_id")?,
        callback_url: read.owned("callback_url")?,
        status: Status::from_name(read.required("status")?).ok_or(corrupt("status", "not a known status"))?,
        generation: read.count("generation")?,
        result: read.json("result")?,
        last_error: read.error()?,
        updated_at: read.millis("updated_at")?.unwrap_or(EpochMillis::from_i64(0)),
        expires_at: read.integer("expires_at")?.map(EpochSeconds::from_i64),
    })
}

pub(super) fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

pub(super) fn number(value: impl Into<i64>) -> AttributeValue {
    AttributeValue::N(value.into().to_string())
}

pub(super) fn millis(value: EpochMillis) -> AttributeValue {
    number(value.as_i64())
}

pub(super) fn json(value: &Value) -> AttributeValue {
    AttributeValue::S(value.to_string())
}

fn texts(values: &[String]) -> Option<AttributeValue> {
    (!values.is_empty()).then(|| AttributeValue::L(values.iter().map(|value| text(value)).collect()))
}

fn error(error: &LastError) -> AttributeValue {
    AttributeValue::M(HashMap::from([
        ("class".to_owned(), text(error.class.as_str())),
        ("code".to_owned(), text(&error.code)),
        ("message".to_owned(), text(&error.message)),
    ]))
}

const fn corrupt(attribute: &'static str, problem: &'static str) -> StoreError {
    StoreError::Corrupt { attribute, problem }
}

struct Reading<'a>(&'a Item);

impl<'a> Reading<'a> {
    fn text(&self, name: &'static str) -> Result<Option<&'a str>, StoreError> {
        match self.0.get(name) {
            None | Some(AttributeValue::Null(_)) => Ok(None),
            Some(AttributeValue::S(value)) => Ok(Some(value)),
            Some(_) => Err(corrupt(name, "not a string")),
        }
    }

    fn required(&self, name: &'static str) -> Result<&'a str, StoreError> {
        self.text(name)?.ok_or(corrupt(name, "missing"))
    }

    fn owned(&self, name: &'static str) -> Result<Option<String>, StoreError> {
        Ok(self.text(name)?.map(str::to_owned))
    }

    fn integer(&self, name: &'static str) -> Result<Option<i64>, StoreError> {
        match self.0.get(name) {
            None | Some(AttributeValue::Null(_)) => Ok(None),
            Some(AttributeValue::N(digits)) => digits.parse().map(Some).map_err(|_| corrupt(name, "not a whole number")),
            Some(_) => Err(corrupt(name, "not a number")),
        }
    }

    fn count(&self, name: &'static str) -> Result<u32, StoreError> {
        u32::try_from(self.integer(name)?.unwrap_or(0)).map_err(|_| corrupt(name, "out of range"))
    }

    fn millis(&self, name: &'static str) -> Result<Option<EpochMillis>, StoreError> {
        Ok(self.integer(name)?.map(EpochMillis::from_i64))
    }

    fn json(&self, name: &'static str) -> Result<Option<Value>, StoreError> {
        self.text(name)?.map(serde_json::from_str).transpose().map_err(|_| corrupt(name, "not JSON"))
    }

    fn texts(&self, name: &'static str) -> Result<Vec<String>, StoreError> {
        match self.0.get(name) {
            None | Some(AttributeValue::Null(_)) => Ok(Vec::new()),
            Some(AttributeValue::L(values)) => {
                let texts = values.iter().map(|value| value.as_s().cloned().map_err(|_| corrupt(name, "not a list of strings")));
                texts.collect()
            }
            Some(_) => Err(corrupt(name, "not a list")),
        }
    }

    fn error(&self) -> Result<Option<LastError>, StoreError> {
        let Some(found) = self.0.get("last_error") else { return Ok(None) };
        let AttributeValue::M(members) = found else { return Err(corrupt("last_error", "not a map")) };
        let members = Reading(members);
        let class = members.text("class")?.and_then(ErrorClass::from_name).unwrap_or(ErrorClass::Permanent);
        Ok(Some(LastError {
            class,
            code: members.owned("code")?.unwrap_or_default(),
            message: members.owned("message")?.unwrap_or_default(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_view_is_read_from_its_attributes_alone_and_equals_the_record() {
        let now = EpochMillis::from_i64(1_800_000_000_000);
        let job_type = JobType::parse("email.send").unwrap();
        let job_id = JobId::parse_stored("email.send-aaaqeayeaudaocajbifqydiob4").unwrap();
        let stored = JobRecord {
            business_id: Some("order-1".into()),
            callback_url: Some("https://shop.example/hook".into()),
            data: Some(json!({"secret": 1})),
            payload: Some(json!({"a": 1})),
            generation: 2,
            result: Some(json!({"messageId": "m"})),
            last_error: Some(LastError::new(ErrorClass::Permanent, "code", "a message")),
            updated_at: now,
            expires_at: Some(now.to_seconds_ceil()),
            ..JobRecord::new(job_id, job_type, 1, "caller", Status::Succeeded, now)
        };
        let viewed = attributes(&stored).into_iter().filter(|(name, _)| VIEWED.contains(name));
        let item: Item = viewed.map(|(name, value)| (name.to_owned(), value)).collect();
        assert_eq!(item.len(), VIEWED.len());
        assert_eq!(view(&item).unwrap(), JobView::from(stored.clone()));
        assert!(JobView::from(stored.clone()).is_expired(now) && stored.is_expired(now));
    }

    #[test]
    fn what_an_operator_left_is_read_back_and_what_is_no_list_is_corrupt() {
        let now = EpochMillis::from_i64(1_800_000_000_000);
        let job_type = JobType::parse("email.send").unwrap();
        let job_id = JobId::parse_stored("email.send-aaaqeayeaudaocajbifqydiob4").unwrap();
        let plain = JobRecord::new(job_id, job_type, 1, "caller", Status::Accepted, now);
        let mended = JobRecord {
            payload: Some(json!({"a": 3})),
            original_payload: Some(json!({"a": 1})),
            original_payload_digest: Some("sha256:1".into()),
            patched_payload_digests: vec!["sha256:2".into(), "sha256:3".into()],
            ..plain.clone()
        };
        for stored in [plain, mended] {
            let item: Item = attributes(&stored).into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            assert_eq!(record(&item).unwrap(), stored);
            for wrong in [text("sha256:2"), AttributeValue::L(vec![number(1)])] {
                let mut item = item.clone();
                item.insert("patched_payload_digests".to_owned(), wrong);
                assert!(matches!(record(&item), Err(StoreError::Corrupt { attribute: "patched_payload_digests", .. })));
            }
        }
    }
}
