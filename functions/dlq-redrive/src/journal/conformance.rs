//! What every [`Journal`] has to do, as one suite: run against the journal in memory, and against DynamoDB engines.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use ikkai::clock::{Clock, EpochMillis, SystemClock};
use serde_json::{Value, json};

use super::{Begun, Journal, Locked, Run};
use crate::protocol::{Action, Filter, MessageVerdict, RunState, RunSummary, Tally, VerdictCode};

/// A run that has just begun.
#[must_use]
pub fn run(run_id: &str, queues: &[&str], began_at: EpochMillis) -> Run {
    let summary = RunSummary {
        run_id: run_id.to_owned(),
        action: Action::Redrive,
        queues: queues.iter().map(|name| (*name).to_owned()).collect(),
        started_at: began_at.rfc3339().to_string(),
        updated_at: began_at.rfc3339().to_string(),
        state: RunState::Continues,
        stopped: None,
        dry_run: false,
        by: None,
        claimed_by: Some("Ada".to_owned()),
        reason: "the provider is back".to_owned(),
        filter: Some(Filter { codes: vec!["provider_error".to_owned()], ..Filter::default() }),
        tally: Tally::default(),
    };
    Run { summary, request_digest: "digest".to_owned(), parts: 0, began_at, progress: Value::Null, last_answer: None }
}

/// Runs the whole suite. `prefix` keeps its runs and queues apart from others in the same table.
///
/// # Panics
/// When the journal does not conform.
pub async fn suite(journal: Arc<dyn Journal>, prefix: &str) {
    let name = |text: &str| format!("{prefix}-{text}");
    a_run_is_begun_once(&*journal, &name("begun")).await;
    a_run_is_saved_only_over_the_part_that_was_known(&*journal, &name("saved")).await;
    verdicts_come_back_in_order_and_a_page_replaces_itself(&*journal, &name("verdicts")).await;
    history_has_the_last_run_first(&*journal, &name("history")).await;
    a_queue_has_one_holder(&*journal, &name("lock")).await;
    one_of_many_gets_the_queue(&*journal, &name("race")).await;
}

async fn a_run_is_begun_once(journal: &dyn Journal, name: &str) {
    assert_eq!(journal.find(name).await.unwrap(), None);
    let first = run(name, &[name], SystemClock.now());
    assert_eq!(journal.begin(&first).await.unwrap(), Begun::New);
    let other = Run { request_digest: "other".to_owned(), ..first.clone() };
    assert_eq!(journal.begin(&other).await.unwrap(), Begun::Exists(Box::new(first.clone())));
    assert_eq!(journal.find(name).await.unwrap(), Some(first));
    assert_eq!(journal.history(name, 10).await.unwrap().len(), 1, "beginning a run again does not tell it twice");
}

async fn a_run_is_saved_only_over_the_part_that_was_known(journal: &dyn Journal, name: &str) {
    let mut known = run(name, &[name], SystemClock.now());
    assert!(!journal.save(&known, 0).await.unwrap(), "there is no such run");
    journal.begin(&known).await.unwrap();
    known.progress = json!({"sent": ["a", "b"], "text": "ü"});
    assert!(journal.save(&known, 0).await.unwrap(), "a checkpoint within a part");
    known.parts = 1;
    known.last_answer = Some(json!({"verdicts": []}));
    known.summary.tally.redriven = 7;
    assert!(journal.save(&known, 0).await.unwrap());
    let late = Run { progress: json!("late"), parts: 1, ..known.clone() };
    assert!(!journal.save(&late, 0).await.unwrap(), "somebody else has done that part");
    assert_eq!(journal.find(name).await.unwrap(), Some(known.clone()));
    assert_eq!(journal.history(name, 1).await.unwrap(), [known.summary], "the history tells the run as it is now");
}

async fn verdicts_come_back_in_order_and_a_page_replaces_itself(journal: &dyn Journal, name: &str) {
    let verdicts = |page: u32, count: usize| -> Vec<MessageVerdict> {
        let verdict = |index: usize| MessageVerdict {
            message_id: Some(format!("{page}-{index}")),
            job_ids: vec![format!("email.send-{index}")],
            verdict: VerdictCode::Redriven,
            detail: Some("it is back".to_owned()),
        };
        (0..count).map(verdict).collect()
    };
    assert_eq!(journal.verdicts(name, 10).await.unwrap(), []);
    for (page, count) in [(2, 3), (10, 2), (1, 1), (1, 4)] {
        journal.add_verdicts(name, page, &verdicts(page, count)).await.unwrap();
    }
    let all = [verdicts(1, 4), verdicts(2, 3), verdicts(10, 2)].concat();
    assert_eq!(journal.verdicts(name, 100).await.unwrap(), all);
    assert_eq!(journal.verdicts(name, 5).await.unwrap(), all[..5]);
    assert_eq!(journal.verdicts(&format!("{name}-other"), 5).await.unwrap(), []);
}

async fn history_has_the_last_run_first(journal: &dyn Journal, name: &str) {
    let (email, image) = (format!("{name}-email"), format!("{name}-image"));
    let started = SystemClock.now();
    for (number, queues) in [(1, vec![email.as_str()]), (2, vec![&email, &image]), (3, vec![&image]), (0, vec![&email])] {
        let began_at = started + Duration::from_secs(number);
        journal.begin(&run(&format!("{name}-{number}"), &queues, began_at)).await.unwrap();
    }
    let told = async |queue: &str, max| {
        let runs = journal.history(queue, max).await.unwrap();
        runs.into_iter().map(|run| run.run_id.rsplit('-').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(&email, 10).await, ["2", "1", "0"]);
    assert_eq!(told(&image, 10).await, ["3", "2"]);
    assert_eq!(told(&email, 2).await, ["2", "1"]);
    assert_eq!(told(&format!("{name}-billing"), 10).await, [""; 0]);
}

async fn a_queue_has_one_holder(journal: &dyn Journal, name: &str) {
    let now = SystemClock.now();
    let (soon, late) = (now + Duration::from_secs(60), now + Duration::from_secs(120));
    let lock = async |run_id: &str, until, at| journal.lock(name, run_id, until, at).await.unwrap();
    assert_eq!(lock("one", soon, now).await, Locked::Yes);
    assert_eq!(lock("two", late, now).await, Locked::HeldBy { run_id: "one".to_owned(), until: soon });
    assert_eq!(lock("one", late, now).await, Locked::Yes, "its holder takes it for longer");
    assert_eq!(lock("two", late, soon).await, Locked::HeldBy { run_id: "one".to_owned(), until: late });
    journal.unlock(name, "two").await.unwrap();
    assert_eq!(
        lock("two", late, soon).await,
        Locked::HeldBy { run_id: "one".to_owned(), until: late },
        "nobody lets go for another"
    );
    assert_eq!(lock("two", late + Duration::from_secs(1), late).await, Locked::Yes, "its time is over");
    journal.unlock(name, "two").await.unwrap();
    assert_eq!(lock("three", late, now).await, Locked::Yes);
    journal.unlock(name, "three").await.unwrap();
    journal.unlock(name, "three").await.unwrap();
}

async fn one_of_many_gets_the_queue(journal: &dyn Journal, name: &str) {
    let now = SystemClock.now();
    let ids: Vec<_> = (0..8).map(|number| format!("{name}-{number}")).collect();
    let answers = join_all(ids.iter().map(|run_id| journal.lock(name, run_id, now + Duration::from_secs(60), now))).await;
    let got = answers.into_iter().filter(|answer| *answer == Ok(Locked::Yes)).count();
    assert_eq!(got, 1);
}
