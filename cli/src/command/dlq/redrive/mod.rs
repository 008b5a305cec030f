//! `ikkai dlq redrive`.

use clap::Args;
use dlq_redrive::protocol::{self, RedriveAnswer, VerdictCode};
use serde_json::{Map, Value};

use super::filter::{self, FilterOptions};
use super::run::{Order, run};
use super::tell::done;
use super::words::messages;
use super::{Change, Work, command_line};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::RunRequest;

/// What a dry run gives as its reason, where nobody gave one.
const DRY_REASON: &str = "dry run";

/// Options of `redrive`.
#[derive(Debug, Args)]
#[command(after_help = super::EXIT_CODES)]
pub(super) struct Redrive {
    /// A queue's name in this stack, such as `email`, or `all`.
    #[arg(default_value = "all")]
    queue: String,
    #[command(flatten)]
    filter: FilterOptions,
    /// Most messages that are put back, in this run with all its parts.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max: u32,
    /// Messages a second.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=500))]
    rate: u32,
    /// So many are put back first; the others follow when they have succeeded.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=100))]
    canary: u32,
    /// How long the canary may take, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    canary_timeout: u32,
    /// Stops when more than this share of what was put back has failed again, in percent; 100: never.
    #[arg(long, value_name = "PERCENT", default_value_t = 50, value_parser = clap::value_parser!(u32).range(..=100))]
    stop_at: u32,
    /// Mends the payload: a JSON merge patch (RFC 7396), or `@` and a file that holds one.
    #[arg(long, value_name = "JSON|@FILE", value_parser = patch, requires = "job_ids")]
    patch: Option<Map<String, Value>>,
    /// Also puts back what was put back as often as it may be.
    #[arg(long)]
    override_quarantine: bool,
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

/// Reads a patch, or the file that holds it.
fn patch(text: &str) -> Result<Map<String, Value>, String> {
    let text = match text.strip_prefix('@') {
        Some(path) => std::fs::read_to_string(path).map_err(|error| format!("cannot read `{path}`: {error}"))?,
        None => text.to_owned(),
    };
    match serde_json::from_str(&text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("it must be a JSON object with the members that change, such as {\"userId\":\"user-42\"}".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

impl Redrive {
    pub(super) fn request(&self, claimed_by: Option<String>) -> RunRequest {
        RunRequest::Redrive(protocol::Redrive {
            queue: self.queue.clone(),
            filter: self.filter.filter(),
            max: self.max,
            rate_per_second: self.rate,
            dry_run: self.dry_run,
            canary: self.canary,
            canary_timeout_seconds: self.canary_timeout,
            stop_at_returned_percent: self.stop_at,
            patch: self.patch.clone(),
            override_quarantine: self.override_quarantine,
            reason: self.reason.clone().unwrap_or_else(|| DRY_REASON.to_owned()),
            claimed_by,
            run_id: self.run_id.clone(),
            cursor: self.cursor.clone(),
        })
    }

    pub(super) async fn run(self, work: Work<'_>) -> Result<Ending, Failure> {
        let request = self.request(work.claimed_by.clone()).named();
        let site = work.site.clone();
        let again = |request: &RunRequest| command_line("redrive", &site, arguments(request));
        let question = |would: &RedriveAnswer| self.question(would);
        run(work, Order { request, dry: self.dry_run, title: "putting messages back", question: &question, again: &again }).await
    }

    fn question(&self, would: &RedriveAnswer) -> String {
        let of = |code| would.tally.by_verdict.get(&code).copied().unwrap_or(0);
        let (back, over) = (of(VerdictCode::Redriven), of(VerdictCode::AlreadyDone));
        let delete = format!("delete {} whose jobs have ended", messages(over));
        let mut what = match (back, over) {
            (0, _) => delete,
            (_, 0) => format!("put {} back", messages(back)),
            _ => format!("put {} back and {delete}", messages(back)),
        };
        if back > 0 {
            what.push_str(&format!(", {} a second", self.rate));
        }
        if self.patch.is_some() {
            what.push_str(", with a mended payload");
        }
        if self.canary > 0 && done(would) > u64::from(self.canary) {
            what.push_str(&format!(", {} of them first", self.canary));
        }
        format!("{what}?")
    }
}

/// The request as options: what is not said is what the command takes by itself.
pub(super) fn arguments(request: &RunRequest) -> Vec<String> {
    let RunRequest::Redrive(redrive) = request else { return Vec::new() };
    let mut arguments = vec![redrive.queue.clone()];
    arguments.extend(filter::arguments(&redrive.filter));
    let numbers = [
        ("--max", redrive.max, 100),
        ("--rate", redrive.rate_per_second, 10),
        ("--canary", redrive.canary, 0),
        ("--canary-timeout", redrive.canary_timeout_seconds, 600),
        ("--stop-at", redrive.stop_at_returned_percent, 50),
    ];
    for (name, number, _) in numbers.iter().filter(|(_, number, default)| number != default) {
        arguments.extend([(*name).to_owned(), number.to_string()]);
    }
    if redrive.override_quarantine {
        arguments.push("--override-quarantine".to_owned());
    }
    let texts = [
        ("--patch", redrive.patch.clone().map(|patch| Value::Object(patch).to_string())),
        ("--reason", Some(redrive.reason.clone())),
        ("--claimed-by", redrive.claimed_by.clone()),
        ("--run-id", redrive.run_id.clone()),
        ("--cursor", redrive.cursor.clone()),
    ];
    arguments.extend(texts.into_iter().filter_map(|(name, text)| Some([name.to_owned(), text?])).flatten());
    arguments
}

#[cfg(test)]
mod tests;
