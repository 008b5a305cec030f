//! The closed list of job types.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::field_error::FieldError;
use super::job_type::JobType;
use super::payload::{DataUse, JobPayload};
use super::payload_decode;
use super::payload_shape;
use super::payloads::{BillingCharge, EmailSend, ImageResize, ReportGenerate, WebhookDeliver};

/// All job types of this program. A new one is added here and nowhere else.
static REGISTRY: &[JobKind] = &[
    JobKind::of::<EmailSend>(),
    JobKind::of::<ImageResize>(),
    JobKind::of::<BillingCharge>(),
    JobKind::of::<ReportGenerate>(),
    JobKind::of::<WebhookDeliver>(),
    // ikkai new consumer: job kind
];

/// A job type with what has to be known to accept its jobs without knowing its payload type.
#[derive(Debug, Clone, Copy)]
pub struct JobKind {
    /// The name, such as `email.send`.
    pub job_type: &'static str,
    /// The newest version of the payload that is understood.
    pub schema_version: u32,
    /// Whether jobs have private `data` in their record.
    pub data: DataUse,
    /// Whether the producer API takes jobs of this type.
    pub from_api: bool,
    /// Checks a payload: its shape, its values and the rules that span fields. Pointers start at the payload.
    pub validate: fn(&Value) -> Result<(), Vec<FieldError>>,
    /// The account that a payload names; `None` also for what is no payload of this type.
    pub account_id: fn(&Value) -> Option<String>,
    /// Checks the private `data` that comes with a valid payload, see [`JobPayload::check_data`].
    pub check_data: fn(&Value, Option<&Value>) -> Vec<FieldError>,
    /// Makes the JSON Schema of the payload.
    pub schema: fn() -> Value,
}

impl JobKind {
    /// The kind that a payload type describes. Checked while compiling when it is used in a `const` or `static`, as the registry does.
    ///
    /// # Panics
    /// When `P::TYPE` is not a job type or `P::SCHEMA_VERSION` is 0.
    #[must_use]
    pub const fn of<P: JobPayload>() -> Self {
        assert!(JobType::is_valid(P::TYPE), "JobPayload::TYPE is not a job type like `email.send`");
        assert!(P::SCHEMA_VERSION > 0, "JobPayload::SCHEMA_VERSION counts from 1");
        Self {
            job_type: P::TYPE,
            schema_version: P::SCHEMA_VERSION,
            data: P::DATA,
            from_api: P::FROM_API,
            validate: validate::<P>,
            account_id: account_id::<P>,
            check_data: check_data::<P>,
            schema: schema::<P>,
        }
    }

    /// The name as [`JobType`].
    ///
    /// # Panics
    /// When the kind was put together by hand with a name that is not a job type.
    #[must_use]
    pub fn job_type(&self) -> JobType {
        JobType::from_static(self.job_type).expect("a kind has a valid job type")
    }

    /// The names of all members that the payload's types have, at any depth.
    pub(crate) fn member_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        collect_member_names(&(self.schema)(), &mut names);
        names
    }

    /// Name of the file that holds the JSON Schema: `<type>.v<version>.json`.
    #[must_use]
    pub fn schema_file_name(&self) -> String {
        format!("{}.v{}.json", self.job_type, self.schema_version)
    }
}

/// All job types of this program.
#[must_use]
pub fn registry() -> &'static [JobKind] {
    REGISTRY
}

/// The kind with this name.
#[must_use]
pub fn find(job_type: &str) -> Option<&'static JobKind> {
    REGISTRY.iter().find(|kind| kind.job_type == job_type)
}

/// The names of all job types, for messages that list them.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    REGISTRY.iter().map(|kind| kind.job_type)
}

/// Reads a payload and checks all its rules.
///
/// # Errors
/// Every member that is wrong, with its pointer from the payload on (`/userId`) and without its value.
pub fn decode<P: JobPayload>(payload: &Value) -> Result<P, Vec<FieldError>> {
    let decoded: P = decode_value(payload)?;
    match decoded.check() {
        errors if errors.is_empty() => Ok(decoded),
        errors => Err(errors),
    }
}

/// Reads any type that says its shape, as strictly as a payload: unknown members are errors where the type denies them.
///
/// # Errors
/// Every member that is wrong, with its pointer, the nearest known name and without its value.
pub fn decode_value<T: DeserializeOwned + JsonSchema>(value: &Value) -> Result<T, Vec<FieldError>> {
    payload_decode::from_value(value).map_err(|first| all_errors(&schema::<T>(), value, first))
}

/// serde stops at the first error; the schema tells about the others too.
fn all_errors(schema: &Value, payload: &Value, first: FieldError) -> Vec<FieldError> {
    let mut errors = payload_shape::errors(schema, payload);
    if !errors.iter().any(|error| error.pointer == first.pointer) {
        errors.insert(0, first);
    }
    errors
}

fn collect_member_names(schema: &Value, names: &mut BTreeSet<String>) {
    match schema {
        Value::Object(keywords) => {
            let properties = keywords.get("properties").and_then(Value::as_object);
            names.extend(properties.into_iter().flat_map(|properties| properties.keys().cloned()));
            keywords.values().for_each(|schema| collect_member_names(schema, names));
        }
        Value::Array(schemas) => schemas.iter().for_each(|schema| collect_member_names(schema, names)),
        _ => {}
    }
}

fn validate<P: JobPayload>(payload: &Value) -> Result<(), Vec<FieldError>> {
    decode::<P>(payload).map(drop)
}

fn account_id<P: JobPayload>(payload: &Value) -> Option<String> {
    decode::<P>(payload).ok()?.account_id().map(str::to_owned)
}

/// What is wrong with the payload itself is told by [`validate`].
fn check_data<P: JobPayload>(payload: &Value, data: Option<&Value>) -> Vec<FieldError> {
    decode::<P>(payload).map(|payload| payload.check_data(data)).unwrap_or_default()
}

fn schema<T: JsonSchema>() -> Value {
    schemars::schema_for!(T).to_value()
}

#[cfg(test)]
mod tests;
