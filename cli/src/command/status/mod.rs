//! `ikkai status`: the queues of a stack on one screen.

mod look;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use dlq_redrive::protocol::{Answer, StatusRequest};

use self::look::{Look, Reasons};
use super::Failure;
use super::dlq::{seconds, tell};
use super::ending::Ending;
use super::site::SiteOptions;
use crate::operator::figures::{self, Figures, Subject};
use crate::operator::{Desk, Site};
use crate::screen::{Format, Screen, chain};

/// Options of `status`.
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    site: SiteOptions,
    /// A queue's name in this stack, such as `email`, or `all`.
    #[arg(default_value = "all")]
    queue: String,
    /// Goes on until Ctrl-C. Dead-letter queues are looked into again only when their number of messages changes.
    #[arg(short, long)]
    watch: bool,
    /// How long a watched screen stands: 5s, 1m.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10s", requires = "watch")]
    every: u64,
    /// Also reads the whole jobs table for jobs that have not gone on for so long: 30m, 2h; at least a minute.
    #[arg(long, value_name = "TIME", value_parser = at_least_a_minute)]
    stuck_after: Option<u64>,
}

fn at_least_a_minute(text: &str) -> Result<u64, String> {
    match seconds(text)? {
        time @ 60.. => Ok(time),
        _ => Err("it is at least a minute, 1m: below that jobs are merely at work".to_owned()),
    }
}

impl Status {
    fn request(&self) -> StatusRequest {
        StatusRequest { queue: self.queue.clone(), stuck_after_seconds: self.stuck_after }
    }

    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let site = self.site.site().await?;
        let desk = self.site.desk(&site, screen).await?;
        let mut reasons = Reasons::default();
        let watching = async {
            loop {
                let ending = self.once(desk.as_ref(), &site, &mut reasons, screen).await?;
                if !self.watch || ending != Ending::Done {
                    return Ok(ending.into());
                }
                tokio::time::sleep(Duration::from_secs(self.every.max(1))).await;
            }
        };
        tokio::select! {
            outcome = watching => outcome,
            _ = tokio::signal::ctrl_c() => match self.watch {
                true => Ok(ExitCode::SUCCESS),
                false => Err("interrupted".into()),
            },
        }
    }

    async fn once(&self, desk: &dyn Desk, site: &Site, reasons: &mut Reasons, screen: &Screen) -> Result<Ending, Failure> {
        let look = look::look(desk, self.request(), reasons).await?;
        let figures = match &look.reply.answer {
            Answer::Status(status) => {
                let of =
                    |queue: &dlq_redrive::protocol::QueueStatus| Subject::of(site, &queue.name, &queue.queue, &queue.job_type);
                figures::figures(site, &status.queues.iter().map(of).collect::<Vec<_>>()).await
            }
            _ => Ok(Default::default()),
        };
        if self.watch && screen.is_terminal() {
            // Home, and everything below is gone: the new screen takes the place of the old one.
            screen.line("\u{1b}[H\u{1b}[2J");
        }
        if let Err(error) = &figures {
            screen.note(format!("no figures: {}", chain(error)));
        }
        Ok(show(screen, &look, &figures.unwrap_or_default()))
    }
}

/// One screen, or the function's answer with what else is known beside it.
fn show(screen: &Screen, look: &Look, figures: &std::collections::BTreeMap<String, Figures>) -> Ending {
    if let (Format::Json, Answer::Status(_)) = (screen.format(), &look.reply.answer) {
        let mut json = look.reply.json.clone();
        json["figures"] = serde_json::to_value(figures).unwrap_or_default();
        json["deadLetterGroups"] = serde_json::to_value(&look.groups).unwrap_or_default();
        screen.json(&json);
        return super::dlq::ending(&look.reply.answer);
    }
    let ending = tell(screen, &look.reply, |answer| {
        if let Answer::Status(status) = answer {
            table::lines(status, look.groups.as_deref(), figures).iter().for_each(|line| screen.line(line));
        }
    });
    if let Some(why) = &look.no_reasons {
        screen.note(why);
    }
    ending
}

#[cfg(test)]
mod tests;
