//! LocalStack's SQS on this machine, as a process of ours: it has what MiniStack lacks, SQS's own move tasks. Nothing else of LocalStack is run.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::loopback::Loopback;
use ikkai_cli::local::python::{Extras, PythonError, environment};
use ikkai_cli::progress::Progress;

/// Runs it, and ends it with its starter.
const SCRIPT: &str = include_str!("sqs.py");

/// The first start of a new environment compiles its Python.
const READY_WITHIN: Duration = Duration::from_secs(120);

/// Why there is no LocalStack.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalStackError {
    /// Its Python environment could not be made.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// No port is free, its log cannot be written, or the process cannot be started.
    #[error("LocalStack cannot be started")]
    NotStarted(#[from] std::io::Error),
    /// It ended, or did not become ready.
    #[error("LocalStack is not ready; its last words are in `{}`", log.display())]
    NotReady {
        /// Where its log is.
        log: PathBuf,
    },
}

/// A running SQS. It ends with this value, and with this process.
#[derive(Debug)]
pub struct LocalStackSqs {
    address: SocketAddr,
    child: Child,
}

impl LocalStackSqs {
    /// Starts one with its files in `folder`, and waits until it answers. Its Python environment is made on the first start.
    ///
    /// # Errors
    /// There is no Python 3.13, or the process does not become ready.
    pub async fn start(checkout: &Checkout, folder: &Path, progress: &Progress) -> Result<Self, LocalStackError> {
        let environment = environment(checkout, Extras::Sqs, progress).await?;
        std::fs::create_dir_all(folder)?;
        let log_path = folder.join("localstack.log");
        let log = File::create(&log_path)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let child = Command::new(environment.python())
            .args(["-c", SCRIPT])
            .env_clear()
            .envs([
                ("GATEWAY_LISTEN", address.to_string()),
                ("LOCALSTACK_HOST", address.to_string()),
                ("SERVICES", "sqs".to_owned()),
                // Queue URLs of this address: no name has to be resolved.
                ("SQS_ENDPOINT_STRATEGY", "off".to_owned()),
                // It asks nobody for names, certificates or news, and tells nobody of itself.
                ("DNS_ADDRESS", "0".to_owned()),
                ("SKIP_SSL_CERT_DOWNLOAD", "1".to_owned()),
                ("DISABLE_EVENTS", "1".to_owned()),
                // Inside a container it would take the container for its own.
                ("OVERRIDE_IN_DOCKER", "false".to_owned()),
                ("FILESYSTEM_ROOT", folder.display().to_string()),
                ("HOME", folder.display().to_string()),
                ("PATH", "/usr/bin:/bin".to_owned()),
            ])
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A group of its own: Ctrl-C does not reach it before its starter is done with it.
            .process_group(0)
            .spawn()?;
        let mut sqs = Self { address, child };
        sqs.wait_until_ready(log_path).await?;
        Ok(sqs)
    }

    async fn wait_until_ready(&mut self, log: PathBuf) -> Result<(), LocalStackError> {
        let (started, http) = (Instant::now(), Loopback::new(Duration::from_secs(10)));
        loop {
            if http.get(self.address, "/_localstack/health").await.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if started.elapsed() > READY_WITHIN || !matches!(self.child.try_wait(), Ok(None)) {
                return Err(LocalStackError::NotReady { log });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LocalStackSqs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> std::io::Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr().map(|address| address.port())
}
