//! Dead jobs that are put back, jobs of a newer schema that wait, and what never comes back.

use ikkai::idempotency::Status;
use ikkai::testing::{Bench, MessageBuilder};

use crate::row::{Seen, exactly, expect};
use crate::script::{Scripted, Step, after, assert_state, counted, millis, permanent, record, retry, run, seconds, settings};

#[tokio::test]
async fn a_dead_job_runs_again_only_for_a_message_that_was_sent_well_after_its_death() {
    let handler = Scripted::new().on("a", [permanent()]).on("a", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    let message = MessageBuilder::email("a");
    run(&bench, [message.clone()]).await;
    let died_at = record(&bench, &message).died_at.expect("dead");
    for (sent_at, id) in [(died_at, "at-death"), (died_at + seconds(60), "margin")] {
        assert_eq!(run(&bench, [MessageBuilder::email("a").message_id(id).sent_at(sent_at)]).await.failed, [id]);
    }
    assert_eq!(handler.starts_of("a"), 1);
    let redriven = MessageBuilder::email("a").message_id("redriven").sent_at(died_at + millis(60_001));
    assert!(run(&bench, [redriven]).await.failed.is_empty());
    let record = record(&bench, &message);
    assert_state(&record, Status::Succeeded, 1, None);
    assert_eq!((record.generation, handler.effects_of("a")), (1, 1));
    let again = MessageBuilder::email("a").message_id("again").sent_at(died_at + seconds(3_600));
    assert!(run(&bench, [again]).await.failed.is_empty(), "what succeeded is acknowledged");
    assert_eq!(handler.effects_of("a"), 1);
}

#[tokio::test]
async fn a_job_in_doubt_never_runs_again_by_a_redrive() {
    let handler = Scripted::new().on("a", [Step::Begin(seconds(1)), Step::Effect, retry()]);
    let bench = Bench::with(handler.clone(), settings());
    run(&bench, [MessageBuilder::email("a")]).await;
    bench.clock.advance(seconds(7_200));
    let redriven = MessageBuilder::email("a").message_id("redriven").sent_at(after(seconds(7_000)));
    assert_eq!(run(&bench, [redriven]).await.failed, ["redriven"]);
    assert_eq!((handler.starts_of("a"), handler.effects_of("a")), (1, 1));
}

#[tokio::test]
async fn rounds_of_redrive_are_bounded() {
    let handler = Scripted::new().on("a", [permanent()]);
    let bench = Bench::with(handler.clone(), settings());
    for round in 0..20u64 {
        bench.clock.advance(seconds(3_600));
        let message =
            MessageBuilder::email("a").message_id(&format!("round-{round}")).sent_at(after(seconds(3_600 * (round + 1))));
        run(&bench, [message]).await;
    }
    assert_eq!(handler.starts_of("a"), 11, "the first round and ten put-backs");
}

// -- schema newer than known ---------------------------------------------------------------------------------------------------

fn of_version_2(message_id: &str) -> MessageBuilder {
    let body =
        MessageBuilder::email("a").to_json()["body"].as_str().unwrap().replace("\"schemaVersion\":1", "\"schemaVersion\":2");
    MessageBuilder::new(message_id, body)
}

#[tokio::test]
async fn a_newer_schema_waits_without_an_attempt_is_renewed_and_dies_after_the_hold() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    expect(
        &bench,
        &of_version_2("a"),
        Seen {
            visible_in: exactly(seconds(300)),
            reported: true,
            metric: Some("JobsDeferred"),
            line: "job deferred",
            outcome: "schema_held",
        },
    )
    .await;
    let held = record(&bench, &of_version_2("a"));
    assert_state(&held, Status::RetryScheduled, 0, None);
    assert_eq!(held.schema_held_since, Some(Bench::<Scripted>::START));

    bench.clock.advance(seconds(86_399));
    let answer = run(&bench, [of_version_2("a").received(5)]).await;
    assert!(answer.failed.is_empty(), "renewed, so that retention never removes it");
    let [copy] = &bench.queue.sent()[..] else { panic!("one copy") };
    assert_eq!((Some(&copy.body), copy.delay), (of_version_2("a").build().body.as_ref(), seconds(300)));

    bench.clock.advance(seconds(1));
    let answer = run(&bench, [of_version_2("a-copy")]).await;
    assert_eq!(answer.failed, ["a-copy"]);
    assert_eq!(counted(&answer, "JobsDead"), 1);
    let dead = record(&bench, &of_version_2("a"));
    assert_state(&dead, Status::Dead, 0, Some("schema_too_new"));
    assert_eq!(handler.starts_of("a"), 0);

    let answer = run(&bench, [of_version_2("a-copy").received(5)]).await;
    assert_eq!(answer.failed, ["a-copy"], "dead is not renewed");
}

#[tokio::test]
async fn a_job_that_died_of_its_schema_waits_again_when_it_is_put_back_and_runs_once_its_version_is_known() {
    let handler = Scripted::new();
    let bench = Bench::with(handler.clone(), settings());
    run(&bench, [of_version_2("a")]).await;
    bench.clock.advance(seconds(86_400));
    run(&bench, [of_version_2("a")]).await;
    let died_at = record(&bench, &of_version_2("a")).died_at.expect("dead");

    let too_soon = of_version_2("soon").sent_at(died_at + seconds(60));
    assert_eq!(run(&bench, [too_soon]).await.failed, ["soon"]);
    assert_eq!(record(&bench, &of_version_2("a")).status, Status::Dead, "a send that raced with the death is no put-back");

    bench.clock.advance(seconds(3_600));
    let put_back = of_version_2("late").sent_at(died_at + millis(60_001));
    let answer = run(&bench, [put_back]).await;
    assert_eq!((counted(&answer, "JobsDeferred"), answer.failed), (1, vec!["late".to_owned()]));
    let held = record(&bench, &of_version_2("a"));
    assert_eq!((held.status, held.generation, held.died_at), (Status::RetryScheduled, 1, None));

    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(handler.effects_of("a"), 1);
}
