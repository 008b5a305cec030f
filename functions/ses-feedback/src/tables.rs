//! The two tables: jobs, which are read, and contacts, which are marked.

mod dynamodb;

use std::fmt;

use async_trait::async_trait;
use ikkai::clock::EpochMillis;
use ikkai::job::JobId;

pub use self::dynamodb::DynamoDbTables;
use crate::feedback::Reason;

/// What the function needs of the tables.
#[async_trait]
pub trait Tables: Send + Sync {
    /// The user that a job's mail went to, or `None` when there is no such job.
    ///
    /// # Errors
    /// The table cannot be read, or holds something that is no mail job.
    async fn mailed_user(&self, job_id: &JobId) -> Result<Option<String>, TableError>;

    /// A user's contact as it is now, or `None` when there is none.
    ///
    /// # Errors
    /// The table cannot be read.
    async fn contact(&self, user_id: &str) -> Result<Option<Contact>, TableError>;

    /// Marks a contact, if its address still is the one given and the same report did not mark it before.
    ///
    /// # Errors
    /// The table cannot be written, or nobody knows whether it was: the same mark may be set again.
    async fn suppress(&self, user_id: &str, address: &str, mark: &Suppression) -> Result<Written, TableError>;
}

/// Of a contact, what decides.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Contact {
    /// The address, unless it was erased.
    pub address: Option<String>,
    /// Gets no mail already.
    pub suppressed: bool,
    /// The report that marked it last, also when the mark was taken off since.
    pub marked_by: Option<String>,
}

/// Shows no address.
impl fmt::Debug for Contact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contact").field("suppressed", &self.suppressed).finish_non_exhaustive()
    }
}

/// What is written to a contact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Why.
    pub reason: Reason,
    /// When.
    pub at: EpochMillis,
    /// The report that says so.
    pub report: String,
}

/// Whether a mark was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It is set.
    Yes,
    /// The contact has changed since it was read.
    Changed,
}

/// Why a table was of no use. Never holds a value of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It cannot be reached at present; another try may succeed.
    #[error("{operation} on the table of {table} failed ({code})")]
    Unavailable {
        /// The call.
        operation: &'static str,
        /// `jobs` or `contacts`.
        table: &'static str,
        /// The service's own code, or what happened on the way.
        code: String,
    },
    /// A record that should name a user does not.
    #[error("the job's payload names no user")]
    NoUser,
}
