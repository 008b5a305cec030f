//! The body of an SQS message.

use std::fmt;

use serde_json::{Map, Value};

use super::canonical::{canonical, write_string};
use super::characters;
use super::envelope_error::EnvelopeError;
use super::field_error::FieldError;
use super::id::{JobId, JobIdError};
use super::idempotency_key::IdempotencyKey;
use super::job_type::JobType;
use super::nearest_name;
use super::pointer;
use super::privacy;
use super::registry::JobKind;
use super::strict_json;

/// Longest business id, in characters.
pub const MAX_BUSINESS_ID_CHARS: usize = 256;

pub(super) const MEMBERS: [&str; 6] = ["jobId", "type", "schemaVersion", "businessId", "idempotencyKey", "payload"];

/// A job as it travels: the body of an SQS message, in which nothing is left to interpretation.
///
/// ```json
/// {"jobId":"…","type":"email.send","schemaVersion":1,"businessId":"order-1001",
///  "idempotencyKey":"email:welcome:user-42","payload":{"deliveryId":"mail-1001","templateId":"welcome","userId":"user-42"}}
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Identity of the job. Direct senders may leave it out; it is derived from the queue's name then ([`JobId::for_direct_sender`]).
    pub job_id: Option<JobId>,
    /// The type of the job.
    pub job_type: JobType,
    /// The version of the payload, counted from 1.
    pub schema_version: u32,
    /// The sender's name for the business case, such as an order number; for people who look for the job.
    pub business_id: Option<String>,
    /// The sender's key of the business request.
    pub idempotency_key: IdempotencyKey,
    /// Reference ids and plain parameters, a JSON object.
    pub payload: Value,
}

/// What is read of an envelope before anything else, and all that is read of one from a newer program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The type of the job.
    pub job_type: JobType,
    /// The version of the payload.
    pub schema_version: u32,
    /// The job id, where there is one that this program can read.
    pub job_id: Option<JobId>,
    /// The idempotency key, where there is one that this program can read.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// What a body turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// A job that this program can work on.
    Job(Envelope),
    /// A job of a newer schema version: it waits for a newer program. Nothing beyond the header was looked at.
    TooNew(Header),
}

impl Envelope {
    /// Reads the body of a message for a consumer that works on `kind`.
    ///
    /// Type and schema version come first: a message of a newer version may have members that nobody knows yet. Everything else is strict. Older
    /// schema versions are accepted when the payload fits the present type.
    ///
    /// # Errors
    /// The first rule that is broken; the payload's errors all at once. Fit for logs: in pointers, members that neither envelope nor payload
    /// have read `(unknown member)`, since senders key objects by people's names too.
    pub fn parse(body: &str, kind: &JobKind) -> Result<Parsed, EnvelopeError> {
        match strict_json::parse(body) {
            Ok(Value::Object(members)) => Self::from_members(members, kind),
            Ok(_) => Err(EnvelopeError::NotAnObject),
            Err(error) => Err(EnvelopeError::from(error).fit_for_logs(kind, &[])),
        }
    }

    /// Reads an envelope that stood in another document, which was read strictly. As [`parse`](Self::parse) otherwise.
    pub(crate) fn from_members(members: Map<String, Value>, kind: &JobKind) -> Result<Parsed, EnvelopeError> {
        Self::read(members, kind).map_err(|error| error.fit_for_logs(kind, &[]))
    }

    fn read(mut members: Map<String, Value>, kind: &JobKind) -> Result<Parsed, EnvelopeError> {
        let header = Header::read(&members, kind)?;
        if header.schema_version > kind.schema_version {
            return Ok(Parsed::TooNew(header));
        }
        refuse_unknown_members(&members)?;
        let Header { job_type, schema_version, .. } = header;
        let envelope = Self {
            job_id: read_job_id(&members, &job_type)?,
            business_id: read_text(&members, "businessId")?.map(str::to_owned),
            idempotency_key: read_idempotency_key(&members)?,
            payload: members.remove("payload").ok_or(EnvelopeError::MissingMember { member: "payload" })?,
            job_type,
            schema_version,
        };
        envelope.check(kind)?;
        Ok(Parsed::Job(envelope))
    }

    /// Checks what the types of the fields do not say already. [`parse`](Self::parse) does it too, so an envelope that passes here is one that
    /// every consumer of this version accepts.
    ///
    /// # Errors
    /// The first rule that is broken; the payload's errors all at once, those of its shape before those of privacy. For the sender, not for logs:
    /// pointers name members as they were sent.
    pub fn check(&self, kind: &JobKind) -> Result<(), EnvelopeError> {
        if self.job_type.as_str() != kind.job_type || self.job_id.as_ref().is_some_and(|id| id.job_type() != self.job_type) {
            return Err(EnvelopeError::WrongType { expected: kind.job_type() });
        }
        if self.job_id.as_ref().is_some_and(JobId::is_for_message) {
            return Err(EnvelopeError::BadJobId(JobIdError::NotADigest));
        }
        if self.schema_version == 0 || self.schema_version > kind.schema_version {
            let message = format!("must be an integer from 1 to {}", kind.schema_version);
            return Err(EnvelopeError::InvalidMember(FieldError::new("/schemaVersion", "invalid_value", message)));
        }
        if let Some(business_id) = &self.business_id {
            check_business_id(business_id)?;
        }
        if let Some(error) = privacy::check_key(self.idempotency_key.as_str(), "/idempotencyKey") {
            return Err(EnvelopeError::Refused(vec![error]));
        }
        if !self.payload.is_object() {
            let error = FieldError::new("/payload", "wrong_type", "must be an object");
            return Err(EnvelopeError::InvalidPayload(vec![error]));
        }
        (kind.validate)(&self.payload)
            .map_err(|errors| EnvelopeError::InvalidPayload(errors.into_iter().map(|error| error.under("/payload")).collect()))?;
        match privacy::check(&self.payload, "/payload") {
            errors if errors.is_empty() => Ok(()),
            errors => Err(EnvelopeError::Refused(errors)),
        }
    }

    /// The body to send: members in the order of the example above, the payload canonical. Equal envelopes give equal bytes.
    #[must_use]
    pub fn to_body(&self) -> String {
        let mut body = String::from("{");
        if let Some(job_id) = &self.job_id {
            push_member(&mut body, "jobId", job_id.as_str());
        }
        push_member(&mut body, "type", self.job_type.as_str());
        body.push_str(&format!("\"schemaVersion\":{},", self.schema_version));
        if let Some(business_id) = &self.business_id {
            push_member(&mut body, "businessId", business_id);
        }
        push_member(&mut body, "idempotencyKey", self.idempotency_key.as_str());
        body.push_str("\"payload\":");
        body.push_str(&canonical(&self.payload));
        body.push('}');
        body
    }
}

/// Shows what may stand in a log: neither payload nor key nor business id.
impl fmt::Debug for Envelope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Envelope")
            .field("job_id", &self.job_id)
            .field("job_type", &self.job_type)
            .field("schema_version", &self.schema_version)
            .finish_non_exhaustive()
    }
}

impl Header {
    fn read(members: &Map<String, Value>, kind: &JobKind) -> Result<Self, EnvelopeError> {
        let text = read_text(members, "type")?.ok_or(EnvelopeError::MissingMember { member: "type" })?;
        let wrong_type = || EnvelopeError::WrongType { expected: kind.job_type() };
        let job_type = JobType::parse(text).ok().filter(|found| found.as_str() == kind.job_type).ok_or_else(wrong_type)?;
        Ok(Self {
            schema_version: read_schema_version(members)?,
            job_id: read_job_id(members, &job_type).ok().flatten(),
            idempotency_key: read_idempotency_key(members).ok(),
            job_type,
        })
    }
}

fn push_member(body: &mut String, name: &str, value: &str) {
    write_string(name, body);
    body.push(':');
    write_string(value, body);
    body.push(',');
}

fn refuse_unknown_members(members: &Map<String, Value>) -> Result<(), EnvelopeError> {
    let Some(unknown) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) else { return Ok(()) };
    Err(EnvelopeError::UnknownMember { pointer: pointer::member("", unknown), nearest: nearest_name::nearest(unknown, MEMBERS) })
}

/// A member that is a string where it is there. `null` is not the same as absent: it is refused.
fn read_text<'m>(members: &'m Map<String, Value>, name: &'static str) -> Result<Option<&'m str>, EnvelopeError> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => {
            let message = "must be a string; leave the member out where there is none";
            Err(EnvelopeError::InvalidMember(FieldError::new(pointer::member("", name), "wrong_type", message)))
        }
    }
}

fn read_schema_version(members: &Map<String, Value>) -> Result<u32, EnvelopeError> {
    let value = members.get("schemaVersion").ok_or(EnvelopeError::MissingMember { member: "schemaVersion" })?;
    value.as_u64().and_then(|version| u32::try_from(version).ok()).filter(|&version| version > 0).ok_or_else(|| {
        let message = format!("must be an integer from 1 to {}", u32::MAX);
        EnvelopeError::InvalidMember(FieldError::new("/schemaVersion", "invalid_value", message))
    })
}

fn read_job_id(members: &Map<String, Value>, job_type: &JobType) -> Result<Option<JobId>, EnvelopeError> {
    let Some(text) = read_text(members, "jobId")? else { return Ok(None) };
    JobId::parse(text, job_type).map(Some).map_err(EnvelopeError::BadJobId)
}

fn read_idempotency_key(members: &Map<String, Value>) -> Result<IdempotencyKey, EnvelopeError> {
    let text = read_text(members, "idempotencyKey")?.ok_or(EnvelopeError::MissingMember { member: "idempotencyKey" })?;
    IdempotencyKey::parse(text)
        .map_err(|error| EnvelopeError::InvalidMember(FieldError::new("/idempotencyKey", error.code(), error.to_string())))
}

fn check_business_id(text: &str) -> Result<(), EnvelopeError> {
    let invalid =
        |message: String| Err(EnvelopeError::InvalidMember(FieldError::new("/businessId", "business_id_invalid", message)));
    if text.trim().is_empty() || text.chars().count() > MAX_BUSINESS_ID_CHARS {
        return invalid(format!("must have 1 to {MAX_BUSINESS_ID_CHARS} characters; leave the member out where there is none"));
    }
    if text.chars().any(char::is_control) || characters::first_not_carried(text).is_some() {
        return invalid("must be one line without control characters".to_owned());
    }
    match privacy::check_text(text, "/businessId") {
        Some(error) => Err(EnvelopeError::Refused(vec![error])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
