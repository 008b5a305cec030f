//! The `ikkai` command from outside: what it prints, its exit codes, and what it leaves running.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use ikkai_cli::local::build::{FUNCTIONS, Package};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::process;
use ikkai_cli::local::python::{self, Extras};
use ikkai_cli::progress::Progress;
use serde_json::{Value, json};

const PAYLOAD: &str = r#"{"deliveryId":"mail-1","templateId":"welcome","userId":"user-42"}"#;

/// A checkout of its own, so that a developer's running environment is left alone. It shares the sources and the Python environment.
struct TestCheckout {
    root: PathBuf,
}

impl TestCheckout {
    fn new(name: &str) -> Self {
        let root = std::env::temp_dir().join(format!("ikkai-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        let state = root.join(".ikkai");
        std::fs::create_dir_all(&state).unwrap();
        let real = Checkout::around(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        for shared in ["Cargo.toml", "infra", "localstack"] {
            std::os::unix::fs::symlink(real.file(shared), root.join(shared)).unwrap();
        }
        Self { root: root.canonicalize().unwrap() }
    }

    /// With what `up` needs: the Python environment, and stand-ins for the functions.
    fn ready(name: &str) -> Self {
        let checkout = Self::new(name);
        let real = Checkout::around(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let environment = runtime.block_on(python::environment(&real, Extras::None, &Progress::silent())).unwrap();
        let folder = environment.python().parent().unwrap().parent().unwrap().to_owned();
        std::os::unix::fs::symlink(&folder, checkout.root.join(".ikkai").join(folder.file_name().unwrap())).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in.py");
        std::fs::create_dir(checkout.functions()).unwrap();
        for name in FUNCTIONS {
            std::fs::write(checkout.functions().join(format!("{name}.zip")), Package::of(name, &script).unwrap().zip).unwrap();
        }
        checkout
    }

    fn functions(&self) -> PathBuf {
        self.root.join("functions")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ikkai"));
        command
            .args(arguments)
            .env("IKKAI_ROOT", &self.root)
            .env_remove("IKKAI_PYTHON")
            .env_remove("IKKAI_API")
            .env_remove("IKKAI_STACK");
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run(self.command(arguments).output().unwrap())
    }

    fn up(&self, arguments: &[&str]) -> Run {
        let functions = self.functions();
        let all = [&["local", "up", "--functions", functions.to_str().unwrap()], arguments].concat();
        self.run(&all)
    }

    /// Every process that works for this checkout, by the folder that all of them have as their home.
    fn processes(&self) -> Vec<i32> {
        let scratch = self.root.join(".ikkai/local/scratch");
        let state: Option<Value> =
            std::fs::read(self.root.join(".ikkai/local.json")).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let group = state.map_or(0, |state| i32::try_from(state["enginePid"].as_i64().unwrap()).unwrap());
        let members = process::members(group).into_iter().map(|member| member.pid);
        members.filter(|pid| process::variable(*pid, "HOME").is_some_and(|home| Path::new(&home) == scratch)).collect()
    }
}

impl Drop for TestCheckout {
    fn drop(&mut self) {
        self.run(&["local", "down"]);
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

struct Run(Output);

impl Run {
    fn code(&self) -> i32 {
        self.0.status.code().unwrap_or(-1)
    }

    fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.0.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", self.out(), self.err()))
    }

    fn done(self) -> Self {
        assert_eq!(self.code(), 0, "{} {}", self.out(), self.err());
        self
    }

    #[track_caller]
    fn failed(self, code: i32, words: &[&str]) {
        let text = format!("{}{}", self.out(), self.err());
        assert_eq!(self.code(), code, "{text}");
        for word in words {
            assert!(text.contains(word), "no `{word}` in: {text}");
        }
        assert!(!text.contains("panicked") && !text.contains('\u{1b}'), "{text}");
    }
}

/// Waits for what other processes do; there is no event to wait for across processes.
#[track_caller]
fn eventually(what: &str, is_so: impl Fn() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(30), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn help_names_every_command() {
    let checkout = TestCheckout::new("help");
    let help = checkout.run(&["--help"]).done().out();
    for command in ["local", "send", "job", "dlq", "status"] {
        assert!(help.contains(command), "{help}");
    }
    let local = checkout.run(&["local", "--help"]).done().out();
    for command in ["up", "down", "status", "logs"] {
        assert!(local.contains(command), "{local}");
    }
    assert!(!local.contains("keep  "), "the background process is no command for people: {local}");
}

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_wrong() {
    let checkout = TestCheckout::new("usage");
    checkout.run(&[]).failed(2, &["Usage"]);
    checkout.run(&["lcoal"]).failed(2, &["local"]);
    checkout.run(&["local", "up", "--port", "0"]).failed(2, &["--port"]);
    checkout.run(&["local", "up", "--engine", "azure"]).failed(2, &["ministack", "localstack"]);
    checkout.run(&["send", "--type", "email.send", "--key", "k"]).failed(2, &["--payload"]);
    checkout.run(&["send", "--type", "email.send", "--key", "k", "--payload", "[]"]).failed(2, &["JSON object"]);
    checkout.run(&["send", "--type", "t", "--key", "k", "--payload", "{}", "--count", "0"]).failed(2, &["--count"]);
    checkout.run(&["job", "show"]).failed(2, &["<ID>"]);
    checkout.run(&["dlq", "redrive", "email"]).failed(2, &["--reason"]);
    checkout.run(&["dlq", "discard", "--reason", "r"]).failed(2, &["<DEAD_LETTER_QUEUE>"]);
    checkout.run(&["status", "--every", "5s"]).failed(2, &["--watch"]);
}

#[test]
fn without_an_environment_every_command_says_how_to_get_one() {
    let checkout = TestCheckout::new("nothing");
    checkout.run(&["local", "status"]).failed(1, &["ikkai local up"]);
    checkout.run(&["local", "logs"]).failed(1, &["ikkai local up"]);
    checkout.run(&["send", "--type", "t", "--key", "k", "--payload", "{}"]).failed(1, &["ikkai local up"]);
    checkout.run(&["job", "show", "j"]).failed(1, &["ikkai local up"]);
    checkout.run(&["dlq", "list"]).failed(1, &["ikkai local up"]);
    checkout.run(&["status"]).failed(1, &["ikkai local up"]);
    assert_eq!(checkout.run(&["local", "status", "--output", "json"]).json()["state"], "stopped");
    assert_eq!(checkout.run(&["local", "down", "--output", "json"]).done().json()["ended"], false);
}

#[test]
fn outside_of_a_checkout_the_folder_is_named() {
    let checkout = TestCheckout::new("outside");
    Run(checkout.command(&["local", "up"]).env("IKKAI_ROOT", "/").output().unwrap()).failed(1, &["no checkout", "IKKAI_ROOT"]);
}

#[test]
fn without_python_up_says_how_to_get_it() {
    let checkout = TestCheckout::new("no-python");
    let up = checkout.command(&["local", "up"]).env("IKKAI_PYTHON", "/nonexistent/python3").output().unwrap();
    Run(up).failed(1, &["Python 3.10 or newer", "/nonexistent/python3: not installed", "IKKAI_PYTHON"]);
    checkout.run(&["local", "status"]).failed(1, &["no local environment"]);
}

#[test]
fn an_api_elsewhere_is_refused() {
    let checkout = TestCheckout::new("elsewhere");
    let arguments = ["job", "show", "j", "--api", "https://example.com/"];
    checkout.run(&arguments).failed(1, &["`https://example.com/`"]);
}

#[test]
fn a_job_of_a_stack_is_never_looked_for_elsewhere() {
    let checkout = TestCheckout::new("stack-job");
    let with_stack = |arguments: &[&str]| Run(checkout.command(arguments).env("IKKAI_STACK", "shop").output().unwrap());
    with_stack(&["job", "cancel", "j", "--yes"]).failed(2, &["--reason", "nothing was done"]);
    for command in ["show", "cancel"] {
        let both = ["job", command, "j", "--api", "http://127.0.0.1:1/"];
        with_stack(&both).failed(2, &["both an API and a stack", "IKKAI_STACK"]);
    }
    checkout.run(&["job", "cancel", "j", "--yes", "--function", "f"]).failed(2, &["--reason", "nothing was done"]);
    with_stack(&["send", "--type", "email.send", "--key", "k", "--payload", "{}"]).failed(2, &["`shop`", "nothing was posted"]);
}

/// An API that gives these answers (status, header `retry-after`, body), one a request. Returns its URL, and the requests' bodies at the end.
fn scripted_api(answers: Vec<(u16, Option<u32>, Value)>) -> (String, std::thread::JoinHandle<Vec<Value>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let served = std::thread::spawn(move || {
        let serve = |(status, retry_after, body): (u16, Option<u32>, Value)| {
            let mut connection = BufReader::new(listener.accept().unwrap().0);
            let (mut line, mut length) = (String::new(), 0);
            while connection.read_line(&mut line).unwrap() > 2 {
                let header = line.to_ascii_lowercase();
                length = header.strip_prefix("content-length:").map_or(length, |text| text.trim().parse().unwrap());
                line.clear();
            }
            let mut request = vec![0; length];
            connection.read_exact(&mut request).unwrap();
            let (body, wait) = (body.to_string(), retry_after.map(|s| format!("retry-after: {s}\r\n")).unwrap_or_default());
            let head = format!("HTTP/1.1 {status} X\r\n{wait}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
            connection.get_mut().write_all([head, body].concat().as_bytes()).unwrap();
            serde_json::from_slice(&request).unwrap()
        };
        answers.into_iter().map(serve).collect()
    });
    (url, served)
}

#[test]
fn send_repeats_what_the_api_puts_off_and_nothing_else() {
    let checkout = TestCheckout::new("put-off");
    let accepted = |id: &str| json!({"jobId": id, "status": "accepted"});
    let put_off = json!({"code": "send_in_progress", "status": 409, "detail": "in progress", "retryAfterSeconds": 0});
    let send = |url: &str, more: &[&str]| {
        let common = ["send", "--api", url, "--type", "email.send", "--key", "k", "--payload", PAYLOAD];
        checkout.run(&[&common, more].concat())
    };

    let (url, requests) =
        scripted_api(vec![(409, Some(0), put_off.clone()), (503, Some(0), put_off.clone()), (202, None, accepted("one"))]);
    assert!(send(&url, &[]).done().out().contains("one  accepted"));
    let requests = requests.join().unwrap();
    assert!(requests.len() == 3 && requests.iter().all(|request| *request == requests[0]));

    let (url, _requests) = scripted_api(vec![(429, Some(3600), put_off.clone())]);
    send(&url, &[]).failed(1, &["in progress (status 429)"]);

    let verdict = |id: &str| json!({"status": 202, "job": accepted(id), "replayed": false});
    let later = json!({"status": 409, "problem": put_off});
    let wrong = json!({"status": 422, "problem": {"code": "payload_invalid", "status": 422, "detail": "wrong"}});
    let (url, requests) = scripted_api(vec![
        (207, None, json!({"jobs": [verdict("a"), later, wrong, later]})),
        (207, None, json!({"jobs": [verdict("b"), later]})),
        (207, None, json!({"jobs": [verdict("d")]})),
    ]);
    let sent = send(&url, &["--count", "4"]);
    assert_eq!(sent.code(), 1);
    assert_eq!(sent.out(), "a  accepted\nb  accepted\nd  accepted\n");
    assert!(sent.err().contains("wrong (status 422)") && sent.err().contains("3 accepted, 1 refused"), "{}", sent.err());
    let keys = |request: &Value| -> Vec<String> {
        request["jobs"].as_array().unwrap().iter().map(|job| job["idempotencyKey"].as_str().unwrap().to_owned()).collect()
    };
    let posted: Vec<_> = requests.join().unwrap().iter().map(keys).collect();
    assert_eq!(posted, [vec!["k-1", "k-2", "k-3", "k-4"], vec!["k-2", "k-4"], vec!["k-4"]]);
}

#[test]
fn a_missing_function_package_is_named() {
    let checkout = TestCheckout::ready("no-package");
    std::fs::remove_file(checkout.functions().join("email-consumer.zip")).unwrap();
    checkout.up(&[]).failed(1, &["email-consumer.zip"]);
}

#[test]
fn a_taken_port_is_named_and_nothing_stays() {
    let checkout = TestCheckout::ready("port");
    let other = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = other.local_addr().unwrap().port().to_string();
    checkout.up(&["--port", &port]).failed(1, &[&format!("port {port}"), "in use"]);
    checkout.run(&["local", "status"]).failed(1, &["no local environment"]);
}

#[test]
fn up_serves_jobs_until_down_and_leaves_nothing_running() {
    let checkout = TestCheckout::ready("up");
    let up = checkout.up(&[]).done();
    assert!(
        up.err().contains("starting the engine: done") && up.out().contains("send --type email.send"),
        "{} {}",
        up.err(),
        up.out()
    );
    assert!(!up.err().contains('\u{1b}') && !up.out().contains('\u{1b}'), "colours and movement only on a terminal");
    let status = checkout.run(&["local", "status", "--output", "json"]).done().json();
    assert_eq!(status["state"], "running");
    assert_eq!(status["queues"]["ikkai-email"]["visible"], 0);

    let again = checkout.up(&["--output", "json"]).done().json();
    assert_eq!(again["keeperPid"], status["environment"]["keeperPid"], "a second `up` changes nothing");
    checkout.up(&["--port", "1"]).failed(1, &["ikkai local down"]);

    let sent =
        checkout.run(&["send", "--type", "email.send", "--key", "k 1", "--payload", PAYLOAD, "--output", "json"]).done().json();
    assert_eq!((sent["path"].as_str(), sent["key"].as_str()), (Some("/v1/jobs"), Some("\"k 1\"")));
    assert!(sent["authorization"].as_str().unwrap().contains("Credential=developer/"), "{sent}");
    let sent = checkout.run(&["send", "--type", "email.send", "--key", "k1", "--payload", PAYLOAD]).done().out();
    assert_eq!(sent.trim(), "email.send-1  accepted");

    let watched = checkout.run(&["job", "show", "email.send-1", "--watch"]).done();
    assert!(
        watched.err().contains("running  attempts 0") && watched.out().contains("succeeded"),
        "{} {}",
        watched.err(),
        watched.out()
    );
    checkout.run(&["job", "show", "unknown"]).failed(3, &["there is no job `unknown` (status 404)"]);

    let logs = checkout.run(&["local", "logs", "producer-api", "--raw"]).done().out();
    assert!(logs.contains(r#""path": "/v1/jobs/email.send-1""#), "{logs}");
    let logs = checkout.run(&["local", "logs", "--job", "email.send-1"]).done().out();
    assert!(logs.contains("producer-api") && logs.contains("event  path=/v1/jobs/email.send-1"), "{logs}");
    assert!(!logs.contains("unknown"), "lines about other jobs: {logs}");
    checkout.run(&["local", "logs", "producer-ap"]).failed(2, &["producer-api"]);
    assert_eq!(checkout.run(&["local", "mailbox"]).done().out().trim(), "no mail was sent yet");
    checkout.run(&["local", "mailbox", "show", "1"]).failed(1, &["no mail was sent yet"]);
    assert!(checkout.run(&["local", "logs", "engine"]).done().out().contains("127.0.0.1"));

    let processes = checkout.processes();
    assert!(processes.len() >= 2, "engine and a worker: {processes:?}");
    assert!(checkout.run(&["local", "down"]).done().out().contains("has ended"));
    assert!(processes.iter().all(|pid| process::find(*pid).is_none_or(|process| process.is_zombie())));
    checkout.run(&["local", "status"]).failed(1, &["no local environment"]);
    assert!(checkout.run(&["local", "down"]).done().out().contains("no local environment was running"));
}

#[test]
fn a_killed_keeper_takes_everything_with_it_and_up_starts_anew() {
    let checkout = TestCheckout::ready("crash");
    let keeper = checkout.up(&["--output", "json"]).done().json()["keeperPid"].as_i64().unwrap();
    let engine = checkout.processes();
    assert!(!engine.is_empty());
    process::kill(i32::try_from(keeper).unwrap());
    eventually("the engine ends with its keeper", || checkout.processes().is_empty());
    checkout.run(&["local", "status"]).failed(1, &["ended by itself"]);
    let anew = checkout.up(&["--output", "json"]).done().json();
    assert_ne!(anew["keeperPid"].as_i64(), Some(keeper));
    assert_eq!(checkout.run(&["local", "status", "--output", "json"]).done().json()["state"], "running");
}

#[test]
fn a_dead_engine_ends_the_environment_and_status_tells_why() {
    let checkout = TestCheckout::ready("dead-engine");
    let engine = checkout.up(&["--output", "json"]).done().json()["enginePid"].as_i64().unwrap();
    process::kill(i32::try_from(engine).unwrap());
    eventually("the keeper notices", || {
        checkout.run(&["local", "status"]).err().is_empty() && !checkout.run(&["local", "status"]).out().contains("(process")
    });
    checkout.run(&["local", "status"]).failed(1, &["ikkai local up"]);
}

#[test]
fn an_interrupted_up_stops_what_it_started() {
    let checkout = TestCheckout::ready("interrupt");
    let functions = checkout.functions();
    let mut command = checkout.command(&["local", "up", "--functions", functions.to_str().unwrap()]);
    let up = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let scratch = checkout.root.join(".ikkai/local/scratch");
    eventually("the engine's folder appears", || scratch.exists());
    let pid = i32::try_from(up.id()).unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_raw(pid).unwrap(), rustix::process::Signal::INT).unwrap();
    Run(up.wait_with_output().unwrap()).failed(1, &["interrupted"]);
    checkout.run(&["local", "status"]).failed(1, &["no local environment"]);
    assert!(!scratch.exists(), "a stopped engine takes its scratch folder away");
}

#[test]
fn two_checkouts_run_at_once() {
    let (one, two) = (TestCheckout::ready("one"), TestCheckout::ready("two"));
    let (first, second) = (one.up(&["--output", "json"]).done().json(), two.up(&["--output", "json"]).done().json());
    assert_ne!(first["engine"], second["engine"]);
    one.run(&["local", "down"]).done();
    assert_eq!(two.run(&["local", "status", "--output", "json"]).done().json()["state"], "running");
}
