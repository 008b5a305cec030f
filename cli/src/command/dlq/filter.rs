//! Which messages are meant.

use clap::Args;
use dlq_redrive::protocol::Filter;

use super::ages::seconds;

/// The kinds of failure that a record can name.
const CLASSES: [&str; 7] = ["transient", "deferred", "permanent", "ambiguous", "crash", "poison", "exhausted"];

/// Which messages are meant: those that meet every option that is given; an option that is given more than once means any of its values.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Which messages")]
pub(super) struct FilterOptions {
    /// This job.
    #[arg(long = "job-id", value_name = "ID", value_delimiter = ',')]
    pub(super) job_ids: Vec<String>,
    /// Jobs of this type, such as `email.send`.
    #[arg(long = "type", value_name = "TYPE", value_delimiter = ',')]
    types: Vec<String>,
    /// Jobs that failed in this way.
    #[arg(long = "class", value_name = "CLASS", value_delimiter = ',', value_parser = CLASSES)]
    classes: Vec<String>,
    /// Jobs that failed with this code, such as `unknown_user`.
    #[arg(long = "code", value_name = "CODE", value_delimiter = ',')]
    codes: Vec<String>,
    /// Messages that were sent at least this long ago: 30s, 10m, 2h, 7d.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    min_age: Option<u64>,
    /// Messages that were sent at most this long ago.
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    max_age: Option<u64>,
    /// Messages that SQS moved from this queue; `none`: those that somebody sent into the dead-letter queue.
    #[arg(long = "source", value_name = "QUEUE", value_delimiter = ',')]
    sources: Vec<String>,
}

impl FilterOptions {
    /// As it is asked.
    pub(super) fn filter(&self) -> Filter {
        Filter {
            job_ids: self.job_ids.clone(),
            types: self.types.clone(),
            classes: self.classes.clone(),
            codes: self.codes.clone(),
            min_age_seconds: self.min_age,
            max_age_seconds: self.max_age,
            sources: self.sources.clone(),
        }
    }
}

/// The filter as options, for a command that goes on.
pub(super) fn arguments(filter: &Filter) -> Vec<String> {
    let lists = [
        ("--job-id", &filter.job_ids),
        ("--type", &filter.types),
        ("--class", &filter.classes),
        ("--code", &filter.codes),
        ("--source", &filter.sources),
    ];
    let ages = [("--min-age", filter.min_age_seconds), ("--max-age", filter.max_age_seconds)];
    let of_lists = lists.into_iter().flat_map(|(name, values)| values.iter().map(move |value| [name.to_owned(), value.clone()]));
    let of_ages = ages.into_iter().filter_map(|(name, age)| Some([name.to_owned(), format!("{}s", age?)]));
    of_lists.chain(of_ages).flatten().collect()
}
