//! `ikkai consumer …`: stops, starts and bounds a stack's consumers, through the mapping between queue and function.

mod apply;
mod change;
mod control;
mod show;

use std::process::ExitCode;

use clap::{Args, Subcommand};

use self::apply::apply;
use self::change::Change;
use self::control::{Control, LambdaControl};
use super::Failure;
use super::consent::Asker;
use super::ending::Ending;
use super::stack::StackChoice;
use crate::deployment::{DeployedConsumer, Deployment};
use crate::operator::Interrupt;
use crate::screen::Screen;

/// Stands for every consumer.
const ALL: &str = "all";

/// Consumers.
#[derive(Debug, Subcommand)]
pub(super) enum Consumer {
    /// Shows each consumer: whether it works, how much at a time, and what waits for it.
    List(List),
    /// Stops consumers. Their messages wait and nothing is lost; what they have received already, they finish.
    ///
    /// A reserved concurrency of 0 is no way to pause: the mapping goes on receiving, and messages use up their receives until
    /// they are dead-lettered untried.
    Pause(Named),
    /// Lets paused consumers go on.
    Resume(Named),
    /// Sets how many invocations of a consumer run at a time.
    SetConcurrency(SetConcurrency),
}

/// Options of `list`.
#[derive(Debug, Args)]
pub(super) struct List {
    #[command(flatten)]
    stack: StackChoice,
}

/// Options of `pause` and `resume`.
#[derive(Debug, Args)]
pub(super) struct Named {
    #[command(flatten)]
    stack: StackChoice,
    /// The consumers, such as `email`, or `all`.
    #[arg(required = true, value_name = "CONSUMER")]
    names: Vec<String>,
    /// Does it without a question.
    #[arg(short, long)]
    yes: bool,
}

/// Options of `set-concurrency`.
#[derive(Debug, Args)]
pub(super) struct SetConcurrency {
    #[command(flatten)]
    stack: StackChoice,
    /// The consumer, such as `email`.
    #[arg(value_name = "CONSUMER")]
    name: String,
    /// Most invocations at a time, 2 to 1000.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(2..=1000))]
    most: u32,
    /// Does it without a question.
    #[arg(short, long)]
    yes: bool,
}

impl Consumer {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let (stack, names, change, yes) = match self {
            Self::List(list) => return list.run(screen).await.map(ExitCode::from),
            Self::Pause(named) => (named.stack, named.names, Change::Pause, named.yes),
            Self::Resume(named) => (named.stack, named.names, Change::Resume, named.yes),
            Self::SetConcurrency(wanted) => (wanted.stack, vec![wanted.name], Change::Concurrency(wanted.most), wanted.yes),
        };
        let deployment = stack.deployment().await?;
        let consumers = match chosen(&deployment.consumers(), &names) {
            Ok(consumers) => consumers,
            Err(unknown) => {
                screen.note(format!("error: {unknown}"));
                return Ok(Ending::Nothing.into());
            }
        };
        let control = LambdaControl::of(&deployment);
        let told = *screen;
        let listen = || {
            Interrupt::listen(move || {
                told.note("stopping: nothing more is changed; Ctrl-C once more ends this command at once");
            })
        };
        Ok(apply(screen, deployment.name(), &control, &consumers, change, &mut Asker::new(yes), listen).await.into())
    }
}

impl List {
    async fn run(self, screen: &Screen) -> Result<Ending, Failure> {
        let deployment: Deployment = self.stack.deployment().await?;
        let control = LambdaControl::of(&deployment);
        let mut states = Vec::new();
        for consumer in deployment.consumers() {
            states.push(control.look(&consumer).await);
        }
        // The local environment is the one that is meant without a name.
        let site = if deployment.site().is_local() { String::new() } else { format!(" --stack {}", deployment.name()) };
        show::list(screen, deployment.name(), &site, &states);
        Ok(Ending::Done)
    }
}

/// The consumers of these names, each once.
fn chosen(all: &[DeployedConsumer], names: &[String]) -> Result<Vec<DeployedConsumer>, String> {
    let is_known = |name: &&String| name.as_str() == ALL || all.iter().any(|consumer| consumer.name == **name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<&str> = all.iter().map(|consumer| consumer.name.as_str()).collect();
        return Err(format!("the stack has no consumer `{unknown}`; it has {}", known.join(", ")));
    }
    let is_meant = |consumer: &&DeployedConsumer| names.iter().any(|name| name == ALL || *name == consumer.name);
    Ok(all.iter().filter(is_meant).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consumer(name: &str) -> DeployedConsumer {
        DeployedConsumer {
            name: name.to_owned(),
            prefix: String::new(),
            function: String::new(),
            queue: String::new(),
            dead_letter_queue: String::new(),
        }
    }

    #[test]
    fn consumers_are_chosen_by_name() {
        let all = [consumer("email"), consumer("image")];
        let names = |names: &[&str]| {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            chosen(&all, &names).map(|chosen| chosen.into_iter().map(|consumer| consumer.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["image"]).unwrap(), ["image"]);
        assert_eq!(names(&["image", "email", "image"]).unwrap(), ["email", "image"]);
        assert_eq!(names(&["all"]).unwrap(), ["email", "image"]);
        assert_eq!(names(&["email", "mail"]).unwrap_err(), "the stack has no consumer `mail`; it has email, image");
    }
}
