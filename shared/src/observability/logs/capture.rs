//! Log lines of one thread, for tests.
//!
//! ```
//! use ikkai::observability::logs::{LevelSetting, LogSetup, capture::Captured};
//!
//! let captured = Captured::start(LogSetup::new(LevelSetting::Info).own_crate(module_path!()));
//! tracing::info!(attempt = 2, "job succeeded");
//! assert_eq!(captured.only_line()["attempt"], 2);
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::layer::SubscriberExt as _;

use super::LogSetup;
use super::layer::JsonLines;
use crate::clock::{EpochMillis, ManualClock, SystemClock};

/// Captures the log lines that the current thread writes, from [`Captured::start`] until it is dropped. The lines carry the time
/// 1970-01-01T00:00:00.000Z, so that they can be compared whole.
///
/// In asynchronous tests this needs a runtime that stays on the test's thread, which is what `#[tokio::test]` makes.
pub struct Captured {
    lines: Arc<Mutex<Vec<String>>>,
    _until_dropped: DefaultGuard,
}

impl Captured {
    /// Begins to capture.
    #[must_use]
    pub fn start(setup: impl Into<LogSetup>) -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let write = {
            let lines = Arc::clone(&lines);
            move |line: &str| lines.lock().unwrap_or_else(PoisonError::into_inner).push(line.to_owned())
        };
        let clock = Arc::new(ManualClock::new(EpochMillis::from_i64(0)));
        let subscriber = tracing_subscriber::registry().with(JsonLines::new(setup.into(), clock, write));
        Self { lines, _until_dropped: tracing::subscriber::set_default(subscriber) }
    }

    /// The lines so far, each as it was written without its line break.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(|line| line.trim_end_matches('\n').to_owned()).collect()
    }

    /// The lines so far, parsed.
    ///
    /// # Panics
    ///
    /// If a line is not JSON.
    #[must_use]
    pub fn parsed(&self) -> Vec<Value> {
        self.lines().iter().map(|line| serde_json::from_str(line).expect("a log line is JSON")).collect()
    }

    /// The one line that was written, parsed.
    ///
    /// # Panics
    ///
    /// If there is none or more than one.
    #[must_use]
    pub fn only_line(&self) -> Value {
        let mut lines = self.parsed();
        assert_eq!(lines.len(), 1, "expected one log line: {lines:?}");
        lines.remove(0)
    }
}

/// Makes the log lines of the whole process as [`init`](super::init) does and writes them nowhere, for those who measure what they take. Later calls
/// change nothing.
pub fn discard(setup: impl Into<LogSetup>) {
    let layer = JsonLines::new(setup.into(), Arc::new(SystemClock), |line: &str| {
        std::hint::black_box(line);
    });
    // Fails only where the process has a log already, which then stays.
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer));
}

/// Runs `work` and returns the lines it logged on this thread, with what it returned.
pub fn capture<T>(setup: impl Into<LogSetup>, work: impl FnOnce() -> T) -> (Vec<String>, T) {
    let captured = Captured::start(setup);
    let value = work();
    (captured.lines(), value)
}
