//! `ikkai local logs`: what the functions wrote.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{Failure, target};
use crate::local::logs::{LogLine, LogReader};
use crate::local::stack::{Consumer, Stack};
use crate::screen::{Format, Screen, Tone};

/// How often new lines are looked for.
const EVERY: Duration = Duration::from_millis(300);

/// Options of `logs`.
#[derive(Debug, Args)]
pub(super) struct Logs {
    /// Whose log; without it, every function's.
    #[arg(value_enum)]
    of: Option<Source>,
    /// Goes on with new lines until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Source {
    /// The HTTP API.
    ProducerApi,
    /// The mail sender.
    EmailConsumer,
    /// The maker of pictures.
    ImageConsumer,
    /// The charger of customers.
    BillingConsumer,
    /// The writer of reports.
    ReportConsumer,
    /// The caller of callbacks.
    WebhookConsumer,
    /// The reader of bounces and complaints.
    SesFeedback,
    /// The engine itself.
    Engine,
}

impl Source {
    /// The function's name in a stack; the engine has none.
    fn function(self, stack: &Stack) -> Option<&str> {
        let consumer = |consumer| Some(stack.consumer(consumer).function);
        match self {
            Self::ProducerApi => Some(stack.producer()),
            Self::EmailConsumer => consumer(Consumer::Email),
            Self::ImageConsumer => consumer(Consumer::Image),
            Self::BillingConsumer => consumer(Consumer::Billing),
            Self::ReportConsumer => consumer(Consumer::Report),
            Self::WebhookConsumer => consumer(Consumer::Webhook),
            Self::SesFeedback => Some(stack.feedback()),
            Self::Engine => None,
        }
    }
}

impl Logs {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let running = target::running()?;
        let names = match self.of {
            None => running.stack.functions(),
            Some(source) => match source.function(&running.stack) {
                Some(function) => vec![function],
                None => return engine_log(screen, &running.log, self.follow).await,
            },
        };
        let mut readers: Vec<_> = names.iter().map(|name| (*name, LogReader::new(running.engine, name))).collect();
        let reading = async {
            loop {
                let mut lines = Vec::new();
                for (name, reader) in &mut readers {
                    lines.extend(reader.next().await?.into_iter().map(|line| (*name, line)));
                }
                lines.sort_by_key(|(_, line)| line.timestamp);
                for (name, line) in lines {
                    show(screen, names.len() > 1, name, &line);
                }
                if !self.follow {
                    return Ok(ExitCode::SUCCESS);
                }
                tokio::time::sleep(EVERY).await;
            }
        };
        until_interrupted(reading).await
    }
}

fn show(screen: &Screen, named: bool, function: &str, line: &LogLine) {
    let message = line.message.trim_end();
    match screen.format() {
        // One document a line: a log has no end.
        Format::Json => {
            let line = serde_json::json!({ "function": function, "timestamp": line.timestamp, "message": message });
            screen.line(line);
        }
        Format::Text if named => screen.line(format!("{} {message}", screen.paint(Tone::Faint, function))),
        Format::Text => screen.line(message),
    }
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
async fn until_interrupted(reading: impl Future<Output = Result<ExitCode, Failure>>) -> Result<ExitCode, Failure> {
    tokio::select! {
        outcome = reading => outcome,
        _ = tokio::signal::ctrl_c() => Ok(ExitCode::SUCCESS),
    }
}
