//! `ikkai deploy`: builds the functions, shows what would change, changes it, and checks what came of it.

mod plan;
mod tell;

use std::path::PathBuf;
use std::process::ExitCode;

use aws_config::{BehaviorVersion, SdkConfig};
use clap::{Args, ValueEnum};
use serde_json::json;

use super::consent::{Asker, awaited};
use super::doctor;
use super::ending::Ending;
use super::{Failure, pace};
use crate::deploying::account::Account;
use crate::deploying::cloudformation::{ChangeSet, CloudStack, Found};
use crate::deploying::parameters::{self, Values};
use crate::local::checkout::Checkout;
use crate::screen::{Format, Screen};
use plan::{Application, Monitoring};
pub(super) use tell::Teller;

/// Options of `deploy`.
#[derive(Debug, Args)]
pub(super) struct Deploy {
    /// The stack's name, in the account and region of the AWS settings.
    #[arg(long, env = "IKKAI_STACK", value_name = "NAME", default_value = "ikkai")]
    stack: String,
    /// A parameter of a template; may be given often. One that is not given keeps the value that the stack has.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameters::pair)]
    parameters: Vec<(String, String)>,
    /// A file of parameters: one JSON object. `--parameter` wins.
    #[arg(long, value_name = "FILE")]
    parameters_file: Option<PathBuf>,
    /// Shows what would change, and changes nothing of the stack. The code is built and uploaded all the same.
    #[arg(long)]
    dry_run: bool,
    /// Takes what an earlier `cargo lambda build` has left in target/lambda.
    #[arg(long)]
    no_build: bool,
    /// A folder of packed functions (`producer-api.zip` and so on, one zip a function); without it they are built.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["no_build", "profile"])]
    functions: Option<PathBuf>,
    /// How the functions are built: `local` is for an engine on this machine, and quick.
    #[arg(long, value_enum, default_value_t = Profile::Release, conflicts_with = "no_build")]
    profile: Profile,
    /// Leaves out the stack of alarms and the dashboard, `<stack>-monitoring`.
    #[arg(long)]
    no_monitoring: bool,
    /// Does not ask.
    #[arg(long)]
    yes: bool,
    /// With `--yes`: also where a table, a bucket, a queue or a secret is replaced or removed.
    #[arg(long, requires = "yes")]
    allow_replacement: bool,
}

/// How functions are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Profile {
    /// With cargo-lambda, for Lambda.
    Release,
    /// As `ikkai local` does it.
    Local,
}

/// One stack and what would become of it.
struct Proposal {
    stack: CloudStack,
    change_set: Option<ChangeSet>,
}

impl Deploy {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let mut asker = Asker::new(self.yes);
        if !self.dry_run
            && let Some(ending) = asker.cannot_ask(screen)
        {
            return Ok(ending.into());
        }
        let checkout = Checkout::find()?;
        let given = self.given()?;
        let mut application = Application::read(&checkout)?;
        let monitoring = if self.no_monitoring { None } else { Monitoring::read(&checkout)? };
        let declared = monitoring.as_ref().map(|monitoring| monitoring.declared.as_slice()).unwrap_or_default();
        parameters::known(&given, &[&application.declared, declared])?;

        let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
        let account = Account::of(&config).await?;
        account.check_stack_name(&self.stack)?;
        if self.profile == Profile::Local && !account.is_local {
            screen.note(
                "error: functions of the profile `local` believe whoever calls them; they are for an engine on this machine \
                 (AWS_ENDPOINT_URL=http://127.0.0.1:…) and go into no account",
            );
            return Ok(Ending::Usage.into());
        }
        let stack = CloudStack::new(&config, &self.stack, pace(&account));
        let found = stack.find_ready().await?;
        // Everything that can be wrong with the parameters is said before minutes of building.
        let origin = application.choose(&given, found.as_ref(), self.wanted(&account))?;

        let bucket = application.upload(&checkout, origin, &config, &account, &self.stack, &screen.progress()).await?;
        let mut proposals = vec![application.propose(stack, found.as_ref(), &bucket, screen).await?];
        if let Some(monitoring) = &monitoring {
            let stack = CloudStack::new(&config, &format!("{}-monitoring", self.stack), pace(&account));
            let values = monitoring.values(&self.stack, &given, &application, found.as_ref(), &account);
            proposals.push(monitoring.propose(stack, values, &bucket, screen).await?);
        }
        tell::proposals(screen, &proposals);
        let changes = tell::document(&proposals);
        if self.dry_run {
            discard(proposals).await?;
            return Ok(self.told(screen, json!({"executed": false, "stacks": changes}), ExitCode::SUCCESS));
        }
        if let Err(ending) = self.consent(screen, &mut asker, &account, &proposals).await {
            discard(proposals).await?;
            return Ok(ending.into());
        }
        let outputs = match execute(screen, proposals).await? {
            Ok(outputs) => outputs.or(found.map(|found| found.outputs)).unwrap_or_default(),
            Err(ending) => return Ok(ending.into()),
        };
        if let (Format::Text, Some(url)) = (screen.format(), outputs.get("ApiUrl")) {
            screen.line(format!("API  {url}"));
        }
        let (findings, code) = self.examine(screen, config).await?;
        Ok(self.told(screen, json!({"executed": true, "stacks": changes, "outputs": outputs, "doctor": findings}), code))
    }

    fn given(&self) -> Result<Values, Failure> {
        let mut given = match &self.parameters_file {
            Some(path) => parameters::file(path)?,
            None => Values::new(),
        };
        given.extend(self.parameters.iter().cloned());
        Ok(given)
    }

    fn wanted(&self, account: &Account) -> plan::Wanted {
        if let Some(folder) = &self.functions {
            return plan::Wanted::Packed(folder.clone(), if account.is_local { plan::Runs::Here } else { plan::Runs::OnLambda });
        }
        match (self.profile, self.no_build) {
            (Profile::Local, _) => plan::Wanted::Local,
            (Profile::Release, true) => plan::Wanted::Left,
            (Profile::Release, false) => plan::Wanted::Built,
        }
    }

    /// Asks, where there is something to be asked about.
    async fn consent(&self, screen: &Screen, asker: &mut Asker, account: &Account, proposals: &[Proposal]) -> Result<(), Ending> {
        let changes = || proposals.iter().filter_map(|proposal| proposal.change_set.as_ref()).flat_map(|set| &set.changes);
        if changes().next().is_none() {
            return Ok(());
        }
        if self.yes && !self.allow_replacement && changes().any(|change| change.warning().is_some()) {
            screen.note("error: what is said above about data needs more than `--yes`: give `--allow-replacement` too, or leave `--yes` out and answer; nothing was changed");
            return Err(Ending::Failed);
        }
        let question = format!("change the stack `{}` in account {}, {}?", self.stack, account.id, account.region);
        asker.consent(screen, &question).await
    }

    /// Looks at the stack as `ikkai doctor` does.
    async fn examine(&self, screen: &Screen, config: SdkConfig) -> Result<(serde_json::Value, ExitCode), Failure> {
        doctor::examine_deployed(screen, config, &self.stack).await
    }

    /// For programs, everything at once.
    fn told(&self, screen: &Screen, document: serde_json::Value, code: ExitCode) -> ExitCode {
        if screen.format() == Format::Json {
            screen.json(&document);
        }
        code
    }
}

/// Carries the change sets out, one after the other: the second stack is about resources of the first. The outputs of the first, where it
/// changed.
async fn execute(
    screen: &Screen,
    proposals: Vec<Proposal>,
) -> Result<Result<Option<std::collections::BTreeMap<String, String>>, Ending>, Failure> {
    let mut outputs = None;
    for (place, Proposal { stack, change_set }) in proposals.into_iter().enumerate() {
        let Some(set) = change_set else { continue };
        let mut teller = Teller::new(screen, stack.name(), set.changes.len());
        let look = format!("`aws cloudformation describe-stack-events --stack-name {}` tells", stack.name());
        let mut tell = |event: &aws_sdk_cloudformation::types::StackEvent| teller.event(event);
        let found: Found = match awaited(screen, &look, stack.execute(set, &mut tell)).await {
            Ok(done) => done?,
            Err(ending) => return Ok(Err(ending)),
        };
        if place == 0 {
            outputs = Some(found.outputs);
        }
    }
    Ok(Ok(outputs))
}

async fn discard(proposals: Vec<Proposal>) -> Result<(), Failure> {
    for Proposal { stack, change_set } in proposals {
        if let Some(set) = change_set {
            stack.discard(set).await?;
        }
    }
    Ok(())
}
