//! What the role of each function has to allow, told from the function's settings.

mod deeds;
mod scope;

use std::collections::{BTreeMap, HashMap};

pub use self::scope::Scope;

use self::deeds::{DEEDS, Deed, On};
use super::facts::{Fact, Gap};

/// An attribute that every glance at a record reads.
const KEY_ATTRIBUTE: &str = "job_id";

/// Which jobs a function works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum JobsOf {
    /// Jobs of every type.
    All,
    /// Jobs of the consumer's own type.
    Own,
    /// Jobs of this type.
    Type(&'static str),
}

/// Actions that a role has to allow on each of some resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// Such as `sqs:SendMessage`.
    pub actions: &'static [&'static str],
    /// ARNs.
    pub resources: Vec<String>,
    /// What requests of the function carry, where its role looks at that.
    pub context: Vec<Context>,
}

/// A condition key of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    /// Such as `dynamodb:LeadingKeys`.
    pub key: &'static str,
    /// Its values.
    pub value: ContextValue,
}

/// The value of a condition key, by IAM's types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextValue {
    /// `string`
    Text(String),
    /// `stringList`
    List(Vec<String>),
}

/// What is known of a function.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The package that it was built of, such as `email-consumer`.
    pub package: String,
    /// Where its stack is.
    pub scope: Scope,
    /// Its environment variables.
    pub settings: HashMap<String, String>,
    /// The type of a consumer's jobs.
    pub job_type: Fact<String>,
    /// The ARN of the identity that mails are sent with, where it is not the domain of their sender.
    pub sender_identity: Option<String>,
    /// The ARN of where Lambda sends the events that it has given up, where it is told to.
    pub dead_letter_target: Option<String>,
}

impl Subject {
    /// What its role has to allow, part by part. A part that its settings do not tell is not known.
    #[must_use]
    pub fn needs(&self) -> Vec<Fact<Need>> {
        DEEDS.iter().filter(|deed| deed.by.is(&self.package)).filter_map(|deed| self.need(deed)).collect()
    }

    fn need(&self, deed: &Deed) -> Option<Fact<Need>> {
        let queues =
            |names: Fact<Vec<String>>| names.map(|names| (names.iter().map(|name| self.scope.queue(name)).collect(), Vec::new()));
        let one = |resource: Fact<String>| resource.map(|resource| (vec![resource], Vec::new()));
        let target = match deed.on {
            On::Queue(setting) => one(self.setting(setting).map(|queue| self.scope.queue(&queue))),
            On::QueueIfNamed(setting) => {
                let queue = self.settings.get(setting)?;
                one(Fact::Known(self.scope.queue(queue)))
            }
            On::JobQueues => queues(self.job_queues()),
            On::Sources => queues(self.operated_queues("queue")),
            On::DeadLetters => queues(self.operated_queues("deadLetterQueue")),
            On::DeadLetterTarget => one(self.dead_letter_target.clone().map_or(Fact::Unknown(Gap::Missing), Fact::Known)),
            On::Table(setting) => one(self.setting(setting).map(|table| self.scope.table(&table))),
            On::Jobs(of) => self.jobs(of),
            On::Glance => self.jobs_table().map(|table| (vec![self.scope.table(&table)], glance())),
            On::JobsIndex(setting) => {
                one(self.jobs_table().and_then(|table| self.setting(setting).map(|index| self.scope.index(&table, &index))))
            }
            On::Bucket(setting) => one(self.setting(setting).map(|bucket| self.scope.bucket(&bucket))),
            On::Objects(bucket, prefix) => one(self.setting(prefix).and_then(|prefix| self.object(bucket, &prefix))),
            On::ObjectsUnder(bucket, prefix) => one(self.object(bucket, prefix)),
            On::Secret(setting) => one(self.secret(setting)),
            On::Sender => self.sender(),
        };
        Some(target.map(|(resources, context)| Need { actions: deed.actions, resources, context }))
    }

    fn setting(&self, name: &str) -> Fact<String> {
        match self.settings.get(name) {
            Some(value) if !value.is_empty() => Fact::Known(value.clone()),
            _ => untold(format!("its settings do not tell {name}")),
        }
    }

    fn jobs_table(&self) -> Fact<String> {
        self.setting("IKKAI_JOBS_TABLE")
    }

    fn jobs(&self, of: JobsOf) -> Fact<(Vec<String>, Vec<Context>)> {
        let job_type = match of {
            JobsOf::All => Fact::Known(None),
            JobsOf::Own => self.job_type.clone().map(Some),
            JobsOf::Type(job_type) => Fact::Known(Some(job_type.to_owned())),
        };
        let context = job_type.map(|job_type| job_type.map(|job_type| leading_keys(&job_type)).into_iter().collect());
        context.and_then(|context| self.jobs_table().map(|table| (vec![self.scope.table(&table)], context)))
    }

    /// The producer's queues, each once.
    fn job_queues(&self) -> Fact<Vec<String>> {
        const SETTING: &str = "IKKAI_QUEUES";
        self.setting(SETTING).and_then(|text| match serde_json::from_str::<BTreeMap<String, String>>(&text) {
            Ok(queues) if !queues.is_empty() => {
                let mut names: Vec<_> = queues.into_values().collect();
                names.sort();
                names.dedup();
                Fact::Known(names)
            }
            _ => untold(format!("its {SETTING} names no queues")),
        })
    }

    /// The queues of the operators' function, by the member that names them.
    fn operated_queues(&self, member: &str) -> Fact<Vec<String>> {
        const SETTING: &str = "IKKAI_REDRIVE_QUEUES";
        self.setting(SETTING).and_then(|text| {
            let queues: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap_or_default();
            let names: Option<Vec<String>> = queues.iter().map(|queue| queue[member].as_str().map(str::to_owned)).collect();
            match names {
                Some(names) if !names.is_empty() => Fact::Known(names),
                _ => untold(format!("its {SETTING} names no queues")),
            }
        })
    }

    /// Some object below a prefix.
    fn object(&self, bucket: &str, prefix: &str) -> Fact<String> {
        self.setting(bucket).map(|bucket| format!("{}/{prefix}x", self.scope.bucket(&bucket)))
    }

    /// A secret's ARN ends in letters that its name does not tell.
    fn secret(&self, setting: &str) -> Fact<String> {
        self.setting(setting).and_then(|secret| {
            if secret.starts_with("arn:") { Fact::Known(secret) } else { untold(format!("its {setting} is no ARN")) }
        })
    }

    fn sender(&self) -> Fact<(Vec<String>, Vec<Context>)> {
        const SETTING: &str = "IKKAI_EMAIL_FROM";
        self.setting(SETTING).and_then(|from| {
            let address = address(&from);
            let Some((_, domain)) = address.split_once('@') else {
                return untold(format!("its {SETTING} is no address"));
            };
            let identity = self.sender_identity.clone().unwrap_or_else(|| self.scope.identity(domain));
            let set = self.settings.get("IKKAI_EMAIL_CONFIGURATION_SET").map(|set| self.scope.configuration_set(set));
            let from = Context { key: "ses:FromAddress", value: ContextValue::Text(address.to_owned()) };
            Fact::Known(([identity].into_iter().chain(set).collect(), vec![from]))
        })
    }
}

/// Of `mail@example.com` and `Name <mail@example.com>`: SES compares the address alone.
fn address(from: &str) -> &str {
    from.rsplit_once('<').and_then(|(_, address)| address.strip_suffix('>')).unwrap_or(from)
}

/// The id of a job of this type.
fn leading_keys(job_type: &str) -> Context {
    Context { key: "dynamodb:LeadingKeys", value: ContextValue::List(vec![format!("{job_type}-x")]) }
}

/// What a read carries that asks for a few attributes of a job of any type.
fn glance() -> Vec<Context> {
    let attributes = ContextValue::List(vec![KEY_ATTRIBUTE.to_owned()]);
    let select = ContextValue::Text("SPECIFIC_ATTRIBUTES".to_owned());
    vec![
        leading_keys("any.type"),
        Context { key: "dynamodb:Attributes", value: attributes },
        Context { key: "dynamodb:Select", value: select },
    ]
}

fn untold<T>(reason: String) -> Fact<T> {
    Fact::Unknown(Gap::Failed { action: "lambda:GetFunctionConfiguration".to_owned(), reason })
}

#[cfg(test)]
mod tests;
