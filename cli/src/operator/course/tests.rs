use serde_json::json;

use super::*;
use crate::operator::scripted::{Line, ScriptedDesk, refusal, run};

fn redrive() -> RunRequest {
    let request = json!({"action": "redrive", "queue": "email", "reason": "fixed", "runId": "run-1"});
    match Request::read(request).unwrap() {
        Request::Redrive(redrive) => RunRequest::Redrive(redrive),
        _ => unreachable!(),
    }
}

fn continues(mut answer: Value, cursor: &str, wait: u64) -> Value {
    (answer["cursor"], answer["continueAfterSeconds"]) = (cursor.into(), wait.into());
    answer
}

fn lost() -> Line {
    Line::Fails(DeskError::Lost { function: "redrive".to_owned(), source: "connection reset".into() })
}

fn says(answer: Value) -> Line {
    Line::Says(Duration::ZERO, answer)
}

async fn follow(desk: &ScriptedDesk) -> (Course, Outcome, Vec<String>) {
    let (mut interrupt, _wish) = Interrupt::scripted();
    let (mut course, mut told) = (Course::new(redrive()), Vec::new());
    let outcome = course.follow(desk, &mut interrupt, &mut |sight| told.push(format!("{sight:?}"))).await;
    (course, outcome, told)
}

#[tokio::test(start_paused = true)]
async fn a_run_of_one_part_is_answered_as_it_came() {
    let mut answer = run("redrive", "finished", &[("redriven", &["a"])]);
    answer["newer"] = 1.into();
    let desk = ScriptedDesk::says([answer.clone()]);
    let (_, Outcome::Answered(reply), told) = follow(&desk).await else { panic!() };
    assert_eq!(reply.json, answer);
    assert!(told.is_empty(), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_run_goes_on_at_its_cursor_with_the_same_request_after_the_time_that_it_gave() {
    let desk = ScriptedDesk::says([
        continues(run("redrive", "continues", &[("redriven", &["a", "b"])]), "1", 30),
        continues(run("redrive", "continues", &[("in_doubt", &["c"])]), "2", 0),
        run("redrive", "finished", &[("redriven", &["d"])]),
    ]);
    let begun = tokio::time::Instant::now();
    let (_, Outcome::Answered(reply), told) = follow(&desk).await else { panic!() };
    assert_eq!(begun.elapsed().as_secs(), 30);
    let asked = desk.asked();
    let cursors: Vec<_> = asked.iter().map(|request| request.get("cursor").cloned()).collect();
    assert_eq!(cursors, [None, Some(json!("1")), Some(json!("2"))]);
    for request in &asked {
        let mut same = request.clone();
        same.as_object_mut().unwrap().remove("cursor");
        assert_eq!(same, asked[0]);
    }
    let messages: Vec<_> = reply.json["verdicts"].as_array().unwrap().iter().map(|verdict| &verdict["messageId"]).collect();
    assert_eq!(messages, ["a", "b", "c", "d"], "verdicts of all parts");
    let Answer::Redrive(read) = &reply.answer else { panic!() };
    assert_eq!((read.verdicts.len(), read.state), (4, RunState::Finished));
    assert_eq!(told.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_ends_the_run_after_the_part_at_work_and_says_where_it_goes_on() {
    let (mut interrupt, wish) = Interrupt::scripted();
    let part = continues(run("redrive", "continues", &[("redriven", &["a"])]), "1", 600);
    let desk = ScriptedDesk::new([Line::Says(Duration::from_secs(100), part.clone())]);
    let mut course = Course::new(redrive());
    let stopping = async {
        sleep(Duration::from_secs(50)).await;
        wish.send(true).unwrap();
    };
    let begun = tokio::time::Instant::now();
    // The history cannot be read: that must not stop a run.
    let (watched, mut silent) = (Blind(&desk), |_: Sight<'_>| {});
    let (outcome, ()) = tokio::join!(course.follow(&watched, &mut interrupt, &mut silent), stopping);
    let Outcome::Interrupted(reply) = outcome else { panic!("{outcome:?}") };
    assert_eq!(begun.elapsed().as_secs(), 100, "the part was awaited, and no longer");
    assert_eq!((reply.json, course.request.cursor()), (part, Some("1")));
    assert_eq!(desk.asked().len(), 1);
}

/// A desk whose history cannot be read.
struct Blind<'a>(&'a ScriptedDesk);

#[async_trait::async_trait]
impl Desk for Blind<'_> {
    async fn ask(&self, request: &Request) -> Result<Reply, DeskError> {
        match request {
            Request::History(_) => Err(DeskError::Throttled { function: "redrive".to_owned() }),
            _ => self.0.ask(request).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_asked_for_again_under_the_same_run_id() {
    let at_work = refusal("redrive", "run_in_progress", "a run is at work");
    let desk = ScriptedDesk::new([lost(), says(at_work), says(run("redrive", "finished", &[("redriven", &["a"])]))]);
    let (_, Outcome::Answered(reply), told) = follow(&desk).await else { panic!() };
    assert_eq!(reply.json["state"], "finished");
    let asked = desk.asked();
    assert!(asked.len() == 3 && asked.iter().all(|request| *request == asked[0]), "{asked:?}");
    assert!(told.len() == 1 && told[0].contains("Lost"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_lost_again_and_again_is_told_so() {
    let desk = ScriptedDesk::new([lost(), lost(), lost(), lost()]);
    let (_, outcome, _) = follow(&desk).await;
    assert!(matches!(&outcome, Outcome::Lost(error) if error.is_lost()), "{outcome:?}");
    assert_eq!(desk.asked().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn somebody_elses_run_and_an_error_before_anything_was_asked_are_not_waited_for() {
    let desk = ScriptedDesk::says([refusal("redrive", "run_in_progress", "a run is at work")]);
    let (_, Outcome::Answered(reply), _) = follow(&desk).await else { panic!() };
    assert_eq!(reply.json["error"]["code"], "run_in_progress");

    let desk = ScriptedDesk::new([Line::Fails(DeskError::Throttled { function: "redrive".to_owned() })]);
    let (_, outcome, _) = follow(&desk).await;
    assert!(matches!(outcome, Outcome::Lost(DeskError::Throttled { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_part_at_work_is_seen_through_the_history() {
    let seen = |run_id: &str, redriven: u64| {
        json!({"version": 1, "action": "history", "ok": true, "runs": [{
            "runId": run_id, "action": "redrive", "queues": ["email"], "startedAt": "2031-07-14T08:15:00Z",
            "updatedAt": "2031-07-14T08:15:00Z", "state": "continues", "dryRun": false, "reason": "fixed",
            "tally": {"snapshot": 9, "seen": 5, "matched": 5, "redriven": redriven, "succeededAgain": 0, "failedAgain": 0, "byVerdict": {}},
        }]})
    };
    let answer = run("redrive", "finished", &[("redriven", &["a"])]);
    let desk = ScriptedDesk::new([Line::Says(Duration::from_secs(13), answer)]).beside([
        seen("another", 8),
        seen("another", 8),
        seen("another", 8),
        seen("run-1", 3),
        seen("another", 8),
        seen("run-1", 5),
    ]);
    let (_, Outcome::Answered(_), told) = follow(&desk).await else { panic!() };
    assert_eq!(told.len(), 2, "another run's counts are not this one's: {told:?}");
    assert!(told[0].contains("redriven: 3") && told[1].contains("redriven: 5"));
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_while_a_request_waits_to_be_repeated_is_heard_at_once() {
    let at_work = refusal("redrive", "run_in_progress", "this run is at work");
    for (lines, asked) in [(vec![lost()], 1), (vec![lost(), says(at_work)], 2)] {
        let (mut interrupt, wish) = Interrupt::scripted();
        let desk = ScriptedDesk::new(lines);
        let mut course = Course::new(redrive());
        let stopping = async {
            // The first repetition comes after 5 seconds, and is put off for 10 more.
            sleep(Duration::from_secs(if asked == 1 { 2 } else { 7 })).await;
            wish.send(true).unwrap();
        };
        let mut silent = |_: Sight<'_>| {};
        let (outcome, ()) = tokio::join!(course.follow(&desk, &mut interrupt, &mut silent), stopping);
        assert!(!matches!(outcome, Outcome::Interrupted(_)), "nobody knows what was done: {outcome:?}");
        assert!(course.has_begun());
        assert_eq!(desk.asked().len(), asked);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_has_begun_when_something_may_be_done() {
    let failed = DeskError::Failed { function: "f".to_owned(), kind: "Runtime.ExitError".to_owned(), message: "gone".to_owned() };
    let throttled = DeskError::Throttled { function: "f".to_owned() };
    for (error, begun) in [(failed, true), (DeskError::NotAnAnswer { why: "odd".to_owned() }, true), (throttled, false)] {
        let (course, outcome, _) = follow(&ScriptedDesk::new([Line::Fails(error)])).await;
        assert_eq!(course.has_begun(), begun, "{outcome:?}");
    }
}

#[test]
fn a_dry_run_has_a_name_of_its_own_and_begins_at_the_beginning() {
    let mut request = redrive();
    request.go_on_at("4".to_owned());
    let RunRequest::Redrive(dry) = request.dry() else { panic!() };
    assert!(dry.dry_run && dry.cursor.is_none());
    assert_ne!(dry.run_id.as_deref(), request.run_id());
}
