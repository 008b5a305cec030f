//! `ikkai job cancel`.

use std::process::ExitCode;

use clap::Args;
use dlq_redrive::protocol;

use super::place::{Named, Place};
use super::{desk, refused};
use crate::command::Failure;
use crate::command::consent::{Asker, awaited};
use crate::command::dlq::said;
use crate::command::ending::Ending;
use crate::command::send::read;
use crate::command::site::SiteOptions;
use crate::local::api::Api;
use crate::operator::claimed_by;
use crate::screen::{Format, Screen};

/// Options of `cancel`.
#[derive(Debug, Args)]
pub(in crate::command) struct Cancel {
    #[command(flatten)]
    place: Place,
    /// The job's id, as `send` printed it.
    id: String,
    /// Why. Kept in the history of the stack, which asks for it; the local environment's API keeps none.
    #[arg(long, value_name = "TEXT", value_parser = said)]
    reason: Option<String>,
    /// Of a job of a stack: who does it, where the function cannot know; without it, your identity with AWS or your user name. The history shows
    /// it as a claim.
    #[arg(long, value_name = "NAME", value_parser = said)]
    claimed_by: Option<String>,
    /// Does not ask.
    #[arg(short, long)]
    yes: bool,
}

impl Cancel {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let ending = match self.place.named(screen) {
            Ok(Named::Api(target)) => cancel(&target.api()?, &self.id, &mut Asker::new(self.yes), screen).await?,
            Ok(Named::Stack(options)) => self.of_stack(options, screen).await?,
            Err(ending) => ending,
        };
        Ok(ending.into())
    }

    /// An operator calls off a job of a stack, whoever has posted it.
    async fn of_stack(&self, options: &SiteOptions, screen: &Screen) -> Result<Ending, Failure> {
        let mut asker = Asker::new(self.yes);
        if let Some(ending) = asker.cannot_ask(screen) {
            return Ok(ending);
        }
        let Some(reason) = self.reason.clone() else {
            screen.note("error: say why with `--reason`: it is kept in the history of the stack; nothing was done");
            return Ok(Ending::Usage);
        };
        let site = options.site().await?;
        let desk = options.desk(&site, screen).await?;
        let claimed_by = match &self.claimed_by {
            Some(name) => Some(name.clone()),
            None => claimed_by(&site).await,
        };
        let request = protocol::Cancel { job_id: self.id.clone(), reason, claimed_by };
        desk::cancel(desk.as_ref(), request, &mut asker, screen).await
    }
}

async fn cancel(api: &Api, id: &str, asker: &mut Asker, screen: &Screen) -> Result<Ending, Failure> {
    if let Some(ending) = asker.cannot_ask(screen) {
        return Ok(ending);
    }
    if asker.will_ask() {
        let answer = api.job(id).await?;
        let job = read(answer.body());
        if !answer.status().is_success() {
            return Ok(refused(screen, answer.status().as_u16(), &job));
        }
        let words = |member: &str| job[member].as_str().unwrap_or("?").to_owned();
        let question = format!("cancel the job {id} ({}, {})?", words("type"), words("status"));
        if let Err(ending) = asker.consent(screen, &question).await {
            return Ok(ending);
        }
    }
    let answer = match awaited(screen, &format!("`ikkai job show {id}` with the same options tells"), api.cancel(id)).await {
        Ok(answer) => answer?,
        Err(ending) => return Ok(ending),
    };
    let job = read(answer.body());
    if !answer.status().is_success() {
        return Ok(refused(screen, answer.status().as_u16(), &job));
    }
    match screen.format() {
        Format::Json => screen.json(&job),
        Format::Text => screen.line(format!("{id}  {}", job["status"].as_str().unwrap_or("cancelled"))),
    }
    Ok(Ending::Done)
}
