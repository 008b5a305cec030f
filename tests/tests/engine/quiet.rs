//! What is not there: open ports, personal data in logs. That nothing outlives its engine is tested where engines are made, in the package `ikkai-cli`.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use ikkai::idempotency::Status;
use ikkai_cli::local::process;

use crate::harness::on_engine;

/// Sockets of this machine that listen, from `/proc/net/tcp` and `tcp6`: (inode, is loopback).
#[cfg(target_os = "linux")]
fn listening() -> Vec<(String, bool)> {
    let mut found = Vec::new();
    for (path, loopback) in [("/proc/net/tcp", "0100007F"), ("/proc/net/tcp6", "00000000000000000000000001000000")] {
        for line in std::fs::read_to_string(path).unwrap_or_default().lines().skip(1) {
            let fields: Vec<_> = line.split_whitespace().collect();
            if fields[3] == "0A" {
                found.push((fields[9].to_owned(), fields[1].starts_with(loopback)));
            }
        }
    }
    found
}

#[cfg(target_os = "linux")]
fn sockets_of(pid: i32) -> BTreeSet<String> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    links.filter_map(|link| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']').map(str::to_owned)).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn everything_that_was_started_listens_on_loopback_only() {
    on_engine(async |lab| {
        assert_eq!(lab.aws.address().ip(), Ipv4Addr::LOCALHOST);
        let job_id = lab.post_mail("listening", "user-1").await;
        lab.record_when(&job_id, |record| record.status == Status::Succeeded).await;
        let mut pids = vec![i32::try_from(std::process::id()).expect("a pid")];
        // The engine and all that it started: a database, too, where it is a process of its own.
        pids.extend(process::members(lab.aws.engine_pid()).iter().map(|member| member.pid));
        for function in [lab.stack.producer(), lab.stack.email_consumer()] {
            let processes = lab.aws.function_processes(function);
            assert!(
                processes.iter().all(|pid| pids.contains(pid)) && !processes.is_empty(),
                "{function} runs in the engine's group"
            );
        }
        let ours: BTreeSet<_> = pids.into_iter().flat_map(sockets_of).collect();
        let listening: Vec<_> = listening().into_iter().filter(|(inode, _)| ours.contains(inode)).collect();
        assert!(listening.len() >= 2, "engine and proxy listen: {listening:?}");
        assert!(listening.iter().all(|(_, is_loopback)| *is_loopback), "{listening:?}");
    });
}

#[test]
fn no_log_holds_an_address_a_name_or_a_key() {
    on_engine(async |lab| {
        let key = lab.key("secret-key");
        for (user, key) in [("user-7", key.clone()), ("nobody", lab.key("secret-nobody"))] {
            let posted = lab.post_as("tester", &key, &lab.mail_to(user, &key)).await;
            assert_eq!(posted.status, 202);
        }
        lab.send_directly(&format!(r#"{{"type":"email.send","zoe@example.com":"{key}""#)).await;
        lab.dead_letter_with("secret-nobody").await;
        lab.dead_letter_with(&key).await;
        let log = std::fs::read_to_string(lab.aws.log()).expect("a log");
        assert!(log.contains("job succeeded") && log.contains("message unparseable"), "the functions' lines are in it");
        let lines = log.lines().filter(|line| line.starts_with('{'));
        for line in lines {
            for text in ["zoe@example.com", "Zoë", "Ångström", "secret-key", "secret-nobody", "user-7"] {
                assert!(!line.contains(text), "{text} in {line}");
            }
        }
    });
}
