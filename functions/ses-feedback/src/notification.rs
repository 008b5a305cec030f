//! What SNS invokes the function with.

use std::fmt;

use serde::Deserialize;

/// An invocation by SNS (<https://docs.aws.amazon.com/lambda/latest/dg/with-sns.html>). SNS sends one record at a time; more are
/// read all the same. Members that are not needed are passed over.
#[derive(Debug, Deserialize)]
pub struct SnsEvent {
    /// The notifications.
    #[serde(rename = "Records")]
    pub records: Vec<SnsRecord>,
}

/// One record of an [`SnsEvent`].
#[derive(Debug, Deserialize)]
pub struct SnsRecord {
    /// What was published.
    #[serde(rename = "Sns")]
    pub sns: Notification,
}

/// A published message.
#[derive(Deserialize)]
pub struct Notification {
    /// SNS's own id. A repeated delivery has the same.
    #[serde(rename = "MessageId")]
    pub message_id: String,
    /// What the publisher wrote.
    #[serde(rename = "Message")]
    pub message: String,
}

/// Shows the id alone: the message holds addresses.
impl fmt::Debug for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notification").field("message_id", &self.message_id).finish_non_exhaustive()
    }
}
