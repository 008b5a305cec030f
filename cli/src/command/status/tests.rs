use std::collections::BTreeMap;
use std::time::SystemTime;

use ikkai::clock::EpochMillis;
use serde_json::{Value, json};

use super::*;
use crate::operator::scripted::{ScriptedDesk, refusal};
use crate::screen::Screen;

fn queue(name: &str, dead: u64) -> Value {
    json!({"name": name, "queue": format!("ikkai-{name}"), "deadLetterQueue": format!("ikkai-{name}-dlq"),
        "jobType": format!("{name}.send"), "depth": {"visible": 12, "inFlight": 3, "delayed": 1},
        "deadLetters": {"visible": dead, "inFlight": 0, "delayed": 0}})
}

fn status(queues: &[Value]) -> Value {
    json!({"version": 1, "action": "status", "ok": true, "queues": queues})
}

fn group(code: &str, count: u64) -> Value {
    json!({"queue": "email", "status": "dead", "errorClass": "permanent", "errorCode": code, "count": count, "examples": [],
        "verdict": "redriven", "advice": "Put it back."})
}

fn list(groups: &[Value]) -> Value {
    json!({"version": 1, "action": "list", "ok": true, "seen": 9, "matched": 9, "more": false, "groups": groups})
}

fn all() -> StatusRequest {
    StatusRequest { queue: "all".to_owned(), stuck_after_seconds: None }
}

fn actions(desk: &ScriptedDesk) -> Vec<String> {
    desk.asked().iter().map(|request| request["action"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn one_screen_shows_every_queue_and_nothing_that_is_not_known() {
    let groups = [group("rare", 1), group("unknown_user", 5), group("b", 2), group("c", 3)];
    let desk = ScriptedDesk::says([status(&[queue("email", 11), queue("image", 0)]), list(&groups)]);
    let look = look::look(&desk, all(), &mut Reasons::default()).await.unwrap();
    let known = Figures {
        oldest_seconds: Some(42.0),
        succeeded: Some(98.0),
        retried: Some(2.0),
        handler_p95_ms: Some(340.0),
        latency_p95_ms: Some(12_000.0),
        ..Figures::default()
    };
    let figures = BTreeMap::from([("email".to_owned(), known)]);
    let (screen, memory) = Screen::remembering(Format::Text);
    assert_eq!(show(&screen, &look, &figures), Ending::Done);
    let expected = " queue  waiting  in flight  delayed  oldest  failing  handler p95  job p95  dead letters  why
 email       12          3        1    42 s    2.0 %        0.3 s     12 s            11  5 × unknown_user (permanent), 3 × c (permanent), 2 × b (permanent) and 1 more
 image       12          3        1       –        –            –        –             0
";
    assert!(memory.result().starts_with(expected), "{}", memory.result());
}

#[tokio::test]
async fn what_moves_and_what_is_stuck_stands_below() {
    let mut email = queue("email", 0);
    email["moveTasks"] = json!([{"status": "RUNNING", "moved": 3}]);
    email["lastRun"] = json!({"runId": "run-1", "action": "redrive", "queues": ["email"], "startedAt": "then", "updatedAt": "then",
        "state": "finished", "dryRun": false, "claimedBy": "me", "reason": "mended",
        "tally": {"snapshot": 4, "seen": 4, "matched": 4, "redriven": 2, "succeededAgain": 0, "failedAgain": 0, "byVerdict": {}}});
    let mut answer = status(&[email]);
    answer["stuck"] = json!([{"jobId": "j-1", "status": "accepted", "updatedAt": "then"}]);
    let look = look::look(&ScriptedDesk::says([answer]), all(), &mut Reasons::default()).await.unwrap();
    let (screen, memory) = Screen::remembering(Format::Text);
    show(&screen, &look, &BTreeMap::new());
    let told = memory.result();
    for line in [
        "email: SQS's own move task is RUNNING, 3 of ? moved",
        "email: last redrive then ago by me (claimed): finished, 2 put back (run-1)",
        " j-1        accepted  then ago",
    ] {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
}

#[tokio::test]
async fn programs_get_the_functions_answer_and_what_else_is_known() {
    let answer = status(&[queue("email", 1)]);
    let desk = ScriptedDesk::says([answer.clone(), list(&[group("oops", 1)])]);
    let look = look::look(&desk, all(), &mut Reasons::default()).await.unwrap();
    let (screen, memory) = Screen::remembering(Format::Json);
    let figures = BTreeMap::from([("email".to_owned(), Figures { dead: Some(1.0), ..Figures::default() })]);
    assert_eq!(show(&screen, &look, &figures), Ending::Done);
    let mut shown: Value = serde_json::from_str(&memory.result()).unwrap();
    assert_eq!(shown["figures"].take(), json!({"email": {"dead": 1.0}}));
    assert_eq!(shown["deadLetterGroups"].take(), json!([group("oops", 1)]));
    shown.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    assert_eq!(shown, answer);
}

#[tokio::test]
async fn dead_letter_queues_are_looked_into_when_they_have_changed_and_not_when_they_are_empty() {
    let desk = ScriptedDesk::says([
        status(&[queue("email", 0)]),
        status(&[queue("email", 1)]),
        list(&[group("oops", 1)]),
        status(&[queue("email", 1)]),
        status(&[queue("email", 2)]),
        list(&[group("oops", 2)]),
    ]);
    let mut known = Reasons::default();
    let mut counts = Vec::new();
    for _ in 0..4 {
        let look = look::look(&desk, all(), &mut known).await.unwrap();
        counts.push(look.groups.unwrap().first().map_or(0, |group| group.count));
    }
    assert_eq!(counts, [0, 1, 1, 2]);
    assert_eq!(actions(&desk), ["status", "status", "list", "status", "status", "list"]);
}

#[tokio::test]
async fn a_run_that_goes_on_is_not_disturbed() {
    let mut email = queue("email", 3);
    email["lastRun"] = json!({"runId": "run-1", "action": "redrive", "queues": ["email"], "startedAt": "then", "updatedAt": "then",
        "state": "continues", "dryRun": false, "reason": "mended",
        "tally": {"snapshot": 4, "seen": 4, "matched": 4, "redriven": 2, "succeededAgain": 0, "failedAgain": 0, "byVerdict": {}}});
    let desk = ScriptedDesk::says([status(&[email])]);
    let look = look::look(&desk, all(), &mut Reasons::default()).await.unwrap();
    assert_eq!((look.groups, actions(&desk)), (None, vec!["status".to_owned()]));
    assert!(look.no_reasons.unwrap().contains("while a run"));
}

#[tokio::test]
async fn reasons_that_cannot_be_read_do_not_hide_the_rest() {
    let desk = ScriptedDesk::says([status(&[queue("email", 3)]), refusal("list", "access_denied", "may not receive")]);
    let look = look::look(&desk, all(), &mut Reasons::default()).await.unwrap();
    let (screen, memory) = Screen::remembering(Format::Text);
    assert_eq!(show(&screen, &look, &BTreeMap::new()), Ending::Done);
    assert_eq!(memory.notes(), "no reasons: may not receive");
    assert!(memory.result().contains("email"));
}

#[tokio::test]
async fn a_refusal_is_told() {
    let desk = ScriptedDesk::says([refusal("status", "unknown_queue", "this stack has no such queue")]);
    let look = look::look(&desk, all(), &mut Reasons::default()).await.unwrap();
    let (screen, memory) = Screen::remembering(Format::Text);
    assert_eq!(show(&screen, &look, &BTreeMap::new()), Ending::Nothing);
    assert!(memory.notes().contains("no such queue"));
}

#[tokio::test]
async fn a_run_that_was_left_on_its_way_keeps_nobody_from_looking() {
    let mut email = queue("email", 3);
    email["lastRun"] = json!({"runId": "run-1", "action": "redrive", "queues": ["email"], "startedAt": "2001-01-01T00:00:00Z",
        "updatedAt": "2001-01-01T00:00:00Z", "state": "continues", "dryRun": false, "reason": "mended",
        "tally": {"snapshot": 4, "seen": 4, "matched": 4, "redriven": 2, "succeededAgain": 0, "failedAgain": 0, "byVerdict": {}}});
    let desk = ScriptedDesk::says([status(&[email.clone()]), list(&[group("oops", 3)])]);
    let look = look::look(&desk, all(), &mut Reasons::default()).await.unwrap();
    assert_eq!((look.groups.map(|groups| groups.len()), look.no_reasons), (Some(1), None));

    email["lastRun"]["updatedAt"] = EpochMillis::from(SystemTime::now()).rfc3339().to_string().into();
    let look = look::look(&ScriptedDesk::says([status(&[email])]), all(), &mut Reasons::default()).await.unwrap();
    assert!(look.no_reasons.unwrap().contains("while a run"));
}

#[tokio::test(start_paused = true)]
async fn watching_goes_on_after_a_failed_answer_but_not_without_a_first_one() {
    let (screen, memory) = Screen::remembering(Format::Text);
    let every = Duration::from_secs(10);
    let mut looks = 0;
    let once = async || {
        looks += 1;
        match looks {
            2 => Err("no concurrency left".into()),
            3 => Ok(Ending::Failed),
            _ => Ok(Ending::Done),
        }
    };
    let watched = tokio::time::timeout(Duration::from_secs(45), watch(every, &screen, once)).await;
    assert!(watched.is_err(), "it never ends by itself");
    assert_eq!((looks, memory.notes().as_str()), (5, "no answer: no concurrency left"));

    let refused = watch(every, &screen, async || Ok(Ending::Nothing)).await.unwrap();
    assert_eq!(refused, Ending::Nothing);
    assert!(watch(every, &screen, async || Err("no such function".into())).await.is_err());
}
