//! Whose account it is that is deployed to, and where.

use aws_config::SdkConfig;
use aws_sdk_sts::error::DisplayErrorContext;

/// The longest name of a bucket (<https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html>).
const BUCKET_NAME_LENGTH: usize = 63;

/// What stands in the longest name of the template's buckets between the stack's name and the account.
const LONGEST_BUCKET: &str = "-archive-";

/// An account and a region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The account's id.
    pub id: String,
    /// The region.
    pub region: String,
    /// Whether it is an engine on this machine that plays AWS.
    pub is_local: bool,
}

/// Nothing can be deployed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AccountError {
    /// No region is set.
    #[error("no AWS region is set: set AWS_REGION, or `region` in ~/.aws/config")]
    NoRegion,
    /// It is not known who asks.
    #[error("cannot tell which account this is (sts:GetCallerIdentity): {0}")]
    Unknown(String),
    /// A name that the stack's resources could not have.
    #[error("`{name}` cannot be the name of a stack: {why}")]
    StackName {
        /// The name.
        name: String,
        /// What is wrong.
        why: String,
    },
}

impl Account {
    /// The account that the AWS settings lead to.
    ///
    /// # Errors
    /// There is no region, or STS does not answer.
    pub async fn of(config: &SdkConfig) -> Result<Self, AccountError> {
        let region = config.region().ok_or(AccountError::NoRegion)?.to_string();
        let asked = aws_sdk_sts::Client::new(config).get_caller_identity().send().await;
        let told = asked.map_err(|error| AccountError::Unknown(DisplayErrorContext(&error).to_string()))?;
        let id = told.account.ok_or_else(|| AccountError::Unknown("the answer has no account".to_owned()))?;
        Ok(Self { id, region, is_local: crate::deployment::is_on_this_machine(config.endpoint_url()) })
    }

    /// Checks the name of a stack. Buckets are named after it, and their names are in lower case and short.
    ///
    /// # Errors
    /// It does not do; the error says why.
    pub fn check_stack_name(&self, name: &str) -> Result<(), AccountError> {
        let refused = |why: String| Err(AccountError::StackName { name: name.to_owned(), why });
        let starts_well = name.starts_with(|first: char| first.is_ascii_lowercase());
        if !starts_well || !name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-') {
            return refused(
                "buckets are named after it, so it has lower-case letters, digits and hyphens alone and begins with a letter"
                    .to_owned(),
            );
        }
        let most = BUCKET_NAME_LENGTH.saturating_sub(LONGEST_BUCKET.len() + self.id.len() + 1 + self.region.len());
        if name.len() > most {
            return refused(format!("buckets are named after it, so it has {most} letters at most in {}", self.region));
        }
        Ok(())
    }

    /// The partition of its region.
    #[must_use]
    pub fn partition(&self) -> &'static str {
        match &self.region {
            region if region.starts_with("cn-") => "aws-cn",
            region if region.starts_with("us-gov-") => "aws-us-gov",
            _ => "aws",
        }
    }

    /// The domain of its services.
    #[must_use]
    pub fn domain(&self) -> &'static str {
        if self.partition() == "aws-cn" { "amazonaws.com.cn" } else { "amazonaws.com" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(region: &str) -> Account {
        Account { id: "123456789012".to_owned(), region: region.to_owned(), is_local: false }
    }

    #[test]
    fn a_stacks_name_has_to_do_for_its_buckets() {
        let account = account("eu-central-1");
        for good in ["ikkai", "ikkai-2", "a"] {
            assert!(account.check_stack_name(good).is_ok(), "{good}");
        }
        for bad in ["Ikkai", "ikkai_2", "2ikkai", "-x", "", "ikkai.x"] {
            let error = account.check_stack_name(bad).unwrap_err().to_string();
            assert!(error.contains("lower-case") && error.contains(&format!("`{bad}`")), "{error}");
        }
        let longest = "a".repeat(63 - "-archive-123456789012-eu-central-1".len());
        assert!(account.check_stack_name(&longest).is_ok());
        assert!(account.check_stack_name(&format!("{longest}a")).unwrap_err().to_string().contains("29 letters"));
    }

    #[test]
    fn partitions_have_their_own_names() {
        assert_eq!((account("cn-north-1").partition(), account("cn-north-1").domain()), ("aws-cn", "amazonaws.com.cn"));
        assert_eq!((account("us-gov-west-1").partition(), account("eu-west-1").domain()), ("aws-us-gov", "amazonaws.com"));
    }
}
