//! Ctrl-C and its relatives.

use tokio::signal::unix::{Signal, SignalKind, signal};

/// Waits for the wish that this process ends.
#[derive(Debug)]
pub(super) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Interrupt {
    /// Takes the signals over: from now on none of them ends the process by itself.
    ///
    /// # Errors
    /// The system refuses.
    pub(super) fn new() -> std::io::Result<Self> {
        let take = |kind| signal(kind);
        Ok(Self {
            interrupt: take(SignalKind::interrupt())?,
            terminate: take(SignalKind::terminate())?,
            hang_up: take(SignalKind::hangup())?,
        })
    }

    /// Waits for one of them, and returns the exit code that shells expect: 128 and the signal's number.
    pub(super) async fn wanted(&mut self) -> u8 {
        let kind = tokio::select! {
            _ = self.interrupt.recv() => SignalKind::interrupt(),
            _ = self.terminate.recv() => SignalKind::terminate(),
            _ = self.hang_up.recv() => SignalKind::hangup(),
        };
        128 + u8::try_from(kind.as_raw_value()).unwrap_or(0)
    }
}
