//! `ikkai status`: the queues of a stack on one screen.

mod look;
mod table;

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use dlq_redrive::protocol::{Answer, StatusRequest};

use self::look::{Look, Reasons};
use super::Failure;
use super::dlq::{at_least_a_minute, seconds, tell};
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
    /// Goes on until Ctrl-C. The reasons of dead-letter queues are looked for again only when their number of messages changes; but each look
    /// of the function receives up to ten messages of each of them for their age, and hides them for as long as that takes.
    #[arg(short, long)]
    watch: bool,
    /// How long a watched screen stands: 5s, 1m.
    #[arg(long, value_name = "TIME", value_parser = seconds, default_value = "10s", requires = "watch")]
    every: u64,
    /// Also reads the whole jobs table for jobs that have not gone on for so long: 30m, 2h; at least a minute.
    #[arg(long, value_name = "TIME", value_parser = at_least_a_minute)]
    stuck_after: Option<u64>,
}

impl Status {
    fn request(&self) -> StatusRequest {
        StatusRequest { queue: self.queue.clone(), stuck_after_seconds: self.stuck_after }
    }

    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let site = self.site.site().await?;
        let desk = self.site.desk(&site, screen).await?;
        let mut reasons = Reasons::default();
        let mut once = async || self.once(desk.as_ref(), &site, &mut reasons, screen).await;
        let looking = async {
            match self.watch {
                true => watch(Duration::from_secs(self.every.max(1)), screen, once).await,
                false => once().await,
            }
        };
        tokio::select! {
            outcome = looking => outcome.map(ExitCode::from),
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

/// Looks again and again. Once something was seen, a look that fails is noted and the next one may see again; before, it ends.
async fn watch(
    every: Duration,
    screen: &Screen,
    mut once: impl AsyncFnMut() -> Result<Ending, Failure>,
) -> Result<Ending, Failure> {
    let mut has_seen = false;
    loop {
        match once().await {
            Ok(Ending::Done) => has_seen = true,
            Err(failure) if has_seen => screen.note(format!("no answer: {}", chain(failure.as_ref()))),
            // Why was told already.
            Ok(_) if has_seen => {}
            ended => return ended,
        }
        tokio::time::sleep(every).await;
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
