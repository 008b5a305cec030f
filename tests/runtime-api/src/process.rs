//! The function's process.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{env, fmt, io};

use bytes::Bytes;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::invocation::{Deadline, Event, Invocation, Outcome};
use super::memory::Memory;
use super::output::Output;
use super::server::RuntimeApi;

/// How long a function may take where Lambda sets no limit that a test could name. Lambda gives init 10 seconds; a machine that compiles at the same
/// time may need more.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running function: its process and the runtime API that it talks to. Dropping it kills the process.
pub struct FunctionProcess {
    api: Arc<RuntimeApi>,
    pid: u32,
    init_duration: Duration,
    stdout: Arc<Output>,
    stderr: Output,
    exit: watch::Receiver<Option<ExitStatus>>,
    kill: mpsc::Sender<()>,
    /// The server and the guardian of the child; both end when this is dropped, and the child with its guardian.
    _tasks: JoinSet<()>,
}

impl FunctionProcess {
    /// Starts the binary with the given environment variables on top of those that Lambda sets, and waits until it asks for its first event.
    ///
    /// # Errors
    ///
    /// If the binary cannot be started, or does not finish its init.
    pub async fn start<I, K, V>(binary: impl AsRef<Path>, env: I) -> Result<Self, StartError>
    where
        I: IntoIterator<Item = (K, V)>,
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let binary = binary.as_ref();
        let cannot_start = |error| StartError::CannotStart { binary: binary.display().to_string(), error };
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(cannot_start)?;
        let address = listener.local_addr().map_err(cannot_start)?;
        let (stdout, child_stdout) = Output::create().map_err(cannot_start)?;
        let (stderr, child_stderr) = Output::create().map_err(cannot_start)?;
        let stdout = Arc::new(stdout);
        let api = RuntimeApi::new(Arc::clone(&stdout));

        let mut command = Command::new(binary);
        command
            .env_clear()
            .envs(lambda_environment(binary))
            .envs(env.into_iter().map(|(name, value)| (name.into(), value.into())));
        command.env("AWS_LAMBDA_RUNTIME_API", address.to_string());
        command.stdin(Stdio::null()).stdout(child_stdout).stderr(child_stderr).kill_on_drop(true);

        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&api).serve(listener));
        let started = Instant::now();
        let child = command.spawn().map_err(cannot_start)?;
        let pid = child.id().ok_or_else(|| cannot_start(io::Error::other("the process ended at once")))?;
        let (exit_sender, exit) = watch::channel(None);
        let (kill, kill_requests) = mpsc::channel(1);
        tasks.spawn(guard(child, kill_requests, exit_sender));

        let mut process = Self { api, pid, init_duration: Duration::ZERO, stdout, stderr, exit, kill, _tasks: tasks };
        process.init_duration = process.init(started).await?;
        Ok(process)
    }

    async fn init(&self, started: Instant) -> Result<Duration, StartError> {
        tokio::select! {
            biased;
            end = self.api.first_call() => Ok(end.duration_since(started)),
            report = self.api.init_error() => Err(StartError::InitError { report, output: self.output() }),
            status = self.exited() => Err(StartError::Exited { status, output: self.output() }),
            () = tokio::time::sleep(PATIENCE) => Err(StartError::TimedOut { output: self.output() }),
        }
    }

    /// Hands an event to the function and waits for its answer.
    pub async fn invoke(&self, event: &Value, deadline: Deadline) -> Invocation {
        self.invoke_event(Event::new(event.to_string(), deadline)).await
    }

    /// Hands an event with chosen headers to the function and waits for its answer. Several may be open at once if the function asks for several;
    /// their log lines cannot be told apart then.
    pub async fn invoke_event(&self, event: Event) -> Invocation {
        let (request_id, deadline) = (event.request_id.clone(), event.deadline);
        let mut pending = self.api.enqueue(event);
        let handed_over = tokio::select! {
            biased;
            Ok(handed_over) = &mut pending.handed_over => handed_over,
            outcome = self.end_without_answer(PATIENCE) => {
                self.api.abandon(&request_id);
                return Invocation { outcome, request_id, log_lines: Vec::new(), duration: Duration::ZERO };
            }
        };
        let limit = if let Deadline::In(duration) = deadline { duration } else { PATIENCE };
        let outcome = tokio::select! {
            biased;
            Ok(outcome) = pending.outcome => outcome,
            outcome = self.end_without_answer(limit.saturating_sub(handed_over.at.elapsed())) => outcome,
        };
        let duration = handed_over.at.elapsed();
        self.api.abandon(&request_id);
        Invocation { outcome, request_id, log_lines: self.stdout.lines_from(handed_over.output_bytes), duration }
    }

    /// Waits for the process to end by itself, or ends it when `limit` is over.
    async fn end_without_answer(&self, limit: Duration) -> Outcome {
        match tokio::time::timeout(limit, self.exited()).await {
            Ok(status) => Outcome::Exited(status),
            Err(_) => {
                self.kill().await;
                Outcome::TimedOut
            }
        }
    }

    /// Waits until the function asks for its next event: everything it does for an invocation is over then.
    pub async fn idle(&self) {
        self.api.idle().await;
    }

    /// From the start of the process to its first call for an event.
    #[must_use]
    pub const fn init_duration(&self) -> Duration {
        self.init_duration
    }

    /// The process's id.
    #[must_use]
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The process's memory now.
    ///
    /// # Errors
    ///
    /// If the process has ended.
    pub fn memory(&self) -> io::Result<Memory> {
        Memory::of_process(self.pid)
    }

    /// Whether the process is still running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.exit.borrow().is_none()
    }

    /// Waits until the process ends.
    pub async fn exited(&self) -> ExitStatus {
        match self.exit.clone().wait_for(Option::is_some).await.map(|status| *status) {
            Ok(Some(status)) => status,
            // The guardian is dropped only together with this process.
            _ => std::future::pending().await,
        }
    }

    /// Kills the process as Lambda does, without a warning (SIGKILL), and waits for its end.
    pub async fn kill(&self) -> ExitStatus {
        // A full channel means that it is being killed, a closed one that it is dead.
        let _ = self.kill.try_send(());
        self.exited().await
    }

    /// All lines that the process wrote to standard output so far.
    #[must_use]
    pub fn stdout_lines(&self) -> Vec<String> {
        self.stdout.lines_from(0)
    }

    /// Everything that the process wrote to standard error so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        self.stderr.text_from(0)
    }

    fn output(&self) -> String {
        format!("{}{}", self.stdout.text_from(0), self.stderr.text_from(0))
    }
}

/// Owns the child and reports its end. The child is killed when this is dropped.
async fn guard(mut child: Child, mut kill_requests: mpsc::Receiver<()>, exit: watch::Sender<Option<ExitStatus>>) {
    let ended = tokio::select! {
        status = child.wait() => Some(status),
        _ = kill_requests.recv() => None,
    };
    let status = match ended {
        Some(status) => status,
        None => {
            // Fails only when the process has ended, which `wait` then says.
            let _ = child.start_kill();
            child.wait().await
        }
    };
    if let Ok(status) = status {
        exit.send_replace(Some(status));
    }
}

/// The variables that Lambda sets (<https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html>), with credentials that are worth nothing.
fn lambda_environment(binary: &Path) -> Vec<(&'static str, OsString)> {
    let mut variables: Vec<(&'static str, OsString)> = [
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256"),
        ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
        ("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand"),
        ("AWS_LAMBDA_LOG_STREAM_NAME", "under-test"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("LANG", "en_US.UTF-8"),
        ("TZ", ":UTC"),
        ("_HANDLER", "bootstrap"),
    ]
    .map(|(name, value)| (name, OsString::from(value)))
    .to_vec();
    let name = binary.file_stem().unwrap_or_default();
    variables.push(("AWS_LAMBDA_FUNCTION_NAME", name.to_owned()));
    variables.push(("AWS_LAMBDA_LOG_GROUP_NAME", Path::new("/aws/lambda").join(name).into()));
    // For children that are scripts.
    variables.extend(env::var_os("PATH").map(|path| ("PATH", path)));
    variables
}

/// Why a function did not start. Every variant but the first carries what the process had written.
#[derive(Debug)]
pub enum StartError {
    /// The operating system did not start it.
    CannotStart {
        /// The binary's path.
        binary: String,
        /// What the operating system said.
        error: io::Error,
    },
    /// It reported an error to the runtime API.
    InitError {
        /// The report: JSON with `errorType` and `errorMessage`.
        report: Bytes,
        /// What it wrote.
        output: String,
    },
    /// It ended before it asked for an event.
    Exited {
        /// How it ended.
        status: ExitStatus,
        /// What it wrote.
        output: String,
    },
    /// It neither ended nor asked for an event.
    TimedOut {
        /// What it wrote.
        output: String,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotStart { binary, .. } => write!(f, "function {binary} cannot be started"),
            Self::InitError { report, output } => {
                write!(f, "function reported an error in init: {}\n{output}", String::from_utf8_lossy(report))
            }
            Self::Exited { status, output } => write!(f, "function ended in init with {status}\n{output}"),
            Self::TimedOut { output } => {
                write!(f, "function asked for no event within {} seconds\n{output}", PATIENCE.as_secs())
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::CannotStart { error, .. } = self { Some(error) } else { None }
    }
}
