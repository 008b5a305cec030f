//! The body of a request: which job is asked for.

use std::sync::Arc;

use ikkai::callback::CallbackUrl;
use ikkai::clock::EpochMillis;
use ikkai::job::{self, FieldError, IdempotencyKey, JobPayload, ReferenceId, StrictJsonError, strict_json};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::batch::MAX_BATCH_JOBS;
use crate::callbacks;
use crate::catalog::{Catalog, Served};
use crate::event::NotBase64;
use crate::problem::{Code, Problem};
use crate::run_at;

/// Largest `data` of a job, in bytes of JSON: an ordinary record must stay small, and every write of it costs by size.
pub const MAX_DATA_BYTES: usize = 4_096;

/// A job that is asked for, its members read and its payload not yet looked at.
pub(crate) struct Draft {
    pub(crate) served: Arc<Served>,
    pub(crate) schema_version: u32,
    pub(crate) key: IdempotencyKey,
    pub(crate) key_place: KeyPlace,
    pub(crate) business_id: Option<String>,
    pub(crate) account_id: Option<String>,
    pub(crate) run_at: Option<EpochMillis>,
    pub(crate) callback_url: Option<CallbackUrl>,
    pub(crate) payload: Value,
    pub(crate) data: Option<Value>,
}

/// Where the idempotency key came from, for errors about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyPlace {
    Header,
    Body,
}

/// The members of a job. Read by the same strict decoder as payloads are, so that errors look the same everywhere.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Members {
    #[serde(rename = "type")]
    job_type: String,
    schema_version: Option<u32>,
    idempotency_key: Option<String>,
    business_id: Option<String>,
    account_id: Option<ReferenceId>,
    run_at: Option<String>,
    callback_url: Option<String>,
    payload: Map<String, Value>,
    data: Option<Map<String, Value>>,
}

impl JobPayload for Members {
    const TYPE: &'static str = "api.job";
    const SCHEMA_VERSION: u32 = 1;
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BatchMembers {
    jobs: Vec<Value>,
}

impl JobPayload for BatchMembers {
    const TYPE: &'static str = "api.batch";
    const SCHEMA_VERSION: u32 = 1;
}

/// Reads the body as strict JSON.
pub(crate) fn json(body: &Result<Vec<u8>, NotBase64>) -> Result<Value, Problem> {
    let Ok(bytes) = body else {
        return Err(Problem::new(Code::MalformedBody, "the body is announced as base64 and is none"));
    };
    strict_json::parse_bytes(bytes)
        .map_err(|error: StrictJsonError| Problem::of_fields(Code::MalformedBody, vec![FieldError::from(error)]))
}

/// Reads the jobs of a batch.
pub(crate) fn batch(body: &Value) -> Result<Vec<Value>, Problem> {
    let BatchMembers { jobs } = job::decode(body).map_err(|errors| Problem::of_fields(Code::RequestInvalid, errors))?;
    if (1..=MAX_BATCH_JOBS).contains(&jobs.len()) {
        return Ok(jobs);
    }
    let message = format!("must have 1 to {MAX_BATCH_JOBS} jobs");
    Err(Problem::of_fields(Code::RequestInvalid, vec![FieldError::new("/jobs", "invalid_length", message)]))
}

/// What a request is read against.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) catalog: &'a Catalog,
    /// Whether jobs may name a callback.
    pub(crate) callbacks: bool,
    pub(crate) now: EpochMillis,
}

/// Reads the members of one job. `header_key` is the key of the request's header, where it has one.
pub(crate) fn draft(body: &Value, header_key: Option<IdempotencyKey>, terms: Terms<'_>) -> Result<Draft, Problem> {
    let members: Members = job::decode(body).map_err(|errors| Problem::of_fields(Code::RequestInvalid, errors))?;
    let mut errors = Vec::new();
    let key_place = if header_key.is_some() { KeyPlace::Header } else { KeyPlace::Body };
    let key = key(header_key, members.idempotency_key.as_deref(), &mut errors);
    let served = served(&members.job_type, terms.catalog, &mut errors);
    let schema_version = served.and_then(|served| version(members.schema_version, served, &mut errors));
    let account_id = account(members.account_id, &members.payload, served, &mut errors);
    let run_at = members.run_at.map(|text| run_at::read(&text, served.map(AsRef::as_ref), terms.now));
    let run_at = run_at.transpose().map_err(|error| errors.push(error)).ok().flatten();
    match (served, schema_version, key) {
        (Some(served), Some(schema_version), Some(key)) if errors.is_empty() => Ok(Draft {
            served: served.clone(),
            schema_version,
            key,
            key_place,
            business_id: members.business_id,
            account_id,
            run_at,
            callback_url: members.callback_url.map(|url| callbacks::read(&url, terms.callbacks)).transpose()?,
            payload: Value::Object(members.payload),
            data: members.data.map(Value::Object),
        }),
        (_, _, None) if errors.is_empty() => Err(Problem::new(
            Code::IdempotencyKeyMissing,
            "send the header idempotency-key, or the member idempotencyKey: the key by which a retry is recognised",
        )),
        _ => Err(Problem::of_fields(Code::RequestInvalid, errors)),
    }
}

/// The account that a payload names is the job's account: the policy decides by it.
fn account(
    named: Option<ReferenceId>,
    payload: &Map<String, Value>,
    served: Option<&Arc<Served>>,
    errors: &mut Vec<FieldError>,
) -> Option<String> {
    let named = named.map(|id| id.to_string());
    let of_payload = served.and_then(|served| (served.kind.account_id)(&Value::Object(payload.clone())));
    match (named, of_payload) {
        (Some(named), Some(of_payload)) if named != of_payload => {
            let message = "must be the account that the payload names; leave it out, and it is that one";
            errors.push(FieldError::new("/accountId", "account_mismatch", message));
            None
        }
        (named, of_payload) => of_payload.or(named),
    }
}

fn key(header: Option<IdempotencyKey>, member: Option<&str>, errors: &mut Vec<FieldError>) -> Option<IdempotencyKey> {
    const AT: &str = "/idempotencyKey";
    let member = match member.map(IdempotencyKey::parse).transpose() {
        Ok(member) => member,
        Err(error) => {
            errors.push(FieldError::new(AT, error.code(), error.to_string()));
            return None;
        }
    };
    match (header, member) {
        (Some(header), Some(member)) if header != member => {
            let message = "must be the key of the header idempotency-key; send one of them";
            errors.push(FieldError::new(AT, "idempotency_key_mismatch", message));
            None
        }
        (header, member) => header.or(member),
    }
}

fn served<'c>(job_type: &str, catalog: &'c Catalog, errors: &mut Vec<FieldError>) -> Option<&'c Arc<Served>> {
    let served = catalog.find(job_type);
    if served.is_none() {
        let known: Vec<String> = catalog.names().map(|name| format!("`{name}`")).collect();
        let message = format!("must be one of the job types that this API serves: {}", known.join(", "));
        errors.push(FieldError::new("/type", "unknown_type", message));
    }
    served
}

fn version(asked: Option<u32>, served: &Served, errors: &mut Vec<FieldError>) -> Option<u32> {
    let newest = served.kind.schema_version;
    let version = asked.unwrap_or(newest);
    if (1..=newest).contains(&version) {
        return Some(version);
    }
    let message = format!("must be an integer from 1 to {newest}; leave it out for the newest");
    errors.push(FieldError::new("/schemaVersion", "invalid_value", message));
    None
}
