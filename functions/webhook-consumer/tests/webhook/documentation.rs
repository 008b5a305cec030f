//! The page for receivers says what is so: its example is what the consumer sends, and its programs take it.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use ikkai::clock::EpochSeconds;
use ikkai::idempotency::JobRecord;
use ikkai::job::JobId;
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::json;
use webhook_consumer::{SigningSecret, caller_key, signature};

use crate::receiver::Receiver;
use crate::scene::{CALLER, Scene, ended, event_of};

const PAGE: &str = include_str!("../../../../docs/webhooks.md");
const SECRET: &str = "example-secret-do-not-use";
const SIGNED_AT: i64 = 1_769_904_000;

/// The text of the page's block in this language.
fn block(language: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{language}\n")).expect("the page has such a block");
    rest.split_once("\n```").expect("the block ends").0
}

fn secret(document: serde_json::Value) -> SigningSecret {
    SigningSecret::parse(&document.to_string()).unwrap()
}

fn key() -> String {
    caller_key(&SecretString::from(SECRET), CALLER).expose_secret().to_owned()
}

#[tokio::test]
async fn the_example_is_what_the_consumer_sends() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let job_id = JobId::parse_stored("email.send-aaaqeayeaudaocajbifqydiob4").unwrap();
    let record = JobRecord { job_id, ..ended(&receiver.url()) };
    scene.jobs.put(record.clone());
    scene.deliver(&event_of(&record)).await;
    let request = receiver.requests().remove(0);
    assert_eq!(String::from_utf8_lossy(&request.body), block("json"));
    let header = signature(&secret(json!({"current": SECRET})), CALLER, EpochSeconds::from_i64(SIGNED_AT), &request.body);
    for line in [
        format!("ikkai-event-id: {}", request.header("ikkai-event-id").unwrap()),
        format!("ikkai-signature: {header}"),
        format!("user-agent: {}", request.header("user-agent").unwrap()),
    ] {
        assert!(block("http").contains(&line), "{line}");
    }
    for named in [CALLER, SECRET, &key()] {
        assert!(PAGE.contains(&format!("`{named}`")), "{named}");
    }
}

/// Cases for each program on the page: a header, a body, and whether it is genuine.
fn cases() -> Vec<(String, &'static str, bool)> {
    let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap();
    let body = r#"{"a" : "ü",  "b":1}"#;
    let signed = |document, at| signature(&secret(document), CALLER, EpochSeconds::from_i64(at), body.as_bytes());
    let (one, other) = (json!({"current": SECRET}), json!({"current": "some other secret of ours"}));
    let exchanged = json!({"current": "some other secret of ours", "previous": SECRET});
    let good = signed(one.clone(), now);
    let (time, mark) = good.split_once(',').unwrap();
    vec![
        (good.clone(), body, true),
        (signed(exchanged, now), body, true),
        (signed(one.clone(), now - 240), body, true),
        (good.clone(), r#"{"a":"ü","b":1}"#, false),
        (good.clone(), "", false),
        (signed(other, now), body, false),
        (signed(one.clone(), now - 600), body, false),
        (signed(one, now + 600), body, false),
        (format!("t={},{mark}", now - 1), body, false),
        (time.to_owned(), body, false),
        (mark.to_owned(), body, false),
        (format!("{time},v1="), body, false),
        (format!("{time},v1=zz"), body, false),
        (format!("{time},v1=ü"), body, false),
        (format!("{time},v1={}", "ü".repeat(64)), body, false),
        (format!("t={},{mark}", "9".repeat(5_000)), body, false),
        (format!("t=-{now},{mark}"), body, false),
        (format!("{time},v0={}", &mark[3..]), body, false),
        ("t=,v1=".to_owned(), body, false),
        (String::new(), body, false),
        ("nonsense".to_owned(), body, false),
    ]
}

/// Runs a program that prints what it makes of each case, one `true` or `false` a line.
fn run(program: &str, arguments: &[&str], language: &str) {
    let cases = cases();
    let given: Vec<_> = cases.iter().map(|(header, body, _)| json!({"header": header, "body": body})).collect();
    let output = Command::new(program)
        .args(arguments)
        .env("CASES", json!({"cases": given, "key": key()}).to_string())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).to_lowercase();
    let expected: Vec<String> = cases.iter().map(|(_, _, genuine)| genuine.to_string()).collect();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{language}: {errors}\n{cases:#?}");
}

#[test]
fn the_python_program_takes_what_is_genuine_and_nothing_else() {
    let program = format!(
        "{}\n\nimport json, os\ngiven = json.loads(os.environ['CASES'])\nfor case in given['cases']:\n    \
         print(is_genuine(case['header'], case['body'].encode(), given['key']))\n",
        block("python")
    );
    run("python3", &["-c", &program], "Python");
}

/// Node is not needed to work on this repository, so where it is missing nothing is tried.
#[test]
fn the_node_program_takes_what_is_genuine_and_nothing_else() {
    if Command::new("node").arg("--version").output().is_err() {
        return;
    }
    let program = format!(
        "{}\nconst given = JSON.parse(process.env.CASES);\nfor (const each of given.cases) \
         console.log(isGenuine(each.header, Buffer.from(each.body), given.key));\n",
        block("js")
    );
    run("node", &["-e", &program], "Node");
}

mod page {
    include!("verify.rs");

    pub(super) fn takes(header: &str, body: &[u8], key: &str) -> bool {
        is_genuine(header, body, key, Duration::from_secs(300))
    }
}

#[test]
fn the_rust_program_takes_what_is_genuine_and_nothing_else() {
    assert_eq!(include_str!("verify.rs").trim_end(), block("rust"), "verify.rs is the page's program");
    for (header, body, genuine) in cases() {
        assert_eq!(page::takes(&header, body.as_bytes(), &key()), genuine, "{header} {body}");
    }
}
