//! Who is compared.

use serde::{Deserialize, Serialize};

use crate::scenario::Scenario;

/// A function that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Contender {
    /// Answers at once: the harness and the runtime client by themselves.
    Echo,
    /// The bare SDK: a conditional put and an update a job.
    Floor,
    /// The bare SDK, with the calls that Ikkai makes and as many bytes of log.
    SameCalls,
    /// Ikkai with its defaults.
    Ikkai,
    /// Ikkai's e-mail consumer, which is deployed as it is.
    Email,
    /// Powertools for AWS Lambda (Python), batch and idempotency.
    Python,
    /// Powertools for AWS Lambda (TypeScript), batch and idempotency.
    TypeScript,
}

impl Contender {
    pub(crate) const ALL: [Self; 7] =
        [Self::Echo, Self::Floor, Self::SameCalls, Self::Ikkai, Self::Email, Self::Python, Self::TypeScript];

    /// What people call it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Floor => "raw SDK",
            Self::SameCalls => "raw SDK, same calls and log",
            Self::Ikkai => "Ikkai",
            Self::Email => "Ikkai, e-mail consumer",
            Self::Python => "Powertools Python",
            Self::TypeScript => "Powertools TypeScript",
        }
    }

    /// Its binary in this workspace, if it is one.
    pub(crate) const fn binary(self) -> Option<&'static str> {
        match self {
            Self::Echo => Some("contender-echo"),
            Self::Floor => Some("contender-floor"),
            Self::SameCalls => Some("contender-same-calls"),
            Self::Ikkai => Some("contender-ikkai"),
            Self::Email => Some("email-consumer"),
            Self::Python | Self::TypeScript => None,
        }
    }

    /// Its environment, apart from where things are.
    pub(crate) const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Echo => &[],
            Self::Floor => &[("JOBS_TABLE", "floor")],
            Self::SameCalls => &[("JOBS_TABLE", "jobs"), ("QUEUE_NAME", "email")],
            Self::Ikkai => &[
                ("IKKAI_JOBS_TABLE", "jobs"),
                ("IKKAI_QUEUE_NAME", "email"),
                ("IKKAI_MAX_RECEIVE_COUNT", "8"),
                ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
            ],
            Self::Email => &[
                ("IKKAI_JOBS_TABLE", "jobs"),
                ("IKKAI_QUEUE_NAME", "email"),
                ("IKKAI_MAX_RECEIVE_COUNT", "8"),
                ("IKKAI_FUNCTION_TIMEOUT_SECONDS", "30"),
                ("IKKAI_CONTACTS_TABLE", "contacts"),
                ("IKKAI_EMAIL_FROM", "no-reply@example.com"),
            ],
            Self::Python | Self::TypeScript => &[("JOBS_TABLE", "powertools")],
        }
    }

    /// What turns off the calls that are made in init; its time without a network is asked for.
    pub(crate) const fn without_network(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::SameCalls => &[("WARM_UP", "off")],
            Self::Ikkai | Self::Email => &[("IKKAI_WARM_UP", "off")],
            Self::Echo | Self::Floor | Self::Python | Self::TypeScript => &[],
        }
    }

    /// What it is given to do. The e-mail consumer's mails all go out.
    pub(crate) const fn scenarios(self) -> &'static [Scenario] {
        match self {
            Self::Echo => &[Scenario::New],
            Self::Email => &[Scenario::New, Scenario::Duplicates],
            Self::Floor | Self::SameCalls | Self::Ikkai | Self::Python | Self::TypeScript => &Scenario::ALL,
        }
    }

    /// Whether it works on its messages, and has to say which of them failed.
    pub(crate) const fn works(self) -> bool {
        !matches!(self, Self::Echo)
    }
}
