//! What becomes of one report.

use std::fmt;
use std::sync::Arc;

use ikkai::clock::Clock;

use crate::feedback::{Feedback, FeedbackError, Kind, Report};
use crate::notification::Notification;
use crate::tables::{Suppression, TableError, Tables, Written};

/// How often a contact is read again that changes between its reading and its marking.
const ROUNDS: usize = 3;

/// Marks the contacts that reports are about.
pub struct Suppressor {
    tables: Arc<dyn Tables>,
    clock: Arc<dyn Clock>,
}

impl fmt::Debug for Suppressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suppressor").finish_non_exhaustive()
    }
}

/// What came of a notification that needs no other try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The contact gets no more mail from now on.
    Suppressed,
    /// Nothing was to be done.
    Ignored(Ignored),
}

/// Why nothing was to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignored {
    /// The topic was connected.
    Connected,
    /// An event that suppresses nobody.
    Passing(Kind),
    /// A mail that no job of this stack sent.
    OtherMail,
    /// A mail of a job that is not in the table, or not any more.
    UnknownJob,
    /// The contact is gone.
    UnknownContact,
    /// The contact has another address by now.
    OtherAddress,
    /// The contact gets no mail already.
    AlreadySuppressed,
    /// The same report marked the contact before, and somebody took the mark off.
    Repeated,
}

impl Ignored {
    /// The word in the log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connected => "topic_connected",
            Self::Passing(Kind::TransientBounce) => "transient_bounce",
            Self::Passing(Kind::NotSpam) => "not_spam",
            Self::Passing(Kind::OtherEvent) => "other_event",
            Self::OtherMail => "other_mail",
            Self::UnknownJob => "unknown_job",
            Self::UnknownContact => "unknown_contact",
            Self::OtherAddress => "other_address",
            Self::AlreadySuppressed => "already_suppressed",
            Self::Repeated => "repeated",
        }
    }
}

/// Why a notification has to come again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuppressionError {
    /// The message is not readable.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// A table was of no use.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The contact changed each time between its reading and its marking.
    #[error("the contact changed {ROUNDS} times meanwhile")]
    Restless,
}

impl SuppressionError {
    /// A stable name for logs and alarms.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Feedback(FeedbackError::NotAnEvent) => "not_an_event",
            Self::Feedback(FeedbackError::Incomplete { .. }) => "event_incomplete",
            Self::Table(TableError::Unavailable { .. }) => "table_unavailable",
            Self::Table(TableError::NoUser) => "job_without_user",
            Self::Restless => "contact_restless",
        }
    }
}

impl Suppressor {
    /// A suppressor on these tables.
    #[must_use]
    pub fn new(tables: Arc<dyn Tables>, clock: Arc<dyn Clock>) -> Self {
        Self { tables, clock }
    }

    /// Does what a notification asks for. The same one may come any number of times, in any order with others.
    ///
    /// # Errors
    /// The notification has to come again, or somebody has to look at it.
    pub async fn take(&self, notification: &Notification) -> Result<Outcome, SuppressionError> {
        let report = match Feedback::parse(&notification.message)? {
            Feedback::Final(report) => report,
            Feedback::Passing(kind) => return Ok(Outcome::Ignored(Ignored::Passing(kind))),
            Feedback::Connected => return Ok(Outcome::Ignored(Ignored::Connected)),
        };
        let Some(job_id) = &report.job_id else { return Ok(Outcome::Ignored(Ignored::OtherMail)) };
        tracing::Span::current().record("job_id", job_id.as_str());
        let Some(user_id) = self.tables.mailed_user(job_id).await? else {
            return Ok(Outcome::Ignored(Ignored::UnknownJob));
        };
        let mark = Suppression {
            reason: report.reason,
            at: self.clock.now(),
            report: report.id.clone().unwrap_or_else(|| notification.message_id.clone()),
        };
        for _ in 0..ROUNDS {
            if let Some(outcome) = self.mark_once(&user_id, &report, &mark).await? {
                return Ok(outcome);
            }
        }
        Err(SuppressionError::Restless)
    }

    /// Reads the contact and marks it as it was read. `None` when it changed in between.
    async fn mark_once(&self, user_id: &str, report: &Report, mark: &Suppression) -> Result<Option<Outcome>, SuppressionError> {
        let Some(contact) = self.tables.contact(user_id).await? else {
            return Ok(Some(Outcome::Ignored(Ignored::UnknownContact)));
        };
        if contact.suppressed {
            return Ok(Some(Outcome::Ignored(Ignored::AlreadySuppressed)));
        }
        if contact.marked_by.as_ref() == Some(&mark.report) {
            return Ok(Some(Outcome::Ignored(Ignored::Repeated)));
        }
        // An old report must not silence the address that the user has given since.
        let Some(address) = contact.address.filter(|address| report.is_about(address)) else {
            return Ok(Some(Outcome::Ignored(Ignored::OtherAddress)));
        };
        let written = self.tables.suppress(user_id, &address, mark).await?;
        Ok((written == Written::Yes).then_some(Outcome::Suppressed))
    }
}
