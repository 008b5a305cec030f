//! `ikkai local …`: starts, shows and ends the local environment of this checkout.

mod check;
mod guard;
mod mailbox;
mod redeploy;

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use clap::{Args, Subcommand};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::keeper::{self, Message};
use super::{Failure, logs};
use crate::local::checkout::Checkout;
use crate::local::engine::{ENGINE_VARIABLE, EngineKind};
use crate::local::mailbox as mails;
use crate::local::process;
use crate::local::queues;
use crate::local::running::{Keeper, Running, StateFiles};
use crate::screen::{Format, Screen, Tone};

/// The local environment.
#[derive(Debug, Subcommand)]
pub(super) enum Local {
    /// Starts it, in the background; does nothing if it runs already.
    Up(Up),
    /// Ends it and everything that it started, also after a crash.
    Down,
    /// Shows where everything is and what is in the queues.
    Status,
    /// Shows the functions' logs.
    Logs(logs::Logs),
    /// Shows the mails that the engine's SES has taken.
    Mailbox(mailbox::Mailbox),
    /// Builds one function and swaps it for the one that runs.
    Redeploy(redeploy::Redeploy),
    /// Measures what the engine does as AWS does.
    Check(check::Check),
    /// Keeps it; `up` starts this process.
    #[command(hide = true)]
    Keep(Environment),
}

/// Options of `up`.
#[derive(Debug, Args)]
pub(super) struct Up {
    #[command(flatten)]
    environment: Environment,
    /// Leaves it running when the command ends. This is what `up` does; the option is there for scripts that say so.
    #[arg(long)]
    keep: bool,
}

/// What the environment is made of.
#[derive(Debug, Args)]
pub(super) struct Environment {
    /// What plays AWS.
    #[arg(long, value_enum, env = ENGINE_VARIABLE, default_value_t)]
    pub(super) engine: EngineKind,
    /// The engine's port on 127.0.0.1; without it a free one is chosen.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) port: Option<u16>,
    /// A folder of packed functions (`producer-api.zip` and so on, one zip a function) to deploy; without it they are built.
    #[arg(long, value_name = "FOLDER")]
    pub(super) functions: Option<PathBuf>,
}

impl Environment {
    /// The same as arguments.
    fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("--engine"), self.engine.name().into()];
        if let Some(port) = self.port {
            arguments.extend([OsString::from("--port"), port.to_string().into()]);
        }
        if let Some(folder) = &self.functions {
            arguments.extend([OsString::from("--functions"), folder.into()]);
        }
        arguments
    }
}

impl Local {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        match self {
            Self::Up(up) => up.run(screen).await,
            Self::Down => down(screen),
            Self::Status => status(screen).await,
            Self::Logs(logs) => logs.run(screen).await,
            Self::Mailbox(mailbox) => mailbox.run(screen).await,
            Self::Redeploy(redeploy) => redeploy.run(screen).await,
            Self::Check(check) => check.run(screen).await,
            Self::Keep(environment) => keeper::keep(environment).await,
        }
    }
}

impl Up {
    async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let Self { environment, keep: _ } = self;
        let files = StateFiles::of(&Checkout::find()?);
        if let (Keeper::Process(_), Some(running)) = (files.keeper(), files.read()) {
            if environment.port.is_some_and(|port| port != running.engine.port()) {
                let now = running.engine.port();
                return Err(format!("the local environment runs on port {now} already; `ikkai local down` ends it").into());
            }
            if environment.engine != running.engine_kind {
                let now = running.engine_kind;
                return Err(format!("the local environment runs on {now} already; `ikkai local down` ends it").into());
            }
            screen.note("the local environment runs already");
            return show_new(screen, &running);
        }
        let running = start(screen, &files, &environment).await?;
        show_new(screen, &running)
    }
}

/// Starts the keeper and follows it until it is ready. Interrupted or failed, nothing stays.
async fn start(screen: &Screen, files: &StateFiles, environment: &Environment) -> Result<Running, Failure> {
    let log_path = files.keeper_log();
    if let Some(folder) = log_path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(["local", "keep"]).args(environment.arguments());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&log_path)?);
    // Ctrl-C must reach this process alone, which then stops the keeper in order.
    command.process_group(0);
    let mut keeper = tokio::process::Command::from(command).spawn()?;
    let pid = keeper.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0);
    let pipe = keeper.stdout.take().ok_or("the keeper has no output")?;

    let progress = screen.progress();
    let mut messages = BufReader::new(pipe).lines();
    let follow = async {
        while let Ok(Some(line)) = messages.next_line().await {
            match serde_json::from_str(&line) {
                Ok(Message::Progress(event)) => progress.event(event),
                Ok(Message::Ready { ready }) => return Ok(*ready),
                Ok(Message::Failed { failed }) => return Err(failed.into()),
                Err(_) => {}
            }
        }
        let log = std::fs::read_to_string(&log_path).unwrap_or_default();
        Err(Failure::from(format!("the local environment ended while it was starting\n{}", log.trim_end())))
    };
    let outcome = tokio::select! {
        outcome = follow => outcome,
        _ = tokio::signal::ctrl_c() => {
            screen.note("interrupted; stopping what was started");
            process::terminate(pid);
            Err(Failure::from("interrupted"))
        }
    };
    if outcome.is_err() {
        let _ = keeper.wait().await;
    }
    outcome
}

fn show_new(screen: &Screen, running: &Running) -> Result<ExitCode, Failure> {
    if screen.format() == Format::Json {
        screen.json(running);
        return Ok(ExitCode::SUCCESS);
    }
    show_addresses(screen, running);
    screen.line("");
    // In a checkout the command is an alias of cargo.
    let ikkai = if std::env::var_os("CARGO").is_some() { "cargo ikkai" } else { "ikkai" };
    screen.line(format!("post a job     {ikkai} send --type email.send --key welcome-1 --payload \\"));
    screen.line(r#"                 '{"deliveryId":"mail-1","templateId":"welcome","userId":"user-42"}'"#);
    screen.line(format!("look at it     {ikkai} job show <job id> --watch"));
    screen.line(format!("see the logs   {ikkai} local logs --follow"));
    screen.line(format!("end it         {ikkai} local down"));
    Ok(ExitCode::SUCCESS)
}

fn show_addresses(screen: &Screen, running: &Running) {
    screen.line(format!("AWS       http://{} ({})", running.engine, running.engine_kind));
    screen.line(format!("API       {}", running.api));
    if let Some(payments) = &running.payments {
        screen.line(format!("payments  {} (customer {} pays)", payments.url, payments.customer));
    }
    screen.line(format!("pictures  s3://{}/uploads/", running.stack.assets_bucket()));
}

fn down(screen: &Screen) -> Result<ExitCode, Failure> {
    let ended = StateFiles::of(&Checkout::find()?).end()?;
    match screen.format() {
        Format::Json => screen.json(&serde_json::json!({ "ended": ended })),
        Format::Text if ended => screen.line("the local environment has ended"),
        Format::Text => screen.line("no local environment was running"),
    }
    Ok(ExitCode::SUCCESS)
}

async fn status(screen: &Screen) -> Result<ExitCode, Failure> {
    let files = StateFiles::of(&Checkout::find()?);
    let running = match (files.keeper(), files.read()) {
        (Keeper::Process(_), Some(running)) => running,
        (Keeper::Process(_), None) => return Ok(not_running(screen, "starting", "the local environment is starting")),
        (Keeper::Nobody, None) => {
            return Ok(not_running(
                screen,
                "stopped",
                "no local environment runs in this checkout; start one with `ikkai local up`",
            ));
        }
        (Keeper::Nobody, Some(_)) => {
            let log = std::fs::read_to_string(files.keeper_log()).unwrap_or_default();
            let text = format!("the local environment ended by itself; `ikkai local up` starts a new one\n{}", log.trim_end());
            return Ok(not_running(screen, "ended", text.trim_end()));
        }
    };
    let counts = queues::counts(running.engine_address()).await?;
    let mails = mails::mails(running.engine_address()).await?.len();
    let workers = |function: &str| {
        let members = process::members(running.engine_pid);
        let of_function = |pid| process::variable(pid, "AWS_LAMBDA_FUNCTION_NAME").as_deref() == Some(function);
        members.into_iter().filter(|member| of_function(member.pid)).count()
    };
    let functions: Vec<_> = running.stack.functions().into_iter().map(|name| (name.to_owned(), workers(name))).collect();
    let of_stack = format!("{}-", running.stack.name());
    let queues: Vec<_> = counts.into_iter().filter(|(name, _)| name.starts_with(&of_stack)).collect();

    if screen.format() == Format::Json {
        screen.json(&serde_json::json!({
            "state": "running",
            "environment": running,
            "queues": queues.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "workers": functions.iter().cloned().collect::<std::collections::BTreeMap<_, _>>(),
            "mails": mails,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    screen.line(format!("{}  (process {})", screen.paint(Tone::Good, "running"), running.keeper_pid));
    show_addresses(screen, &running);
    screen.line(format!("log       {}", running.log.display()));
    screen.line(format!("mails     {mails}"));
    screen.line("");
    let rows = queues.iter().map(|(name, count)| vec![name.clone(), count.visible.to_string(), count.not_visible.to_string()]);
    screen.table(&["queue", "visible", "not visible"], rows);
    screen.line("");
    screen.table(&["function", "processes"], functions.iter().map(|(name, count)| vec![name.clone(), count.to_string()]));
    Ok(ExitCode::SUCCESS)
}

fn not_running(screen: &Screen, state: &str, text: &str) -> ExitCode {
    match screen.format() {
        Format::Json => screen.json(&serde_json::json!({ "state": state })),
        Format::Text => screen.line(text),
    }
    ExitCode::FAILURE
}
