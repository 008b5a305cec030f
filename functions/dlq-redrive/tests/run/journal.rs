//! What is kept of a run: who, when, why, what was meant, and the verdict on every message.

use std::time::Duration;

use dlq_redrive::journal::Journal;
use dlq_redrive::protocol::{Action, RunState, VerdictCode};
use serde_json::json;

use crate::scene::Scene;

#[tokio::test(start_paused = true)]
async fn a_run_is_kept_with_who_when_why_and_what() {
    let scene = Scene::new();
    scene.many_dead(3);
    let request = json!({ "reason": "the provider is back", "claimedBy": "ada", "filter": { "classes": ["permanent"] } });
    let answer = scene.redrive(request).await.unwrap();
    let runs = scene.journal.history("email", 10).await.unwrap();
    let [run] = runs.as_slice() else { panic!("{runs:?}") };
    assert_eq!((run.action, run.state, run.run_id.as_str()), (Action::Redrive, RunState::Finished, answer.run_id.as_str()));
    assert_eq!(run.by.as_deref(), Some("arn:aws:sts::000000000000:assumed-role/operator"));
    assert_eq!((run.claimed_by.as_deref(), run.reason.as_str()), (Some("ada"), "the provider is back"));
    assert_eq!(run.started_at, "2027-01-15T08:00:00.000Z");
    assert_eq!(run.filter.as_ref().unwrap().classes, ["permanent"]);
    assert_eq!(run.tally, answer.tally);
}

#[tokio::test(start_paused = true)]
async fn every_verdict_is_kept_also_beyond_what_an_answer_holds() {
    let scene = Scene::new();
    scene.many_dead(1_230);
    let answer = scene.redrive(json!({ "stopAtReturnedPercent": 100 })).await.unwrap();
    assert_eq!(answer.verdicts.len(), 1_000);
    let kept = scene.journal.verdicts(&answer.run_id, 10_000).await.unwrap();
    assert_eq!(kept.len(), 1_230);
    assert_eq!(kept[..1_000], answer.verdicts);
    let mut names: Vec<_> = kept.iter().map(|verdict| verdict.job_ids[0].clone()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 1_230);
}

#[tokio::test(start_paused = true)]
async fn the_verdicts_of_all_parts_are_kept_in_order() {
    let scene = Scene::new();
    scene.many_dead(100);
    let answers = scene.redrive_to_the_end(Duration::from_secs(35), json!({ "ratePerSecond": 2 })).await;
    let told: Vec<_> = answers.iter().flat_map(|answer| answer.verdicts.clone()).collect();
    assert_eq!(scene.journal.verdicts(&answers[0].run_id, 10_000).await.unwrap(), told);
}

#[tokio::test(start_paused = true)]
async fn a_run_is_written_down_before_anything_is_changed() {
    let scene = Scene::new();
    scene.many_dead(1);
    scene.sqs.crash_at(3, ikkai::testing::Moment::Before);
    tokio::select! {
        answer = scene.redrive(json!({})) => panic!("{answer:?}"),
        () = scene.sqs.crashed() => {}
    }
    let runs = scene.journal.runs();
    assert_eq!((runs.len(), runs[0].summary.state), (1, RunState::Continues));
}

#[tokio::test(start_paused = true)]
async fn metrics_count_by_job_type_and_a_dry_run_counts_nothing() {
    let scene = Scene::new();
    scene.many_dead(3);
    scene.redrive(json!({ "dryRun": true })).await.unwrap();
    let mut none = Vec::new();
    scene.workbench.metrics.flush(scene.now(), &mut none).unwrap();
    assert!(none.is_empty());
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(answer.tally.by_verdict[&VerdictCode::Redriven], 3);
    let mut lines = Vec::new();
    scene.workbench.metrics.flush(scene.now(), &mut lines).unwrap();
    let line: serde_json::Value = serde_json::from_slice(&lines).unwrap();
    assert_eq!((&line["JobsRedriven"], &line["JobType"]), (&json!(3), &json!("email.send")));
}
