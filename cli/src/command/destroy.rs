//! `ikkai destroy`: takes a stack away, and leaves what nobody can make again.

use std::process::ExitCode;
use std::time::Duration;

use aws_config::{BehaviorVersion, SdkConfig};
use clap::Args;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::consent::{Asker, awaited, typed};
use super::deploy::Teller;
use super::ending::Ending;
use super::{Failure, pace};
use crate::deploying::account::Account;
use crate::deploying::cloudformation::{CloudStack, Resource};
use crate::deploying::code_bucket::CodeBucket;
use crate::deploying::data::{self, Held};
use crate::screen::{Format, Screen};

/// How long messages have to go away by themselves before they are held against it: those that are just being worked off, such as the
/// one by which S3 tests the notification of a new bucket.
const WORKED_OFF_WITHIN: Duration = Duration::from_secs(15);
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Options of `destroy`.
#[derive(Debug, Args)]
pub(super) struct Destroy {
    /// The stack's name, in the account and region of the AWS settings.
    #[arg(long, value_name = "NAME")]
    stack: String,
    /// Also where queues hold messages, which go with them.
    #[arg(long)]
    discard_messages: bool,
    /// Also deletes tables, buckets and secrets, with everything in them. The stack's name has to be typed.
    #[arg(long)]
    with_data: bool,
    /// With `--with-data`: the stack's name, in place of typing it.
    #[arg(long, value_name = "NAME", requires = "with_data")]
    confirm: Option<String>,
    /// Does not ask. Not enough for `--with-data`.
    #[arg(long)]
    yes: bool,
}

impl Destroy {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        // The name that was given says yes, and it says more.
        let mut asker = Asker::new(self.yes || self.confirm.is_some());
        if let Some(ending) = asker.cannot_ask(screen) {
            return Ok(ending.into());
        }
        if let Some(name) = &self.confirm
            && *name != self.stack
        {
            screen.note(format!("error: `--confirm {name}` is not the stack `{}`; nothing was deleted", self.stack));
            return Ok(Ending::Usage.into());
        }
        let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
        let account = Account::of(&config).await?;
        let stack = CloudStack::new(&config, &self.stack, pace(&account));
        if stack.find().await?.is_none() {
            return Err(format!("there is no stack `{}` in account {}, {}", self.stack, account.id, account.region).into());
        }
        let resources = stack.resources().await?;
        let kept = data::kept(&resources);
        let held = self.held(screen, &config, &resources).await?;
        tell(screen, &self.stack, &kept, &held, self.with_data);
        if !held.is_empty() && !self.discard_messages {
            screen.note("error: queues hold messages, which would go with them: work them off, or give `--discard-messages`; nothing was deleted");
            return Ok(Ending::Failed.into());
        }
        if let Err(ending) = self.consent(screen, &mut asker, &account).await {
            return Ok(ending.into());
        }
        for name in [format!("{}-monitoring", self.stack), self.stack.clone()] {
            if let Err(ending) = delete(screen, &CloudStack::new(&config, &name, pace(&account))).await? {
                return Ok(ending.into());
            }
        }
        let deleted = if self.with_data { delete_data(screen, &config, &account, &self.stack, &kept).await? } else { Vec::new() };
        let left: Vec<&str> =
            kept.iter().map(|kept| kept.id.as_str()).filter(|id| !deleted.iter().any(|gone| gone == id)).collect();
        match screen.format() {
            Format::Json => screen.json(&json!({"stack": self.stack, "deleted": deleted, "left": left})),
            Format::Text if left.is_empty() => screen.line(format!("the stack `{}` and its data are gone", self.stack)),
            Format::Text => {
                screen.line(format!("the stack `{}` is gone. What is left:", self.stack));
                left.iter().for_each(|id| screen.line(format!("  {id}")));
                screen.line(
                    "A new stack of the same name needs these names: docs/deploy.md, \"Take it away\", says how it gets them",
                );
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    async fn held(&self, screen: &Screen, config: &SdkConfig, resources: &[Resource]) -> Result<Vec<Held>, Failure> {
        let mut held = data::held(config, resources).await?;
        if held.is_empty() || self.discard_messages {
            return Ok(held);
        }
        let progress = screen.progress();
        let step = progress.begin("waiting for messages to be worked off");
        let until = Instant::now() + WORKED_OFF_WITHIN;
        while !held.is_empty() && Instant::now() < until {
            sleep(LOOK_EVERY).await;
            held = data::held(config, resources).await?;
        }
        step.done();
        Ok(held)
    }

    async fn consent(&self, screen: &Screen, asker: &mut Asker, account: &Account) -> Result<(), Ending> {
        let place = format!("`{}` in account {}, {}", self.stack, account.id, account.region);
        if self.with_data && self.confirm.is_none() {
            return typed(screen, &format!("to delete the stack {place} WITH ALL ITS DATA, type its name:"), &self.stack).await;
        }
        asker.consent(screen, &format!("delete the stack {place}?")).await
    }
}

fn tell(screen: &Screen, stack: &str, kept: &[Resource], held: &[Held], with_data: bool) {
    for queue in held {
        screen.note(format!("{} holds {} messages", queue.queue, queue.messages));
    }
    let fate = if with_data { "is deleted" } else { "stays" };
    for resource in kept {
        screen.note(format!("{fate}: {} ({})", resource.id, resource.kind));
    }
    if with_data {
        screen.note(format!("is deleted: the code bucket of `{stack}`"));
    }
}

async fn delete(screen: &Screen, stack: &CloudStack) -> Result<Result<(), Ending>, Failure> {
    if stack.find().await?.is_none() {
        return Ok(Ok(()));
    }
    let mut teller = Teller::new(screen, stack.name(), stack.resources().await?.len());
    let mut tell = |event: &aws_sdk_cloudformation::types::StackEvent| teller.event(event);
    let look = format!("`aws cloudformation describe-stacks --stack-name {}` tells", stack.name());
    match awaited(screen, &look, stack.delete(&mut tell)).await {
        Ok(done) => Ok(Ok(done?)),
        Err(ending) => Ok(Err(ending)),
    }
}

async fn delete_data(
    screen: &Screen,
    config: &SdkConfig,
    account: &Account,
    stack: &str,
    kept: &[Resource],
) -> Result<Vec<String>, Failure> {
    let code = Resource { kind: "AWS::S3::Bucket".to_owned(), id: CodeBucket::name_of(stack, account) };
    let mut deleted = Vec::new();
    let progress = screen.progress();
    let step = progress.begin("deleting the data");
    for resource in kept.iter().chain([&code]) {
        step.detail(resource.id.clone());
        data::delete(config, resource).await?;
        deleted.push(resource.id.clone());
    }
    step.done();
    Ok(deleted)
}
