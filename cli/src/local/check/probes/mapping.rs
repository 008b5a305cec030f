//! How a mapping hands messages to the function.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use check_probe::{Report, Wish};
use futures::FutureExt;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Trouble, part};
use crate::local::check::worker::{Mapping, TIMEOUT_SECONDS, VISIBILITY_SECONDS};

const GROUP: &str = "mapping and function";

/// How long a message keeps the function busy where overlap is counted.
const BUSY_MS: u64 = 1_500;

const MAXIMUM_CONCURRENCY: i32 = 2;

const WINDOW_SECONDS: i32 = 3;

pub(super) const PROBES: [Probe; 5] = [
    Probe {
        id: "batch-size",
        group: GROUP,
        feature: "batch size",
        aws: "A batch holds up to `BatchSize` messages, and more than one where more are waiting.",
        source: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html",
        needs: Needs::Function,
        run: |lab| batch_size(lab).boxed_local(),
    },
    Probe {
        id: "batching-window",
        group: GROUP,
        feature: "batching window",
        aws: "An incomplete batch waits for `MaximumBatchingWindowInSeconds` before the function is invoked.",
        source: "https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventsourcemapping.html",
        needs: Needs::Function,
        run: |lab| batching_window(lab).boxed_local(),
    },
    Probe {
        id: "maximum-concurrency",
        group: GROUP,
        feature: "maximum concurrency",
        aws: "No more invocations run at once than the mapping's `MaximumConcurrency`.",
        source: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html",
        needs: Needs::Function,
        run: |lab| maximum_concurrency(lab).boxed_local(),
    },
    Probe {
        id: "deadline-header",
        group: GROUP,
        feature: "deadline of an invocation",
        aws: "`Lambda-Runtime-Deadline-Ms` is the moment at which the function's timeout ends.",
        source: "https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html",
        needs: Needs::Function,
        run: |lab| deadline(lab).boxed_local(),
    },
    Probe {
        id: "function-timeout",
        group: GROUP,
        feature: "function timeout",
        aws: "An invocation is ended when the function's timeout is over, and its batch comes back.",
        source: "https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html",
        needs: Needs::Function,
        run: |lab| timeout(lab).boxed_local(),
    },
];

async fn batch_size(lab: &Lab) -> Result<Finding, Trouble> {
    const MESSAGES: usize = 12;
    const SIZE: usize = 5;
    let reports = lab.queue("batch-size-told", Vec::new()).await?;
    let (queue, _) = lab.queue_with_dead_letters("batch-size", VISIBILITY_SECONDS, 3).await?;
    let bodies: Vec<_> = (0..MESSAGES).map(|number| lab.instruction(format!("m{number}"), &reports, Wish::Done)).collect();
    lab.send_all(&queue, &bodies).await?;
    lab.map(&queue, Mapping { batch_size: 5, ..Mapping::default() }).await?;
    let told = lab.reports(&reports, MESSAGES).await?;
    let largest = told.iter().map(|report| report.tags.len()).max().unwrap_or(0);
    let seen = format!("{MESSAGES} messages came in {} batches of up to {largest} with BatchSize {SIZE}", told.len());
    Ok(Finding::judged((2..=SIZE).contains(&largest), seen))
}

async fn batching_window(lab: &Lab) -> Result<Finding, Trouble> {
    let reports = lab.queue("batching-window-told", Vec::new()).await?;
    let (queue, _) = lab.queue_with_dead_letters("batching-window", VISIBILITY_SECONDS + 5, 3).await?;
    lab.map(&queue, Mapping { window_seconds: WINDOW_SECONDS, ..Mapping::default() }).await?;
    let sent_ms = now_ms();
    lab.send(&queue, lab.instruction("m0", &reports, Wish::Done)).await?;
    let told = lab.reports(&reports, 1).await?;
    let began_ms = told.iter().map(|report| report.began_ms).min();
    let waited = Duration::from_millis(part(began_ms, "the function", "report")?.saturating_sub(sent_ms));
    let seen = format!("one message waited {:.1} s for its invocation with a window of {WINDOW_SECONDS} s", waited.as_secs_f64());
    // The clocks of this machine and of the function's need not agree to the last bit.
    Ok(Finding::judged(waited >= Duration::from_millis(WINDOW_SECONDS.unsigned_abs().into()).saturating_mul(900), seen))
}

async fn maximum_concurrency(lab: &Lab) -> Result<Finding, Trouble> {
    const MESSAGES: usize = 8;
    let reports = lab.queue("maximum-concurrency-told", Vec::new()).await?;
    let (queue, _) = lab.queue_with_dead_letters("maximum-concurrency", VISIBILITY_SECONDS + 10, 5).await?;
    let wish = Wish::Sleep { ms: BUSY_MS };
    let bodies: Vec<_> = (0..MESSAGES).map(|number| lab.instruction(format!("m{number}"), &reports, wish)).collect();
    lab.send_all(&queue, &bodies).await?;
    let mapping = Mapping { batch_size: 1, maximum_concurrency: Some(MAXIMUM_CONCURRENCY), ..Mapping::default() };
    lab.map(&queue, mapping).await?;
    let told = lab.reports(&reports, MESSAGES).await?;
    let most = overlap(&told, BUSY_MS);
    let seen = format!("up to {most} of {MESSAGES} invocations ran at once with MaximumConcurrency {MAXIMUM_CONCURRENCY}");
    Ok(Finding::judged((1..=MAXIMUM_CONCURRENCY.unsigned_abs() as usize).contains(&most), seen))
}

/// The largest number of invocations that were busy at one moment.
fn overlap(reports: &[Report], busy_ms: u64) -> usize {
    let busy_at =
        |moment: u64| reports.iter().filter(|report| (report.began_ms..report.began_ms + busy_ms).contains(&moment)).count();
    reports.iter().map(|report| busy_at(report.began_ms)).max().unwrap_or(0)
}

async fn deadline(lab: &Lab) -> Result<Finding, Trouble> {
    let reports = lab.queue("deadline-told", Vec::new()).await?;
    let (queue, _) = lab.queue_with_dead_letters("deadline", VISIBILITY_SECONDS, 3).await?;
    lab.send(&queue, lab.instruction("m0", &reports, Wish::Done)).await?;
    lab.map(&queue, Mapping::default()).await?;
    let told = lab.reports(&reports, 1).await?;
    let report = part(told.first(), "the function", "report")?;
    let left = report.deadline_ms.saturating_sub(report.began_ms);
    let timeout_ms = u64::from(TIMEOUT_SECONDS.unsigned_abs()) * 1_000;
    let seen = format!("{:.1} s were left when the function began, with a timeout of {TIMEOUT_SECONDS} s", left as f64 / 1_000.0);
    // What the way to the function takes is not much.
    Ok(Finding::judged((timeout_ms / 2..=timeout_ms + 100).contains(&left), seen))
}

async fn timeout(lab: &Lab) -> Result<Finding, Trouble> {
    let reports = lab.queue("function-timeout-told", Vec::new()).await?;
    let (queue, dead) = lab.queue_with_dead_letters("function-timeout", VISIBILITY_SECONDS, 1).await?;
    lab.send(&queue, lab.instruction("m0", &reports, Wish::Sleep { ms: 20_000 })).await?;
    lab.map(&queue, Mapping::default()).await?;
    let told = lab.reports(&reports, 1).await?;
    let began_ms = part(told.first(), "the function", "report")?.began_ms;
    let came_back = lab.take(&dead, 1, Duration::from_secs(15)).await?;
    let after = Duration::from_millis(now_ms().saturating_sub(began_ms));
    if came_back.is_empty() {
        let seen = format!(
            "a batch that took longer than the timeout of {TIMEOUT_SECONDS} s had not come back after {:.0} s",
            after.as_secs_f64()
        );
        return Ok(Finding::differs(seen));
    }
    Ok(Finding::as_aws(format!(
        "a batch that takes 20 s came back after {:.0} s, with a timeout of {TIMEOUT_SECONDS} s",
        after.as_secs_f64()
    )))
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invocations_overlap_while_both_are_busy() {
        let reports = |began: &[u64]| -> Vec<Report> {
            let report = |began_ms: &u64| Report { began_ms: *began_ms, deadline_ms: 0, tags: Vec::new() };
            began.iter().map(report).collect()
        };
        assert_eq!(overlap(&reports(&[]), 100), 0);
        assert_eq!(overlap(&reports(&[0, 100, 200]), 100), 1, "one begins when the other ends");
        assert_eq!(overlap(&reports(&[0, 50, 99, 100]), 100), 3);
    }
}
