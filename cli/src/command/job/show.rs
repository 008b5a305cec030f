//! `ikkai job show`.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};

use super::place::{Named, Place};
use super::{desk, refused};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::command::send::read;
use crate::local::api::Api;
use crate::screen::{Format, Screen, Tone};

/// How often a watched job is asked for.
const EVERY: Duration = Duration::from_millis(500);

/// The order in which the members of a job are shown.
const ORDER: [&str; 13] = [
    "jobId",
    "status",
    "reason",
    "result",
    "attempts",
    "generation",
    "nextAttemptAt",
    "type",
    "schemaVersion",
    "businessId",
    "accountId",
    "createdAt",
    "updatedAt",
];

/// Options of `show`.
#[derive(Debug, Args)]
pub(in crate::command) struct Show {
    #[command(flatten)]
    place: Place,
    /// The job's id, as `send` printed it.
    id: String,
    /// Goes on until the job has ended.
    #[arg(short, long)]
    watch: bool,
}

impl Show {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let named = match self.place.named(screen) {
            Ok(named) => named,
            Err(ending) => return Ok(ending.into()),
        };
        let showing = async {
            match named {
                Named::Api(target) => self.of_api(&target.api()?, screen).await,
                Named::Stack(options) => {
                    let site = options.site().await?;
                    let desk = options.desk(&site, screen).await?;
                    desk::show(desk.as_ref(), &self.id, self.watch, screen).await
                }
            }
        };
        tokio::select! {
            outcome = showing => outcome.map(ExitCode::from),
            _ = tokio::signal::ctrl_c() => Err("interrupted".into()),
        }
    }

    async fn of_api(&self, api: &Api, screen: &Screen) -> Result<Ending, Failure> {
        let mut shown = None;
        loop {
            let answer = api.job(&self.id).await?;
            let job = read(answer.body());
            if !answer.status().is_success() {
                return Ok(refused(screen, answer.status().as_u16(), &job));
            }
            let ended = is_final(status(&job));
            if !self.watch || ended {
                show(screen, &job);
                return Ok(Ending::Done);
            }
            // While it goes on, one line for each change.
            let line = format!("{}  attempts {}", status(&job), job["attempts"]);
            if shown.as_ref() != Some(&line) {
                screen.note(&line);
                shown = Some(line);
            }
            tokio::time::sleep(EVERY).await;
        }
    }
}

fn status(job: &Value) -> &str {
    job["status"].as_str().unwrap_or("?")
}

/// Nothing changes any more by itself.
pub(super) fn is_final(status: &str) -> bool {
    matches!(status, "succeeded" | "dead" | "in_doubt" | "cancelled")
}

/// How a state is shown.
pub(in crate::command) fn tone(status: &str) -> Tone {
    match status {
        "succeeded" => Tone::Good,
        "dead" | "in_doubt" => Tone::Bad,
        "cancelled" => Tone::Faint,
        _ => Tone::Open,
    }
}

fn show(screen: &Screen, job: &Value) {
    if screen.format() == Format::Json {
        screen.json(job);
        return;
    }
    let members = job.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
    let mut members: Vec<_> = members.collect();
    // What one looks for first comes first; what is unknown here comes last.
    members.sort_by_key(|(name, _)| ORDER.iter().position(|known| known == name).unwrap_or(ORDER.len()));
    let rows = members.into_iter().map(|(name, value)| {
        let value = match value {
            Value::Object(reason) if name == "reason" => words(reason),
            Value::String(text) if name == "status" => screen.paint(tone(text), text),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        vec![name.clone(), value]
    });
    screen.table(&[], rows);
}

/// A reason, `{class, code, message}`, in words.
fn words(reason: &Map<String, Value>) -> String {
    let member = |name: &str| reason.get(name).and_then(Value::as_str).unwrap_or("?");
    format!("{} ({}): {}", member("code"), member("class"), member("message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_told_in_words() {
        let reason = serde_json::json!({"class": "permanent", "code": "unknown_user", "message": "there is no such contact"});
        assert_eq!(words(reason.as_object().unwrap()), "unknown_user (permanent): there is no such contact");
    }

    #[test]
    fn a_job_has_ended_when_nothing_changes_any_more_by_itself() {
        for status in ["succeeded", "dead", "in_doubt", "cancelled"] {
            assert!(is_final(status), "{status}");
        }
        for status in ["accepted", "running", "retry_scheduled"] {
            assert!(!is_final(status), "{status}");
        }
    }
}
