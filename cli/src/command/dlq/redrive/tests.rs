use std::time::Duration;

use serde_json::{Value, json};

use crate::command::dlq::command_line;
use crate::command::dlq::tests::{command, command_until, command_with, request_of};
use crate::command::ending::Ending;
use crate::operator::scripted::{Line, ScriptedDesk, refusal, run};
use crate::operator::{DeskError, Interrupt};
use crate::screen::Format;

const REDRIVE: [&str; 4] = ["redrive", "email", "--reason", "mended"];

fn dry(verdicts: &[(&str, &[&str])]) -> Value {
    let mut answer = run("redrive", "finished", verdicts);
    (answer["dryRun"], answer["tally"]["redriven"]) = (true.into(), 0.into());
    answer
}

fn continues(mut answer: Value, cursor: &str) -> Value {
    (answer["cursor"], answer["continueAfterSeconds"]) = (cursor.into(), 0.into());
    answer
}

#[test]
fn options_become_the_request() {
    let plain = json!({"action": "redrive", "queue": "email", "filter": {}, "max": 100, "ratePerSecond": 10, "dryRun": false,
        "canary": 0, "canaryTimeoutSeconds": 600, "stopAtReturnedPercent": 50, "overrideQuarantine": false, "reason": "mended",
        "claimedBy": "me"});
    assert_eq!(request_of(&REDRIVE), plain);
    let all = [
        "redrive",
        "--job-id",
        "j-1",
        "--max",
        "5",
        "--rate",
        "2",
        "--canary",
        "1",
        "--canary-timeout",
        "60",
        "--stop-at",
        "10",
        "--patch",
        r#"{"userId":"user-42"}"#,
        "--override-quarantine",
        "--reason",
        "mended",
        "--run-id",
        "run-1",
        "--cursor",
        "2",
    ];
    let expected = json!({"action": "redrive", "queue": "all", "filter": {"jobIds": ["j-1"]}, "max": 5, "ratePerSecond": 2,
        "dryRun": false, "canary": 1, "canaryTimeoutSeconds": 60, "stopAtReturnedPercent": 10,
        "patch": {"userId": "user-42"}, "overrideQuarantine": true, "reason": "mended", "claimedBy": "me", "runId": "run-1",
        "cursor": "2"});
    assert_eq!(request_of(&all), expected);
}

#[tokio::test]
async fn a_person_is_told_what_would_be_done_and_asked() {
    let desk = ScriptedDesk::says([
        dry(&[("redriven", &["a", "b"]), ("already_done", &["c"]), ("in_doubt", &["d"])]),
        run("redrive", "finished", &[("redriven", &["a", "b"]), ("already_done", &["c"]), ("in_doubt", &["d"])]),
    ]);
    let (ending, memory, asked) = command_with(&REDRIVE, desk, Format::Text, Some(&["y"])).await;
    assert_eq!(ending, Ending::Done);
    let flags: Vec<_> = asked.iter().map(|request| request["dryRun"].as_bool().unwrap()).collect();
    assert_eq!(flags, [true, false]);
    assert!(asked[1]["runId"].is_string() && asked[0]["runId"] != asked[1]["runId"]);
    let notes = memory.notes();
    let question = "put 2 messages back and delete 1 message whose jobs have ended, 10 a second? [y/N]";
    assert!(notes.contains("a dry run: nothing was changed") && notes.contains(question), "{notes}");
    let resolve = command_line("resolve", &[], Vec::new());
    let expected = "\
run run-1: finished
 redriven      2  back in the queue
 already_done  1  the job had ended: only the message is deleted
 in_doubt      1  left: look at the provider, then `{resolve}`

 job or message  verdict   why
 job-d           in_doubt";
    assert_eq!(memory.result(), expected.replace("{resolve}", &resolve));
}

#[tokio::test]
async fn a_no_changes_nothing() {
    let desk = ScriptedDesk::says([dry(&[("redriven", &["a"])])]);
    let (ending, memory, asked) = command_with(&REDRIVE, desk, Format::Text, Some(&[""])).await;
    assert_eq!((ending, asked.len(), memory.result().as_str()), (Ending::Failed, 1, ""));
    assert!(memory.notes().ends_with("nothing was changed"), "{}", memory.notes());
}

#[tokio::test]
async fn without_a_terminal_nothing_is_even_looked_at_and_yes_asks_nothing() {
    let (ending, memory, asked) = command_with(&REDRIVE, ScriptedDesk::says([]), Format::Text, Some(&[])).await;
    assert_eq!((ending, asked.len()), (Ending::Usage, 0));
    assert!(memory.notes().contains("--yes"), "{}", memory.notes());

    let desk = ScriptedDesk::says([run("redrive", "finished", &[("redriven", &["a"])])]);
    let (ending, memory, asked) = command_with(&REDRIVE, desk, Format::Text, None).await;
    assert_eq!((ending, asked.len(), asked[0]["dryRun"].as_bool()), (Ending::Done, 1, Some(false)));
    assert!(!memory.notes().contains("[y/N]"));
}

#[tokio::test]
async fn what_cannot_be_done_is_not_asked_about() {
    for (verdicts, expected) in
        [(&[("in_doubt", &["a"][..])][..], Ending::Failed), (&[("not_found", &["a"])], Ending::Nothing), (&[], Ending::Nothing)]
    {
        let desk = ScriptedDesk::says([dry(verdicts)]);
        let (ending, memory, asked) = command_with(&REDRIVE, desk, Format::Text, Some(&["y"])).await;
        assert_eq!((ending, asked.len()), (expected, 1), "{verdicts:?}");
        assert!(!memory.notes().contains("[y/N]") && memory.result().starts_with("run run-1"), "{}", memory.result());
    }
}

#[tokio::test]
async fn a_dry_run_needs_neither_terminal_nor_reason() {
    let desk = ScriptedDesk::says([dry(&[("redriven", &["a"])])]);
    let (ending, memory, asked) = command_with(&["redrive", "--dry-run"], desk, Format::Text, Some(&[])).await;
    assert_eq!((ending, asked.len(), asked[0]["dryRun"].as_bool()), (Ending::Done, 1, Some(true)));
    assert!(memory.result().starts_with("run run-1: finished, a dry run: nothing was changed"), "{}", memory.result());
}

#[tokio::test]
async fn programs_get_the_last_answer_with_the_verdicts_of_all_parts() {
    let parts = || {
        let mut last = run("redrive", "finished", &[("redriven", &["b"])]);
        last["tally"]["redriven"] = 2.into();
        [continues(run("redrive", "continues", &[("redriven", &["a"])]), "1"), last]
    };
    let (ending, memory, asked) = command(&REDRIVE, ScriptedDesk::says(parts()), Format::Json).await;
    assert_eq!((ending, asked.len()), (Ending::Done, 2));
    let shown: Value = serde_json::from_str(&memory.result()).unwrap();
    let [first, mut last] = parts();
    last["verdicts"] = json!([first["verdicts"][0], last["verdicts"][0]]);
    assert_eq!(shown, last);

    let one = run("redrive", "finished", &[("redriven", &["b"])]);
    let (_, memory, _) = command(&REDRIVE, ScriptedDesk::says([one.clone()]), Format::Json).await;
    assert_eq!(serde_json::from_str::<Value>(&memory.result()).unwrap(), one);
}

#[tokio::test]
async fn a_run_that_stops_by_itself_or_leaves_failures_behind_has_failed() {
    let mut stopped = run("redrive", "stopped", &[("redriven", &["a"])]);
    (stopped["stopped"], stopped["detail"]) = ("coming_back".into(), "6 of 8 have failed again".into());
    let (ending, memory, _) = command(&REDRIVE, ScriptedDesk::says([stopped]), Format::Text).await;
    assert_eq!(ending, Ending::Failed);
    assert!(memory.result().contains("stopped (coming_back)") && memory.notes().contains("6 of 8"), "{}", memory.result());

    let partly = run("redrive", "finished", &[("redriven", &["a"]), ("send_failed", &["b"])]);
    let (ending, memory, _) = command(&REDRIVE, ScriptedDesk::says([partly]), Format::Text).await;
    assert_eq!(ending, Ending::Failed);
    assert!(memory.result().contains("job-b"), "{}", memory.result());
}

#[tokio::test]
async fn a_refusal_is_told_and_programs_get_it_too() {
    let refused = refusal("redrive", "run_in_progress", "another run works on this queue");
    let (ending, memory, _) = command(&REDRIVE, ScriptedDesk::says([refused.clone()]), Format::Text).await;
    assert_eq!((ending, memory.result().as_str()), (Ending::Failed, ""));
    assert!(memory.notes().contains("error: another run works on this queue"), "{}", memory.notes());
    let (ending, memory, _) = command(&REDRIVE, ScriptedDesk::says([refused.clone()]), Format::Json).await;
    assert_eq!((ending, serde_json::from_str::<Value>(&memory.result()).unwrap()), (Ending::Failed, refused));
}

#[tokio::test(start_paused = true)]
async fn an_answer_lost_for_good_says_how_to_go_on() {
    let lost = || Line::Fails(DeskError::Lost { function: "redrive".to_owned(), source: "connection reset".into() });
    let first = Line::Says(Duration::ZERO, continues(run("redrive", "continues", &[("redriven", &["a"])]), "1"));
    let desk = ScriptedDesk::new([first, lost(), lost(), lost(), lost()]);
    let (ending, memory, asked) = command(&REDRIVE, desk, Format::Text).await;
    assert_eq!((ending, asked.len()), (Ending::Failed, 5));
    let (notes, run_id) = (memory.notes(), asked[0]["runId"].as_str().unwrap());
    let again = format!("dlq redrive email --reason mended --claimed-by me --run-id {run_id} --cursor 1");
    assert!(notes.contains(&again), "no `{again}` in {notes}");
    assert!(notes.contains("connection reset; asking again under the same run id"), "{notes}");
}

#[tokio::test(start_paused = true)]
async fn a_later_part_without_an_end_says_how_to_go_on() {
    let failed =
        || DeskError::Failed { function: "f".to_owned(), kind: "Runtime.ExitError".to_owned(), message: "gone".to_owned() };
    let refused = || Line::Says(Duration::ZERO, refusal("redrive", "run_in_progress", "another run works on this queue"));
    let throttled = || Line::Fails(DeskError::Throttled { function: "f".to_owned() });
    let first = || Line::Says(Duration::ZERO, continues(run("redrive", "continues", &[("redriven", &["a"])]), "1"));
    for (lines, told) in [
        (vec![first(), refused()], true),
        (vec![first(), throttled()], true),
        (vec![first(), Line::Fails(failed())], true),
        (vec![Line::Fails(failed())], true),
        (vec![Line::Fails(DeskError::NotAnAnswer { why: "odd".to_owned() })], true),
        (vec![refused()], false),
        (vec![throttled()], false),
    ] {
        let parts = lines.len();
        let (ending, memory, asked) = command(&REDRIVE, ScriptedDesk::new(lines), Format::Text).await;
        let (notes, run_id) = (memory.notes(), asked[0]["runId"].as_str().unwrap());
        assert_eq!((ending, asked.len()), (Ending::Failed, parts), "{notes}");
        let cursor = if parts == 2 { " --cursor 1" } else { "" };
        let again = format!("dlq redrive email --reason mended --claimed-by me --run-id {run_id}{cursor}");
        let history = format!("dlq history --run {run_id}` says how far it came; it goes on with:");
        assert_eq!(notes.ends_with(&again), told, "{notes}");
        assert_eq!(notes.contains(&history), told, "{notes}");
    }
}

#[tokio::test]
async fn a_run_that_goes_on_is_asked_about_by_its_name() {
    let arguments = [&REDRIVE[..], &["--run-id", "run-1", "--cursor", "3"]].concat();
    let desk = ScriptedDesk::says([run("redrive", "finished", &[("redriven", &["a"])])]);
    let (ending, memory, asked) = command_with(&arguments, desk, Format::Text, Some(&["y"])).await;
    assert_eq!((ending, asked.len(), &asked[0]["cursor"]), (Ending::Done, 1, &json!("3")));
    assert!(memory.notes().contains("go on with the run run-1? [y/N]"), "{}", memory.notes());
}

#[tokio::test]
async fn a_canary_a_rate_and_a_patch_are_in_the_question() {
    let arguments = [&REDRIVE[..], &["--canary", "1", "--rate", "2", "--job-id", "j", "--patch", "{}"]].concat();
    let desk = ScriptedDesk::says([dry(&[("redriven", &["a", "b"])])]);
    let (_, memory, _) = command_with(&arguments, desk, Format::Text, Some(&["n"])).await;
    let question = "put 2 messages back, 2 a second, with a mended payload, 1 of them first? [y/N]";
    assert!(memory.notes().contains(question), "{}", memory.notes());
}

#[tokio::test]
async fn an_interrupted_run_says_where_it_stands_and_how_it_goes_on() {
    let part = || continues(run("redrive", "continues", &[("redriven", &["a"])]), "1");
    for format in [Format::Text, Format::Json] {
        let (interrupt, wish) = Interrupt::scripted();
        wish.send(true).unwrap();
        let (ending, memory, asked) = command_until(&REDRIVE, ScriptedDesk::says([part()]), format, None, interrupt).await;
        assert_eq!((ending, asked.len()), (Ending::Failed, 1));
        let again = format!("--run-id {} --cursor 1", asked[0]["runId"].as_str().unwrap());
        assert!(memory.notes().contains("it goes on with:") && memory.notes().contains(&again), "{}", memory.notes());
        match format {
            Format::Text => assert!(memory.result().starts_with("run run-1: continues"), "{}", memory.result()),
            Format::Json => assert_eq!(serde_json::from_str::<Value>(&memory.result()).unwrap(), part()),
        }
    }
}

#[tokio::test]
async fn an_interrupt_while_looking_changes_nothing() {
    let (interrupt, wish) = Interrupt::scripted();
    wish.send(true).unwrap();
    let mut part = continues(run("redrive", "continues", &[("redriven", &["a"])]), "1");
    part["dryRun"] = true.into();
    let desk = ScriptedDesk::says([part]);
    let (ending, memory, asked) = command_until(&REDRIVE, desk, Format::Text, Some(&["y"]), interrupt).await;
    assert_eq!((ending, asked.len(), memory.result().as_str()), (Ending::Failed, 1, ""));
    assert!(memory.notes().contains("nothing was changed"), "{}", memory.notes());
}
