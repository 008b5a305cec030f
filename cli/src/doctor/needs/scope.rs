//! Where a stack's resources are, for their ARNs.

/// Where the stack's resources are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    partition: String,
    region: String,
    account: String,
}

impl Scope {
    /// The partition and account of a role's ARN, in a region.
    #[must_use]
    pub fn of(role: &str, region: &str) -> Option<Self> {
        let mut parts = role.split(':');
        let [Some("arn"), Some(partition), Some("iam"), Some(_), Some(account)] = [(); 5].map(|()| parts.next()) else {
            return None;
        };
        let is_whole = !region.is_empty() && !account.is_empty() && parts.next()?.starts_with("role/");
        is_whole.then(|| Self { partition: partition.to_owned(), region: region.to_owned(), account: account.to_owned() })
    }

    pub(super) fn queue(&self, name: &str) -> String {
        self.arn("sqs", name)
    }

    pub(super) fn table(&self, name: &str) -> String {
        self.arn("dynamodb", &format!("table/{name}"))
    }

    pub(super) fn index(&self, table: &str, name: &str) -> String {
        self.arn("dynamodb", &format!("table/{table}/index/{name}"))
    }

    pub(super) fn identity(&self, name: &str) -> String {
        self.arn("ses", &format!("identity/{name}"))
    }

    pub(super) fn configuration_set(&self, name: &str) -> String {
        self.arn("ses", &format!("configuration-set/{name}"))
    }

    /// Buckets have neither region nor account in their ARNs.
    pub(super) fn bucket(&self, name: &str) -> String {
        format!("arn:{}:s3:::{name}", self.partition)
    }

    fn arn(&self, service: &str, name: &str) -> String {
        format!("arn:{}:{service}:{}:{}:{name}", self.partition, self.region, self.account)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_where_the_role_and_the_stack_are() {
        let scope = Scope::of("arn:aws-cn:iam::123456789012:role/path/r", "cn-north-1").unwrap();
        assert_eq!(scope.queue("s-email"), "arn:aws-cn:sqs:cn-north-1:123456789012:s-email");
        assert_eq!(scope.index("s-jobs", "i"), "arn:aws-cn:dynamodb:cn-north-1:123456789012:table/s-jobs/index/i");
        assert_eq!(scope.bucket("b"), "arn:aws-cn:s3:::b");
    }

    #[test]
    fn what_is_no_role_has_no_scope() {
        for role in ["", "arn:aws:iam::1", "arn:aws:iam::1:user/u", "arn:aws:sqs:r:1:role/r", "arn:aws:iam:::role/r"] {
            assert_eq!(Scope::of(role, "eu-central-1"), None, "{role}");
        }
        assert_eq!(Scope::of("arn:aws:iam::1:role/r", ""), None);
    }
}
