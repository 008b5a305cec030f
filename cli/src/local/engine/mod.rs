//! The local engine as a process of ours. What differs between engines is in here: how each is [prepared](Prepared), started and
//! [asked](EngineAddress), and [what it cannot do](EngineKind::lacks).

mod address;
mod dynamodb_local;
mod java;
mod kind;
mod localstack;
mod ministack;
mod prepared;

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::loopback::Loopback;
use super::process::{self, Process};

pub use address::{AskError, EngineAddress};
pub use dynamodb_local::DynamoDbLocalError;
pub use java::JavaError;
pub use kind::{Capability, ENGINE_VARIABLE, EngineKind, UnknownEngine};
pub use prepared::{LocalStackParts, PrepareError, Prepared};

/// The region that the engine plays.
pub const REGION: &str = "us-east-1";

/// Whether the engine asks who calls. Without it everybody may do everything, which is what most tests are not about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Authorization {
    /// Everybody may do everything.
    #[default]
    Ignored,
    /// Signatures are checked and policies evaluated; the access key `test` is the account itself.
    Enforced,
}

/// The first start of a new environment compiles some megabytes of Python, on a machine that may be busy with other things.
const READY_WITHIN: Duration = Duration::from_secs(300);

/// How long the engine may take to end by itself.
const GRACE: Duration = Duration::from_millis(1500);

/// Why the engine does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The wanted port is in use.
    #[error("port {port} of 127.0.0.1 is in use by another program; end that one, or leave out --port and a free port is chosen")]
    PortTaken {
        /// Which port.
        port: u16,
    },
    /// It does not do what it is asked for.
    #[error("this engine cannot be asked for that: {reason}")]
    Lacks {
        /// What it lacks.
        reason: &'static str,
    },
    /// No port is free.
    #[error("no free port on 127.0.0.1")]
    NoPort(#[source] std::io::Error),
    /// The process could not be started.
    #[error("cannot start the engine with `{}`", program.display())]
    NotStarted {
        /// Its program.
        program: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It ended by itself.
    #[error("the engine ended by itself ({status}); its last lines (all of them in `{}`):\n{tail}", log.display())]
    Died {
        /// Its exit status.
        status: ExitStatus,
        /// Where its log is.
        log: PathBuf,
        /// The end of the log.
        tail: String,
    },
    /// It did not become ready.
    #[error("the engine was not ready after {} s; its last lines (all of them in `{}`):\n{tail}", READY_WITHIN.as_secs(), log.display())]
    NotReady {
        /// Where its log is.
        log: PathBuf,
        /// The end of the log.
        tail: String,
    },
    /// A file of the instance could not be used.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Where an engine is to be and whom its functions call.
struct Setup<'a> {
    address: SocketAddr,
    /// Takes its files.
    scratch: &'a Path,
    /// The endpoint URL that function processes are given.
    endpoint_for_functions: &'a str,
    authorization: Authorization,
}

/// A running engine and the function processes that it starts. It ends with this value, and with this process.
#[derive(Debug)]
pub struct Engine {
    address: EngineAddress,
    log: PathBuf,
    scratch: PathBuf,
    group: i32,
    /// `None` once it was stopped: its id may belong to another process then.
    child: Mutex<Option<Child>>,
}

impl Engine {
    /// Starts the engine and waits until it answers.
    ///
    /// `folder` takes its log and scratch files. `endpoint_for_functions` is the endpoint URL that function processes are given.
    /// `authorization` says whether callers are asked for permissions.
    ///
    /// # Errors
    /// The port is taken, or the engine cannot be started or does not become ready.
    pub async fn start(
        prepared: &Prepared,
        folder: &Path,
        port: Option<u16>,
        endpoint_for_functions: &str,
        authorization: Authorization,
    ) -> Result<Self, EngineError> {
        let mut attempts = 3;
        loop {
            let chosen = match port {
                Some(port) => ensure_free(port)?,
                None => free_port()?,
            };
            let engine = Self::spawn(prepared, folder, chosen, endpoint_for_functions, authorization)?;
            match engine.wait_until_ready().await {
                Ok(()) => return Ok(engine),
                // Between choosing a free port and listening on it, somebody else can take it.
                Err(EngineError::Died { tail, .. }) if port.is_none() && attempts > 1 && tail.contains("already in use") => {
                    attempts -= 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn spawn(
        prepared: &Prepared,
        folder: &Path,
        port: u16,
        endpoint_for_functions: &str,
        authorization: Authorization,
    ) -> Result<Self, EngineError> {
        let log_path = folder.join("engine.log");
        let scratch = folder.join("scratch");
        std::fs::create_dir_all(&scratch).map_err(file_error(&scratch))?;
        let log = File::create(&log_path).map_err(file_error(&log_path))?;
        let log_too = log.try_clone().map_err(file_error(&log_path))?;
        let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, port));

        let mut command = prepared.command(&Setup { address: socket, scratch: &scratch, endpoint_for_functions, authorization });
        command
            // Function processes inherit this environment: nothing of the user's own AWS settings may reach them.
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "LANG" || name == "RUST_BACKTRACE"))
            .env("HOME", &scratch)
            .env("TMPDIR", &scratch)
            .env("PYTHONUNBUFFERED", "1")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            // The engine ends when this pipe does.
            .stdin(Stdio::piped())
            .stdout(log)
            .stderr(log_too)
            // A group of its own: Ctrl-C does not reach it before we can stop it in order, and stopping takes its children along.
            .process_group(0);
        let program = PathBuf::from(command.get_program());
        let child = command.spawn().map_err(|source| EngineError::NotStarted { program, source })?;
        let group = i32::try_from(child.id()).unwrap_or(i32::MAX);
        let address = EngineAddress { kind: prepared.kind(), socket };
        Ok(Self { address, log: log_path, scratch, group, child: Mutex::new(Some(child)) })
    }

    async fn wait_until_ready(&self) -> Result<(), EngineError> {
        let path = match self.address.kind {
            EngineKind::Ministack => ministack::READY,
            EngineKind::Localstack => localstack::HEALTH,
        };
        let http = Loopback::new(Duration::from_secs(5));
        let started = Instant::now();
        loop {
            self.check()?;
            if http.get(self.address.socket, path).await.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if started.elapsed() > READY_WITHIN {
                return Err(EngineError::NotReady { log: self.log.clone(), tail: self.log_tail() });
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }

    /// Which engine it is, and where it listens.
    #[must_use]
    pub fn address(&self) -> EngineAddress {
        self.address
    }

    /// The engine's log.
    #[must_use]
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The id of the engine's process.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.group
    }

    /// Whether it still runs.
    ///
    /// # Errors
    /// It has ended; the error holds its last lines.
    pub fn check(&self) -> Result<(), EngineError> {
        let mut child = self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match child.as_mut().map(Child::try_wait) {
            Some(Ok(Some(status))) => Err(EngineError::Died { status, log: self.log.clone(), tail: self.log_tail() }),
            _ => Ok(()),
        }
    }

    /// The processes of functions. The engine runs each out of a folder that is named after the SHA-256 of the function's zip.
    #[must_use]
    pub fn function_processes(&self) -> Vec<Process> {
        process::members(self.group).into_iter().filter(|member| member.command.ends_with("/bootstrap")).collect()
    }

    fn log_tail(&self) -> String {
        last_lines(&self.log, 15)
    }

    /// Ends the engine and every process that it started. What was started is gone when this returns.
    pub fn stop(&self) {
        let Some(mut child) = self.child.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() else { return };
        process::end_group(self.group, GRACE);
        let _ = child.wait();
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}

fn free_port() -> Result<u16, EngineError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(EngineError::NoPort)?;
    Ok(listener.local_addr().map_err(EngineError::NoPort)?.port())
}

fn ensure_free(port: u16) -> Result<u16, EngineError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(|_| port).map_err(|_| EngineError::PortTaken { port })
}

/// The last lines of a file, indented for an error message. Reads its last 16 KiB only.
fn last_lines(path: &Path, count: usize) -> String {
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(16 * 1024)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> EngineError {
    let path = path.to_owned();
    move |source| EngineError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_with_the_mend() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let error = ensure_free(port).unwrap_err().to_string();
        assert!(error.contains(&format!("port {port}")) && error.contains("--port"), "{error}");
        drop(listener);
        assert_eq!(ensure_free(port).unwrap(), port);
    }

    #[test]
    fn the_end_of_a_long_log_is_shown() {
        let path = std::env::temp_dir().join(format!("ikkai-log-{}", std::process::id()));
        let lines: String = (0..5000).map(|line| format!("line {line}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        assert_eq!(last_lines(&path, 2), "  | line 4998\n  | line 4999");
        assert_eq!(last_lines(Path::new("/nonexistent"), 2), "");
        std::fs::remove_file(path).unwrap();
    }
}
