//! The function's settings, read once.

use std::collections::BTreeSet;
use std::time::Duration;

use ikkai::config::Reader;
use ikkai::job::{self, JobKind};
use ikkai::queue::QueueName;
use serde::Deserialize;

const DAY: u64 = 86_400;

/// The name that means every queue.
const ALL: &str = "all";

const QUEUES: &str = "IKKAI_REDRIVE_QUEUES";

/// Everything an operator can turn on this function.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `IKKAI_SERVICE`: name in metrics, the function's own unless set.
    pub service: String,
    /// `IKKAI_METRICS_NAMESPACE`: namespace of the metrics, `Ikkai` unless set.
    pub metrics_namespace: String,
    /// `IKKAI_JOBS_TABLE`: the records of jobs.
    pub jobs_table: String,
    /// `IKKAI_REDRIVE_TABLE`: what operators did.
    pub redrive_table: String,
    /// `IKKAI_ARCHIVE_BUCKET`: where discarded messages are kept.
    pub archive_bucket: String,
    /// `IKKAI_ARCHIVE_PREFIX`: what their keys begin with, `discarded/` unless set.
    pub archive_prefix: String,
    /// `IKKAI_REDRIVE_QUEUES`: the queues of the stack.
    pub queues: Vec<QueueSetting>,
    /// `IKKAI_MAX_GENERATIONS`: most put-backs of one job, 10 unless set. The consumers have the same one.
    pub max_generations: u32,
    /// `IKKAI_RECORD_RETENTION_SECONDS`: how long the record of a job that was resolved as done, or discarded, is kept.
    pub record_retention: Duration,
    /// `IKKAI_HISTORY_RETENTION_SECONDS`: how long it is known what operators did, 400 days unless set.
    pub history_retention: Duration,
    /// `IKKAI_FUNCTION_TIMEOUT_SECONDS`: how long an invocation may take.
    pub function_timeout: Duration,
    /// `IKKAI_SWEEP_WAIT_MS`: how long a receive waits for a first message, 1000 unless set.
    pub sweep_wait: Duration,
    /// `IKKAI_SWEEP_EMPTIES`: so many empty answers in a row make an empty queue, 3 unless set.
    pub sweep_empties: u32,
}

/// A queue of the stack.
#[derive(Debug, Clone)]
pub struct QueueSetting {
    /// Its name in the stack, such as `email`.
    pub name: String,
    /// The type of its jobs.
    pub kind: &'static JobKind,
    /// Its name in SQS.
    pub queue: QueueName,
    /// Its dead-letter queue's name in SQS.
    pub dead_letter_queue: QueueName,
}

impl Settings {
    /// Reads the settings; problems are collected in `reader`, and what could not be read holds a placeholder.
    pub fn read(reader: &mut Reader) -> Self {
        Self {
            service: reader.service("dlq-redrive"),
            metrics_namespace: reader.text("IKKAI_METRICS_NAMESPACE", "Ikkai"),
            jobs_table: reader.required_text("IKKAI_JOBS_TABLE"),
            redrive_table: reader.required_text("IKKAI_REDRIVE_TABLE"),
            archive_bucket: reader.required_text("IKKAI_ARCHIVE_BUCKET"),
            archive_prefix: archive_prefix(reader),
            queues: queues(reader),
            max_generations: count(reader, "IKKAI_MAX_GENERATIONS", 10, 1_000),
            record_retention: reader.seconds("IKKAI_RECORD_RETENTION_SECONDS", 20 * DAY, 60..=400 * DAY),
            history_retention: reader.seconds("IKKAI_HISTORY_RETENTION_SECONDS", 400 * DAY, 60..=3_660 * DAY),
            function_timeout: reader.seconds("IKKAI_FUNCTION_TIMEOUT_SECONDS", 900, 10..=900),
            sweep_wait: reader.millis("IKKAI_SWEEP_WAIT_MS", 1_000, 0..=5_000),
            sweep_empties: count(reader, "IKKAI_SWEEP_EMPTIES", 3, 20),
        }
    }
}

fn count(reader: &mut Reader, name: &'static str, default: u32, most: u32) -> u32 {
    u32::try_from(reader.number(name, default.into(), 1..=most.into())).unwrap_or(default)
}

fn archive_prefix(reader: &mut Reader) -> String {
    const SETTING: &str = "IKKAI_ARCHIVE_PREFIX";
    let prefix = reader.text(SETTING, "discarded/");
    if !prefix.ends_with('/') || prefix.starts_with('/') {
        reader.problem(
            SETTING,
            "is no folder; set it to a text that ends with a slash and does not begin with one, such as discarded/",
        );
    }
    prefix
}

/// A queue as it is written in the setting.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    name: String,
    r#type: String,
    queue: String,
    dead_letter_queue: String,
}

fn queues(reader: &mut Reader) -> Vec<QueueSetting> {
    let Some(written) = reader.required_json::<Vec<Written>>(QUEUES) else { return Vec::new() };
    if written.is_empty() {
        reader.problem(
            QUEUES,
            r#"names no queue; set it to something like [{"name":"email","type":"email.send","queue":"shop-email","deadLetterQueue":"shop-email-dlq"}]"#,
        );
    }
    let mut taken = BTreeSet::new();
    written.into_iter().filter_map(|queue| one(reader, queue, &mut taken)).collect()
}

fn one(reader: &mut Reader, written: Written, taken: &mut BTreeSet<String>) -> Option<QueueSetting> {
    let Written { name, r#type, queue, dead_letter_queue } = written;
    let plain =
        |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if !plain(&name) || name == ALL {
        let message = "has a queue whose `name` is empty, `all`, or has other characters than letters, digits, hyphens, underscores and dots";
        reader.problem(QUEUES, message);
        return None;
    }
    let Some(kind) = job::find(&r#type) else {
        let known = job::names().collect::<Vec<_>>().join(", ");
        reader.problem(QUEUES, format!("{name}: `type` is no job type; known are: {known}"));
        return None;
    };
    if !plain(&queue) || !plain(&dead_letter_queue) {
        reader.problem(QUEUES, format!("{name}: `queue` and `deadLetterQueue` are names of queues, not their URLs or ARNs"));
        return None;
    }
    let (queue, dead_letter_queue) = (QueueName::new(queue), QueueName::new(dead_letter_queue));
    if queue.is_fifo() != dead_letter_queue.is_fifo() {
        reader.problem(
            QUEUES,
            format!("{name}: the dead-letter queue of a FIFO queue is a FIFO queue, and that of another one is not"),
        );
    }
    for taken_name in [
        format!("the name {name}"),
        format!("the type {}", kind.job_type),
        queue.as_str().into(),
        dead_letter_queue.as_str().into(),
    ] {
        if !taken.insert(taken_name.clone()) {
            reader.problem(QUEUES, format!("{name}: {taken_name} stands there twice; each queue has its own"));
        }
    }
    Some(QueueSetting { name, kind, queue, dead_letter_queue })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMAIL: &str = r#"{"name":"email","type":"email.send","queue":"shop-email","deadLetterQueue":"shop-email-dlq"}"#;

    fn read(more: &[(&str, &str)]) -> Result<Settings, Vec<String>> {
        let queues = format!("[{EMAIL}]");
        let all = [
            ("IKKAI_JOBS_TABLE", "jobs"),
            ("IKKAI_REDRIVE_TABLE", "redrive"),
            ("IKKAI_ARCHIVE_BUCKET", "archive"),
            (QUEUES, queues.as_str()),
        ];
        let mut reader = Reader::from_pairs(all.iter().chain(more).copied());
        let settings = Settings::read(&mut reader);
        reader.finish(settings).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn the_required_settings_are_enough() {
        let settings = read(&[]).unwrap();
        assert_eq!(settings.service, "dlq-redrive");
        assert_eq!((settings.archive_prefix.as_str(), settings.max_generations, settings.sweep_empties), ("discarded/", 10, 3));
        assert_eq!(settings.history_retention, Duration::from_secs(400 * DAY));
        let [queue] = &settings.queues[..] else { panic!("one queue") };
        assert_eq!((queue.name.as_str(), queue.kind.job_type), ("email", "email.send"));
        assert_eq!((queue.queue.as_str(), queue.dead_letter_queue.as_str()), ("shop-email", "shop-email-dlq"));
    }

    #[test]
    fn every_setting_that_is_missing_is_reported_at_once() {
        let mut reader = Reader::from_pairs([("IKKAI_ARCHIVE_PREFIX", "discarded")]);
        let settings = Settings::read(&mut reader);
        let problems = reader.finish(settings).unwrap_err().to_string();
        for name in ["IKKAI_JOBS_TABLE", "IKKAI_REDRIVE_TABLE", "IKKAI_ARCHIVE_BUCKET", QUEUES, "IKKAI_ARCHIVE_PREFIX"] {
            assert!(problems.contains(name), "{name}: {problems}");
        }
    }

    #[test]
    fn each_mistake_in_the_list_of_queues_is_named() {
        let changed = |from: &str, to: &str| format!("[{}]", EMAIL.replace(from, to));
        for (queues, told) in [
            ("[]".to_owned(), "names no queue"),
            (changed(r#""email""#, r#""all""#), "`name` is empty, `all`"),
            (changed(r#""email""#, r#""e mail""#), "`name` is empty, `all`"),
            (changed("email.send", "email.sent"), "email: `type` is no job type"),
            (changed(r#""shop-email""#, r#""https://sqs/1/q""#), "not their URLs or ARNs"),
            (changed("shop-email-dlq", "arn:aws:sqs:x:1:q"), "not their URLs or ARNs"),
            (changed("shop-email-dlq", "shop-email-dlq.fifo"), "is a FIFO queue"),
            (changed("shop-email-dlq", "shop-email"), "shop-email stands there twice"),
            (format!("[{EMAIL},{EMAIL}]"), "the name email stands there twice"),
            (changed("queue", "queues"), "unknown field `queues`"),
        ] {
            let problems = read(&[(QUEUES, &queues)]).unwrap_err();
            assert!(problems.iter().any(|problem| problem.contains(told)), "{told}: {problems:?}");
        }
    }
}
