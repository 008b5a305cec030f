//! What SES reports about a mail.

use std::collections::HashMap;
use std::fmt;

use ikkai::job::{JobId, JobType};
use serde::Deserialize;

use crate::address::is_same_mailbox;

/// The tag that the e-mail consumer puts on every mail, with the id of its job.
const JOB_TAG: &str = "ikkai-job";

/// The type of the jobs that send mail.
pub(crate) const EMAIL: &str = "email.send";

/// What SES writes to a topic when it is made the destination of a configuration set's events, in place of an event.
const VALIDATION: &str = "Successfully validated SNS topic for Amazon SES event publishing.";

/// The same for the notifications of an identity, as a kind of notification.
const SUBSCRIBED: &str = "AmazonSnsSubscriptionSucceeded";

/// What SES says in one message.
#[derive(Debug, PartialEq, Eq)]
pub enum Feedback {
    /// The mail must not be repeated: it bounced for good, or somebody complained.
    Final(Report),
    /// Anything else about a mail: sent, delivered, opened, delayed, bounced for now.
    Passing(Kind),
    /// The topic was connected.
    Connected,
}

/// A kind of event that suppresses nobody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A bounce that may not be one the next time, or of which SES cannot tell.
    TransientBounce,
    /// A complaint that says that the mail is wanted.
    NotSpam,
    /// An event of another type.
    OtherEvent,
}

/// A bounce for good, or a complaint.
#[derive(PartialEq, Eq)]
pub struct Report {
    /// Which of the two.
    pub reason: Reason,
    /// SES's id of this report; repeated deliveries have the same.
    pub id: Option<String>,
    /// The job whose mail it was, if it was one of ours.
    pub job_id: Option<JobId>,
    addresses: Vec<String>,
}

/// Why a contact is to get no more mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A mail could not be delivered and never will be.
    Bounce,
    /// The recipient marked a mail as unwanted.
    Complaint,
}

impl Reason {
    /// The word that the contact's record holds.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bounce => "bounce",
            Self::Complaint => "complaint",
        }
    }
}

/// Why a message is no feedback. Holds nothing of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FeedbackError {
    /// Not an SES event at all.
    #[error("the message is no event of Amazon SES: let nothing else publish to the topic")]
    NotAnEvent,
    /// A bounce or a complaint without what it is about.
    #[error("the SES event has no readable `{member}`")]
    Incomplete {
        /// What cannot be read.
        member: &'static str,
    },
}

/// Of an event, what every shape has. Event publishing through a configuration set says `eventType`
/// (<https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-contents.html>), the notifications of an identity
/// `notificationType` (<https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html>).
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    event_type: Option<String>,
    notification_type: Option<String>,
}

#[derive(Deserialize)]
struct BounceEvent {
    bounce: Bounce,
    mail: Mail,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Bounce {
    bounce_type: String,
    bounced_recipients: Vec<Recipient>,
    feedback_id: Option<String>,
}

#[derive(Deserialize)]
struct ComplaintEvent {
    complaint: Complaint,
    mail: Mail,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Complaint {
    complained_recipients: Vec<Recipient>,
    complaint_feedback_type: Option<String>,
    feedback_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recipient {
    email_address: String,
}

/// Of the mail itself. Identities' notifications have no tags
/// (<https://docs.aws.amazon.com/ses/latest/dg/event-publishing-retrieving-sns-examples.html>).
#[derive(Deserialize)]
struct Mail {
    #[serde(default)]
    destination: Vec<String>,
    #[serde(default)]
    tags: HashMap<String, Vec<String>>,
}

impl Feedback {
    /// Reads what SES published.
    ///
    /// # Errors
    /// When it is no SES event, or a bounce or complaint that does not say whose.
    pub fn parse(message: &str) -> Result<Self, FeedbackError> {
        if message.trim() == VALIDATION {
            return Ok(Self::Connected);
        }
        let head: Head = serde_json::from_str(message).map_err(|_| FeedbackError::NotAnEvent)?;
        let kind = head.event_type.or(head.notification_type).ok_or(FeedbackError::NotAnEvent)?;
        match kind.as_str() {
            "Bounce" => bounce(message),
            "Complaint" => complaint(message),
            SUBSCRIBED => Ok(Self::Connected),
            _ => Ok(Self::Passing(Kind::OtherEvent)),
        }
    }
}

/// Only a permanent bounce is for good: transient ones are full mailboxes and vacations, undetermined ones could not be read by SES
/// (<https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html#bounce-types>).
fn bounce(message: &str) -> Result<Feedback, FeedbackError> {
    let BounceEvent { bounce, mail } =
        serde_json::from_str(message).map_err(|_| FeedbackError::Incomplete { member: "bounce" })?;
    if bounce.bounce_type != "Permanent" {
        return Ok(Feedback::Passing(Kind::TransientBounce));
    }
    Ok(Feedback::Final(Report::new(Reason::Bounce, bounce.feedback_id, bounce.bounced_recipients, mail)))
}

/// `not-spam` takes a complaint back, it is none
/// (<https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html#complaint-object>).
fn complaint(message: &str) -> Result<Feedback, FeedbackError> {
    let ComplaintEvent { complaint, mail } =
        serde_json::from_str(message).map_err(|_| FeedbackError::Incomplete { member: "complaint" })?;
    if complaint.complaint_feedback_type.as_deref() == Some("not-spam") {
        return Ok(Feedback::Passing(Kind::NotSpam));
    }
    Ok(Feedback::Final(Report::new(Reason::Complaint, complaint.feedback_id, complaint.complained_recipients, mail)))
}

impl Report {
    fn new(reason: Reason, id: Option<String>, recipients: Vec<Recipient>, mail: Mail) -> Self {
        let job_id = mail.tags.get(JOB_TAG).and_then(|values| values.iter().find_map(|value| job_of_tag(value)));
        let mut addresses: Vec<String> = recipients.into_iter().map(|recipient| recipient.email_address).collect();
        // A host that forwards reports the address that it forwards to. A mail with one recipient was about that one in any case.
        if let [only] = mail.destination.as_slice() {
            addresses.push(only.clone());
        }
        Self { reason, id, job_id, addresses }
    }

    /// Whether the report is about a mail to this address.
    #[must_use]
    pub fn is_about(&self, address: &str) -> bool {
        self.addresses.iter().any(|reported| is_same_mailbox(reported, address))
    }
}

/// Shows no address.
impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Report").field("reason", &self.reason).field("job_id", &self.job_id).finish_non_exhaustive()
    }
}

/// The id behind a tag. A tag's value has no dots, so the consumer writes the one in the job's type as an underscore.
fn job_of_tag(value: &str) -> Option<JobId> {
    let job_type = JobType::parse(EMAIL).ok()?;
    let digest = value.strip_prefix(&EMAIL.replace('.', "_"))?;
    JobId::parse(&format!("{EMAIL}{digest}"), &job_type).ok()
}

#[cfg(test)]
mod tests {
    use ikkai::job::IdempotencyKey;
    use serde_json::{Value, json};

    use super::*;

    fn job_id() -> JobId {
        JobId::derive("caller", &JobType::parse(EMAIL).unwrap(), &IdempotencyKey::parse("welcome:1").unwrap())
    }

    fn tag() -> String {
        job_id().as_str().replace('.', "_")
    }

    fn event(member: &str, content: Value, tags: Value) -> String {
        let kind = member[..1].to_uppercase() + &member[1..];
        let mail = json!({"messageId": "m-1", "destination": ["jane@example.com"], "tags": tags});
        json!({"eventType": kind, member: content, "mail": mail}).to_string()
    }

    fn bounced(bounce_type: &str) -> String {
        let bounce =
            json!({"bounceType": bounce_type, "bouncedRecipients": [{"emailAddress": "jane@example.com"}], "new": {"a": 1}});
        event("bounce", bounce, json!({JOB_TAG: [tag()]}))
    }

    fn report(message: &str) -> Report {
        match Feedback::parse(message) {
            Ok(Feedback::Final(report)) => report,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn only_a_permanent_bounce_is_for_good() {
        assert_eq!(report(&bounced("Permanent")).reason, Reason::Bounce);
        for passing in ["Transient", "Undetermined", "Vague"] {
            assert_eq!(Feedback::parse(&bounced(passing)), Ok(Feedback::Passing(Kind::TransientBounce)), "{passing}");
        }
    }

    #[test]
    fn a_complaint_is_for_good_unless_it_says_that_the_mail_is_wanted() {
        let complained = |feedback_type: Value| {
            let complaint =
                json!({"complainedRecipients": [{"emailAddress": "jane@example.com"}], "complaintFeedbackType": feedback_type});
            event("complaint", complaint, json!({JOB_TAG: [tag()]}))
        };
        for feedback_type in [json!("abuse"), json!("fraud"), json!(null)] {
            assert_eq!(report(&complained(feedback_type)).reason, Reason::Complaint);
        }
        assert_eq!(Feedback::parse(&complained(json!("not-spam"))), Ok(Feedback::Passing(Kind::NotSpam)));
    }

    #[test]
    fn the_job_is_read_out_of_its_tag() {
        assert_eq!(report(&bounced("Permanent")).job_id, Some(job_id()));
        for foreign in
            [json!([]), json!(["email_send-short"]), json!(["other"]), json!([tag().to_uppercase()]), json!([job_id().as_str()])]
        {
            let bounce = json!({"bounceType": "Permanent", "bouncedRecipients": [{"emailAddress": "jane@example.com"}]});
            assert_eq!(report(&event("bounce", bounce, json!({JOB_TAG: foreign.clone()}))).job_id, None, "{foreign}");
        }
    }

    #[test]
    fn a_forwarded_mail_is_about_the_address_that_was_mailed_too() {
        let bounce = json!({"bounceType": "Permanent", "bouncedRecipients": [{"emailAddress": "jane@elsewhere.example"}]});
        let report = report(&event("bounce", bounce, json!({})));
        assert!(report.is_about("jane@example.com") && report.is_about("Jane@elsewhere.example"));
        assert!(!report.is_about("max@example.com"));
    }

    #[test]
    fn of_several_recipients_the_reported_ones_count_alone() {
        let message = json!({
            "notificationType": "Bounce",
            "bounce": {"bounceType": "Permanent", "bouncedRecipients": [{"emailAddress": "jane@example.com"}]},
            "mail": {"destination": ["jane@example.com", "max@example.com"]},
        });
        let report = report(&message.to_string());
        assert!(report.is_about("jane@example.com") && !report.is_about("max@example.com"));
        assert_eq!(report.job_id, None, "an identity's notification has no tags");
    }

    #[test]
    fn other_events_pass_whatever_they_hold() {
        for kind in ["Send", "Delivery", "Open", "Click", "Reject", "DeliveryDelay", "Rendering Failure", "Subscription", "Next"]
        {
            for name in ["eventType", "notificationType"] {
                let message = json!({name: kind, "bounce": 1, "mail": {"tags": {"a": ["b"]}}}).to_string();
                assert_eq!(Feedback::parse(&message), Ok(Feedback::Passing(Kind::OtherEvent)), "{kind}");
            }
        }
    }

    #[test]
    fn a_topic_that_is_connected_says_so() {
        assert_eq!(Feedback::parse(VALIDATION), Ok(Feedback::Connected));
        let message = r#"{"notificationType":"AmazonSnsSubscriptionSucceeded","message":"You have successfully subscribed …"}"#;
        assert_eq!(Feedback::parse(message), Ok(Feedback::Connected));
    }

    #[test]
    fn what_is_no_event_is_refused_without_its_text() {
        for message in
            ["", "hello jane@example.com", "[]", "{}", "{\"Message\":\"jane@example.com\"}", "null", "{\"eventType\":7}"]
        {
            let error = Feedback::parse(message).unwrap_err();
            assert_eq!(error, FeedbackError::NotAnEvent, "{message}");
            assert!(!format!("{error} {error:?}").contains("jane"));
        }
    }

    #[test]
    fn a_bounce_that_does_not_say_whose_is_not_passed_over() {
        for (member, content) in [
            ("bounce", json!({})),
            ("bounce", json!({"bounceType": "Permanent"})),
            ("bounce", json!({"bounceType": "Permanent", "bouncedRecipients": [{}]})),
            ("complaint", json!({})),
            ("complaint", json!({"complainedRecipients": [{"emailAddress": 1}]})),
        ] {
            let error = Feedback::parse(&event(member, content.clone(), json!({}))).unwrap_err();
            assert_eq!(error, FeedbackError::Incomplete { member: if member == "bounce" { "bounce" } else { "complaint" } });
        }
        assert!(Feedback::parse(r#"{"eventType":"Bounce"}"#).is_err());
    }

    #[test]
    fn debug_output_holds_no_address() {
        assert!(!format!("{:?}", report(&bounced("Permanent"))).contains("jane"));
    }
}
