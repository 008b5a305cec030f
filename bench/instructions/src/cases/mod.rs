//! What is counted. Each case is work that a batch or a job causes, without any I/O.

mod batch;
mod parts;

use std::time::Duration;

use clap::ValueEnum;
use ikkai::observability::logs::{LevelSetting, LogSetup, capture};

/// A piece of work. Its name is the one in `counts.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Case {
    /// An event of ten new jobs: read, worked on, answered.
    BatchNew,
    /// The same ten jobs once more.
    BatchDuplicate,
    /// Ten new jobs of which two fail.
    BatchTwoFail,
    /// The body of a message, read and checked.
    Envelope,
    /// The expressions of a claim.
    Claim,
    /// The delay after a failed attempt, as SQS takes it.
    Backoff,
    /// The metrics of a batch of ten, counted and written.
    MetricLine,
    /// The log line of a job.
    LogLine,
    /// The answer to Lambda about a batch of which two failed.
    BatchResponse,
}

impl Case {
    /// Its name on the command line and in files.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// What it is, for people.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::BatchNew => "10 new jobs: event to answer",
            Self::BatchDuplicate => "10 duplicates: event to answer",
            Self::BatchTwoFail => "10 jobs, 2 failing: event to answer",
            Self::Envelope => "envelope read and checked",
            Self::Claim => "claim's expressions",
            Self::Backoff => "backoff and its visibility",
            Self::MetricLine => "metrics of a batch of 10",
            Self::LogLine => "log line of a job",
            Self::BatchResponse => "batch response, 2 of 10 failed",
        }
    }

    /// How many records one run of it works on.
    pub(crate) const fn records(self) -> u32 {
        match self {
            Self::BatchNew | Self::BatchDuplicate | Self::BatchTwoFail => batch::JOBS,
            _ => 1,
        }
    }

    /// How often it is done in one process: so often that the random seeds of hash maps even out.
    pub(crate) const fn repetitions(self) -> u32 {
        match self {
            Self::BatchNew | Self::BatchDuplicate | Self::BatchTwoFail => 100,
            _ => 1_000,
        }
    }

    /// Does it as often as [`repetitions`](Self::repetitions) says, in the stretch that is counted.
    pub(crate) fn play(self) {
        Self::make_log_lines();
        self.repeat();
    }

    /// The shortest time that one run took, in several rounds without callgrind.
    pub(crate) fn time(self) -> Duration {
        const ROUNDS: u32 = 20;
        Self::make_log_lines();
        (0..ROUNDS).map(|_| self.repeat() / self.repetitions()).min().unwrap_or_default()
    }

    /// Log lines are made as in a function, those of this program too, and go nowhere.
    fn make_log_lines() {
        capture::discard(LogSetup::new(LevelSetting::Info).own_crate(module_path!()));
    }

    /// How long the counted stretch took.
    fn repeat(self) -> Duration {
        // The first one is not counted.
        let repetitions = self.repetitions() + 1;
        // Tokens and jitter are the same every time.
        ikkai::testing::seed_tokens(Some(1));
        match self {
            Self::BatchNew => batch::new(repetitions),
            Self::BatchDuplicate => batch::duplicates(repetitions),
            Self::BatchTwoFail => batch::two_fail(repetitions),
            Self::Envelope => parts::envelope(repetitions),
            Self::Claim => parts::claim(repetitions),
            Self::Backoff => parts::backoff(repetitions),
            Self::MetricLine => parts::metric_line(repetitions),
            Self::LogLine => parts::log_line(repetitions),
            Self::BatchResponse => parts::batch_response(repetitions),
        }
    }
}
