//! What is wrong with a configuration.

use std::fmt;

/// One setting that is missing or unusable. Names the variable, never its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The environment variable.
    pub name: &'static str,
    /// What is wrong and how to mend it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

/// Everything that is wrong with the configuration, one line a problem, in the order in which the settings were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub(super) problems: Vec<Problem>,
}

impl ConfigError {
    /// The problems, at least one.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = if self.problems.len() == 1 { "problem" } else { "problems" };
        write!(f, "configuration has {} {plural}:", self.problems.len())?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

impl std::error::Error for ConfigError {}
