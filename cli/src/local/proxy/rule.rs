//! Faults: which calls a rule meets, and what happens to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::operation::{Subject, names_job};

/// What happens to a call that a rule meets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The proxy answers an AWS-shaped error itself; the engine never sees the call, so nothing happened.
    Answer {
        /// HTTP status.
        status: u16,
        /// The error's code, such as `TooManyRequestsException`.
        code: String,
        /// The error's message.
        message: String,
    },
    /// The connection is closed without an answer and without forwarding: nothing happened.
    Drop,
    /// The call waits, then goes to the engine.
    Delay(Duration),
    /// The call waits until [`RuleHandle::release`], then goes to the engine. A client that gives up in between is never forwarded.
    Hold,
    /// The engine does it, then the connection is closed: the effect happened and the answer is lost.
    ForwardThenDrop,
    /// The engine does it, and its answer waits.
    ForwardThenDelay(Duration),
    /// The engine does it, and its answer waits until [`RuleHandle::release`].
    ForwardThenHold,
}

/// Calls that a fault meets, how often, and the fault.
///
/// ```
/// use ikkai_cli::local::proxy::Rule;
/// let throttled_twice = Rule::on("ses.SendEmail").answer(429, "TooManyRequestsException", "slow down").times(2);
/// let lost_answer = Rule::on("ses.SendEmail").job("email.send-1").forward_then_drop().times(1);
/// # drop((throttled_twice, lost_answer));
/// ```
#[derive(Debug, Clone)]
#[must_use = "a rule works once it was added to the proxy"]
pub struct Rule {
    operation: String,
    target: Option<String>,
    object: Option<String>,
    job: Option<String>,
    recipient: Option<String>,
    tag: Option<(String, String)>,
    text: Option<String>,
    skip: u32,
    times: Option<u32>,
    pub(super) action: Action,
}

impl Rule {
    /// A rule for an operation (`service.Operation`); until an action is chosen it only counts.
    pub fn on(operation: impl Into<String>) -> Self {
        Self {
            operation: operation.into(),
            target: None,
            object: None,
            job: None,
            recipient: None,
            tag: None,
            text: None,
            skip: 0,
            times: None,
            action: Action::Delay(Duration::ZERO),
        }
    }

    /// Only calls to this table, queue, bucket, function, secret or topic.
    pub fn target(mut self, name: impl Into<String>) -> Self {
        self.target = Some(name.into());
        self
    }

    /// Only calls about the object with this key.
    pub fn object(mut self, key: impl Into<String>) -> Self {
        self.object = Some(key.into());
        self
    }

    /// Only calls about this job.
    pub fn job(mut self, job_id: impl Into<String>) -> Self {
        self.job = Some(job_id.into());
        self
    }

    /// Only mails to this address (the bare address; a display name around it does not matter).
    pub fn recipient(mut self, address: impl Into<String>) -> Self {
        self.recipient = Some(address.into());
        self
    }

    /// Only mails with this tag.
    pub fn tag(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.tag = Some((name.into(), value.into()));
        self
    }

    /// Only calls whose body contains this text.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// Lets the first `count` matching calls pass.
    pub fn skip(mut self, count: u32) -> Self {
        self.skip = count;
        self
    }

    /// Meets at most `count` calls; without it the rule works until it is removed.
    pub fn times(mut self, count: u32) -> Self {
        self.times = Some(count);
        self
    }

    /// [`Action::Answer`].
    pub fn answer(self, status: u16, code: impl Into<String>, message: impl Into<String>) -> Self {
        self.act(Action::Answer { status, code: code.into(), message: message.into() })
    }

    /// [`Action::Drop`].
    pub fn drop_connection(self) -> Self {
        self.act(Action::Drop)
    }

    /// [`Action::Delay`].
    pub fn delay(self, time: Duration) -> Self {
        self.act(Action::Delay(time))
    }

    /// [`Action::Hold`].
    pub fn hold(self) -> Self {
        self.act(Action::Hold)
    }

    /// [`Action::ForwardThenDrop`].
    pub fn forward_then_drop(self) -> Self {
        self.act(Action::ForwardThenDrop)
    }

    /// [`Action::ForwardThenDelay`].
    pub fn forward_then_delay(self, time: Duration) -> Self {
        self.act(Action::ForwardThenDelay(time))
    }

    /// [`Action::ForwardThenHold`].
    pub fn forward_then_hold(self) -> Self {
        self.act(Action::ForwardThenHold)
    }

    fn act(mut self, action: Action) -> Self {
        self.action = action;
        self
    }

    fn matches(&self, subject: &Subject, body: &[u8]) -> bool {
        self.operation == subject.operation
            && self.target.as_ref().is_none_or(|target| subject.target.as_ref() == Some(target))
            && self.object.as_ref().is_none_or(|key| subject.object.as_ref() == Some(key))
            && self.job.as_ref().is_none_or(|job| names_job(&subject.job_ids, job))
            && self.recipient.as_ref().is_none_or(|address| subject.recipients.iter().any(|to| bare_address(to) == address))
            && self.tag.as_ref().is_none_or(|(name, value)| subject.tag(name) == Some(value))
            && self.text.as_ref().is_none_or(|text| contains(body, text.as_bytes()))
    }
}

/// `"A B" <a@example.com>` and `a@example.com` are both `a@example.com`.
pub(super) fn bare_address(mailbox: &str) -> &str {
    match (mailbox.rfind('<'), mailbox.rfind('>')) {
        (Some(open), Some(close)) if open < close => &mailbox[open + 1..close],
        _ => mailbox.trim(),
    }
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    needle.is_empty() || haystack.windows(needle.len()).any(|window| window == needle)
}

/// A rule at work, shared between the proxy and its handles.
#[derive(Debug)]
pub(super) struct ActiveRule {
    pub(super) rule: Rule,
    seen: AtomicU32,
    removed: AtomicBool,
    hits: watch::Sender<u32>,
    released: watch::Sender<bool>,
}

impl ActiveRule {
    pub(super) fn new(rule: Rule) -> Arc<Self> {
        Arc::new(Self {
            rule,
            seen: AtomicU32::new(0),
            removed: AtomicBool::new(false),
            hits: watch::Sender::new(0),
            released: watch::Sender::new(false),
        })
    }

    /// Whether this call is met; counts it if so. The proxy asks one call at a time, so the counts cannot race.
    pub(super) fn meets(&self, subject: &Subject, body: &[u8]) -> bool {
        if self.is_removed() || !self.rule.matches(subject, body) {
            return false;
        }
        let seen = self.seen.fetch_add(1, Ordering::SeqCst);
        if seen < self.rule.skip || self.rule.times.is_some_and(|times| seen - self.rule.skip >= times) {
            return false;
        }
        self.hits.send_modify(|hits| *hits += 1);
        true
    }

    pub(super) fn is_removed(&self) -> bool {
        self.removed.load(Ordering::SeqCst)
    }

    pub(super) async fn released(&self) {
        // The sender lives in `self`: waiting cannot fail while we hold a reference to it.
        let _ = self.released.subscribe().wait_for(|released| *released).await;
    }
}

/// A rule that was added: watch it, release what it holds, take it away.
#[derive(Debug, Clone)]
pub struct RuleHandle(pub(super) Arc<ActiveRule>);

impl RuleHandle {
    /// How many calls the rule has met.
    #[must_use]
    pub fn hits(&self) -> u32 {
        *self.0.hits.borrow()
    }

    /// Waits until the rule has met a call.
    pub async fn arrived(&self) {
        self.arrived_times(1).await;
    }

    /// Waits until the rule has met `count` calls.
    pub async fn arrived_times(&self, count: u32) {
        let _ = self.0.hits.subscribe().wait_for(|hits| *hits >= count).await;
    }

    /// Lets go every call that the rule holds, and those it will meet later.
    pub fn release(&self) {
        self.0.released.send_replace(true);
    }

    /// The rule meets no further calls; what it holds stays held until [`release`](Self::release).
    pub fn remove(&self) {
        self.0.removed.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail_to(address: &str, job: &str) -> Subject {
        Subject {
            operation: "ses.SendEmail".into(),
            job_ids: vec![job.into()],
            recipients: vec![address.into()],
            tags: vec![("ikkai-job".into(), job.into()), ("template".into(), "welcome".into())],
            ..Subject::default()
        }
    }

    #[test]
    fn a_rule_skips_then_meets_so_many_calls_and_no_more() {
        let rule = ActiveRule::new(Rule::on("ses.SendEmail").drop_connection().skip(1).times(2));
        let met: Vec<bool> = (0..5).map(|_| rule.meets(&mail_to("a@example.com", "j"), b"")).collect();
        assert_eq!(met, [false, true, true, false, false]);
        assert_eq!(RuleHandle(rule).hits(), 2);
    }

    #[test]
    fn every_condition_of_a_rule_must_hold() {
        let mail = mail_to("\"Zoë\" <zoe@example.com>", "j1");
        let body = br#"{"FromEmailAddress":"x@example.com"}"#;
        let meets = |rule: Rule| ActiveRule::new(rule).meets(&mail, body);
        assert!(meets(Rule::on("ses.SendEmail").job("j1").recipient("zoe@example.com").tag("template", "welcome").text("From")));
        assert!(!meets(Rule::on("ses.SendBulkEmail")));
        assert!(!meets(Rule::on("ses.SendEmail").job("j2")));
        assert!(!meets(Rule::on("ses.SendEmail").recipient("oe@example.com")));
        assert!(!meets(Rule::on("ses.SendEmail").tag("template", "other")));
        assert!(!meets(Rule::on("ses.SendEmail").text("absent")));
        assert!(!meets(Rule::on("ses.SendEmail").target("jobs")));
    }

    #[test]
    fn a_rule_for_an_object_meets_no_other() {
        let put = |key: &str| Subject {
            operation: "s3.PutObject".into(),
            target: Some("assets".into()),
            object: Some(key.into()),
            ..Subject::default()
        };
        let rule = ActiveRule::new(Rule::on("s3.PutObject").target("assets").object("derived/a.jpg/720.webp").drop_connection());
        assert!(rule.meets(&put("derived/a.jpg/720.webp"), b""));
        assert!(!rule.meets(&put("derived/a.jpg/256.webp"), b""));
    }

    #[test]
    fn a_removed_rule_meets_nothing() {
        let rule = ActiveRule::new(Rule::on("ses.SendEmail").drop_connection());
        let handle = RuleHandle(Arc::clone(&rule));
        handle.remove();
        assert!(!rule.meets(&mail_to("a@example.com", "j"), b""));
        assert_eq!(handle.hits(), 0);
    }
}
