//! The process behind `ikkai local up`: it keeps engine and proxy until it is told to stop.
//!
//! It tells its starter what it does, one JSON line an event, on standard output. When it is ready the starter leaves.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

use super::Failure;
use super::local::Environment;
use crate::local::build;
use crate::local::checkout::Checkout;
use crate::local::environment::{LocalAws, Options};
use crate::local::process;
use crate::local::running::{Payments, Running, StateFiles};
use crate::progress::{Event, Progress};
use crate::screen::chain;

/// What the keeper tells its starter.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Message {
    /// It is at work.
    Progress(Event),
    /// Everything runs.
    Ready {
        /// Where everything is.
        ready: Box<Running>,
    },
    /// It gave up.
    Failed {
        /// Why, and what to do about it.
        failed: String,
    },
}

/// <https://docs.stripe.com/testing>
const CARD_THAT_PAYS: &str = "4242424242424242";

/// How often the keeper looks after the engine.
const LOOK_AFTER: Duration = Duration::from_millis(500);

/// Starts the environment, keeps it, and stops it on SIGTERM or SIGINT.
pub(super) async fn keep(environment: Environment) -> Result<ExitCode, Failure> {
    let starter = Starter::default();
    let files = StateFiles::of(&Checkout::find()?);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let _claim = match files.claim() {
        Ok(claim) => claim,
        Err(error) => return Ok(starter.failed(&error)),
    };
    files.remove();

    let mut options =
        Options::new("local").engine(environment.engine).port(environment.port).payments().progress(starter.progress());
    if let Some(folder) = &environment.functions {
        match build::packed_functions(folder) {
            Ok(packages) => options = options.packages(packages),
            Err(error) => return Ok(starter.failed(&error)),
        }
    }
    // Stopped while it starts: what has been started so far is dropped, and ends with that.
    let local = tokio::select! {
        started = LocalAws::start(options) => match started {
            Ok(local) => local,
            Err(error) => return Ok(starter.failed(&error)),
        },
        _ = terminate.recv() => give_up(),
        _ = interrupt.recv() => give_up(),
    };
    let running = describe(&local).await?;
    files.write(&running)?;
    starter.tell(&Message::Ready { ready: Box::new(running) });
    // A starter that has gone away meanwhile did not want this environment any more.
    let code = if starter.is_gone() {
        ExitCode::FAILURE
    } else {
        tokio::select! {
            code = look_after(&local) => code,
            _ = terminate.recv() => ExitCode::SUCCESS,
            _ = interrupt.recv() => ExitCode::SUCCESS,
        }
    };
    local.stop().await;
    files.remove();
    Ok(code)
}

/// Ends this process and what works for it now: a build or an installation would otherwise be waited for.
fn give_up() -> ! {
    process::terminate_helpers();
    std::process::exit(1)
}

/// Returns when the engine has ended by itself. The reason goes to standard error, which is the keeper's log.
async fn look_after(local: &LocalAws) -> ExitCode {
    loop {
        if let Err(error) = local.check() {
            crate::screen::Screen::new(crate::screen::Format::Text).error(&error);
            return ExitCode::FAILURE;
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}

async fn describe(local: &LocalAws) -> Result<Running, Failure> {
    let payments = match local.payments() {
        Some(fake) => Some(Payments { url: fake.url(), customer: fake.customer(CARD_THAT_PAYS).await? }),
        None => None,
    };
    Ok(Running {
        keeper_pid: i32::try_from(std::process::id())?,
        engine_pid: local.engine_pid(),
        engine_kind: local.engine_address().kind,
        engine: local.address(),
        proxy: local.proxy().address(),
        scratch: local.folder().join("scratch"),
        log: local.log(),
        api: local.stack().api_address()?.plain_url(),
        payments,
        stack: local.stack().clone(),
    })
}

/// The process that started this one and listens until it is ready.
#[derive(Debug, Clone, Default)]
struct Starter {
    gone: Arc<AtomicBool>,
}

impl Starter {
    fn tell(&self, message: &Message) {
        let Ok(line) = serde_json::to_string(message) else { return };
        let mut out = std::io::stdout().lock();
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            self.gone.store(true, Ordering::SeqCst);
        }
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::SeqCst)
    }

    fn progress(&self) -> Progress {
        let starter = self.clone();
        Progress::new(move |event| starter.tell(&Message::Progress(event)))
    }

    fn failed(&self, error: &dyn std::error::Error) -> ExitCode {
        self.tell(&Message::Failed { failed: chain(error) });
        ExitCode::FAILURE
    }
}
