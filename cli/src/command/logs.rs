//! `ikkai local logs`: what the functions wrote, merged in the order of time.

mod line;

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use clap::builder::PossibleValuesParser;
use ikkai::clock::EpochMillis;

use self::line::Line;
use super::dlq::ages;
use super::{Failure, target};
use crate::local::build::FUNCTIONS;
use crate::local::logs::{LogLine, LogReader};
use crate::local::stack::Stack;
use crate::screen::{Format, Screen};

/// How often new lines are looked for.
const EVERY: Duration = Duration::from_millis(300);

/// What is no function, but has a log.
const ENGINE: &str = "engine";

/// Options of `logs`.
#[derive(Debug, Args)]
pub(super) struct Logs {
    /// Whose log: a function by the name of its package, or `engine`; without it, every function's.
    #[arg(value_name = "FUNCTION", value_parser = sources(), hide_possible_values = true)]
    of: Option<String>,
    /// These functions' logs.
    #[arg(long = "function", value_name = "FUNCTION", value_delimiter = ',', value_parser = PossibleValuesParser::new(FUNCTIONS), conflicts_with = "of", hide_possible_values = true)]
    functions: Vec<String>,
    /// Goes on with new lines until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
    /// Lines about this job only.
    #[arg(long, value_name = "ID")]
    job: Option<String>,
    /// Lines of so long ago and later: 30s, 10m, 2h or 7d.
    #[arg(long, value_name = "TIME", value_parser = ages::seconds)]
    since: Option<u64>,
    /// Every line as it was written, metrics and Lambda's own lines too.
    #[arg(long)]
    raw: bool,
}

fn sources() -> PossibleValuesParser {
    PossibleValuesParser::new(FUNCTIONS.into_iter().chain([ENGINE]))
}

impl Logs {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let running = target::running()?;
        if self.of.as_deref() == Some(ENGINE) {
            return engine_log(screen, &running.log, self.follow).await;
        }
        let since =
            self.since.map_or(0, |seconds| (EpochMillis::from(SystemTime::now()) - Duration::from_secs(seconds)).as_i64());
        let names = self.names(&running.stack);
        let reader = |name: &str| LogReader::new(running.engine, name).since(since);
        let mut readers: Vec<_> = names.iter().map(|name| (short(&running.stack, name), reader(name))).collect();
        let reading = async {
            loop {
                let mut lines = Vec::new();
                for (name, reader) in &mut readers {
                    lines.extend(reader.next().await?.into_iter().map(|line| (*name, line)));
                }
                lines.sort_by_key(|(_, line)| line.timestamp);
                for (name, line) in lines {
                    self.show(screen, name, &line);
                }
                if !self.follow {
                    return Ok(ExitCode::SUCCESS);
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        until_interrupted(reading).await
    }

    /// The full names of the wanted functions.
    fn names<'a>(&self, stack: &'a Stack) -> Vec<&'a str> {
        let wanted = |name: &&str| {
            let mut named = self.of.iter().chain(&self.functions).peekable();
            named.peek().is_none() || named.any(|wanted| short(stack, name) == wanted)
        };
        stack.functions().into_iter().filter(wanted).collect()
    }

    fn show(&self, screen: &Screen, function: &str, line: &LogLine) {
        let message = line.message.trim_end();
        let read = Line::of(message);
        if self.job.as_deref().is_some_and(|job| read.job_id() != Some(job) && !message.contains(job)) {
            return;
        }
        match screen.format() {
            // One document a line: a log has no end.
            Format::Json => screen.line(serde_json::json!({
                "function": function,
                "timestamp": line.timestamp,
                "jobId": read.job_id(),
                "message": message,
            })),
            Format::Text if self.raw => screen.line(message),
            Format::Text => {
                if let Some(text) = read.shown(screen, function, line) {
                    screen.line(text);
                }
            }
        }
    }
}

/// A function's name without the stack's, which stands before all of them.
fn short<'a>(stack: &Stack, function: &'a str) -> &'a str {
    function.strip_prefix(stack.name()).and_then(|rest| rest.strip_prefix('-')).unwrap_or(function)
}

async fn engine_log(screen: &Screen, path: &Path, follow: bool) -> Result<ExitCode, Failure> {
    let reading = async {
        let mut shown = 0;
        loop {
            let text = String::from_utf8_lossy(&std::fs::read(path)?).into_owned();
            // Only whole lines: the engine may be in the middle of one.
            let whole = text.rfind('\n').map_or(0, |end| end + 1);
            text[shown.min(whole)..whole].lines().for_each(|line| screen.line(line));
            shown = whole;
            if !follow {
                return Ok(ExitCode::SUCCESS);
            }
            tokio::time::sleep(EVERY).await;
        }
    };
    until_interrupted(reading).await
}

/// Ctrl-C is how a reader says that it has seen enough.
pub(super) async fn until_interrupted(reading: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    tokio::select! {
        outcome = reading => outcome,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}
