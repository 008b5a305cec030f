//! Logs: one flat JSON object a line on standard output, which Lambda ships to CloudWatch.
//!
//! A line holds `timestamp`, `level`, `message`, then the event's own fields, then the fields of the spans around it that the event does not
//! have itself. So `info!(duration_ms = 12, "job succeeded")` inside `info_span!("job", job_id = %id)` has both fields at the top level.
//!
//! Code that is not the kit's or the function's own (the SDK, hyper, lambda_runtime) is held to `WARN` at every setting, and of its events only
//! `target` and a shortened `message` are kept: the SDK prints requests at `DEBUG`, lambda_runtime prints payloads at `TRACE`. `RUST_LOG` is
//! not read for the same reason.

#[cfg(any(test, feature = "testing"))]
pub mod capture;
mod layer;
mod level;
mod line;
mod panics;

use std::sync::Arc;

use tracing_subscriber::layer::SubscriberExt as _;

pub use level::LevelSetting;

use crate::clock::SystemClock;
use layer::JsonLines;

/// How logging is set up: the level, and whose events are written in full.
#[derive(Debug, Clone)]
pub struct LogSetup {
    level: LevelSetting,
    own_crates: Vec<String>,
}

impl LogSetup {
    /// Logs at `level`; the kit's own events are written in full.
    #[must_use]
    pub fn new(level: LevelSetting) -> Self {
        Self { level, own_crates: vec![env!("CARGO_CRATE_NAME").to_owned()] }
    }

    /// Writes the events of another crate in full too. Takes the crate's name, or any path inside it, such as `module_path!()`.
    #[must_use]
    pub fn own_crate(mut self, path: &str) -> Self {
        self.own_crates.push(crate_of(path).to_owned());
        self
    }
}

impl From<LevelSetting> for LogSetup {
    fn from(level: LevelSetting) -> Self {
        Self::new(level)
    }
}

/// Sends the process's log events to standard output and replaces the panic hook by one that logs where it happened, but not the panic's
/// text: that may quote the data that caused it.
///
/// To be called first in `main`. Later calls change nothing.
///
/// ```
/// use ikkai::observability::logs::{self, LevelSetting, LogSetup};
///
/// logs::init(LogSetup::new(LevelSetting::from_env()).own_crate(module_path!()));
/// ```
pub fn init(setup: impl Into<LogSetup>) {
    let layer = JsonLines::new(setup.into(), Arc::new(SystemClock), layer::standard_output);
    if tracing::subscriber::set_global_default(tracing_subscriber::registry().with(layer)).is_ok() {
        panics::install_hook();
    }
}

/// The first segment of a module path.
fn crate_of(path: &str) -> &str {
    path.split_once("::").map_or(path, |(first, _)| first)
}
