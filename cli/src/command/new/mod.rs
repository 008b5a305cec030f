//! `ikkai new`: parts of the project, written and put into their places.
//!
//! A consumer touches some twenty files. Everything is prepared in memory, from the files as they are in the checkout; when one of them is
//! not as expected, that is said and nothing is written.

mod changes;
mod effect;
mod insertion;
mod mirror;
mod names;
mod plan;
mod rendering;
mod rustfmt;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use clap::{Args, Subcommand};
use serde_json::json;

use self::changes::Changes;
use self::effect::Effect;
use self::names::Names;
use super::Failure;
use crate::local::checkout::{Checkout, NoCheckout, ROOT_VARIABLE};
use crate::screen::{Format, Screen};

/// What can be made.
#[derive(Debug, Subcommand)]
pub(super) enum New {
    /// A consumer: function, payload, schema, template, alarms, tests, demo entry.
    Consumer(Consumer),
}

impl New {
    pub(super) fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        match self {
            Self::Consumer(command) => command.run(screen),
        }
    }
}

/// Options of `new consumer`.
#[derive(Debug, Args)]
pub(super) struct Consumer {
    /// One lower-case word: `sms` makes `sms-consumer` and the queue `<stack>-sms`.
    name: String,
    /// The type of its jobs; `<NAME>.send` unless given.
    #[arg(long, value_name = "TYPE")]
    job_type: Option<String>,
    /// What becomes of a job of which nobody knows whether it had its effect.
    #[arg(long, value_enum, default_value_t = Effect::Hold)]
    effect: Effect,
    /// Lists the files and writes none.
    #[arg(long)]
    dry_run: bool,
    /// Also where the checkout has changes that are not committed.
    #[arg(long)]
    allow_dirty: bool,
}

/// Why there is no new consumer.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error(
        "the checkout has changes that are not committed ({count} files, `{first}` among them): commit them first, so that what is made can be \
         told from them, or say --allow-dirty"
    )]
    Dirty { count: usize, first: String },
    #[error("cannot ask git whether the checkout has changes that are not committed; --allow-dirty does without")]
    NoGit,
    #[error("there is a job type `{job_type}` already: give the new one another with --job-type")]
    JobTypeTaken { job_type: String },
    #[error("there is a consumer `{name}` already, in functions/{name}-consumer")]
    NameTaken { name: String },
}

impl Consumer {
    fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let names = Names::new(&self.name, self.job_type.as_deref())?;
        let checkout = checkout()?;
        refuse_taken(&checkout, &names)?;
        if !self.allow_dirty && !self.dry_run {
            refuse_dirty(checkout.root())?;
        }
        let changes = prepared(checkout.root(), &names, self.effect)?;
        if !self.dry_run {
            changes.write()?;
            lock(checkout.root(), screen);
        }
        tell(screen, &names, &changes, self.dry_run);
        Ok(ExitCode::SUCCESS)
    }
}

/// The checkout that the user is in. Unlike other commands this one writes sources, so the one that this program was built from is none.
fn checkout() -> Result<Checkout, NoCheckout> {
    match std::env::var_os(ROOT_VARIABLE) {
        Some(root) => Checkout::around(Path::new(&root)),
        None => Checkout::around(&std::env::current_dir().unwrap_or_default()),
    }
}

fn refuse_taken(checkout: &Checkout, names: &Names) -> Result<(), Refusal> {
    if checkout.file("functions").join(names.package()).exists() {
        return Err(Refusal::NameTaken { name: names.name.clone() });
    }
    let payload = checkout.file("shared/src/job/payloads").join(format!("{}.rs", names.payload_module));
    if ikkai::job::find(&names.job_type).is_some() || payload.exists() {
        return Err(Refusal::JobTypeTaken { job_type: names.job_type.clone() });
    }
    Ok(())
}

fn refuse_dirty(root: &Path) -> Result<(), Refusal> {
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(root).stdin(Stdio::null()).output();
    let status = status.ok().filter(|output| output.status.success()).ok_or(Refusal::NoGit)?;
    let status = String::from_utf8_lossy(&status.stdout);
    match status.lines().next() {
        None => Ok(()),
        // Two letters and a blank stand before the name.
        Some(first) => Err(Refusal::Dirty { count: status.lines().count(), first: first.get(3..).unwrap_or(first).to_owned() }),
    }
}

/// All changes, formatted, and none of them written.
fn prepared(root: &Path, names: &Names, effect: Effect) -> Result<Changes, Failure> {
    let mut changes = Changes::new(root);
    plan::add_consumer(&mut changes, names, effect)?;
    let sources: Vec<String> = changes.texts().map(|(path, _)| path.to_owned()).filter(|path| path.ends_with(".rs")).collect();
    for path in sources {
        changes.edit(&path, |source| rustfmt::formatted(root, source))?;
    }
    Ok(changes)
}

/// Enters the new package into Cargo.lock, which the next build would do otherwise; `--locked` needs it before.
fn lock(root: &Path, screen: &Screen) {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["update", "--workspace", "--offline", "--quiet"]).current_dir(root).stdin(Stdio::null());
    let locked = command.output().is_ok_and(|output| output.status.success());
    if !locked {
        screen.note("Cargo.lock has no entry for the new package yet: the next build without --locked makes it");
    }
}

fn tell(screen: &Screen, names: &Names, changes: &Changes, dry_run: bool) {
    let package = names.package();
    if screen.format() == Format::Json {
        let (created, edited): (Vec<_>, Vec<_>) = (changes.created().collect(), changes.edited().collect());
        screen.line(
            json!({"package": package, "jobType": names.job_type, "dryRun": dry_run, "created": created, "edited": edited}),
        );
        return;
    }
    screen.line(if dry_run { "Would make:" } else { "Made:" });
    changes.created().for_each(|path| screen.line(format!("  {path}")));
    screen.line(if dry_run { "Would edit:" } else { "Edited:" });
    changes.edited().for_each(|path| screen.line(format!("  {path}")));
    if dry_run {
        screen.line("Nothing was written.");
        return;
    }
    screen.line("");
    screen.line("Next:");
    screen.line(format!(
        "  1. functions/{package}/src/provider.rs: implement `Provider` with the call of your provider, and give it to the handler in the place \
         of `DryRun` in src/main.rs"
    ));
    screen.line(format!(
        "  2. shared/src/job/payloads/{}.rs: say what a job holds, then `IKKAI_UPDATE_SCHEMAS=1 cargo test schema_files`",
        names.payload_module
    ));
    screen.line(format!(
        "  3. infra/template.yaml, {}ConsumerRole: allow what the provider needs; then `cargo test` and `cargo demo`",
        names.prefix
    ));
}
