//! `ikkai dlq …`: what is in the dead-letter queues and why, and how it gets out again.
//!
//! Each command makes a request of [`dlq_redrive::protocol`], asks a [`Desk`](crate::operator::Desk), and shows the answer.

pub(super) mod ages;
mod discard;
mod filter;
mod history;
mod list;
mod move_task;
mod redrive;
mod resolve;
mod run;
mod show;
mod tell;
mod words;

use std::process::ExitCode;

use clap::{Args, Subcommand};

pub(super) use self::ages::{age, ago, at_least_a_minute, seconds, short};
pub(super) use self::show::lines as inspection;
pub(super) use self::tell::{ask, ending, tell};
pub(super) use self::words::{full_reason, reason, state, who};
use super::Failure;
use super::consent::Asker;
use super::ending::Ending;
use super::site::SiteOptions;
use crate::operator::{Desk, Interrupt, claimed_by};
use crate::screen::Screen;

/// How these commands end, for whoever calls them from a script.
const EXIT_CODES: &str = "\
Exit codes:
  0  done or shown
  1  failed, refused, not done in full; also a run that found messages and left every one of them on purpose
  2  wrong usage
  3  nothing that it could be done to: no such queue, job or run, or no message is meant
  130  interrupted while an answer was awaited";

/// Dead-letter queues.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Dlq {
    #[command(flatten)]
    site: SiteOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// What is in them, by type and reason. Looking costs a receive a message, and hides it for as long as the look lasts.
    List(list::List),
    /// Everything about one job: its record, its message, what was done about it, and what to do.
    Show(show::Show),
    /// Puts messages back into the queue that they came from.
    Redrive(redrive::Redrive),
    /// SQS's own redrive of a whole queue: no filter, no limit, and jobs in doubt do not run.
    #[command(subcommand)]
    MoveTask(move_task::MoveTask),
    /// Archives messages and removes them; their jobs count as cancelled.
    Discard(discard::Discard),
    /// Says what became of a job in doubt, after a look at the provider.
    Resolve(resolve::Resolve),
    /// What operators did, the last first.
    History(history::History),
}

/// Options of what changes something.
#[derive(Debug, Args)]
#[command(next_help_heading = "Who and how")]
pub(super) struct Change {
    /// Who does it, where the function cannot know; without it, your identity with AWS or your user name. The history shows it as a claim.
    #[arg(long, value_name = "NAME", value_parser = said)]
    claimed_by: Option<String>,
    /// Does not ask.
    #[arg(short, long)]
    yes: bool,
}

/// What a command works with.
pub(super) struct Work<'a> {
    desk: &'a dyn Desk,
    screen: &'a Screen,
    asker: Asker,
    /// Who does it.
    claimed_by: Option<String>,
    /// The stack as options, for a command that goes on.
    site: Vec<String>,
    /// Ctrl-C, where it is heard already.
    interrupt: Option<Interrupt>,
}

impl Dlq {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let site = self.site.site().await?;
        let desk = self.site.desk(&site, screen).await?;
        let change = self.command.change();
        let asker = Asker::new(change.is_some_and(|change| change.yes));
        let claimed_by = match change {
            None => None,
            Some(Change { claimed_by: Some(name), .. }) => Some(name.clone()),
            Some(_) => claimed_by(&site).await,
        };
        let work = Work { desk: desk.as_ref(), screen, asker, claimed_by, site: self.site.arguments(), interrupt: None };
        self.command.run(work).await.map(ExitCode::from)
    }
}

impl Command {
    fn change(&self) -> Option<&Change> {
        match self {
            Self::List(_) | Self::Show(_) | Self::History(_) => None,
            Self::Redrive(redrive) => Some(&redrive.change),
            Self::MoveTask(move_task) => move_task.change(),
            Self::Discard(discard) => Some(&discard.change),
            Self::Resolve(resolve) => Some(&resolve.change),
        }
    }

    async fn run(self, work: Work<'_>) -> Result<Ending, Failure> {
        match self {
            Self::List(list) => list.run(work.desk, &work.site, work.screen).await,
            Self::Show(show) => show.run(work.desk, work.screen).await,
            Self::Redrive(redrive) => redrive.run(work).await,
            Self::MoveTask(move_task) => move_task.run(work).await,
            Self::Discard(discard) => discard.run(work).await,
            Self::Resolve(resolve) => resolve.run(work).await,
            Self::History(history) => history.run(work.desk, work.screen).await,
        }
    }
}

/// Something that was said: not nothing.
pub(super) fn said(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it must say something".to_owned()),
        said => Ok(said.to_owned()),
    }
}

/// A command of this module as a shell takes it.
fn command_line(command: &str, site: &[String], arguments: Vec<String>) -> String {
    // In a checkout the command is an alias of cargo.
    let ikkai = if std::env::var_os("CARGO").is_some() { "cargo ikkai" } else { "ikkai" };
    let words = arguments.iter().chain(site).map(|word| format!(" {}", quoted(word)));
    format!("{ikkai} dlq {command}{}", words.collect::<String>())
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_.,:/@=+".contains(character);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
