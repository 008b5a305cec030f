use clap::Parser;
use serde_json::{Value, json};

use super::*;
use crate::operator::scripted::ScriptedDesk;
use crate::screen::{Format, Memory};

#[derive(Debug, Parser)]
struct Wrapper {
    #[command(flatten)]
    dlq: Dlq,
}

fn parse(arguments: &[&str]) -> Result<Command, clap::Error> {
    Wrapper::try_parse_from(["dlq"].iter().chain(arguments)).map(|wrapper| wrapper.dlq.command)
}

/// The request that a command makes in the name of `me`.
pub(super) fn request_of(arguments: &[&str]) -> Value {
    let me = Some("me".to_owned());
    match parse(arguments).unwrap() {
        Command::List(list) => list.request().to_json(),
        Command::Show(show) => show.request().to_json(),
        Command::Redrive(redrive) => redrive.request(me).request().to_json(),
        Command::MoveTask(move_task) => move_task.request(me).to_json(),
        Command::Discard(discard) => discard.request(me).request().to_json(),
        Command::Resolve(resolve) => resolve.request(None, me).to_json(),
        Command::History(history) => history.request().to_json(),
    }
}

/// How a command ends, what it printed, and what it asked; `--yes` was given.
pub(super) async fn command(arguments: &[&str], desk: ScriptedDesk, format: Format) -> (Ending, &'static Memory, Vec<Value>) {
    command_with(arguments, desk, format, None).await
}

/// The same with a person who gives these answers; `Some(&[])` is no terminal.
pub(super) async fn command_with(
    arguments: &[&str],
    desk: ScriptedDesk,
    format: Format,
    answers: Option<&[&'static str]>,
) -> (Ending, &'static Memory, Vec<Value>) {
    let (interrupt, _wish) = Interrupt::scripted();
    command_until(arguments, desk, format, answers, interrupt).await
}

/// The same, until the person stops it.
pub(super) async fn command_until(
    arguments: &[&str],
    desk: ScriptedDesk,
    format: Format,
    answers: Option<&[&'static str]>,
    interrupt: Interrupt,
) -> (Ending, &'static Memory, Vec<Value>) {
    let (screen, memory) = Screen::remembering(format);
    let work = Work {
        desk: &desk,
        screen: &screen,
        asker: Asker::scripted(answers),
        claimed_by: Some("me".to_owned()),
        site: Vec::new(),
        interrupt: Some(interrupt),
    };
    let ending = parse(arguments).unwrap().run(work).await.unwrap();
    (ending, memory, desk.asked())
}

#[test]
fn options_that_cannot_be_meant_are_refused_with_the_mend() {
    for (arguments, told) in [
        (&["redrive", "email"][..], "--reason"),
        (&["redrive", "--reason", " "], "must say something"),
        (&["redrive", "--reason", "r", "--max", "0"], "1..=1000000"),
        (&["redrive", "--reason", "r", "--rate", "501"], "1..=500"),
        (&["redrive", "--reason", "r", "--stop-at", "101"], "100"),
        (&["redrive", "--reason", "r", "--min-age", "10"], "30s, 10m, 2h or 7d"),
        (&["redrive", "--reason", "r", "--class", "fatal"], "transient, deferred, permanent"),
        (&["redrive", "--reason", "r", "--patch", "{}"], "--job-id"),
        (&["redrive", "--reason", "r", "--job-id", "j", "--patch", "[]"], "JSON object"),
        (&["redrive", "--reason", "r", "--job-id", "j", "--patch", "{"], "not JSON"),
        (&["redrive", "--reason", "r", "--job-id", "j", "--patch", "@/nonexistent"], "/nonexistent"),
        (&["redrive", "--reason", "r", "--cursor", "1"], "--run-id"),
        (&["discard", "--reason", "r"], "<DEAD_LETTER_QUEUE>"),
        (&["discard", "ikkai-email-dlq"], "--reason"),
        (&["resolve", "j", "--reason", "r"], "--done"),
        (&["resolve", "j", "--done", "--run-again", "--reason", "r"], "cannot be used with"),
        (&["resolve", "j", "--run-again", "--provider-ref", "x", "--reason", "r"], "cannot be used with"),
        (&["resolve", "j", "--done"], "--reason"),
        (&["move-task", "start", "email"], "--reason"),
    ] {
        let error = parse(arguments).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{arguments:?}");
        assert!(error.to_string().contains(told), "{arguments:?}: no `{told}` in {error}");
    }
}

#[test]
fn a_command_that_goes_on_is_the_same_command() {
    let arguments = [
        "redrive",
        "email",
        "--job-id",
        "a,b",
        "--type",
        "email.send",
        "--class",
        "crash",
        "--code",
        "oops",
        "--min-age",
        "10m",
        "--max-age",
        "2h",
        "--source",
        "q",
        "--max",
        "7",
        "--rate",
        "3",
        "--canary",
        "1",
        "--canary-timeout",
        "60",
        "--stop-at",
        "20",
        "--patch",
        r#"{"note":"it's"}"#,
        "--override-quarantine",
        "--reason",
        "it's mended",
        "--run-id",
        "run-1",
        "--cursor",
        "4",
    ];
    let discard = ["discard", "ikkai-email-dlq", "--type", "email.send", "--max", "7", "--reason", "x y", "--run-id", "run-1"];
    for (arguments, again) in [(&arguments[..], redrive::arguments as fn(&_) -> _), (&discard[..], discard::arguments)] {
        let request = match parse(arguments).unwrap() {
            Command::Redrive(redrive) => redrive.request(Some("me".to_owned())),
            Command::Discard(discard) => discard.request(Some("me".to_owned())),
            other => panic!("{other:?}"),
        };
        let again: Vec<String> = again(&request);
        let words = [vec![arguments[0]], again.iter().map(String::as_str).collect()].concat();
        let parsed = match parse(&words).unwrap() {
            Command::Redrive(redrive) => redrive.request(redrive.change.claimed_by.clone()),
            Command::Discard(discard) => discard.request(discard.change.claimed_by.clone()),
            other => panic!("{other:?}"),
        };
        assert_eq!(parsed, request);
    }
}

#[test]
fn words_are_quoted_where_a_shell_would_take_them_apart() {
    let words = ["plain-1", "it's mended", r#"{"a":1}"#, ""].map(ToOwned::to_owned);
    let line = command_line("redrive", &["--stack".to_owned(), "ikkai".to_owned()], words.to_vec());
    assert!(line.ends_with(r#"ikkai dlq redrive plain-1 'it'\''s mended' '{"a":1}' '' --stack ikkai"#), "{line}");
}

#[test]
fn only_what_changes_something_asks() {
    for (arguments, changes) in [
        (&["list"][..], false),
        (&["show", "j"], false),
        (&["history"], false),
        (&["move-task", "list", "email"], false),
        (&["redrive", "--reason", "r"], true),
        (&["discard", "d", "--reason", "r"], true),
        (&["resolve", "j", "--done", "--reason", "r"], true),
        (&["move-task", "start", "email", "--reason", "r"], true),
        (&["move-task", "cancel", "email", "--reason", "r"], true),
    ] {
        assert_eq!(parse(arguments).unwrap().change().is_some(), changes, "{arguments:?}");
    }
}

#[test]
fn a_discard_becomes_its_request() {
    let expected = json!({"action": "discard", "deadLetterQueue": "ikkai-email-dlq", "filter": {"codes": ["oops"]}, "max": 100,
        "dryRun": true, "reason": "dry run", "claimedBy": "me"});
    assert_eq!(request_of(&["discard", "ikkai-email-dlq", "--code", "oops", "--dry-run"]), expected);
}
