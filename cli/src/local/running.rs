//! What `ikkai local up` leaves behind for the other commands: which process keeps the environment, and where everything is.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::checkout::Checkout;
use super::engine::{EngineAddress, EngineKind};
use super::process;
use super::stack::Stack;

/// How long the keeper may take to stop everything before it is killed.
const STOPPED_WITHIN: Duration = Duration::from_secs(10);

/// The state could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// Somebody else keeps an environment in this checkout.
    #[error(
        "this checkout has a local environment already (process {pid}); `ikkai local status` shows it, `ikkai local down` ends it"
    )]
    AlreadyRunning {
        /// The keeper's process id.
        pid: i32,
    },
    /// A file could not be used.
    #[error("cannot use `{}`", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// It did not end.
    #[error("process {pid} does not end; end it yourself (`kill -9 {pid}`)")]
    DoesNotEnd {
        /// Which process.
        pid: i32,
    },
}

/// A running environment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Running {
    /// The process that keeps it: engine's starter and proxy.
    pub keeper_pid: i32,
    /// The engine's process and process group.
    pub engine_pid: i32,
    /// Which engine.
    pub engine_kind: EngineKind,
    /// Where the engine listens.
    pub engine: SocketAddr,
    /// Where the proxy listens.
    pub proxy: SocketAddr,
    /// The engine's scratch folder, by which its processes are recognised after a crash.
    pub scratch: PathBuf,
    /// The engine's log.
    pub log: PathBuf,
    /// The API in a form that `curl` understands.
    pub api: String,
    /// The payment provider on this machine, if there is one.
    pub payments: Option<Payments>,
    /// The stack.
    pub stack: Stack,
}

impl Running {
    /// Which engine it is, and where it listens.
    #[must_use]
    pub fn engine_address(&self) -> EngineAddress {
        EngineAddress { kind: self.engine_kind, socket: self.engine }
    }
}

/// A payment provider on this machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Payments {
    /// Its API.
    pub url: String,
    /// A customer of it who pays.
    pub customer: String,
}

/// The files by which the commands find each other.
#[derive(Debug, Clone)]
pub struct StateFiles {
    folder: PathBuf,
}

/// The keeper's claim. It goes with its process, however that ends.
#[derive(Debug)]
pub struct Claim {
    _lock: File,
}

/// Who keeps an environment in this checkout now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keeper {
    /// Nobody.
    Nobody,
    /// The process with this id.
    Process(i32),
}

impl StateFiles {
    /// The files of a checkout.
    #[must_use]
    pub fn of(checkout: &Checkout) -> Self {
        Self { folder: checkout.state() }
    }

    fn lock_path(&self) -> PathBuf {
        self.folder.join("local.lock")
    }

    fn state_path(&self) -> PathBuf {
        self.folder.join("local.json")
    }

    /// What the keeper itself has to say.
    #[must_use]
    pub fn keeper_log(&self) -> PathBuf {
        self.folder.join("local.log")
    }

    /// Becomes the keeper.
    ///
    /// # Errors
    /// There is one already.
    pub fn claim(&self) -> Result<Claim, StateError> {
        std::fs::create_dir_all(&self.folder).map_err(file_error(&self.folder))?;
        let path = self.lock_path();
        let options = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(&path);
        let mut lock = options.map_err(file_error(&path))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(StateError::AlreadyRunning { pid: read_pid(&mut lock) }),
            Err(TryLockError::Error(source)) => return Err(file_error(&path)(source)),
        }
        lock.set_len(0).and_then(|()| writeln!(lock, "{}", std::process::id())).map_err(file_error(&path))?;
        Ok(Claim { _lock: lock })
    }

    /// Who is the keeper.
    #[must_use]
    pub fn keeper(&self) -> Keeper {
        let Ok(mut lock) = File::open(self.lock_path()) else { return Keeper::Nobody };
        match lock.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Keeper::Process(read_pid(&mut lock)),
            _ => Keeper::Nobody,
        }
    }

    /// What was last written, whether it still runs or not.
    #[must_use]
    pub fn read(&self) -> Option<Running> {
        serde_json::from_slice(&std::fs::read(self.state_path()).ok()?).ok()
    }

    /// Tells the other commands where everything is.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, running: &Running) -> Result<(), StateError> {
        let path = self.state_path();
        let text = serde_json::to_vec_pretty(running).map_err(|error| file_error(&path)(error.into()))?;
        // Readers see all of it or nothing.
        let half = path.with_extension("json.new");
        std::fs::write(&half, text).and_then(|()| std::fs::rename(&half, &path)).map_err(file_error(&path))
    }

    /// Takes the state away.
    pub fn remove(&self) {
        let _ = std::fs::remove_file(self.state_path());
    }

    /// Ends the environment, whatever state it is in. Returns whether there was anything to end.
    ///
    /// # Errors
    /// A process does not end.
    pub fn end(&self) -> Result<bool, StateError> {
        let running = self.read();
        let keeper = self.keeper();
        if let Keeper::Process(pid) = keeper {
            process::terminate(pid);
            if !self.wait_until_nobody() {
                process::kill(pid);
                if !self.wait_until_nobody() {
                    return Err(StateError::DoesNotEnd { pid });
                }
            }
        }
        let left = running.as_ref().is_some_and(end_what_a_crash_left);
        self.remove();
        Ok(running.is_some() || keeper != Keeper::Nobody || left)
    }

    fn wait_until_nobody(&self) -> bool {
        let started = Instant::now();
        while self.keeper() != Keeper::Nobody {
            if started.elapsed() > STOPPED_WITHIN {
                return false;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        true
    }
}

/// The engine ends by itself when its keeper dies. Should it not, it is ended here; its scratch folder as `HOME` proves that the
/// process ids were not given to somebody else since.
fn end_what_a_crash_left(running: &Running) -> bool {
    let ours = |pid| process::variable(pid, "HOME").is_some_and(|home| Path::new(&home) == running.scratch);
    let left = process::members(running.engine_pid).iter().any(|member| ours(member.pid));
    if left {
        process::end_group(running.engine_pid, Duration::from_secs(1));
    }
    left
}

fn read_pid(lock: &mut File) -> i32 {
    let mut text = String::new();
    let _ = lock.read_to_string(&mut text);
    text.trim().parse().unwrap_or(0)
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> StateError {
    let path = path.to_owned();
    move |source| StateError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_keeper_at_a_time_and_its_end_is_seen() {
        let folder = std::env::temp_dir().join(format!("ikkai-state-{}", std::process::id()));
        let files = StateFiles { folder: folder.clone() };
        assert_eq!(files.keeper(), Keeper::Nobody);
        assert!(!files.end().unwrap(), "nothing to end");
        let claim = files.claim().unwrap();
        let me = i32::try_from(std::process::id()).unwrap();
        assert_eq!(files.keeper(), Keeper::Process(me));
        assert!(matches!(files.claim(), Err(StateError::AlreadyRunning { pid }) if pid == me));
        drop(claim);
        assert_eq!(files.keeper(), Keeper::Nobody);
        assert!(files.claim().is_ok());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
