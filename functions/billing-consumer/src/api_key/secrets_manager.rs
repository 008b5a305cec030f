//! AWS Secrets Manager.

use async_trait::async_trait;
use aws_sdk_secretsmanager::{Client, error::ProvideErrorMetadata as _};
use ikkai::aws::is_outage;

use super::{ApiKey, ApiKeyError, ApiKeySource};

/// A key that is the value of a secret
/// (<https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html>).
#[derive(Debug, Clone)]
pub struct SecretsManagerKey {
    client: Client,
    secret_id: String,
}

impl SecretsManagerKey {
    /// The current version of this secret; name or ARN.
    #[must_use]
    pub fn new(client: Client, secret_id: &str) -> Self {
        Self { client, secret_id: secret_id.to_owned() }
    }
}

#[async_trait]
impl ApiKeySource for SecretsManagerKey {
    async fn fetch(&self) -> Result<ApiKey, ApiKeyError> {
        let answer = self.client.get_secret_value().secret_id(&self.secret_id).send().await.map_err(|error| {
            // Not the message: it repeats what was asked for.
            let code = error.code().unwrap_or("no answer").to_owned();
            if is_outage(&error) { ApiKeyError::Unreachable { code } } else { ApiKeyError::Unreadable { code } }
        })?;
        ApiKey::parse(answer.secret_string().unwrap_or_default())
    }
}
