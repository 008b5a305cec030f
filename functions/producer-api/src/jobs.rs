//! One job: looked up, or cancelled.

use std::time::Duration;

use ikkai::callback::CallbackUrl;
use ikkai::idempotency::{Event, JobRecord, Ledger, Status, Verdict};
use ikkai::job::{JobId, JobType};
use serde_json::{Map, Value, json};

use crate::accept::store_unavailable;
use crate::caller::Caller;
use crate::problem::{Code, Problem};
use crate::response::Response;
use crate::settings::CALLBACK_REACH;

/// `GET /v1/jobs/{id}`.
pub(crate) async fn show(ledger: &Ledger, caller: &Caller, id: &str) -> Result<Response, Problem> {
    let record = own_record(ledger, caller, id).await?;
    Ok(Response::json(200, &view(&record)).about(&record.job_id))
}

/// `DELETE /v1/jobs/{id}`: the job will not run any more. Cancelling twice is no error.
pub(crate) async fn cancel(ledger: &Ledger, caller: &Caller, id: &str, keep_for: Duration) -> Result<Response, Problem> {
    let record = own_record(ledger, caller, id).await?;
    let job_id = record.job_id.clone();
    let cancel = Event::Cancel { keep_for };
    match ledger.decide(&job_id, Some(Box::new(record)), &cancel).await.map_err(|error| store_unavailable(&error))? {
        Verdict::Cancelled => {
            let body = json!({"jobId": job_id, "status": Status::Cancelled.as_str()});
            Ok(Response::json(200, &body).about(&job_id))
        }
        Verdict::TooLate(status) => {
            let detail = match status {
                Status::Running => "the job is running; ask again when it has ended".to_owned(),
                Status::InDoubt => "the job is in_doubt: an operator has to find out what happened and resolve it".to_owned(),
                status => format!("the job is {status}"),
            };
            Err(Problem::new(Code::NotCancellable, detail).about(&job_id, status))
        }
        _ => Err(not_found()),
    }
}

/// Another caller's job is answered like one that does not exist: whether a key is in use is nobody else's business.
async fn own_record(ledger: &Ledger, caller: &Caller, id: &str) -> Result<JobRecord, Problem> {
    let job_id = parse(id).ok_or_else(not_found)?;
    let found = ledger.get(&job_id).await.map_err(|error| store_unavailable(&error))?;
    found.filter(|record| record.caller == caller.as_str()).ok_or_else(not_found)
}

/// Only ids that the API hands out: the record of a message that is no job cannot be named.
fn parse(id: &str) -> Option<JobId> {
    let (job_type, _) = id.split_once('-')?;
    JobId::parse(id, &JobType::parse(job_type).ok()?).ok()
}

fn not_found() -> Problem {
    Problem::new(Code::JobNotFound, "there is no job with this id, or it is forgotten, or another caller posted it")
}

/// What a caller sees of its record: neither payload nor data, neither key nor lease.
fn view(record: &JobRecord) -> Value {
    let mut members = Map::from_iter([
        ("jobId".to_owned(), json!(record.job_id)),
        ("type".to_owned(), json!(record.job_type)),
        ("schemaVersion".to_owned(), json!(record.schema_version)),
        ("status".to_owned(), json!(record.status.as_str())),
        ("attempts".to_owned(), json!(record.attempts)),
        ("generation".to_owned(), json!(record.generation)),
        ("createdAt".to_owned(), json!(record.created_at.rfc3339().to_string())),
        ("updatedAt".to_owned(), json!(record.updated_at.rfc3339().to_string())),
    ]);
    let waiting = record.retry_at.filter(|_| record.status == Status::RetryScheduled);
    let later = record.retry_at.filter(|_| record.status == Status::Accepted);
    let optional = [
        ("businessId", record.business_id.as_ref().map(|id| json!(id))),
        ("accountId", record.account_id.as_ref().map(|id| json!(id))),
        ("runAt", later.map(|at| json!(at.rfc3339().to_string()))),
        ("callbackHost", callback_host(record).map(|host| json!(host))),
        ("nextAttemptAt", waiting.map(|at| json!(at.rfc3339().to_string()))),
        ("result", record.result.clone()),
        ("reason", record.last_error.as_ref().map(|error| json!(error))),
        ("rememberedUntil", record.expires_at.map(|end| json!(end.to_millis().rfc3339().to_string()))),
    ];
    members.extend(optional.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(members)
}

/// Who is told of the job's end. Path and query of the URL may hold a token and are not shown.
fn callback_host(record: &JobRecord) -> Option<String> {
    let url = CallbackUrl::parse(record.callback_url.as_deref()?, CALLBACK_REACH).ok()?;
    Some(url.host().to_owned())
}
