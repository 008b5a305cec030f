//! What a payload type has to say about itself.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::field_error::FieldError;

/// Whether a job has private inputs in its record, which never enter the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataUse {
    /// It has none.
    None,
    /// It may have some.
    Optional,
    /// It cannot be worked on without them, so a message that came without the producer API is dead at once.
    Required,
}

/// The payload of one type of job.
///
/// A payload holds reference ids and plain parameters only. Write it as a struct with `#[serde(rename_all = "camelCase", deny_unknown_fields)]`
/// whose fields are types that cannot hold a bad value ([`ReferenceId`](super::ReferenceId)), give it to the registry
/// (`job/registry.rs`), and producer, consumer and JSON Schema follow from it.
///
/// ```
/// use ikkai::job::{JobKind, JobPayload, ReferenceId, decode};
///
/// /// Makes one report.
/// #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
/// #[serde(rename_all = "camelCase", deny_unknown_fields)]
/// struct ReportGenerate {
///     /// The report to make.
///     report_id: ReferenceId,
///     /// Days that it covers.
///     days: u16,
/// }
///
/// impl JobPayload for ReportGenerate {
///     const TYPE: &'static str = "report.generate";
///     const SCHEMA_VERSION: u32 = 1;
/// }
///
/// const KIND: JobKind = JobKind::of::<ReportGenerate>();
/// let errors = (KIND.validate)(&serde_json::json!({"report_id": "r-1", "days": "7"})).unwrap_err();
/// let pointers: Vec<_> = errors.iter().map(|error| error.pointer.as_str()).collect();
/// assert_eq!(pointers, ["/reportId", "/days", "/report_id"]);
///
/// let report: ReportGenerate = decode(&serde_json::json!({"reportId": "r-1", "days": 7})).unwrap();
/// assert_eq!((report.report_id.as_str(), report.days), ("r-1", 7));
/// ```
pub trait JobPayload: Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The job type, such as `email.send`. A name that breaks the rules of [`JobType`](super::JobType) does not compile.
    const TYPE: &'static str;

    /// The newest version of the payload that this program understands, counted from 1.
    ///
    /// It goes up when senders start to write something that older programs cannot read. The type must go on reading the older versions
    /// (new members are optional or have a default): messages of theirs may lie in queues for weeks.
    const SCHEMA_VERSION: u32;

    /// Whether jobs of this type have private `data` in their record. The producer refuses what no worker reads.
    const DATA: DataUse = DataUse::None;

    /// Whether the producer API takes jobs of this type. Off for jobs that only the kit itself sends.
    const FROM_API: bool = true;

    /// Rules that span several fields. Pointers start at the payload (`/userId`); messages never contain a value.
    fn check(&self) -> Vec<FieldError> {
        Vec::new()
    }

    /// The account that the payload names, where it names one. The producer makes it the job's account, so that the caller policy decides
    /// who may post jobs for it.
    fn account_id(&self) -> Option<&str> {
        None
    }

    /// Rules on the job's private `data`, which the producer applies before it takes the job. Pointers start at the request (`/data/amount`);
    /// messages never contain a value.
    fn check_data(&self, _data: Option<&Value>) -> Vec<FieldError> {
        Vec::new()
    }
}
