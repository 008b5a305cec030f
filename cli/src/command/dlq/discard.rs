//! `ikkai dlq discard`.

use clap::Args;
use dlq_redrive::protocol::{self, RedriveAnswer};

use super::filter::{self, FilterOptions};
use super::run::{Order, run};
use super::tell::done;
use super::words::messages;
use super::{Change, Work, command_line};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::RunRequest;

/// Options of `discard`.
#[derive(Debug, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Discard {
    /// The full name of the dead-letter queue, as SQS knows it: a short name is not enough to remove something.
    dead_letter_queue: String,
    #[command(flatten)]
    filter: FilterOptions,
    /// Most messages that are removed, in this run with all its parts.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max: u32,
    /// Why. Kept in the history.
    #[arg(long, value_name = "TEXT", required_unless_present = "dry_run", value_parser = super::said)]
    reason: Option<String>,
    /// Names the run: the same command again under this name is answered and not done again.
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Goes on with a run that was left on its way.
    #[arg(long, requires = "run_id")]
    cursor: Option<String>,
    /// Says what would be done, and does nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub(super) change: Change,
}

impl Discard {
    pub(super) fn request(&self, claimed_by: Option<String>) -> RunRequest {
        RunRequest::Discard(protocol::Discard {
            dead_letter_queue: self.dead_letter_queue.clone(),
            filter: self.filter.filter(),
            max: self.max,
            dry_run: self.dry_run,
            reason: self.reason.clone().unwrap_or_else(|| "dry run".to_owned()),
            claimed_by,
            run_id: self.run_id.clone(),
            cursor: self.cursor.clone(),
        })
    }

    pub(super) async fn run(self, work: Work<'_>) -> Result<Ending, Failure> {
        let request = self.request(work.claimed_by.clone()).named();
        let site = work.site.clone();
        let again = |request: &RunRequest| command_line("discard", &site, arguments(request));
        let question = |would: &RedriveAnswer| {
            let count = messages(done(would));
            format!("archive {count} of {} and remove them? Their jobs count as cancelled.", self.dead_letter_queue)
        };
        run(work, Order { request, dry: self.dry_run, title: "removing messages", question: &question, again: &again }).await
    }
}

/// The request as options: what is not said is what the command takes by itself.
pub(super) fn arguments(request: &RunRequest) -> Vec<String> {
    let RunRequest::Discard(discard) = request else { return Vec::new() };
    let mut arguments = vec![discard.dead_letter_queue.clone()];
    arguments.extend(filter::arguments(&discard.filter));
    let texts = [
        ("--max", Some(discard.max).filter(|max| *max != 100).map(|max| max.to_string())),
        ("--reason", Some(discard.reason.clone())),
        ("--claimed-by", discard.claimed_by.clone()),
        ("--run-id", discard.run_id.clone()),
        ("--cursor", discard.cursor.clone()),
    ];
    arguments.extend(texts.into_iter().filter_map(|(name, text)| Some([name.to_owned(), text?])).flatten());
    arguments
}
