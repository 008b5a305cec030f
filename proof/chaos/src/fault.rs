//! What goes wrong, each kind under its name.

use clap::ValueEnum;
use serde::Serialize;

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Fault {
    /// A function's process is killed (SIGKILL), whatever it is at.
    Kill,
    /// A consumer's process stands still (SIGSTOP) for longer than its lease, and goes on without knowing.
    Freeze,
    /// A service says "slow down"; nothing is done.
    Throttled,
    /// A service answers with a 500; nothing is done.
    ServerError,
    /// The connection is closed before anything is done.
    ConnectionReset,
    /// The call arrives late.
    Delayed,
    /// The call is done, and the connection is closed in the place of its answer.
    AnswerLost,
    /// The call is done, and its answer comes when nobody waits for it any more.
    AnswerLate,
    /// No function can reach AWS.
    AwsAway,
    /// Nobody can reach the payment provider.
    ProviderAway,
    /// Nobody can reach the receiver of webhooks.
    ReceiverAway,
    /// A message is on its queue once more.
    DuplicateMessage,
    /// A client posts its job once more.
    RepeatedRequest,
}

impl Fault {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Kill,
        Self::Freeze,
        Self::Throttled,
        Self::ServerError,
        Self::ConnectionReset,
        Self::Delayed,
        Self::AnswerLost,
        Self::AnswerLate,
        Self::AwsAway,
        Self::ProviderAway,
        Self::ReceiverAway,
        Self::DuplicateMessage,
        Self::RepeatedRequest,
    ];

    /// The name in arguments and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Freeze => "freeze",
            Self::Throttled => "throttled",
            Self::ServerError => "server_error",
            Self::ConnectionReset => "connection_reset",
            Self::Delayed => "delayed",
            Self::AnswerLost => "answer_lost",
            Self::AnswerLate => "answer_late",
            Self::AwsAway => "aws_away",
            Self::ProviderAway => "provider_away",
            Self::ReceiverAway => "receiver_away",
            Self::DuplicateMessage => "duplicate_message",
            Self::RepeatedRequest => "repeated_request",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_name_in_arguments_and_results() {
        for fault in Fault::ALL {
            let argument = fault.to_possible_value().unwrap();
            assert_eq!((argument.get_name(), serde_json::to_value(fault).unwrap()), (fault.name(), fault.name().into()));
        }
        assert_eq!(Fault::value_variants(), Fault::ALL);
    }
}
