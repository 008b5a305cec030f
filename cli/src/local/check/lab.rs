//! What a probe works with: clients, names of its own, patience, and the ledger.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::OnceCell;

use super::clients::Clients;
use super::ledger::{Ledger, Made};
use super::place::Place;
use super::trouble::{Doing, Trouble, part};
use super::worker::{Code, Worker};

/// The beginning of every name that a check gives.
pub(super) const PREFIX: &str = "ikkai-check-";

/// One check's workplace.
#[derive(Debug)]
pub struct Lab {
    pub(super) clients: Clients,
    pub(super) place: Place,
    pub(super) code: Option<Code>,
    pub(super) worker: OnceCell<Worker>,
    ledger: Ledger,
    run: String,
}

impl Lab {
    /// A workplace with a name that no other has. Without code no function can be deployed.
    #[must_use]
    pub fn new(clients: Clients, place: Place, code: Option<Code>) -> Self {
        let run = uuid::Uuid::new_v4().simple().to_string()[..8].to_owned();
        Self { clients, place, code, worker: OnceCell::new(), ledger: Ledger::default(), run }
    }

    /// The beginning of all names of this check.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("{PREFIX}{}", self.run)
    }

    /// How many of each kind of thing were made so far.
    #[must_use]
    pub fn made(&self) -> BTreeMap<String, usize> {
        self.ledger.counts()
    }

    /// Where it works.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The clients that it works with.
    #[must_use]
    pub fn clients(&self) -> &Clients {
        &self.clients
    }

    pub(super) fn name(&self, what: &str) -> String {
        format!("{}-{what}", self.prefix())
    }

    pub(super) fn note(&self, made: Made) {
        self.ledger.note(made);
    }

    /// Removes everything that was made, and says what is left and why.
    pub async fn clear(&self) -> Vec<String> {
        self.ledger.clear(&self.clients).await
    }

    /// Asks again and again until there is something.
    pub(super) async fn eventually<T>(
        &self,
        what: &str,
        ask: impl AsyncFn() -> Result<Option<T>, Trouble>,
    ) -> Result<T, Trouble> {
        let (patience, pause) = (self.place.patience(), self.place.pause());
        let started = Instant::now();
        loop {
            if let Some(found) = ask().await? {
                return Ok(found);
            }
            if started.elapsed() > patience {
                return Err(Trouble::TimedOut { what: what.to_owned(), seconds: patience.as_secs() });
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Makes a table with the key `pk`, and waits until it can be used.
    pub(super) async fn table(&self, what: &str) -> Result<String, Trouble> {
        use aws_sdk_dynamodb::types::{
            AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TableStatus,
        };
        let name = self.name(what);
        self.note(Made::Table(name.clone()));
        let key = KeySchemaElement::builder().attribute_name("pk").key_type(KeyType::Hash).build();
        let attribute = AttributeDefinition::builder().attribute_name("pk").attribute_type(ScalarAttributeType::S).build();
        let (Ok(key), Ok(attribute)) = (key, attribute) else {
            return Err(Trouble::Incomplete { call: "CreateTable", part: "key" });
        };
        let made = self.clients.dynamodb.create_table().table_name(&name).key_schema(key).attribute_definitions(attribute);
        made.billing_mode(BillingMode::PayPerRequest).send().await.doing("CreateTable")?;
        self.eventually("an active table", async || {
            let described = self.clients.dynamodb.describe_table().table_name(&name).send().await.doing("DescribeTable")?;
            let table = part(described.table, "DescribeTable", "table")?;
            Ok((table.table_status == Some(TableStatus::Active)).then_some(()))
        })
        .await?;
        Ok(name)
    }

    /// Waits for the end of a stack's creation; the outputs, or the first reason for which it failed.
    pub(super) async fn stack(&self, what: &str, template: &str) -> Result<Result<BTreeMap<String, String>, String>, Trouble> {
        use aws_sdk_cloudformation::types::{Capability, StackStatus};
        let name = self.name(what);
        self.note(Made::Stack(name.clone()));
        let cloudformation = &self.clients.cloudformation;
        let made = cloudformation.create_stack().stack_name(&name).template_body(template);
        made.capabilities(Capability::CapabilityIam).send().await.doing("CreateStack")?;
        self.eventually("a stack", async || {
            let described = cloudformation.describe_stacks().stack_name(&name).send().await.doing("DescribeStacks")?;
            let stack = described.stacks.unwrap_or_default().into_iter().next();
            match stack.as_ref().and_then(|stack| stack.stack_status()) {
                Some(StackStatus::CreateComplete) => {
                    let outputs = stack.and_then(|stack| stack.outputs).unwrap_or_default().into_iter();
                    Ok(Some(Ok(outputs.filter_map(|output| Some((output.output_key?, output.output_value?))).collect())))
                }
                None | Some(StackStatus::CreateInProgress | StackStatus::RollbackInProgress) => Ok(None),
                Some(_) => Ok(Some(Err(self.why_it_failed(&name).await))),
            }
        })
        .await
    }

    async fn why_it_failed(&self, stack: &str) -> String {
        let events = self.clients.cloudformation.describe_stack_events().stack_name(stack).send().await;
        let events = events.map(|answer| answer.stack_events.unwrap_or_default()).unwrap_or_default();
        let failed =
            events.iter().rev().find(|event| event.resource_status().is_some_and(|status| status.as_str().ends_with("_FAILED")));
        failed.and_then(|event| event.resource_status_reason()).unwrap_or("no reason given").to_owned()
    }
}

/// How long until something has happened.
pub(super) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
