//! A stack as CloudFormation has it: looked at, changed by change sets, deleted.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_cloudformation::types::{Capability, ChangeSetStatus, ChangeSetType, Parameter, StackEvent, StackStatus};
use tokio::time::{Instant, sleep};

use super::changes::{self, Change};

/// A change set is made in seconds; CloudFormation itself gives up on none.
const CHANGE_SET_WITHIN: Duration = Duration::from_secs(300);

/// A stack of this size takes minutes; some resources may wait for each other for long.
const STACK_WITHIN: Duration = Duration::from_secs(3600);

/// What CloudFormation says of a change set without changes, as the start of its reason.
const NO_CHANGES: [&str; 2] = ["The submitted information didn't contain changes", "No updates are to be performed"];

/// Something about the stack went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StackError {
    /// CloudFormation refused a call.
    #[error("CloudFormation refused {call}: {told}")]
    Refused {
        /// Which call.
        call: &'static str,
        /// What it said.
        told: String,
    },
    /// The stack is in a state that nothing can be done in.
    #[error("the stack `{stack}` is {status}: {mend}")]
    State {
        /// Which stack.
        stack: String,
        /// Its state.
        status: String,
        /// What to do about it.
        mend: &'static str,
    },
    /// The change set cannot be carried out.
    #[error("CloudFormation made no change set: {reason}")]
    ChangeSet {
        /// Its reason.
        reason: String,
    },
    /// A resource failed.
    #[error("the stack `{stack}` is {status}; the first failure was {resource}: {reason}")]
    Failed {
        /// Which stack.
        stack: String,
        /// Its state now.
        status: String,
        /// The first resource that failed.
        resource: String,
        /// Why.
        reason: String,
    },
    /// It took too long.
    #[error("{what} took longer than {} minutes; CloudFormation goes on, and its console shows how far it is", limit.as_secs() / 60)]
    TimedOut {
        /// What did.
        what: &'static str,
        /// How long was waited.
        limit: Duration,
    },
}

/// A stack that is there.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its state.
    pub status: StackStatus,
    /// Its parameters. The values of secret ones are hidden.
    pub parameters: BTreeMap<String, String>,
    /// Its outputs.
    pub outputs: BTreeMap<String, String>,
}

impl Found {
    /// A stack that a change set was made for, and that has no resources yet, is not there for anybody else.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.status == StackStatus::ReviewInProgress
    }
}

/// A resource of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its kind.
    pub kind: String,
    /// Its name in the account.
    pub id: String,
}

/// What a change set is made of.
#[derive(Debug, Clone)]
pub struct Plan<'a> {
    /// Where the template is.
    pub template_url: &'a str,
    /// Values of its parameters.
    pub parameters: Vec<Parameter>,
}

/// A change set that can be carried out, or thrown away.
#[derive(Debug)]
pub struct ChangeSet {
    id: String,
    new_stack: bool,
    /// What it would do, what matters first.
    pub changes: Vec<Change>,
}

/// One stack of an account.
#[derive(Debug, Clone)]
pub struct CloudStack {
    client: Client,
    name: String,
    pace: Duration,
}

impl CloudStack {
    /// The stack of this name, there or not. `pace` is the time between two looks at work that goes on.
    #[must_use]
    pub fn new(config: &SdkConfig, name: &str, pace: Duration) -> Self {
        Self { client: Client::new(config), name: name.to_owned(), pace }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Looks at the stack. `None`: there is none.
    ///
    /// # Errors
    /// CloudFormation does not say.
    pub async fn find(&self) -> Result<Option<Found>, StackError> {
        let described = match self.client.describe_stacks().stack_name(&self.name).send().await {
            Ok(described) => described,
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(refused("DescribeStacks", &error)),
        };
        let pair = |name: Option<&str>, value: Option<&str>| Some((name?.to_owned(), value.unwrap_or_default().to_owned()));
        Ok(described.stacks().first().and_then(|stack| {
            let status = stack.stack_status()?.clone();
            let parameters = stack.parameters().iter().filter_map(|one| pair(one.parameter_key(), one.parameter_value()));
            let outputs = stack.outputs().iter().filter_map(|one| pair(one.output_key(), one.output_value()));
            let found = Found { parameters: parameters.collect(), outputs: outputs.collect(), status };
            (found.status != StackStatus::DeleteComplete).then_some(found)
        }))
    }

    /// The same, where something is to be changed.
    ///
    /// # Errors
    /// As for [`find`](Self::find), or the stack is in a state that cannot be left by a change set.
    pub async fn find_ready(&self) -> Result<Option<Found>, StackError> {
        let found = self.find().await?;
        if let Some(found) = &found
            && let Some(mend) = mend(&found.status)
        {
            return Err(StackError::State { stack: self.name.clone(), status: found.status.as_str().to_owned(), mend });
        }
        Ok(found)
    }

    /// Makes a change set. `None`: nothing would change.
    ///
    /// # Errors
    /// CloudFormation refuses; where that leaves a stack without resources it is removed again.
    pub async fn propose(&self, found: Option<&Found>, plan: Plan<'_>) -> Result<Option<ChangeSet>, StackError> {
        let new_stack = found.is_none_or(Found::is_empty);
        let name = format!("ikkai-{}", milliseconds());
        let create = self
            .client
            .create_change_set()
            .stack_name(&self.name)
            .change_set_name(&name)
            .change_set_type(if new_stack { ChangeSetType::Create } else { ChangeSetType::Update })
            .template_url(plan.template_url)
            .capabilities(Capability::CapabilityIam)
            .capabilities(Capability::CapabilityAutoExpand)
            .set_parameters(Some(plan.parameters));
        let created = create.send().await.map_err(|error| refused("CreateChangeSet", &error))?;
        let set = ChangeSet { id: created.id.unwrap_or(name), new_stack, changes: Vec::new() };
        match self.changes_of(&set).await {
            Ok(Some(changes)) => Ok(Some(ChangeSet { changes, ..set })),
            Ok(None) => {
                self.discard(set).await?;
                Ok(None)
            }
            Err(error) => {
                // The reason matters more than what the tidying says.
                let _ = self.discard(set).await;
                Err(error)
            }
        }
    }

    async fn changes_of(&self, set: &ChangeSet) -> Result<Option<Vec<Change>>, StackError> {
        let started = Instant::now();
        let mut changes = Vec::new();
        let mut next = None;
        loop {
            let described = self.client.describe_change_set().change_set_name(&set.id).stack_name(&self.name);
            let described = described.set_next_token(next.take()).send().await;
            let described = described.map_err(|error| refused("DescribeChangeSet", &error))?;
            match described.status() {
                Some(ChangeSetStatus::CreateComplete) => {
                    changes.extend(described.changes().iter().filter_map(|change| change.resource_change()).map(Change::of));
                    next = described.next_token;
                    if next.is_none() {
                        changes::sort(&mut changes);
                        return Ok(Some(changes));
                    }
                }
                Some(ChangeSetStatus::Failed) => {
                    let reason = described.status_reason().unwrap_or("no reason given");
                    if NO_CHANGES.iter().any(|words| reason.starts_with(words)) {
                        return Ok(None);
                    }
                    return Err(StackError::ChangeSet { reason: reason.to_owned() });
                }
                _ if started.elapsed() > CHANGE_SET_WITHIN => {
                    return Err(StackError::TimedOut { what: "making the change set", limit: CHANGE_SET_WITHIN });
                }
                _ => sleep(self.pace).await,
            }
        }
    }

    /// Throws a change set away, and the stack with it that only it was made for.
    ///
    /// # Errors
    /// CloudFormation refuses.
    pub async fn discard(&self, set: ChangeSet) -> Result<(), StackError> {
        let deleted = self.client.delete_change_set().change_set_name(&set.id).stack_name(&self.name).send().await;
        deleted.map_err(|error| refused("DeleteChangeSet", &error))?;
        if set.new_stack && self.find().await?.is_some_and(|found| found.is_empty()) {
            let deleted = self.client.delete_stack().stack_name(&self.name).send().await;
            deleted.map_err(|error| refused("DeleteStack", &error))?;
        }
        Ok(())
    }

    /// Carries a change set out, tells every event of a resource, and returns the stack's outputs.
    ///
    /// # Errors
    /// A resource failed; the error names the first one. The stack is rolled back then.
    pub async fn execute(&self, set: ChangeSet, tell: &mut dyn FnMut(&StackEvent)) -> Result<Found, StackError> {
        let mut seen = self.event_ids().await?;
        let executed = self.client.execute_change_set().change_set_name(&set.id).stack_name(&self.name).send().await;
        executed.map_err(|error| refused("ExecuteChangeSet", &error))?;
        let settled = |status: &StackStatus| !status.as_str().ends_with("_IN_PROGRESS");
        let found = self.follow(&mut seen, tell, settled).await?;
        match found {
            Some(found) if matches!(found.status, StackStatus::CreateComplete | StackStatus::UpdateComplete) => Ok(found),
            found => Err(self.failure(found.as_ref()).await),
        }
    }

    /// Deletes the stack and waits until it is gone. What its template retains stays.
    ///
    /// # Errors
    /// A resource could not be deleted; the error names the first one.
    pub async fn delete(&self, tell: &mut dyn FnMut(&StackEvent)) -> Result<(), StackError> {
        let mut seen = self.event_ids().await?;
        let deleted = self.client.delete_stack().stack_name(&self.name).send().await;
        deleted.map_err(|error| refused("DeleteStack", &error))?;
        match self.follow(&mut seen, tell, |status| *status == StackStatus::DeleteFailed).await? {
            None => Ok(()),
            found => Err(self.failure(found.as_ref()).await),
        }
    }

    /// The stack's resources.
    ///
    /// # Errors
    /// CloudFormation does not say.
    pub async fn resources(&self) -> Result<Vec<Resource>, StackError> {
        let mut resources = Vec::new();
        let mut next = None;
        loop {
            let listed = self.client.list_stack_resources().stack_name(&self.name).set_next_token(next.take()).send().await;
            let listed = listed.map_err(|error| refused("ListStackResources", &error))?;
            resources.extend(listed.stack_resource_summaries().iter().filter_map(|summary| {
                let gone = summary.resource_status().is_some_and(|status| status.as_str() == "DELETE_COMPLETE");
                let (kind, id) = (summary.resource_type()?.to_owned(), summary.physical_resource_id()?.to_owned());
                (!gone && !id.is_empty()).then_some(Resource { kind, id })
            }));
            next = listed.next_token;
            if next.is_none() {
                return Ok(resources);
            }
        }
    }

    async fn follow(
        &self,
        seen: &mut BTreeSet<String>,
        tell: &mut dyn FnMut(&StackEvent),
        settled: impl Fn(&StackStatus) -> bool,
    ) -> Result<Option<Found>, StackError> {
        let started = Instant::now();
        loop {
            // The state comes before the events: what has settled has told all its events.
            let found = self.find().await?;
            if found.is_some() {
                for event in self.events().await?.iter().rev() {
                    if event.event_id().is_some_and(|id| seen.insert(id.to_owned())) {
                        tell(event);
                    }
                }
            }
            if found.as_ref().is_none_or(|found| settled(&found.status)) {
                return Ok(found);
            }
            if started.elapsed() > STACK_WITHIN {
                return Err(StackError::TimedOut { what: "changing the stack", limit: STACK_WITHIN });
            }
            sleep(self.pace).await;
        }
    }

    async fn event_ids(&self) -> Result<BTreeSet<String>, StackError> {
        Ok(self.events().await?.iter().filter_map(|event| event.event_id().map(str::to_owned)).collect())
    }

    /// The newest page of events, newest first.
    async fn events(&self) -> Result<Vec<StackEvent>, StackError> {
        match self.client.describe_stack_events().stack_name(&self.name).send().await {
            Ok(told) => Ok(told.stack_events.unwrap_or_default()),
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            Err(error) => Err(refused("DescribeStackEvents", &error)),
        }
    }

    /// One failed resource makes CloudFormation cancel the others: only the earliest failure tells the reason.
    async fn failure(&self, found: Option<&Found>) -> StackError {
        let events = self.events().await.unwrap_or_default();
        let run: Vec<&StackEvent> = events.iter().take_while(|event| !starts_run(event, &self.name)).collect();
        let failed = |event: &&&StackEvent| event.resource_status().is_some_and(|status| status.as_str().ends_with("_FAILED"));
        let of_resource = |event: &&&StackEvent| event.logical_resource_id() != Some(self.name.as_str());
        let first = run.iter().rev().filter(failed).find(of_resource).or_else(|| run.iter().rev().find(failed));
        let resource = first.map_or_else(
            || "an unnamed resource".to_owned(),
            |event| format!("{} ({})", event.logical_resource_id().unwrap_or("?"), event.resource_type().unwrap_or("?")),
        );
        StackError::Failed {
            stack: self.name.clone(),
            status: found.map_or("gone", |found| found.status.as_str()).to_owned(),
            resource,
            reason: first.and_then(|event| event.resource_status_reason()).unwrap_or("no reason given").to_owned(),
        }
    }
}

/// The event that a creation, an update or a deletion begins with: what is before it belongs to another one.
fn starts_run(event: &StackEvent, stack: &str) -> bool {
    let begins = ["CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"];
    event.logical_resource_id() == Some(stack)
        && event.resource_status().is_some_and(|status| begins.contains(&status.as_str()))
        && event.resource_type() == Some("AWS::CloudFormation::Stack")
}

fn mend(status: &StackStatus) -> Option<&'static str> {
    match status {
        StackStatus::RollbackComplete | StackStatus::RollbackFailed | StackStatus::CreateFailed => {
            Some("its first deployment failed; `ikkai destroy` removes what is left of it, then deploy again")
        }
        StackStatus::DeleteFailed => Some("deleting it failed; `ikkai destroy` goes on with it"),
        StackStatus::UpdateRollbackFailed => {
            Some("continue its roll back first: `aws cloudformation continue-update-rollback --stack-name` and its name")
        }
        StackStatus::ReviewInProgress => None,
        status if status.as_str().ends_with("_IN_PROGRESS") => Some("something changes it now; wait until that is over"),
        _ => None,
    }
}

fn is_absent<E: ProvideErrorMetadata>(error: &SdkError<E>) -> bool {
    error.as_service_error().and_then(ProvideErrorMetadata::message).is_some_and(|message| message.contains("does not exist"))
}

fn refused<E>(call: &'static str, error: &SdkError<E>) -> StackError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    let message = error.as_service_error().and_then(ProvideErrorMetadata::message).map(str::to_owned);
    StackError::Refused { call, told: message.unwrap_or_else(|| DisplayErrorContext(error).to_string()) }
}

fn milliseconds() -> u128 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_that_no_change_set_leaves_has_a_mend() {
        for (status, word) in [
            (StackStatus::RollbackComplete, "ikkai destroy"),
            (StackStatus::UpdateRollbackFailed, "continue-update-rollback"),
            (StackStatus::UpdateInProgress, "wait"),
            (StackStatus::DeleteFailed, "ikkai destroy"),
        ] {
            assert!(mend(&status).is_some_and(|mend| mend.contains(word)), "{status:?}");
        }
        for status in [StackStatus::CreateComplete, StackStatus::UpdateRollbackComplete, StackStatus::ReviewInProgress] {
            assert_eq!(mend(&status), None, "{status:?}");
        }
    }
}
