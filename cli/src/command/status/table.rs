//! The screen of `ikkai status`.

use std::collections::BTreeMap;
use std::time::Duration;

use dlq_redrive::protocol::{DeadGroup, QueueStatus, StatusAnswer, StuckJob};

use crate::command::dlq::{ago, reason, short, state, who};
use crate::operator::figures::Figures;
use crate::screen::{seconds, table_lines};

/// What is not known.
const UNKNOWN: &str = "–";

/// Reasons that are named for each queue.
const REASONS: usize = 3;

const HEADER: [&str; 10] =
    ["queue", "waiting", "in flight", "delayed", "oldest", "failing", "handler p95", "job p95", "dead letters", "why"];

const LEGEND: [&str; 2] = [
    "failing: the share of attempts of the last 15 minutes that did not end well; p95: of the newest five minutes with jobs;",
    "–: not known to CloudWatch, or not looked at. Counts are SQS's and may lag by a minute.",
];

/// The lines of the screen.
pub(super) fn lines(status: &StatusAnswer, groups: Option<&[DeadGroup]>, figures: &BTreeMap<String, Figures>) -> Vec<String> {
    let unknown = Figures::default();
    let rows = status.queues.iter().map(|queue| row(queue, groups, figures.get(&queue.name).unwrap_or(&unknown)));
    let mut lines = table_lines(&HEADER, &[1, 2, 3, 4, 5, 6, 7, 8], rows);
    lines.push(String::new());
    lines.extend(LEGEND.map(ToOwned::to_owned));
    let below: Vec<_> = status.queues.iter().flat_map(under_way).chain(stuck(status.stuck.as_deref())).collect();
    if !below.is_empty() {
        lines.push(String::new());
        lines.extend(below);
    }
    lines
}

fn row(queue: &QueueStatus, groups: Option<&[DeadGroup]>, figures: &Figures) -> Vec<String> {
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| UNKNOWN.to_owned());
    let time = |ms: Option<f64>| or_unknown(ms.and_then(|ms| Duration::try_from_secs_f64(ms / 1000.0).ok()).map(seconds));
    let age = figures.oldest_seconds.and_then(|age| Duration::try_from_secs_f64(age).ok());
    let oldest_dead = queue.oldest_dead_letter_at.as_deref().map(|at| format!(", oldest seen {}", ago(at)));
    vec![
        queue.name.clone(),
        queue.depth.visible.to_string(),
        queue.depth.in_flight.to_string(),
        queue.depth.delayed.to_string(),
        or_unknown(age.map(short)),
        or_unknown(figures.failure_rate().map(|rate| format!("{:.1} %", rate * 100.0))),
        time(figures.handler_p95_ms),
        time(figures.latency_p95_ms),
        (queue.dead_letters.visible + queue.dead_letters.in_flight).to_string(),
        format!("{}{}", or_unknown(groups.map(|groups| reasons(queue, groups))), oldest_dead.unwrap_or_default()),
    ]
}

/// The most frequent reasons of a queue's dead letters.
fn reasons(queue: &QueueStatus, groups: &[DeadGroup]) -> String {
    let mut of_queue: Vec<_> = groups.iter().filter(|group| group.queue == queue.name).collect();
    of_queue.sort_by_key(|group| std::cmp::Reverse(group.count));
    let told = of_queue.iter().take(REASONS).map(|group| {
        format!("{} × {}", group.count, reason(group.error_code.as_deref(), group.error_class.as_deref(), &group.status))
    });
    let mut words = told.collect::<Vec<_>>().join(", ");
    if of_queue.len() > REASONS {
        words.push_str(&format!(" and {} more", of_queue.len() - REASONS));
    }
    words
}

/// What moves messages out of the dead-letter queue, and what did so last.
fn under_way(queue: &QueueStatus) -> Vec<String> {
    let count = |count: Option<i64>| count.map_or_else(|| "?".to_owned(), |count| count.to_string());
    let tasks = queue.move_tasks.iter().flatten().map(|task| {
        let status = task.status.as_deref().unwrap_or("unknown");
        format!("{}: SQS's own move task is {status}, {} of {} moved", queue.name, count(task.moved), count(task.to_move))
    });
    let run = queue.last_run.as_ref().map(|run| {
        format!(
            "{}: last {} {} ago by {}: {}, {} put back ({})",
            queue.name,
            run.action.as_str(),
            ago(&run.updated_at),
            who(run.by.as_deref(), run.claimed_by.as_deref()),
            state(run.state, run.stopped),
            run.tally.redriven,
            run.run_id,
        )
    });
    tasks.chain(run).collect()
}

fn stuck(jobs: Option<&[StuckJob]>) -> Vec<String> {
    match jobs {
        None => Vec::new(),
        Some([]) => vec!["no job is stuck".to_owned()],
        Some(jobs) => {
            let rows =
                jobs.iter().map(|job| vec![job.job_id.clone(), job.status.clone(), format!("{} ago", ago(&job.updated_at))]);
            table_lines(&["stuck job", "status", "last change"], &[], rows)
        }
    }
}
