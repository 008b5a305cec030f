//! `ikkai job cancel`.

use std::process::ExitCode;

use clap::Args;

use super::place::{Named, Place};
use super::refused;
use crate::command::Failure;
use crate::command::consent::{Asker, awaited};
use crate::command::ending::Ending;
use crate::command::send::read;
use crate::local::api::Api;
use crate::screen::{Format, Screen};

/// Options of `cancel`.
#[derive(Debug, Args)]
pub(in crate::command) struct Cancel {
    #[command(flatten)]
    place: Place,
    /// The job's id, as `send` printed it.
    id: String,
    /// Does not ask.
    #[arg(short, long)]
    yes: bool,
}

impl Cancel {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let ending = match self.place.named(screen) {
            Ok(Named::Api(target)) => cancel(&target.api()?, &self.id, &mut Asker::new(self.yes), screen).await?,
            Ok(Named::Stack(_)) => no_operators_work(screen),
            Err(ending) => ending,
        };
        Ok(ending.into())
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

/// The operators' function has no such action: a job that is not dead is its caller's.
fn no_operators_work(screen: &Screen) -> Ending {
    screen.note(
        "error: a job of a stack is called off by its caller, with `DELETE /v1/jobs/{id}` at the stack's API; `ikkai dlq discard` \
         gives up a dead one. Nothing was done. Without `--stack`, `--function` and `--direct` (IKKAI_STACK) this command works on \
         the local environment of this checkout",
    );
    Ending::Usage
}
