//! `ikkai job cancel`.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::command::Failure;
use crate::command::consent::Asker;
use crate::command::ending::Ending;
use crate::command::send::{problem, read};
use crate::command::target::Target;
use crate::local::api::Api;
use crate::screen::{Format, Screen};

/// Options of `cancel`.
#[derive(Debug, Args)]
pub(in crate::command) struct Cancel {
    #[command(flatten)]
    target: Target,
    /// The job's id, as `send` printed it.
    id: String,
    /// Does not ask.
    #[arg(short, long)]
    yes: bool,
}

impl Cancel {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let api = self.target.api()?;
        Ok(cancel(&api, &self.id, &mut Asker::new(self.yes), screen).await?.into())
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
    let answer = api.cancel(id).await?;
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

fn refused(screen: &Screen, status: u16, body: &Value) -> Ending {
    match screen.format() {
        Format::Json => screen.json(body),
        Format::Text => screen.note(problem(status, body)),
    }
    if status == 404 { Ending::Nothing } else { Ending::Failed }
}
