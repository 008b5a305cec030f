//! What a check has made. Each thing is written down before it is made, so that whatever interrupts the check, nothing stays.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::clients::Clients;
use super::trouble::{Doing, Trouble};

/// How often a removal is tried: a bucket may still be written to, a stack may still be at work.
const TRIES: u32 = 5;

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(500);

/// How long a stack may take to go, as AWS needs for a role and a gateway.
const STACK_GONE_WITHIN: Duration = Duration::from_secs(180);

/// Something that a check makes, by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Made {
    Queue(String),
    Table(String),
    Bucket(String),
    /// With its event source mappings.
    Function(String),
    Identity(String),
    Stack(String),
}

impl Made {
    /// What it is, in one word, in the order in which things are removed: what uses something goes before what it uses.
    fn kind(&self) -> (u8, &'static str) {
        match self {
            Self::Bucket(_) => (1, "bucket"),
            Self::Function(_) => (0, "function"),
            Self::Identity(_) => (4, "mail identity"),
            Self::Queue(_) => (2, "queue"),
            Self::Stack(_) => (5, "stack"),
            Self::Table(_) => (3, "table"),
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Bucket(name)
            | Self::Function(name)
            | Self::Identity(name)
            | Self::Queue(name)
            | Self::Stack(name)
            | Self::Table(name) => name,
        }
    }
}

impl fmt::Display for Made {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.kind().1, self.name())
    }
}

/// All that was made.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Vec<Made>>);

impl Ledger {
    /// Writes down what is about to be made.
    pub(super) fn note(&self, made: Made) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(made);
    }

    /// How many of each kind.
    pub(super) fn counts(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for made in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            *counts.entry(made.kind().1.to_owned()).or_default() += 1;
        }
        counts
    }

    /// Removes everything, and says what could not be removed and why.
    pub(super) async fn clear(&self, clients: &Clients) -> Vec<String> {
        let mut made = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        made.sort_by_key(|made| made.kind().0);
        let mut left = Vec::new();
        for made in made {
            let mut tries = TRIES;
            while let Err(trouble) = remove(clients, &made).await {
                tries -= 1;
                if tries == 0 {
                    left.push(format!("{made}: {trouble}"));
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
        }
        left
    }
}

/// Removes one thing. What is not there is removed.
async fn remove(clients: &Clients, made: &Made) -> Result<(), Trouble> {
    let removed = match made {
        Made::Queue(name) => remove_queue(clients, name).await,
        Made::Table(name) => clients.dynamodb.delete_table().table_name(name).send().await.map(|_| ()).doing("DeleteTable"),
        Made::Bucket(name) => remove_bucket(clients, name).await,
        Made::Function(name) => remove_function(clients, name).await,
        Made::Identity(name) => {
            clients.ses.delete_email_identity().email_identity(name).send().await.map(|_| ()).doing("DeleteEmailIdentity")
        }
        Made::Stack(name) => remove_stack(clients, name).await,
    };
    match removed {
        Err(trouble) if is_not_there(&trouble) || trouble.is_absent() => Ok(()),
        removed => removed,
    }
}

/// Each service says it with a code of its own.
fn is_not_there(trouble: &Trouble) -> bool {
    let code = trouble.code().unwrap_or_default();
    ["NonExistentQueue", "QueueDoesNotExist", "NotFound", "NoSuchBucket"].iter().any(|part| code.contains(part))
        || matches!(trouble, Trouble::Call { told, .. } if told.contains("does not exist"))
}

async fn remove_queue(clients: &Clients, name: &str) -> Result<(), Trouble> {
    let found = clients.sqs.get_queue_url().queue_name(name).send().await.doing("GetQueueUrl")?;
    clients.sqs.delete_queue().set_queue_url(found.queue_url).send().await.map(|_| ()).doing("DeleteQueue")
}

async fn remove_bucket(clients: &Clients, name: &str) -> Result<(), Trouble> {
    let objects = clients.s3.list_objects_v2().bucket(name).send().await.doing("ListObjectsV2")?;
    for key in objects.contents().iter().filter_map(|object| object.key()) {
        clients.s3.delete_object().bucket(name).key(key).send().await.doing("DeleteObject")?;
    }
    clients.s3.delete_bucket().bucket(name).send().await.map(|_| ()).doing("DeleteBucket")
}

async fn remove_function(clients: &Clients, name: &str) -> Result<(), Trouble> {
    let mappings = clients.lambda.list_event_source_mappings().function_name(name).send().await;
    for mapping in mappings.doing("ListEventSourceMappings")?.event_source_mappings() {
        let deleted = clients.lambda.delete_event_source_mapping().set_uuid(mapping.uuid.clone()).send().await;
        deleted.doing("DeleteEventSourceMapping")?;
    }
    clients.lambda.delete_function().function_name(name).send().await.map(|_| ()).doing("DeleteFunction")
}

async fn remove_stack(clients: &Clients, name: &str) -> Result<(), Trouble> {
    clients.cloudformation.delete_stack().stack_name(name).send().await.doing("DeleteStack")?;
    let started = std::time::Instant::now();
    loop {
        let described = clients.cloudformation.describe_stacks().stack_name(name).send().await.doing("DescribeStacks")?;
        let status = described.stacks().first().and_then(|stack| stack.stack_status()).map(|status| status.as_str().to_owned());
        match status.as_deref() {
            None | Some("DELETE_COMPLETE") => return Ok(()),
            Some("DELETE_FAILED") => {
                return Err(Trouble::Call {
                    call: "DeleteStack".to_owned(),
                    code: None,
                    status: None,
                    told: "the stack is DELETE_FAILED".to_owned(),
                });
            }
            Some(_) if started.elapsed() > STACK_GONE_WITHIN => {
                return Err(Trouble::TimedOut {
                    what: format!("the end of the stack {name}"),
                    seconds: STACK_GONE_WITHIN.as_secs(),
                });
            }
            Some(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_is_removed_after_what_uses_it() {
        let mut made =
            [Made::Stack("role".into()), Made::Queue("q".into()), Made::Function("f".into()), Made::Bucket("notifies q".into())];
        made.sort_by_key(|made| made.kind().0);
        let names: Vec<_> = made.iter().map(Made::name).collect();
        assert_eq!(names, ["f", "notifies q", "q", "role"]);
    }

    #[test]
    fn what_is_not_there_counts_as_removed() {
        for code in ["AWS.SimpleQueueService.NonExistentQueue", "ResourceNotFoundException", "NoSuchBucket", "NotFoundException"]
        {
            let trouble = Trouble::Call { call: "x".into(), code: Some(code.into()), status: Some(400), told: String::new() };
            assert!(is_not_there(&trouble), "{code}");
        }
        let denied =
            Trouble::Call { call: "x".into(), code: Some("AccessDenied".into()), status: Some(403), told: String::new() };
        assert!(!is_not_there(&denied));
    }
}
