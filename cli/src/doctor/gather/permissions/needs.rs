//! What each function needs, as in the template.

/// Actions that a role has to allow on each of some resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    /// Such as `sqs:SendMessage`.
    pub(super) actions: &'static [&'static str],
    /// ARNs.
    pub(super) resources: Vec<String>,
    /// A job id, where the role is confined to ids of one type (`dynamodb:LeadingKeys`).
    pub(super) leading_key: Option<String>,
}

/// Where the stack's resources are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scope {
    partition: String,
    region: String,
    account: String,
}

impl Scope {
    /// The partition and account of a role's ARN, in a region.
    pub(super) fn of(role: &str, region: &str) -> Option<Self> {
        let mut parts = role.split(':');
        let [Some("arn"), Some(partition), Some("iam"), Some(_), Some(account)] = [(); 5].map(|()| parts.next()) else {
            return None;
        };
        let is_whole = !region.is_empty() && !account.is_empty() && parts.next()?.starts_with("role/");
        is_whole.then(|| Self { partition: partition.to_owned(), region: region.to_owned(), account: account.to_owned() })
    }

    /// What a consumer does with its own queue.
    pub(super) fn own_queue(&self, queue: &str) -> Need {
        const ACTIONS: &[&str] = &[
            "sqs:ChangeMessageVisibility",
            "sqs:DeleteMessage",
            "sqs:GetQueueAttributes",
            "sqs:GetQueueUrl",
            "sqs:ReceiveMessage",
            "sqs:SendMessage",
        ];
        Need { actions: ACTIONS, resources: vec![self.queue(queue)], leading_key: None }
    }

    /// What a consumer does with jobs of its type.
    pub(super) fn own_jobs(&self, table: &str, job_type: &str) -> Need {
        Need { leading_key: Some(format!("{job_type}-x")), ..self.every_job(table) }
    }

    /// What the producer does with jobs of all types.
    pub(super) fn every_job(&self, table: &str) -> Need {
        let actions = &["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:UpdateItem"];
        Need { actions, resources: vec![self.table(table)], leading_key: None }
    }

    /// What the operators' function does with jobs of all types.
    pub(super) fn reopened_jobs(&self, table: &str) -> Need {
        Need { actions: &["dynamodb:GetItem", "dynamodb:UpdateItem"], ..self.every_job(table) }
    }

    /// What the producer does with queues.
    pub(super) fn sent_to(&self, queues: &[String]) -> Need {
        self.put_back(queues.iter().map(String::as_str))
    }

    /// What the operators' function does with queues.
    pub(super) fn put_back<'a>(&self, queues: impl Iterator<Item = &'a str>) -> Need {
        Need { actions: &["sqs:SendMessage"], resources: queues.map(|queue| self.queue(queue)).collect(), leading_key: None }
    }

    /// What the operators' function does with dead-letter queues.
    pub(super) fn taken_from<'a>(&self, queues: impl Iterator<Item = &'a str>) -> Need {
        let actions = &["sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:ReceiveMessage"];
        Need { actions, ..self.put_back(queues) }
    }

    fn queue(&self, name: &str) -> String {
        format!("arn:{}:sqs:{}:{}:{name}", self.partition, self.region, self.account)
    }

    fn table(&self, name: &str) -> String {
        format!("arn:{}:dynamodb:{}:{}:table/{name}", self.partition, self.region, self.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_where_the_role_and_the_stack_are() {
        let scope = Scope::of("arn:aws-cn:iam::123456789012:role/path/r", "cn-north-1").unwrap();
        assert_eq!(scope.own_queue("s-email").resources, ["arn:aws-cn:sqs:cn-north-1:123456789012:s-email"]);
        let jobs = scope.own_jobs("s-jobs", "email.send");
        assert_eq!(jobs.resources, ["arn:aws-cn:dynamodb:cn-north-1:123456789012:table/s-jobs"]);
        assert_eq!(jobs.leading_key.as_deref(), Some("email.send-x"));
        assert_eq!(scope.taken_from(["a", "b"].into_iter()).resources.len(), 2);
    }

    #[test]
    fn what_is_no_role_has_no_scope() {
        for role in ["", "arn:aws:iam::1", "arn:aws:iam::1:user/u", "arn:aws:sqs:r:1:role/r", "arn:aws:iam:::role/r"] {
            assert_eq!(Scope::of(role, "eu-central-1"), None, "{role}");
        }
        assert_eq!(Scope::of("arn:aws:iam::1:role/r", ""), None);
    }
}
