//! A source of one key.

use async_trait::async_trait;
use billing_consumer::{ApiKey, ApiKeyError, ApiKeySource};

pub(crate) struct FixedKey(pub(crate) &'static str);

#[async_trait]
impl ApiKeySource for FixedKey {
    async fn fetch(&self) -> Result<ApiKey, ApiKeyError> {
        ApiKey::parse(self.0)
    }
}
