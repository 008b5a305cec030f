//! `--keep`: the environment outlives the command.
//!
//! Engine and proxy belong to a process, and the one that the user started must end. So that one starts another, which plays the demo on
//! the same terminal, says when it is done, and stays: it is the keeper that `ikkai local …` knows from `ikkai local up`.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt;

use super::arguments::Arguments;
use super::interrupt::Interrupt;
use super::{FAILED, Failure};
use crate::local::checkout::Checkout;
use crate::local::environment::LocalAws;
use crate::local::process;
use crate::local::running::{Claim, Running, StateFiles};
use crate::screen::Screen;

/// How often the one that stays looks after the engine.
const LOOK_AFTER: Duration = Duration::from_millis(500);

/// Starts the process that plays and stays, and waits until it has played. Returns the exit code.
pub(super) async fn start(screen: &Screen, arguments: &Arguments) -> Result<u8, Failure> {
    let mut interrupt = Interrupt::new()?;
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = std::process::Command::new(std::env::current_exe()?);
    command.args(arguments.of_the_one_that_stays()).stdin(Stdio::from(OwnedFd::from(theirs)));
    // Ctrl-C must reach this process alone, which then stops the other in order.
    command.process_group(0);
    let mut staying = tokio::process::Command::from(command).spawn()?;
    let pid = staying.id().and_then(|pid| i32::try_from(pid).ok()).unwrap_or(0);
    ours.set_nonblocking(true)?;
    let mut ours = tokio::net::UnixStream::from_std(ours)?;

    let played = tokio::select! {
        code = ours.read_u8() => code,
        code = interrupt.wanted() => {
            screen.note("interrupted; stopping what was started");
            process::terminate(pid);
            staying.wait().await?;
            return Ok(code);
        }
    };
    match played {
        Ok(code) => Ok(code),
        // It ended without a word: what there was to say it has said on the screen.
        Err(_) => Ok(staying.wait().await?.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(FAILED)),
    }
}

/// The process that stays.
#[derive(Debug)]
pub(super) struct Staying {
    files: StateFiles,
    starter: UnixStream,
    _claim: Claim,
}

impl Staying {
    /// Becomes the keeper of this checkout's environment.
    ///
    /// # Errors
    /// There is one already.
    pub(super) fn begin() -> Result<Self, Failure> {
        let files = StateFiles::of(&Checkout::find()?);
        let claim = files.claim()?;
        files.remove();
        let starter = UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?);
        Ok(Self { files, starter, _claim: claim })
    }

    /// Tells the other commands where everything is.
    pub(super) fn announce(&self, screen: &Screen, aws: &LocalAws) -> Result<(), Failure> {
        let api = aws.stack().api_address()?.plain_url();
        self.files.write(&Running {
            keeper_pid: i32::try_from(std::process::id())?,
            engine_pid: aws.engine_pid(),
            engine_kind: aws.engine_address().kind,
            engine: aws.address(),
            proxy: aws.proxy().address(),
            scratch: aws.folder().join("scratch"),
            log: aws.log(),
            api: api.clone(),
            payments: None,
            stack: aws.stack().clone(),
        })?;
        screen.line("");
        screen.line("The environment stays, with short times in place of real ones.");
        screen.line(format!("  AWS          http://{}", aws.address()));
        screen.line(format!("  API          {api}"));
        screen.line("  see it       cargo ikkai local status");
        screen.line("  post a job   cargo ikkai send --type email.send --key welcome-1 --payload \\");
        screen.line(r#"                 '{"deliveryId":"mail-1","templateId":"welcome","userId":"user-42"}'"#);
        screen.line("  end it       cargo ikkai local down");
        Ok(())
    }

    /// Lets the starter go with the demo's exit code, and keeps the environment until it is told to stop or the engine ends.
    pub(super) async fn keep(mut self, interrupt: &mut Interrupt, aws: LocalAws, code: u8) -> Result<(), Failure> {
        // Whoever waits for the end of the output (a pipe) must not wait for this process.
        let log = File::create(self.files.keeper_log())?;
        rustix::stdio::dup2_stdout(&log)?;
        rustix::stdio::dup2_stderr(&log)?;
        // A starter that is gone did not want this environment any more.
        if self.starter.write_all(&[code]).is_ok() {
            tokio::select! {
                error = look_after(&aws) => Screen::new(crate::screen::Format::Text).error(error.as_ref()),
                _ = interrupt.wanted() => {}
            }
        }
        aws.stop().await;
        self.files.remove();
        Ok(())
    }
}

async fn look_after(aws: &LocalAws) -> Failure {
    loop {
        if let Err(error) = aws.check() {
            return error.into();
        }
        tokio::time::sleep(LOOK_AFTER).await;
    }
}
