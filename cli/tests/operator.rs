//! The operators' commands from outside, with a stand-in for Lambda: what they ask, what they print, and their exit codes.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Output, Stdio};
use std::thread::JoinHandle;

use serde_json::{Value, json};

/// What the stand-in was asked: the path and the body of each call.
type Asked = Vec<(String, Value)>;

/// A Lambda that gives these answers (status, header `x-amz-function-error`, body), one a call. Returns its URL, and the calls at the end.
fn lambda(answers: Vec<(u16, Option<&'static str>, Value)>) -> (String, JoinHandle<Asked>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let serve = |(status, error, body): (u16, Option<&str>, Value)| {
            let mut connection = BufReader::new(listener.accept().unwrap().0);
            let (mut first, mut line, mut length) = (String::new(), String::new(), 0);
            connection.read_line(&mut first).unwrap();
            while connection.read_line(&mut line).unwrap() > 2 {
                let header = line.to_ascii_lowercase();
                length = header.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
                line.clear();
            }
            let mut request = vec![0; length];
            connection.read_exact(&mut request).unwrap();
            let error = error.map(|error| format!("x-amz-function-error: {error}\r\n")).unwrap_or_default();
            let (body, kind) = (body.to_string(), "content-type: application/json\r\nconnection: close\r\n");
            let head = format!("HTTP/1.1 {status} X\r\n{error}{kind}content-length: {}\r\n\r\n", body.len());
            connection.get_mut().write_all([head, body].concat().as_bytes()).unwrap();
            (first.split(' ').nth(1).unwrap_or_default().to_owned(), serde_json::from_slice(&request).unwrap())
        };
        answers.into_iter().map(serve).collect()
    });
    (url, served)
}

fn ok(body: &Value) -> (u16, Option<&'static str>, Value) {
    (200, None, body.clone())
}

/// The command with AWS settings that lead to the stand-in, and nobody at a terminal.
fn ikkai(url: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ikkai"));
    command.args(arguments).args(["--function", "shop-dlq-redrive"]).stdin(Stdio::null());
    command.env_remove("IKKAI_STACK").env_remove("AWS_PROFILE").env("AWS_CONFIG_FILE", "/nonexistent");
    let settings = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-east-1")];
    command.envs(settings).env("AWS_ENDPOINT_URL", url).env("AWS_EC2_METADATA_DISABLED", "true").output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn run(by_verdict: Value, dry: bool) -> Value {
    let ok = by_verdict.get("send_failed").is_none();
    json!({"version": 1, "action": "redrive", "ok": ok, "runId": "run-1", "state": "finished", "dryRun": dry, "replayed": false,
        "tally": {"snapshot": 3, "seen": 3, "matched": 3, "redriven": 2, "succeededAgain": 0, "failedAgain": 0,
            "byVerdict": by_verdict},
        "verdicts": []})
}

const REDRIVE: [&str; 8] = ["dlq", "redrive", "email", "--reason", "mended", "--claimed-by", "me", "--yes"];

#[test]
fn a_request_reaches_the_function_and_its_answer_is_printed_as_it_came() {
    let answer = json!({"version": 1, "action": "list", "ok": true, "seen": 1, "matched": 1, "more": false, "newer": [1],
        "groups": [{"queue": "email", "status": "dead", "errorCode": "oops", "errorClass": "permanent", "count": 1, "examples": [],
            "verdict": "redriven", "advice": "Put it back."}]});
    let (url, served) = lambda(vec![ok(&answer), ok(&answer)]);
    let json = ikkai(&url, &["dlq", "list", "email", "--output", "json"]);
    assert_eq!((json.status.code(), serde_json::from_slice::<Value>(&json.stdout).unwrap()), (Some(0), answer), "{}", err(&json));
    let text = ikkai(&url, &["dlq", "list", "email"]);
    assert!(out(&text).contains("oops (permanent)") && !out(&text).contains('\u{1b}'), "{}", out(&text));
    let asked = served.join().unwrap();
    assert_eq!(asked[0].0, "/2015-03-31/functions/shop-dlq-redrive/invocations");
    assert_eq!(asked[0].1, json!({"action": "list", "queue": "email", "filter": {}, "max": 100, "messages": false}));
    assert_eq!(asked[0], asked[1]);
}

#[test]
fn exit_codes_tell_scripts_what_came_of_it() {
    let refused =
        json!({"version": 1, "action": "redrive", "ok": false, "error": {"code": "run_in_progress", "message": "at work"}});
    let invalid = json!({"version": 1, "action": "redrive", "ok": false, "error": {"code": "invalid_request", "message": "bad"}});
    let failed = json!({"errorType": "Runtime.ExitError", "errorMessage": "exited"});
    let denied = json!({"Message": "not authorised"});
    for (answer, code, told) in [
        (ok(&run(json!({"redriven": 2, "in_doubt": 1}), false)), 0, "redriven"),
        (ok(&run(json!({"redriven": 2, "send_failed": 1}), false)), 1, "send_failed"),
        (ok(&run(json!({}), false)), 3, "none of 3 messages"),
        (ok(&refused), 1, "at work"),
        (ok(&invalid), 2, "bad"),
        ((200, Some("Unhandled"), failed), 1, "failed (Runtime.ExitError): exited"),
        ((403, None, denied), 1, "you may not invoke the function `shop-dlq-redrive`"),
        (ok(&json!("no answer")), 1, "no answer of this version"),
    ] {
        let (url, served) = lambda(vec![answer]);
        let done = ikkai(&url, &REDRIVE);
        let told_all = format!("{}{}", out(&done), err(&done));
        assert_eq!(done.status.code(), Some(code), "{told_all}");
        assert!(told_all.contains(told) && !told_all.contains("panicked"), "no `{told}` in {told_all}");
        assert_eq!(served.join().unwrap().len(), 1);
    }
}

#[test]
fn without_a_terminal_nothing_changes_unless_yes_was_said() {
    let (url, _served) = lambda(Vec::new());
    let silent = ikkai(&url, &REDRIVE[..7]);
    assert_eq!(silent.status.code(), Some(2));
    assert!(err(&silent).contains("--yes"), "{}", err(&silent));

    let (url, served) = lambda(vec![ok(&run(json!({"redriven": 2}), true))]);
    let dry = ikkai(&url, &["dlq", "redrive", "--dry-run", "--claimed-by", "me"]);
    assert_eq!(dry.status.code(), Some(0), "{}", err(&dry));
    assert_eq!(served.join().unwrap()[0].1["dryRun"], true);
}

#[test]
fn a_function_that_is_not_there_is_named_with_the_mend() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let nobody = ikkai(&url, &["dlq", "list"]);
    assert_eq!(nobody.status.code(), Some(1));
    assert!(err(&nobody).contains("nothing was done"), "{}", err(&nobody));
}
