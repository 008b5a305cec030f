//! What a change set would do, so that a person sees what matters.

use aws_sdk_cloudformation::types::{ChangeAction, PolicyAction, Replacement, ResourceChange};
use serde::Serialize;

/// Kinds of resources that hold what nobody can make again.
const STORES: [&str; 5] =
    ["AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue", "AWS::SecretsManager::Secret", "AWS::KMS::Key"];

/// What happens to a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verb {
    /// It is replaced by a new one.
    Replace,
    /// It may be replaced: CloudFormation knows when it gets there.
    MayReplace,
    /// It goes.
    Remove,
    /// It leaves the stack, and stays.
    Leave,
    /// It comes.
    Add,
    /// It was there, and becomes part of the stack.
    Import,
    /// It is changed.
    Modify,
    /// Something that this program does not know.
    Other,
}

impl Verb {
    /// For a person.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::MayReplace => "may replace",
            Self::Remove => "remove",
            Self::Leave => "leave behind",
            Self::Add => "add",
            Self::Import => "import",
            Self::Modify => "modify",
            Self::Other => "change",
        }
    }
}

/// What happens to one resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// What.
    pub action: Verb,
    /// Its name in the template.
    pub resource: String,
    /// What kind it is of.
    pub kind: String,
    /// Its name in the account, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub physical_id: Option<String>,
    /// What of it changes.
    pub properties: Vec<String>,
}

impl Change {
    /// Reads what CloudFormation tells.
    #[must_use]
    pub fn of(told: &ResourceChange) -> Self {
        let mut properties: Vec<String> = Vec::new();
        for target in told.details().iter().filter_map(|detail| detail.target()) {
            let attribute = target.attribute().map(|attribute| attribute.as_str().to_owned());
            if let Some(name) = target.name().map(str::to_owned).or(attribute).filter(|name| !properties.contains(name)) {
                properties.push(name);
            }
        }
        let text = |text: Option<&str>| text.unwrap_or("?").to_owned();
        Self {
            action: verb(told),
            resource: text(told.logical_resource_id()),
            kind: text(told.resource_type()),
            physical_id: told.physical_resource_id().filter(|id| !id.is_empty()).map(str::to_owned),
            properties,
        }
    }

    /// Whether something that nobody can make again could go: messages, records, objects, keys.
    #[must_use]
    pub fn touches_data(&self) -> bool {
        matches!(self.action, Verb::Replace | Verb::MayReplace | Verb::Remove | Verb::Leave)
            && STORES.contains(&self.kind.as_str())
    }

    /// What is to be shouted about it.
    #[must_use]
    pub fn warning(&self) -> Option<String> {
        if !self.touches_data() {
            return None;
        }
        let named = self.physical_id.as_deref().unwrap_or(&self.resource);
        Some(match self.action {
            Verb::Replace | Verb::MayReplace => format!(
                "{} {named} {} REPLACED by an empty one{}",
                self.kind,
                if self.action == Verb::Replace { "will be" } else { "may be" },
                if self.properties.is_empty() {
                    String::new()
                } else {
                    format!(" ({} cannot change in place)", self.properties.join(", "))
                }
            ),
            Verb::Leave => format!("{} {named} will NO LONGER BELONG to the stack; it and what is in it stay", self.kind),
            _ => format!("{} {named} will be REMOVED, with everything in it", self.kind),
        })
    }
}

fn verb(told: &ResourceChange) -> Verb {
    match told.action() {
        Some(ChangeAction::Add) => Verb::Add,
        Some(ChangeAction::Import) => Verb::Import,
        Some(ChangeAction::Remove) => match told.policy_action() {
            Some(PolicyAction::Retain) => Verb::Leave,
            _ => Verb::Remove,
        },
        Some(ChangeAction::Modify) => match told.replacement() {
            Some(Replacement::True) => Verb::Replace,
            Some(Replacement::Conditional) => Verb::MayReplace,
            _ => Verb::Modify,
        },
        _ => Verb::Other,
    }
}

/// Puts what matters first.
pub fn sort(changes: &mut [Change]) {
    changes.sort_by(|left, right| {
        (!left.touches_data(), left.action, &left.kind, &left.resource).cmp(&(
            !right.touches_data(),
            right.action,
            &right.kind,
            &right.resource,
        ))
    });
}

/// `add 61, modify 2`.
#[must_use]
pub fn summary(changes: &[Change]) -> String {
    let mut counts: Vec<(Verb, usize)> = Vec::new();
    for change in changes {
        match counts.iter_mut().find(|(verb, _)| *verb == change.action) {
            Some((_, count)) => *count += 1,
            None => counts.push((change.action, 1)),
        }
    }
    counts.sort_by_key(|(verb, _)| *verb);
    counts.iter().map(|(verb, count)| format!("{} {count}", verb.word())).collect::<Vec<_>>().join(", ")
}

/// The rows of a table: action, resource, kind, what changes.
#[must_use]
pub fn rows(changes: &[Change]) -> Vec<Vec<String>> {
    let row = |change: &Change| {
        vec![
            change.action.word().to_owned(),
            change.resource.clone(),
            change.kind.strip_prefix("AWS::").unwrap_or(&change.kind).to_owned(),
            change.properties.join(", "),
        ]
    };
    changes.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudformation::types::{ResourceAttribute, ResourceChangeDetail, ResourceTargetDefinition};

    use super::*;

    fn told(action: ChangeAction, kind: &str, name: &str) -> aws_sdk_cloudformation::types::builders::ResourceChangeBuilder {
        ResourceChange::builder().action(action).resource_type(kind).logical_resource_id(name)
    }

    fn property(name: &str) -> ResourceChangeDetail {
        let target = ResourceTargetDefinition::builder().attribute(ResourceAttribute::Properties).name(name).build();
        ResourceChangeDetail::builder().target(target).build()
    }

    #[test]
    fn the_replacement_of_a_store_is_shouted_with_what_causes_it() {
        let told = told(ChangeAction::Modify, "AWS::DynamoDB::Table", "JobsTable")
            .replacement(Replacement::True)
            .physical_resource_id("ikkai-jobs")
            .details(property("KeySchema"))
            .details(property("KeySchema"))
            .build();
        let change = Change::of(&told);
        assert_eq!(change.action, Verb::Replace);
        assert_eq!(
            change.warning().unwrap(),
            "AWS::DynamoDB::Table ikkai-jobs will be REPLACED by an empty one (KeySchema cannot change in place)"
        );
    }

    #[test]
    fn every_way_in_which_data_may_go_is_shouted_and_nothing_else_is() {
        let queue = |action, replacement, policy| {
            let told = told(action, "AWS::SQS::Queue", "EmailQueue");
            Change::of(&told.set_replacement(replacement).set_policy_action(policy).build())
        };
        let shouted = |change: Change| change.warning().unwrap_or_default();
        assert!(shouted(queue(ChangeAction::Modify, Some(Replacement::Conditional), None)).contains("may be REPLACED"));
        assert!(shouted(queue(ChangeAction::Remove, None, None)).contains("REMOVED, with everything in it"));
        assert!(shouted(queue(ChangeAction::Remove, None, Some(PolicyAction::Retain))).contains("NO LONGER BELONG"));
        assert_eq!(shouted(queue(ChangeAction::Modify, Some(Replacement::False), None)), "");
        assert_eq!(shouted(queue(ChangeAction::Add, None, None)), "");
        let function = told(ChangeAction::Modify, "AWS::Lambda::Function", "F").replacement(Replacement::True).build();
        assert_eq!(Change::of(&function).warning(), None, "a function is made again from its code");
    }

    #[test]
    fn what_matters_comes_first_and_is_counted() {
        let mut changes = [
            told(ChangeAction::Modify, "AWS::Lambda::Function", "B").replacement(Replacement::False).build(),
            told(ChangeAction::Add, "AWS::SQS::Queue", "A").build(),
            told(ChangeAction::Modify, "AWS::Lambda::Function", "A").replacement(Replacement::False).build(),
            told(ChangeAction::Remove, "AWS::S3::Bucket", "Z").build(),
        ]
        .map(|told| Change::of(&told));
        sort(&mut changes);
        let order: Vec<_> = rows(&changes).into_iter().map(|row| format!("{} {} {}", row[0], row[2], row[1])).collect();
        assert_eq!(order, ["remove S3::Bucket Z", "add SQS::Queue A", "modify Lambda::Function A", "modify Lambda::Function B"]);
        assert_eq!(summary(&changes), "remove 1, add 1, modify 2");
    }
}
