//! How a command of an operator ends.

use std::process::ExitCode;

/// How a command of an operator ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Everything was done or shown.
    Done,
    /// Something failed, was refused, or was not done in full.
    Failed,
    /// The command was not used as it can be.
    Usage,
    /// There was nothing that it could be done to.
    Nothing,
    /// The person did not wait for the answer: what was asked may be done.
    Interrupted,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        Self::from(match ending {
            Ending::Done => 0,
            Ending::Failed => 1,
            Ending::Usage => 2,
            Ending::Nothing => 3,
            // 128 and the signal's number, as shells expect.
            Ending::Interrupted => 130,
        })
    }
}
