//! Ikkai's bounce and complaint reader: contacts whose mail bounces for good, or who complain, get no more mail.
//!
//! SES publishes what became of a mail to an SNS topic, and SNS invokes this function. From the top: [`Feedback`] reads a report,
//! [`Suppressor`] decides what it means and writes it, [`DynamoDbTables`] knows the tables.

mod address;
mod feedback;
mod lambda;
mod notification;
mod settings;
mod suppressor;
mod tables;

pub use self::{
    feedback::{Feedback, FeedbackError, Kind, Reason, Report},
    lambda::{InvocationError, process, run},
    notification::{Notification, SnsEvent, SnsRecord},
    settings::Settings,
    suppressor::{Ignored, Outcome, SuppressionError, Suppressor},
    tables::{Contact, DynamoDbTables, Suppression, TableError, Tables, Written},
};
