//! The `ikkai` command: what it understands, and which module does it.
//!
//! Exit codes: 0 done, 1 failed or not done in full, 2 wrong usage, 3 (operators' commands) nothing that it could be done to,
//! 130 interrupted while the answer to a change was awaited.

mod consent;
mod consumer;
mod deploy;
mod destroy;
mod dlq;
mod doctor;
mod ending;
mod job;
mod keeper;
mod local;
mod logs;
mod new;
mod patience;
mod send;
mod site;
mod stack;
mod status;
mod target;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::deploying::account::Account;
use crate::screen::{Format, Screen};

/// Worker kit for AWS Lambda and SQS: local environment, jobs, operation.
#[derive(Debug, Parser)]
#[command(name = "ikkai", version, about, propagate_version = true)]
pub struct Ikkai {
    /// How results are printed.
    #[arg(long, value_enum, default_value_t = Format::Text, global = true)]
    output: Format,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// A complete AWS on this machine.
    #[command(subcommand)]
    Local(local::Local),
    /// Plays what happens to jobs, good and bad, and checks what came of it; `cargo demo` is the same.
    Demo(crate::demo::Arguments),
    /// Posts a job through the API.
    Send(send::Send),
    /// Looks at jobs, and calls them off.
    #[command(subcommand)]
    Job(job::Job),
    /// Stops, starts and bounds consumers.
    #[command(subcommand)]
    Consumer(consumer::Consumer),
    /// Makes parts of the project.
    #[command(subcommand)]
    New(new::New),
    /// Builds the functions and deploys a stack of them, or a new version into it.
    Deploy(deploy::Deploy),
    /// Deletes a stack, and keeps its tables, buckets and secrets.
    Destroy(destroy::Destroy),
    /// Checks a deployed stack: queues, mappings, functions, tables.
    Doctor(doctor::Doctor),
    /// What is in the dead-letter queues and why, and how it gets out again.
    Dlq(dlq::Dlq),
    /// The queues of a stack on one screen.
    Status(status::Status),
}

/// Why a command failed. The message is all that the user needs.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// How long to wait between two looks at what CloudFormation does: a local engine takes seconds in all, and AWS limits how often it is asked.
fn pace(account: &Account) -> Duration {
    Duration::from_millis(if account.is_local { 200 } else { 3000 })
}

impl Ikkai {
    /// Runs the command.
    pub async fn run(self) -> ExitCode {
        let screen = Screen::new(self.output);
        let done = match self.command {
            Command::Local(command) => command.run(&screen).await,
            Command::Demo(arguments) => Ok(crate::demo::run(arguments.within_command("demo")).await),
            Command::Send(command) => command.run(&screen).await,
            Command::Job(command) => command.run(&screen).await,
            Command::Consumer(command) => command.run(&screen).await,
            Command::New(command) => command.run(&screen),
            Command::Deploy(command) => command.run(&screen).await,
            Command::Destroy(command) => command.run(&screen).await,
            Command::Doctor(command) => command.run(&screen).await,
            Command::Dlq(command) => command.run(&screen).await,
            Command::Status(command) => command.run(&screen).await,
        };
        match done {
            Ok(code) => code,
            Err(failure) => {
                screen.error(failure.as_ref());
                ExitCode::FAILURE
            }
        }
    }
}
