//! A mended payload: a JSON merge patch (RFC 7396) of what the job was accepted with.

use ikkai::idempotency::JobRecord;
use ikkai::job::{FieldError, JobId, find, payload_digest, privacy};
use serde_json::{Map, Value};

use crate::protocol::{Refusal, RefusalCode};
use crate::workbench::Workbench;

/// Checks that the patch makes a valid payload for each job that has a record, before anything is changed.
///
/// # Errors
/// What is wrong with the first payload that is not valid, with pointers into the patch.
pub(super) async fn check(workbench: &Workbench, job_ids: &[String], patch: &Map<String, Value>) -> Result<(), Refusal> {
    for job_id in job_ids {
        let Ok(job_id) = JobId::parse_stored(job_id) else { continue };
        let found =
            workbench.ledger.get(&job_id).await.map_err(|error| Refusal::new(RefusalCode::Unavailable, error.to_string()))?;
        let Some(record) = found else { continue };
        if let Err(errors) = merged(&record, patch) {
            let told = errors.into_iter().map(|error| {
                let message = format!("{} (the payload of {job_id})", error.message);
                FieldError::new(error.pointer, error.code, message).under("/patch")
            });
            return Err(Refusal::fields(RefusalCode::InvalidPatch, told.collect()));
        }
    }
    Ok(())
}

/// The patched payload of a job with its digest.
///
/// # Errors
/// What is wrong with it, with pointers from the payload on.
pub(super) fn merged(record: &JobRecord, patch: &Map<String, Value>) -> Result<(Value, String), Vec<FieldError>> {
    let wrong = |code, message: &str| vec![FieldError::new("", code, message)];
    let kind =
        find(record.job_type.as_str()).ok_or_else(|| wrong("unknown_type", "this program does not know the job's type"))?;
    let mut payload = record.payload.clone().ok_or_else(|| wrong("no_payload", "the job's record holds no payload"))?;
    let account = (kind.account_id)(&payload);
    merge(&mut payload, patch);
    (kind.validate)(&payload)?;
    let mut errors = privacy::check(&payload, "");
    if (kind.account_id)(&payload) != account {
        // The record belongs to the account that the caller was allowed to ask for.
        let message = "the patch must not move the job to another account; post a new job there";
        errors.push(FieldError::new("/accountId", "not_allowed", message));
    }
    errors.extend((kind.check_data)(&payload, record.data.as_ref()));
    if !errors.is_empty() {
        return Err(errors);
    }
    let digest = payload_digest(&payload);
    Ok((payload, digest))
}

/// RFC 7396: members are replaced, `null` removes them, objects are merged. Twice is as good as once.
fn merge(target: &mut Value, patch: &Map<String, Value>) {
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(members) = target else { return };
    for (name, change) in patch {
        match change {
            Value::Null => {
                members.remove(name);
            }
            Value::Object(inner) => merge(members.entry(name.clone()).or_insert(Value::Null), inner),
            value => {
                members.insert(name.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_moves_no_job_to_another_account() {
        let payload = json!({"reportId": "r-1", "accountId": "account-a", "period": "2026-01"});
        let job_id = JobId::parse_stored("report.generate-aaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
        let now = ikkai::clock::EpochMillis::from_i64(0);
        let status = ikkai::idempotency::Status::Dead;
        let mut record = JobRecord::new(job_id.clone(), job_id.job_type(), 1, "caller", status, now);
        record.payload = Some(payload);
        let patch = |patch: Value| patch.as_object().cloned().unwrap();
        let errors = merged(&record, &patch(json!({"accountId": "account-b"}))).unwrap_err();
        assert_eq!((errors.len(), errors[0].pointer.as_str(), errors[0].code), (1, "/accountId", "not_allowed"));
        assert!(merged(&record, &patch(json!({"period": "2026-02", "accountId": "account-a"}))).is_ok());
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        let cases = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ];
        for (mut target, patch, wanted) in cases {
            let Value::Object(patch) = patch else { unreachable!() };
            merge(&mut target, &patch);
            assert_eq!(target, wanted);
            merge(&mut target, &patch);
            assert_eq!(target, wanted, "twice is as good as once");
        }
    }
}
