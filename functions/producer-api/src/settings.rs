//! The function's settings, read once.

use std::collections::BTreeMap;
use std::time::Duration;

use ikkai::callback::Reach;
use ikkai::config::Reader;
use ikkai::job;
use ikkai::queue::{MAX_MESSAGE_BYTES, QueueName};

use crate::cors::Cors;
use crate::policy::Policy;

const DAY: u64 = 86_400;

/// How far callbacks may reach in this build.
pub(crate) const CALLBACK_REACH: Reach = if cfg!(feature = "local-callbacks") { Reach::Loopback } else { Reach::Public };

/// Everything an operator can turn on the producer API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Name in logs and metrics.
    pub service: String,
    /// Namespace of the metrics.
    pub metrics_namespace: String,
    /// The `jobs` table.
    pub jobs_table: String,
    /// The queue of every job type that is served.
    pub queues: BTreeMap<String, QueueName>,
    /// Who may post what.
    pub policy: Policy,
    /// Whether jobs may name a URL that is told of their end. Off unless there is a consumer that does it.
    pub callbacks: bool,
    /// Jobs in a queue (waiting, in flight, delayed) from which on new ones are refused.
    pub max_queue_depth: u64,
    /// How long one request may be sending a job before another one takes over.
    pub send_lease: Duration,
    /// Largest message, body and attributes together.
    pub max_message_bytes: usize,
    /// The claim that tells a token's holders apart.
    pub jwt_caller_claim: String,
    /// How long a cancelled record is kept.
    pub record_retention: Duration,
    /// Whether connections are opened while the function starts.
    pub warm_up: bool,
    pub(crate) cors: Cors,
}

impl Settings {
    /// Reads the settings; problems are collected in `reader`.
    pub fn read(reader: &mut Reader) -> Self {
        let most_bytes = u64::try_from(MAX_MESSAGE_BYTES).unwrap_or(u64::MAX);
        let max_message_bytes = reader.number("IKKAI_MAX_MESSAGE_BYTES", most_bytes, 1_024..=most_bytes);
        let callbacks = reader.switch("IKKAI_CALLBACKS", false);
        Self {
            service: reader.service("producer-api"),
            metrics_namespace: reader.text("IKKAI_METRICS_NAMESPACE", "Ikkai"),
            jobs_table: reader.required_text("IKKAI_JOBS_TABLE"),
            queues: queues(reader),
            policy: policy(reader, callbacks),
            callbacks,
            max_queue_depth: reader.number("IKKAI_MAX_QUEUE_DEPTH", 100_000, 1..=u64::MAX),
            send_lease: reader.millis("IKKAI_SEND_LEASE_MS", 5_000, 500..=60_000),
            max_message_bytes: usize::try_from(max_message_bytes).unwrap_or(MAX_MESSAGE_BYTES),
            jwt_caller_claim: reader.text("IKKAI_JWT_CALLER_CLAIM", "sub"),
            record_retention: reader.seconds("IKKAI_RECORD_RETENTION_SECONDS", 20 * DAY, 60..=400 * DAY),
            warm_up: reader.switch("IKKAI_WARM_UP", true),
            cors: Cors::read(reader),
        }
    }
}

fn policy(reader: &mut Reader, callbacks: bool) -> Policy {
    let policy = Policy::read(reader);
    if policy.names_callback() && !callbacks {
        reader.problem("IKKAI_CALLBACKS", "is off, but a rule of IKKAI_CALLER_POLICY names a callbackUrl; set it to on");
    }
    policy
}

fn queues(reader: &mut Reader) -> BTreeMap<String, QueueName> {
    const SETTING: &str = "IKKAI_QUEUES";
    let Some(named) = reader.required_json::<BTreeMap<String, String>>(SETTING) else { return BTreeMap::new() };
    if named.is_empty() {
        reader.problem(SETTING, r#"names no queue; set it to something like {"email.send":"queue-name"}"#);
    }
    let mut queues = BTreeMap::new();
    for (job_type, name) in named {
        match job::find(&job_type) {
            None => {
                let names = posted_types().join(", ");
                reader.problem(SETTING, format!("has a member that is no job type; known are: {names}"));
            }
            Some(kind) if !kind.from_api => {
                reader.problem(SETTING, format!("has the member {job_type}, whose jobs only the kit itself sends; leave it out"));
            }
            Some(_) => {}
        }
        if name.trim().is_empty() || name.contains(['/', ':']) {
            reader.problem(SETTING, "has a value that is no queue name; use the name, not the URL or the ARN");
        }
        queues.insert(job_type, QueueName::new(name.trim()));
    }
    queues
}

/// The job types that can be posted.
pub(crate) fn posted_types() -> Vec<&'static str> {
    job::registry().iter().filter(|kind| kind.from_api).map(|kind| kind.job_type).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems<const N: usize>(pairs: [(&str, &str); N]) -> Vec<String> {
        let mut reader = Reader::from_pairs(pairs);
        let settings = Settings::read(&mut reader);
        reader.finish(settings).map_or_else(|error| error.problems().iter().map(ToString::to_string).collect(), |_| Vec::new())
    }

    #[test]
    fn the_required_settings_are_enough() {
        let all = [("IKKAI_JOBS_TABLE", "jobs"), ("IKKAI_QUEUES", r#"{"email.send":"email"}"#), ("IKKAI_CALLER_POLICY", "[]")];
        assert_eq!(problems(all), Vec::<String>::new());
    }

    #[test]
    fn every_problem_is_reported_at_once() {
        let found = problems([
            ("IKKAI_QUEUES", r#"{"email.sent":"https://sqs/1/q"}"#),
            ("IKKAI_CALLER_POLICY", "{}"),
            ("IKKAI_MAX_MESSAGE_BYTES", "9999999"),
            ("IKKAI_CORS_ALLOW_ORIGINS", "example.com"),
        ]);
        assert_eq!(found.len(), 6, "{found:?}");
    }

    #[test]
    fn a_type_that_only_the_kit_sends_is_not_served() {
        let found = problems([
            ("IKKAI_JOBS_TABLE", "jobs"),
            ("IKKAI_QUEUES", r#"{"webhook.deliver":"webhook"}"#),
            ("IKKAI_CALLER_POLICY", "[]"),
        ]);
        assert!(matches!(&found[..], [one] if one.contains("webhook.deliver")), "{found:?}");
    }

    #[test]
    fn a_default_callback_needs_callbacks_to_be_on() {
        let with = |callbacks| {
            problems([
                ("IKKAI_JOBS_TABLE", "jobs"),
                ("IKKAI_QUEUES", r#"{"email.send":"email"}"#),
                ("IKKAI_CALLER_POLICY", r#"[{"callers":["*"],"types":["*"],"callbackUrl":"https://shop.example/hook"}]"#),
                ("IKKAI_CALLBACKS", callbacks),
            ])
        };
        assert_eq!(with("on"), Vec::<String>::new());
        assert!(matches!(&with("off")[..], [one] if one.starts_with("IKKAI_CALLBACKS")));
    }
}
