//! `cargo demo` from outside: what it takes, what it plays, and what it leaves running.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::time::{Duration, Instant};

use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::process;
use ikkai_cli::local::running::{Keeper, StateFiles};
use serde_json::Value;

/// What the demo promises of each job: name, status, attempts, mails, reason.
const JOBS: [(&str, &str, u64, u64, Option<&str>); 10] = [
    ("normal job", "succeeded", 1, 1, None),
    ("same POST five times", "succeeded", 1, 1, None),
    ("delivered twice more", "succeeded", 1, 1, None),
    ("flaky provider", "succeeded", 2, 1, None),
    ("unknown user", "dead", 1, 0, Some("unknown_user")),
    ("broken body", "dead", 0, 0, Some("body_not_json")),
    ("killed before its mail", "succeeded", 2, 1, None),
    ("killed after its mail", "in_doubt", 1, 1, Some("lease_ended_after_effect_began")),
    ("provider down", "succeeded", 1, 1, None),
    ("longer than its lease", "succeeded", 1, 1, None),
];

fn demo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_demo"));
    command.args(arguments).current_dir(checkout().root()).stdin(Stdio::null());
    command
}

fn checkout() -> Checkout {
    Checkout::around(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap()
}

fn run(arguments: &[&str]) -> Output {
    demo(arguments).output().unwrap()
}

fn json_path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("ikkai-demo-{name}-{}.json", std::process::id()))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Where the engine listens, out of the line that tells it.
fn engine_in(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("AWS  http://")?.split_whitespace().next()?.parse().ok()
}

#[track_caller]
fn assert_nothing_listens(engine: SocketAddr) {
    assert!(TcpStream::connect(engine).is_err(), "the engine still listens on {engine}");
}

/// Starts the demo and follows it until the engine runs.
fn start_until_the_engine_runs(arguments: &[&str]) -> (Child, SocketAddr, std::io::Lines<BufReader<ChildStderr>>) {
    let mut child = demo(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = Vec::new();
    while let Some(Ok(line)) = lines.next() {
        if let Some(engine) = engine_in(&line) {
            return (child, engine, lines);
        }
        said.push(line);
    }
    panic!("it ended before the engine ran ({:?}): {said:#?}", child.wait());
}

#[test]
fn the_alias_passes_on_what_follows_the_double_dash_and_names_a_binary_that_exists() {
    let config = std::fs::read_to_string(checkout().file(".cargo/config.toml")).unwrap();
    let alias = config.lines().find_map(|line| line.strip_prefix("demo = \"")?.strip_suffix('"')).unwrap();
    let words: Vec<&str> = alias.split(' ').collect();
    assert_eq!(words[0], "run", "{alias}");
    assert!(words.ends_with(&["--profile", "local", "--bin", "demo"]), "no `--` of its own: {alias}");
    // `cargo run … --bin demo -- --help` calls the binary so; with one more `--` from habit, so.
    for arguments in [&["--help"][..], &["--", "--help"]] {
        let output = run(arguments);
        assert!(output.status.success(), "{output:?}");
        let help = text(&output.stdout);
        for option in ["cargo demo --", "--only", "--json", "--keep"] {
            assert!(help.contains(option), "{option}: {help}");
        }
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let listed = Command::new(cargo).arg("--list").current_dir(checkout().root()).output().unwrap();
    assert!(text(&listed.stdout).contains(&format!("alias: {alias}")), "cargo knows it: {}", text(&listed.stdout));
}

#[test]
fn wrong_usage_is_told_before_anything_starts() {
    for (arguments, words) in [
        (&["--only", "everything"][..], ["everything", "possible values: main"]),
        (&["--json", "/nonexistent/results.json"], ["/nonexistent/results.json", "--json"]),
    ] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let error = text(&output.stderr);
        assert!(words.iter().all(|word| error.contains(word)) && !error.contains("engine"), "{error}");
    }
}

#[test]
fn every_promise_is_kept_the_results_are_written_and_nothing_stays() {
    let path = json_path("results");
    let output = run(&["--only", "main", "--json", path.to_str().unwrap()]);
    let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains('\u{1b}'), "no colours off a terminal: {said}");
    assert!(text(&output.stdout).contains("passed: 10 jobs, 8 mails"), "{said}");

    let results: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!(results["ok"], true);
    assert!(results["engine"].as_str().unwrap().starts_with("ministack "), "{}", results["engine"]);
    assert!(results["elapsedSeconds"].as_f64().unwrap() > 0.0);
    let jobs = results["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), JOBS.len());
    for (job, (name, status, attempts, effects, reason)) in jobs.iter().zip(JOBS) {
        assert_eq!((job["name"].as_str(), job["status"].as_str()), (Some(name), Some(status)), "{job}");
        assert_eq!((job["attempts"].as_u64(), job["effects"].as_u64()), (Some(attempts), Some(effects)), "{job}");
        assert_eq!((job["reason"].as_str(), job["type"].as_str()), (reason, Some("email.send")), "{job}");
        assert!(job["jobId"].as_str().unwrap().starts_with("email.send-"), "{job}");
    }
    let dead: u64 = results["dlq"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((dead, &results["dlq"]["ikkai-email-dlq"]), (3, &Value::from(2)));
    assert_eq!(results["normalJob"]["usage"]["writes"], 4);

    assert_nothing_listens(said.lines().find_map(engine_in).unwrap());
}

/// What the demo promises of the consumers: scene, jobs that end well, and a figure that was measured.
const SCENES: &[(&str, usize, &str)] = &[
    ("pictures asked for", 1, "pictures"),
    ("pictures by upload", 1, "pictures"),
    ("charges", 3, "payments of invoice-lost"),
    ("report", 13, "jobs"),
    ("webhooks", 2, "deliveries"),
    ("bounce", 2, "mailsAfterTheBounce"),
    ("provider down for long", 6, "renewals"),
    // ikkai new consumer: scene
];

#[test]
fn every_consumer_keeps_its_promises_and_its_figures_are_written() {
    let path = json_path("consumers");
    let output = run(&["--only", "consumers", "--json", path.to_str().unwrap()]);
    let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    let jobs: usize = SCENES.iter().map(|(_, jobs, _)| jobs).sum();
    let passed = format!("passed: {jobs} jobs of all consumers, 0 messages in dead-letter queues");
    assert!(text(&output.stdout).contains(&passed), "{said}");

    let results: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!((&results["ok"], &results["jobs"]), (&Value::from(true), &Value::Array(Vec::new())));
    let scenes = results["consumers"].as_array().unwrap();
    assert_eq!(scenes.len(), SCENES.len());
    for (scene, (name, jobs, figure)) in scenes.iter().zip(SCENES) {
        assert_eq!((scene["name"].as_str(), scene["jobs"].as_array().map(Vec::len)), (Some(*name), Some(*jobs)), "{scene}");
        assert!(scene["jobs"].as_array().unwrap().iter().all(|job| job["status"] == "succeeded"), "{scene}");
        assert!(
            !scene["figures"][*figure].is_null() && scene["checks"].as_array().is_some_and(|checks| !checks.is_empty()),
            "{scene}"
        );
    }
    let pictures = scenes[0]["figures"]["pictures"].as_array().unwrap();
    assert_eq!(pictures.len(), 6, "three sizes in two formats");
    assert!(pictures.iter().all(|picture| picture["seen"]["position"] == "upright" && picture["seen"]["exifTags"] == 0));
    assert_nothing_listens(said.lines().find_map(engine_in).unwrap());
}

/// The operators' story.
const STEPS: [&str; 11] = [
    "jobs fail",
    "listed with reasons",
    "dry run",
    "contact fixed",
    "canary, then the rest",
    "succeeded meanwhile",
    "in doubt, resolved as done",
    "in doubt, resolved to run again",
    "hopeless, quarantined",
    "discarded, archived first",
    "history",
];

#[test]
fn the_operators_put_back_what_should_run_again_and_nothing_else() {
    let path = json_path("operators");
    let output = run(&["--only", "operators", "--json", path.to_str().unwrap()]);
    let said = format!("{}{}", text(&output.stderr), text(&output.stdout));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(text(&output.stdout).contains("passed: 11 steps of operators, 0 messages in dead-letter queues"), "{said}");

    let results: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    std::fs::remove_file(path).unwrap();
    assert_eq!((&results["ok"], &results["dlq"]["ikkai-operators-email-dlq"]), (&Value::from(true), &Value::from(0)));
    let steps = results["operators"].as_array().unwrap();
    assert_eq!(steps.iter().map(|step| step["step"].as_str().unwrap()).collect::<Vec<_>>(), STEPS);
    for step in steps {
        assert!(step["ok"] == true && !step["detail"].as_str().unwrap().is_empty(), "{step}");
        assert!(step["checks"].as_array().is_some_and(|checks| !checks.is_empty()), "{step}");
    }
    assert_nothing_listens(said.lines().find_map(engine_in).unwrap());
}

#[test]
fn interrupted_it_stops_what_it_started_and_leaves_no_half_results() {
    let path = json_path("interrupted");
    let (mut child, engine, lines) = start_until_the_engine_runs(&["--json", path.to_str().unwrap()]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{rest:#?}");
    assert!(rest.iter().any(|line| line.contains("interrupted")), "{rest:#?}");
    assert!(!path.exists());
    assert_nothing_listens(engine);
}

#[test]
fn kept_it_is_the_local_environment_until_it_is_taken_down() {
    let files = StateFiles::of(&checkout());
    if let Keeper::Process(pid) = files.keeper() {
        // A developer's environment is left alone.
        let output = run(&["--keep"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stderr).contains(&format!("(process {pid})")), "{output:?}");
        return;
    }
    // Its output ends with the command although the environment stays.
    let output = run(&["--keep"]);
    let keeper = files.keeper();
    let running = files.read();
    let ended =
        Command::new(env!("CARGO_BIN_EXE_ikkai")).args(["local", "down"]).current_dir(checkout().root()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stderr), text(&output.stdout));
    let running = running.unwrap();
    assert_eq!(keeper, Keeper::Process(running.keeper_pid));
    assert!(text(&output.stdout).contains(&running.api) && text(&output.stdout).contains("local down"), "{output:?}");
    assert!(ended.status.success(), "{ended:?}");
    assert_nothing_listens(running.engine);
    let began = Instant::now();
    while process::is_alive(running.keeper_pid) && began.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    assert!(
        !process::is_alive(running.keeper_pid) || process::find(running.keeper_pid).is_none_or(|found| found.command.is_empty())
    );
}
