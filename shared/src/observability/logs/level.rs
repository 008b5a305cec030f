//! Which events are written.

use tracing::level_filters::LevelFilter;

use crate::config::Reader;

const KIT_VARIABLE: &str = "IKKAI_LOG_LEVEL";
/// Set by Lambda from the function's application log level when its log format is JSON
/// (<https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-log-level.html>).
const LAMBDA_VARIABLE: &str = "AWS_LAMBDA_LOG_LEVEL";

/// The least severe events that are still written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LevelSetting {
    /// Only what needs a person.
    Error,
    /// And what went wrong but was dealt with.
    Warn,
    /// And one line a job.
    #[default]
    Info,
    /// And one line a batch, and details of decisions.
    Debug,
    /// Everything.
    Trace,
}

impl LevelSetting {
    /// The setting's names, as they are written in the environment. Lambda knows `FATAL`, which here means [`LevelSetting::Error`].
    const NAMES: [(&'static str, Self); 6] = [
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
        ("trace", Self::Trace),
        ("fatal", Self::Error),
    ];

    /// Reads `IKKAI_LOG_LEVEL`, else `AWS_LAMBDA_LOG_LEVEL`, else takes `info`.
    ///
    /// A wrong `IKKAI_LOG_LEVEL` is a problem of the configuration; a level that a future Lambda invents is not.
    pub fn read(reader: &mut Reader) -> Self {
        let platform = reader.optional_text(LAMBDA_VARIABLE).and_then(|name| Self::from_name(&name)).unwrap_or_default();
        reader.choice(KIT_VARIABLE, &Self::NAMES, platform)
    }

    /// Reads the same variables before the configuration is read, so that its problems can be logged. A wrong level counts as unset here;
    /// [`LevelSetting::read`] reports it.
    #[must_use]
    pub fn from_env() -> Self {
        Self::read(&mut Reader::from_env())
    }

    fn from_name(text: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, level)| *level)
    }

    pub(super) const fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(variables: [(&str, &str); N]) -> LevelSetting {
        LevelSetting::read(&mut Reader::from_pairs(variables))
    }

    #[test]
    fn the_kits_level_wins_over_lambdas_and_info_is_the_default() {
        assert_eq!(read([]), LevelSetting::Info);
        assert_eq!(read([("AWS_LAMBDA_LOG_LEVEL", "DEBUG")]), LevelSetting::Debug);
        assert_eq!(read([("AWS_LAMBDA_LOG_LEVEL", "FATAL")]), LevelSetting::Error);
        assert_eq!(read([("AWS_LAMBDA_LOG_LEVEL", "DEBUG"), ("IKKAI_LOG_LEVEL", "warn")]), LevelSetting::Warn);
        assert_eq!(read([("RUST_LOG", "trace")]), LevelSetting::Info);
    }

    #[test]
    fn only_a_wrong_level_of_ours_is_a_problem() {
        let mut reader = Reader::from_pairs([("IKKAI_LOG_LEVEL", "loud")]);
        LevelSetting::read(&mut reader);
        assert!(reader.finish(()).is_err());
        let mut reader = Reader::from_pairs([("AWS_LAMBDA_LOG_LEVEL", "LOUD")]);
        assert_eq!(LevelSetting::read(&mut reader), LevelSetting::Info);
        assert!(reader.finish(()).is_ok());
    }
}
