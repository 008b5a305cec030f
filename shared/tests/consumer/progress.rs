//! Long jobs: parts that are done are kept, and every other way to stop is what it was.

use std::time::Duration;

use ikkai::consumer::{ConsumerSettings, Failure, JobContext};
use ikkai::idempotency::{EffectPolicy, ErrorClass, Status};
use ikkai::testing::{Bench, MessageBuilder, StoreCall, StoreFault};
use serde_json::{Value, json};

use crate::row::{Seen, exactly, expect};
use crate::script::{
    Scripted, Step, after, assert_state, code, counted, fifo, killed_after, record, retry, run, seconds, settings, unfinished,
    visible_in,
};

fn row(number: u64) -> Value {
    json!({"row": number})
}

fn part(number: u64) -> Vec<Step> {
    vec![Step::Save(row(number)), unfinished()]
}

fn two_parts() -> Scripted {
    Scripted::new().on("a", part(1)).on("a", part(2)).on("a", [Step::Effect])
}

#[tokio::test]
async fn a_part_that_is_done_comes_back_at_once_and_uses_nothing_up() {
    let bench = Bench::with(two_parts(), settings());
    let message = MessageBuilder::email("a");
    expect(
        &bench,
        &message,
        Seen {
            visible_in: exactly(Duration::ZERO),
            reported: true,
            metric: Some("JobsContinued"),
            line: "job continued",
            outcome: "continued",
        },
    )
    .await;
    let record = record(&bench, &message);
    assert_state(&record, Status::RetryScheduled, 0, None);
    assert_eq!((record.parts, record.progress, record.retry_at), (1, Some(row(1)), Some(after(seconds(0)))));
}

#[tokio::test]
async fn each_run_gets_what_the_one_before_saved_and_a_success_removes_it() {
    let handler = two_parts();
    let bench = Bench::new(handler.clone());
    let message = MessageBuilder::email("a");
    for failed in [1, 1, 0] {
        assert_eq!(run(&bench, [message.clone()]).await.failed.len(), failed);
    }
    assert_eq!(handler.progress(), [None, Some(row(1)), Some(row(2))]);
    let record = record(&bench, &message);
    assert_state(&record, Status::Succeeded, 1, None);
    assert_eq!((record.parts, record.progress), (2, None));
}

#[tokio::test]
async fn parts_are_neither_a_reason_to_slow_down_nor_a_sign_of_poison() {
    let bench = Bench::with(two_parts(), ConsumerSettings { error_when_all_fail: true, circuit_failures: 1, ..settings() });
    let answer = run(&bench, [MessageBuilder::email("a").received(3)]).await;
    assert_eq!((answer.failed.len(), counted(&answer, "PoisonSeen")), (1, 0));
    let answer = run(&bench, [MessageBuilder::email("b")]).await;
    assert!(answer.failed.is_empty(), "the circuit is closed");
}

#[tokio::test]
async fn a_message_is_renewed_when_parts_have_used_its_receives() {
    let bench = Bench::with(two_parts(), settings());
    let answer = run(&bench, [MessageBuilder::email("a").received(5)]).await;
    assert!(answer.failed.is_empty(), "the original may go");
    let copies = bench.queue.sent();
    assert_eq!((copies.len(), copies[0].delay, counted(&answer, "JobsContinued")), (1, Duration::ZERO, 1));
}

#[tokio::test]
async fn on_a_fifo_queue_the_last_receive_ends_the_job_with_its_progress_kept() {
    let bench = Bench::with(two_parts(), fifo());
    let message = MessageBuilder::email("a").queue("email.fifo").group("g");
    run(&bench, [message.clone().received(5)]).await;
    assert_eq!((record(&bench, &message).status, visible_in(&bench, &message)), (Status::RetryScheduled, Some(Duration::ZERO)));
    run(&bench, [message.clone().received(6)]).await;
    let record = record(&bench, &message);
    assert_state(&record, Status::Dead, 1, Some("receives_exhausted"));
    assert_eq!(record.progress, Some(row(2)));
}

#[tokio::test]
async fn a_fifo_group_waits_for_the_parts_of_its_head() {
    let handler = two_parts();
    let bench = Bench::with(handler.clone(), fifo());
    let messages = ["a", "b"].map(|name| MessageBuilder::email(name).message_id(name).queue("email.fifo").group("g"));
    let answer = run(&bench, messages).await;
    assert_eq!((answer.failed, handler.starts_of("b")), (vec!["a".to_owned(), "b".to_owned()], 0));
}

#[tokio::test]
async fn a_job_that_never_ends_is_dead_after_its_most_parts() {
    let handler = (1..9).fold(Scripted::new(), |handler, number| handler.on("a", part(number)));
    let bench = Bench::with(handler.clone(), ConsumerSettings { max_parts: 3, ..settings() });
    for _ in 0..4 {
        assert_eq!(run(&bench, [MessageBuilder::email("a")]).await.failed, ["a"]);
    }
    assert_eq!(handler.starts_of("a"), 3);
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_state(&record, Status::Dead, 1, Some("parts_used_up"));
    assert_eq!(record.last_error.map(|error| error.class), Some(ErrorClass::Permanent));
}

#[tokio::test]
async fn a_run_without_new_progress_is_a_failed_attempt() {
    let same_again = || vec![Step::Save(row(1)), unfinished()];
    for steps in [vec![unfinished()], same_again()] {
        let handler = Scripted::new().on("a", same_again()).on("a", steps);
        let bench = Bench::with(handler.clone(), settings());
        for _ in 0..6 {
            run(&bench, [MessageBuilder::email("a").sent_at(after(seconds(0)))]).await;
            bench.clock.advance(seconds(3_600));
        }
        assert_eq!(handler.starts_of("a"), 4, "one part, then three attempts");
        assert_state(&record(&bench, &MessageBuilder::email("a")), Status::Dead, 3, Some("no_progress"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_after_the_note_goes_on_from_it_and_counts() {
    let handler = Scripted::new().on("a", [Step::Save(row(1)), Step::Hang]).on("a", [Step::Effect]);
    let bench = Bench::timed(handler.clone());
    killed_after(&bench, seconds(5), [MessageBuilder::email("a")]).await;
    tokio::time::sleep(seconds(60)).await;
    assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
    assert_eq!(handler.progress(), [None, Some(row(1))]);
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((record.attempts, record.crashes, record.progress), (2, 1, None));
}

#[tokio::test]
async fn failures_are_counted_between_two_parts_and_not_over_the_whole_job() {
    let handler = (1..6).fold(Scripted::new(), |handler, number| handler.on("a", [retry()]).on("a", part(number)));
    let bench = Bench::new(handler.on("a", [retry()]));
    for expected in (1..6).flat_map(|_| [1, 0]).chain([1, 2, 3]) {
        run(&bench, [MessageBuilder::email("a").sent_at(after(seconds(0)))]).await;
        bench.clock.advance(seconds(3_600));
        assert_eq!(record(&bench, &MessageBuilder::email("a")).attempts, expected);
    }
    let ended = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((ended.status, ended.parts), (Status::Dead, 5));
}

#[tokio::test]
async fn a_failure_after_the_note_goes_on_from_it_too() {
    let handler = Scripted::new().on("a", [Step::Save(row(1)), retry()]).on("a", [Step::Effect]);
    let bench = Bench::new(handler.clone());
    run(&bench, [MessageBuilder::email("a")]).await;
    bench.clock.advance(seconds(60));
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(handler.progress(), [None, Some(row(1))]);
}

#[tokio::test]
async fn under_hold_a_job_that_stops_after_its_announcement_is_in_doubt() {
    let steps = || vec![Step::Begin(seconds(1)), Step::Effect, Step::Save(row(1)), unfinished()];
    for (policy, status) in [(EffectPolicy::Hold, Status::InDoubt), (EffectPolicy::RERUN, Status::RetryScheduled)] {
        let bench = Bench::with(Scripted::new().policy(policy).on("a", steps()), settings());
        run(&bench, [MessageBuilder::email("a")]).await;
        assert_eq!(record(&bench, &MessageBuilder::email("a")).status, status);
    }
}

#[tokio::test]
async fn progress_of_another_size_or_of_nothing_is_refused() {
    let largest = "x".repeat(JobContext::MAX_PROGRESS_BYTES - 2);
    let too_large = "x".repeat(JobContext::MAX_PROGRESS_BYTES - 1);
    for (progress, reason) in
        [(json!(largest), None), (json!(too_large), Some("progress_too_large")), (Value::Null, Some("progress_empty"))]
    {
        let bench = Bench::with(Scripted::new().on("a", [Step::Save(progress)]), settings());
        run(&bench, [MessageBuilder::email("a")]).await;
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!(code(&record), reason);
        assert_eq!((record.status == Status::Succeeded, record.progress), (reason.is_none(), None));
    }
}

#[tokio::test]
async fn a_note_whose_answer_is_lost_fails_the_run_and_is_there_for_the_next_one() {
    let handler = Scripted::new().on("a", part(1)).on("a", [Step::Effect]);
    let bench = Bench::with(handler.clone(), settings());
    bench.store.fail_next(StoreCall::Replace, StoreFault::LoseAnswer);
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_state(&record(&bench, &MessageBuilder::email("a")), Status::RetryScheduled, 1, Some("store_unreachable"));
    bench.clock.advance(seconds(60));
    run(&bench, [MessageBuilder::email("a")]).await;
    assert_eq!(handler.progress(), [None, Some(row(1))]);
}

#[tokio::test]
async fn the_sdk_meeting_its_own_note_changes_nothing() {
    let bench = Bench::with(two_parts(), settings());
    bench.store.fail_next(StoreCall::Replace, StoreFault::RepeatAfterLostAnswer);
    run(&bench, [MessageBuilder::email("a")]).await;
    let record = record(&bench, &MessageBuilder::email("a"));
    assert_eq!((record.status, record.parts, record.progress), (Status::RetryScheduled, 1, Some(row(1))));
}

/// Saves, whatever the table says to it, and is done.
struct Careless;

impl ikkai::consumer::Handler for Careless {
    type Payload = ikkai::job::EmailSend;

    async fn handle(
        &self,
        _job: &ikkai::job::Job<ikkai::job::EmailSend>,
        context: &JobContext,
    ) -> Result<ikkai::consumer::Done, Failure> {
        for number in [1, 1] {
            let _ignored = context.save_progress(row(number)).await;
        }
        Ok(ikkai::consumer::Done::new())
    }
}

#[tokio::test]
async fn nothing_is_left_of_a_note_whose_answer_was_lost_and_none_is_missed_that_was_refused() {
    for fault in [StoreFault::LoseAnswer, StoreFault::Throttle] {
        let bench = Bench::with(Careless, settings());
        bench.store.fail_next(StoreCall::Replace, fault);
        bench.store.fail_next(StoreCall::Replace, fault);
        assert!(run(&bench, [MessageBuilder::email("a")]).await.failed.is_empty());
        let record = record(&bench, &MessageBuilder::email("a"));
        assert_eq!((record.status, record.progress), (Status::Succeeded, None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_lost_its_lease_saves_nothing() {
    let handler = Scripted::new().on("a", [Step::Sleep(seconds(20)), Step::Save(row(1)), unfinished()]).on("a", [Step::Hang]);
    let bench = Bench::timed(handler.clone());
    let message = MessageBuilder::email("a");
    let slow = run(&bench, [message.clone()]);
    let thief = async {
        tokio::time::sleep(seconds(5)).await;
        let mut stolen = record(&bench, &message);
        stolen.lease_token = Some("another worker".to_owned());
        bench.records.put(stolen);
    };
    let (answer, ()) = futures::future::join(slow, thief).await;
    assert_eq!((answer.failed.len(), counted(&answer, "LeaseLost")), (1, 1));
    assert_eq!(record(&bench, &message).progress, None);
}
