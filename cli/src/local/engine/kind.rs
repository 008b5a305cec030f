//! Which engines there are, and what one of them cannot do.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Names the engine where no option does.
pub const ENGINE_VARIABLE: &str = "IKKAI_ENGINE";

/// What plays AWS on this machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// MiniStack: small and fast, from PyPI into a private environment; no Docker, no account.
    #[default]
    Ministack,
    /// LocalStack: closer to AWS and slower, from PyPI; no Docker, no account. Needs Python 3.13 and Java 17 or newer.
    Localstack,
}

/// Something that AWS does and not every engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// SQS's own tasks that move dead letters back (`StartMessageMoveTask`).
    MoveTasks,
    /// HTTP APIs of API Gateway.
    HttpApi,
    /// Signatures that are checked, and policies that are evaluated.
    Policies,
}

/// There is no engine of this name.
#[derive(Debug, thiserror::Error)]
#[error("there is no engine `{name}`; {ENGINE_VARIABLE} and --engine take `ministack` or `localstack`")]
pub struct UnknownEngine {
    name: String,
}

impl EngineKind {
    /// The engine that [`ENGINE_VARIABLE`] names; the default one if it is not set.
    ///
    /// # Errors
    /// There is no such engine.
    pub fn from_environment() -> Result<Self, UnknownEngine> {
        match std::env::var(ENGINE_VARIABLE) {
            Ok(name) if !name.is_empty() => name.parse(),
            _ => Ok(Self::default()),
        }
    }

    /// Its name, as options take it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ministack => "ministack",
            Self::Localstack => "localstack",
        }
    }

    /// Why it cannot do something; `None` if it can.
    #[must_use]
    pub fn lacks(self, capability: Capability) -> Option<&'static str> {
        match (self, capability) {
            (Self::Ministack, Capability::MoveTasks) => Some("MiniStack has no StartMessageMoveTask"),
            (Self::Localstack, Capability::HttpApi) => Some("LocalStack's free edition has no API Gateway v2"),
            (Self::Localstack, Capability::Policies) => Some("LocalStack's free edition enforces no policies"),
            (Self::Ministack, Capability::HttpApi | Capability::Policies) | (Self::Localstack, Capability::MoveTasks) => None,
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, UnknownEngine> {
        let found = [Self::Ministack, Self::Localstack].into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownEngine { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_found_by_its_name_and_an_unknown_one_is_named_with_the_known() {
        for kind in EngineKind::value_variants() {
            assert_eq!(kind.name().parse::<EngineKind>().unwrap(), *kind);
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
            assert_eq!(kind.to_possible_value().unwrap().get_name(), kind.name());
        }
        let error = "aws".parse::<EngineKind>().unwrap_err().to_string();
        assert!(error.contains("`aws`") && error.contains("`ministack` or `localstack`"), "{error}");
    }
}
