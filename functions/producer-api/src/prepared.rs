//! A job that may be posted: checked in every way that needs no service, with its record and its message.

use std::sync::Arc;

use ikkai::callback::CallbackUrl;
use ikkai::clock::EpochMillis;
use ikkai::idempotency::{JobRecord, Status};
use ikkai::job::{
    self, DataUse, Envelope, EnvelopeError, FieldError, Fingerprint, JobId, Term, canonical, payload_digest, privacy,
};
use ikkai::observability::TraceHeader;
use ikkai::queue::{MessageError, OutgoingMessage};
use serde_json::Value;

use crate::caller::Caller;
use crate::catalog::Served;
use crate::problem::{Code, Problem};
use crate::request_body::{Draft, KeyPlace, MAX_DATA_BYTES};

/// A job ready to be recorded and sent. SQS will carry its message: what it would refuse was refused before.
pub(crate) struct Prepared {
    pub(crate) served: Arc<Served>,
    pub(crate) record: JobRecord,
    pub(crate) message: OutgoingMessage,
    terms: Terms,
}

/// What the request itself says besides payload and data. A caller's default, which an operator may change between two tries, is not part of it.
struct Terms {
    run_at: Option<String>,
    callback_url: Option<String>,
}

impl Terms {
    fn list(&self) -> Vec<Term<'_>> {
        let all = [("runAt", self.run_at.as_deref()), ("callbackUrl", self.callback_url.as_deref())];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

impl Prepared {
    /// Checks a draft and makes its record and message. A job that names no callback gets its caller's default.
    ///
    /// The trace header needs no room: as a system attribute it counts neither towards the message's bytes nor towards its ten attributes.
    pub(crate) fn new(
        draft: Draft,
        caller: &Caller,
        default_callback: Option<CallbackUrl>,
        trace: Option<&TraceHeader>,
        max_bytes: usize,
        now: EpochMillis,
    ) -> Result<Self, Problem> {
        let Draft { served, schema_version, key, key_place, business_id, account_id, run_at, callback_url, payload, data } =
            draft;
        let text = |url: CallbackUrl| url.as_str().to_owned();
        let terms = Terms { run_at: run_at.map(|at| at.as_i64().to_string()), callback_url: callback_url.clone().map(text) };
        let job_type = served.job_type.clone();
        let job_id = JobId::derive(caller.as_str(), &job_type, &key);
        let envelope = Envelope {
            job_id: Some(job_id.clone()),
            job_type: job_type.clone(),
            schema_version,
            business_id,
            idempotency_key: key,
            payload,
        };
        check(&envelope, data.as_ref(), &served, key_place)?;
        let message = message(&envelope, &job_id, &served, trace);
        message.check(max_bytes).map_err(|error| too_large(&error))?;
        let record = JobRecord {
            idempotency_key: Some(envelope.idempotency_key.as_str().to_owned()),
            business_id: envelope.business_id,
            account_id,
            callback_url: callback_url.or(default_callback).map(text),
            // Delays end early now and then, and a copy may overtake: the record knows the time too.
            retry_at: run_at.filter(|at| *at > now),
            fingerprint: Some(Fingerprint::random(&job_type, &envelope.payload, data.as_ref(), &terms.list())),
            payload_digest: Some(payload_digest(&envelope.payload)),
            payload: Some(envelope.payload),
            data,
            ..JobRecord::new(job_id, job_type, schema_version, caller.as_str(), Status::Accepted, now)
        };
        Ok(Self { served, record, message, terms })
    }

    /// The id of the job.
    pub(crate) fn job_id(&self) -> &JobId {
        &self.record.job_id
    }

    /// Whether `found`, which has this job's id, stands for the same request. The account counts: a job for another one is another job. A record
    /// that was made before the payload's account was taken names none; its payload, which is compared, does.
    pub(crate) fn is_same_request(&self, found: &JobRecord) -> bool {
        let mine = &self.record;
        let (Some(payload), data) = (&mine.payload, mine.data.as_ref()) else { return false };
        let same_content = match &found.fingerprint {
            Some(fingerprint) => fingerprint.matches(&mine.job_type, payload, data, &self.terms.list()),
            // A record that a consumer made from a message has no fingerprint, no data and no terms.
            None => self.is_its_payload(found) && data.is_none() && self.terms.list().is_empty(),
        };
        let account_of_payload = || (self.served.kind.account_id)(payload).is_some();
        let same_account = found.account_id == mine.account_id || (found.account_id.is_none() && account_of_payload());
        same_content && same_account
    }

    /// What an operator mended since is what the caller asked for.
    fn is_its_payload(&self, found: &JobRecord) -> bool {
        let mine = &self.record.payload_digest;
        found.payload_digest == *mine || mine.as_deref().is_some_and(|digest| found.had_payload(digest))
    }
}

/// Everything that is wrong with the content, at once.
fn check(envelope: &Envelope, data: Option<&Value>, served: &Served, key_place: KeyPlace) -> Result<(), Problem> {
    let kind = &served.kind;
    let mut code = Code::PayloadInvalid;
    let mut errors = Vec::new();
    if let Err(error) = envelope.check(kind) {
        code = match error {
            EnvelopeError::InvalidPayload(_) => Code::PayloadInvalid,
            EnvelopeError::Refused(_) => Code::PayloadRefused,
            _ => Code::RequestInvalid,
        };
        errors = error.fields();
        // The envelope's own check stops at the first kind of mistake; a client wants to hear of all of them.
        let shape = (kind.validate)(&envelope.payload).err().unwrap_or_default();
        let shape = shape.into_iter().map(|error| error.under("/payload"));
        let others: Vec<FieldError> = shape.chain(privacy::check(&envelope.payload, "/payload")).collect();
        for other in others {
            if !errors.contains(&other) {
                errors.push(other);
            }
        }
    }
    match data_error(data, kind) {
        Some(error) => errors.push(error),
        None => errors.extend((kind.check_data)(&envelope.payload, data)),
    }
    if errors.is_empty() {
        return Ok(());
    }
    if errors.iter().any(|error| matches!(error.code, "payload_too_large" | "data_too_large")) {
        code = Code::MessageTooLarge;
    }
    if key_place == KeyPlace::Header {
        errors = errors.into_iter().map(about_header).collect();
    }
    Err(Problem::of_fields(code, errors))
}

/// Data that no worker reads is not kept.
fn data_error(data: Option<&Value>, kind: &job::JobKind) -> Option<FieldError> {
    const AT: &str = "/data";
    match (data, kind.data) {
        (None, DataUse::Required) => Some(FieldError::new(AT, "data_missing", "this job type needs data")),
        (Some(_), DataUse::None) => {
            Some(FieldError::new(AT, "data_not_taken", "this job type takes no data; leave the member out"))
        }
        (Some(data), DataUse::Optional | DataUse::Required) if canonical(data).len() > MAX_DATA_BYTES => {
            let message = format!("must not be larger than {MAX_DATA_BYTES} bytes; store it and pass its id in the payload");
            Some(FieldError::new(AT, "data_too_large", message))
        }
        _ => None,
    }
}

fn about_header(error: FieldError) -> FieldError {
    if error.pointer == "/idempotencyKey" {
        return FieldError::new("", error.code, format!("the header idempotency-key {}", error.message));
    }
    error
}

fn too_large(error: &MessageError) -> Problem {
    let code = if matches!(error, MessageError::TooLarge { .. }) { Code::MessageTooLarge } else { Code::RequestInvalid };
    Problem::new(code, error.to_string())
}

fn message(envelope: &Envelope, job_id: &JobId, served: &Served, trace: Option<&TraceHeader>) -> OutgoingMessage {
    let mut message = OutgoingMessage::new(envelope.to_body());
    message.trace_header = trace.map(|trace| trace.as_str().to_owned());
    // Whoever asks: two services that work on one order want it to stay one order.
    let line = envelope.business_id.as_deref().unwrap_or(job_id.as_str());
    message.in_line(&served.name, &[line], job_id)
}
