//! Processes of this machine: who runs, and how to end them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process};

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: i32,
    /// Its process group.
    pub group: i32,
    /// Its command line; empty for a zombie, which has ended and only waits for its parent to notice.
    pub command: String,
}

impl Process {
    /// Whether it has ended.
    #[must_use]
    pub fn is_zombie(&self) -> bool {
        self.command.is_empty()
    }
}

/// Whether a process with this id runs (a zombie counts until its parent has taken notice).
#[must_use]
pub fn is_alive(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Asks all processes of a group to end, then makes them.
pub fn end_group(group: i32, grace: Duration) {
    let Some(pid) = Pid::from_raw(group) else { return };
    if kill_process_group(pid, Signal::TERM).is_err() {
        return;
    }
    let started = Instant::now();
    while started.elapsed() < grace {
        if members(group).is_empty() {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = kill_process_group(pid, Signal::KILL);
}

/// Kills one process, as a crash would: no signal handler runs.
pub fn kill(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

/// Stops one process where it stands, as a machine that stalls would: it notices nothing of it.
pub fn pause(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::STOP);
    }
}

/// Lets a paused process go on.
pub fn resume(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::CONT);
    }
}

/// Asks one process to end.
pub fn terminate(pid: i32) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, Signal::TERM);
    }
}

/// Asks every other process of this process's group to end, if the group is its own.
pub fn terminate_helpers() {
    let me = rustix::process::getpid().as_raw_nonzero().get();
    if rustix::process::getpgrp().as_raw_nonzero().get() == me {
        members(me).iter().filter(|member| member.pid != me).for_each(|member| terminate(member.pid));
    }
}

/// The living processes of a group, without zombies.
#[must_use]
pub fn members(group: i32) -> Vec<Process> {
    all().into_iter().filter(|process| process.group == group && !process.is_zombie()).collect()
}

/// The process with this id.
#[must_use]
pub fn find(pid: i32) -> Option<Process> {
    all().into_iter().find(|process| process.pid == pid)
}

/// A variable of a process's environment, as it was when the process started.
#[must_use]
pub fn variable(pid: i32, name: &str) -> Option<String> {
    let prefix = format!("{name}=");
    if let Ok(environment) = std::fs::read(format!("/proc/{pid}/environ")) {
        let mut pairs = environment.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        return pairs.find_map(|pair| pair.strip_prefix(&prefix).map(str::to_owned));
    }
    // Elsewhere `ps` appends the environment to the command line; values with blanks are cut there.
    let output = Command::new("ps").args(["eww", "-o", "command=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find_map(|word| word.strip_prefix(&prefix).map(str::to_owned))
}

/// All processes: from `/proc` where there is one (small containers have no `ps`), else from `ps`.
fn all() -> Vec<Process> {
    if Path::new("/proc/self/stat").exists() { from_proc() } else { from_ps() }
}

fn from_proc() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // `pid (name) state ppid pgrp …`; the name may contain spaces and parentheses.
            let (name, fields) = stat.rsplit_once(')')?;
            let mut fields = fields.split_whitespace();
            let zombie = matches!(fields.next()?, "Z" | "X");
            let group = fields.nth(1)?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned();
            let command = match (zombie, line.is_empty()) {
                (true, _) => String::new(),
                // A process that is just ending has no command line any more, but its parent cannot notice yet.
                (false, true) => format!("[{}]", name.split_once('(')?.1),
                (false, false) => line,
            };
            Some(Process { pid, group, command })
        })
        .collect()
}

fn from_ps() -> Vec<Process> {
    let Ok(output) = Command::new("ps").args(["-A", "-o", "pid=,pgid=,command="]).output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().filter_map(ps_line).collect()
}

fn ps_line(line: &str) -> Option<Process> {
    let (pid, rest) = line.trim_start().split_once(char::is_whitespace)?;
    let (group, command) = rest.trim_start().split_once(char::is_whitespace)?;
    let command = command.trim();
    let zombie = command == "<defunct>" || (command.starts_with('(') && command.ends_with(')'));
    let command = if zombie { String::new() } else { command.to_owned() };
    Some(Process { pid: pid.parse().ok()?, group: group.parse().ok()?, command })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::process::CommandExt;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn this_process_is_found_by_its_id() {
        let pid = i32::try_from(std::process::id()).unwrap();
        assert!(is_alive(pid));
        assert!(!find(pid).unwrap().command.is_empty());
    }

    #[test]
    fn a_process_tells_its_environment() {
        let mut child = Command::new("sh");
        child.args(["-c", "echo started; read forever"]).env("IKKAI_PROBE", "here");
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let found = variable(pid, "IKKAI_PROBE");
        kill(pid);
        child.wait().unwrap();
        assert_eq!(found.as_deref(), Some("here"));
    }

    #[test]
    fn a_paused_process_stands_still_until_it_is_resumed() {
        let mut child = Command::new("sh");
        child.args(["-c", "while read line; do echo $line; done"]);
        let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        let mut written = child.stdin.take().unwrap();
        let (said, heard) = std::sync::mpsc::channel();
        let answers = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || answers.lines().map_while(Result::ok).for_each(|line| said.send(line).unwrap()));
        std::io::Write::write_all(&mut written, b"one\n").unwrap();
        assert_eq!(heard.recv_timeout(Duration::from_secs(10)).unwrap(), "one");
        pause(pid);
        std::io::Write::write_all(&mut written, b"two\n").unwrap();
        assert!(heard.recv_timeout(Duration::from_millis(200)).is_err(), "it is paused");
        resume(pid);
        assert_eq!(heard.recv_timeout(Duration::from_secs(10)).unwrap(), "two");
        drop(written);
        child.wait().unwrap();
    }

    #[test]
    fn a_line_of_ps_is_read() {
        let process = ps_line("  412   400 /tmp/a b/bootstrap --x").unwrap();
        assert_eq!(process, Process { pid: 412, group: 400, command: "/tmp/a b/bootstrap --x".into() });
        assert_eq!(ps_line(" 1 1 <defunct>").unwrap().command, "");
    }

    #[test]
    fn ending_a_group_ends_its_children_also_when_they_refuse_to() {
        // The child ignores TERM; its parent waits for it.
        let script = "trap '' TERM; sleep 600 & wait; wait";
        let mut parent = Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap();
        let group = i32::try_from(parent.id()).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while members(group).len() < 2 && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(members(group).len() >= 2);
        end_group(group, Duration::from_millis(100));
        parent.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !members(group).is_empty() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(members(group), []);
    }
}
