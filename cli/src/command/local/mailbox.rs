//! `ikkai local mailbox`: the mails that the engine's SES has taken. None of them leaves this machine.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};
use ikkai::clock::EpochMillis;
use serde_json::{Value, json};

use super::{Failure, mails};
use crate::command::logs::until_interrupted;
use crate::command::target;
use crate::local::aws;
use crate::local::mailbox::ReceivedMail;
use crate::local::running::Running;
use crate::screen::{Format, Screen, Tone, table_lines};

/// How often new mails are looked for.
const EVERY: Duration = Duration::from_millis(500);

/// Options of `mailbox`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(in crate::command) struct Mailbox {
    #[command(subcommand)]
    action: Option<Action>,
    /// Goes on with new mails until Ctrl-C.
    #[arg(short, long)]
    follow: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Shows one mail whole.
    Show {
        /// Its number in the list.
        #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        number: u32,
    },
}

/// A mail with its number, and the job that it was sent for.
struct Numbered {
    number: usize,
    mail: ReceivedMail,
    job_id: Option<String>,
}

impl Mailbox {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let running = target::running()?;
        match self.action {
            Some(Action::Show { number }) => show(screen, &running, number as usize).await,
            None if self.follow => until_interrupted(follow(screen, &running)).await,
            None => list(screen, &running).await,
        }
    }
}

async fn list(screen: &Screen, running: &Running) -> Result<ExitCode, Failure> {
    let mails = numbered(running, 0).await?;
    if screen.format() == Format::Json {
        screen.json(&mails.iter().map(Numbered::json).collect::<Vec<_>>());
        return Ok(ExitCode::SUCCESS);
    }
    if mails.is_empty() {
        screen.line("no mail was sent yet");
        return Ok(ExitCode::SUCCESS);
    }
    table_lines(&["no.", "time", "to", "subject", "job"], &[0], mails.iter().map(Numbered::row))
        .iter()
        .for_each(|line| screen.line(line));
    Ok(ExitCode::SUCCESS)
}

async fn follow(screen: &Screen, running: &Running) -> Result<ExitCode, Failure> {
    let mut shown = 0;
    loop {
        for numbered in numbered(running, shown).await? {
            shown = numbered.number;
            match screen.format() {
                Format::Json => screen.line(numbered.json()),
                Format::Text => {
                    let mut row = numbered.row();
                    let job = row.pop().unwrap_or_default();
                    screen.line(format!("{}  {}", row.join("  "), screen.paint(Tone::Faint, job)));
                }
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

async fn show(screen: &Screen, running: &Running, number: usize) -> Result<ExitCode, Failure> {
    let mails = numbered(running, 0).await?;
    let count = mails.len();
    let found = mails.into_iter().nth(number - 1);
    let numbered = found.ok_or_else(|| match count {
        0 => "no mail was sent yet".to_owned(),
        count => format!("there is no mail {number}; the mailbox has 1 to {count}"),
    })?;
    if screen.format() == Format::Json {
        screen.json(&numbered.json());
        return Ok(ExitCode::SUCCESS);
    }
    let mail = &numbered.mail;
    let rows = [
        ("from", mail.from.clone()),
        ("to", mail.to.join(", ")),
        ("subject", mail.subject.clone().unwrap_or_default()),
        ("time", numbered.time()),
        ("job", numbered.job_id.clone().unwrap_or_else(|| "none that is known".to_owned())),
        ("id", mail.message_id.clone()),
    ];
    screen.table(&[], rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]));
    screen.line("");
    let text = mail.body_text.as_deref().or(mail.body_html.as_deref()).unwrap_or("(no text)");
    screen.line(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

impl Numbered {
    fn time(&self) -> String {
        self.mail.taken_ms.map_or_else(String::new, |ms| EpochMillis::from_i64(ms).rfc3339().to_string())
    }

    fn row(&self) -> Vec<String> {
        let mail = &self.mail;
        let job = self.job_id.clone().unwrap_or_default();
        vec![self.number.to_string(), self.time(), mail.to.join(", "), mail.subject.clone().unwrap_or_default(), job]
    }

    fn json(&self) -> Value {
        let mail = &self.mail;
        json!({
            "number": self.number,
            "messageId": mail.message_id,
            "from": mail.from,
            "to": mail.to,
            "subject": mail.subject,
            "time": mail.taken_ms.map(|ms| EpochMillis::from_i64(ms).rfc3339().to_string()),
            "jobId": self.job_id,
            "text": mail.body_text,
            "html": mail.body_html,
        })
    }
}

/// The mails after the first so many, numbered from 1.
async fn numbered(running: &Running, after: usize) -> Result<Vec<Numbered>, Failure> {
    let mails = mails::mails(running.engine_address()).await?;
    if mails.len() <= after {
        return Ok(Vec::new());
    }
    let mut jobs = jobs_by_mail(running).await?;
    let numbered = mails.into_iter().enumerate().skip(after).map(|(place, mail)| {
        let job_id = jobs.remove(&mail.message_id);
        Numbered { number: place + 1, mail, job_id }
    });
    Ok(numbered.collect())
}

/// Which job each mail was sent for: a done job's record names the provider's id of its effect.
async fn jobs_by_mail(running: &Running) -> Result<BTreeMap<String, String>, Failure> {
    let client = aws_sdk_dynamodb::Client::new(&aws::sdk_config(running.engine));
    let scan = client.scan().table_name(running.stack.jobs_table()).filter_expression("attribute_exists(provider_ref)");
    let items = scan.projection_expression("job_id, provider_ref").into_paginator().items().send();
    let items = items.collect::<Result<Vec<_>, _>>().await?;
    let text = |value: Option<aws_sdk_dynamodb::types::AttributeValue>| value?.as_s().ok().cloned();
    let pair = |mut item: std::collections::HashMap<String, aws_sdk_dynamodb::types::AttributeValue>| {
        Some((text(item.remove("provider_ref"))?, text(item.remove("job_id"))?))
    };
    Ok(items.into_iter().filter_map(pair).collect())
}
