//! Counts the calls that a check makes, by service.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_sqs::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_sqs::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_smithy_runtime_api::client::orchestrator::Metadata;

/// Counts every request that is sent, repetitions too: AWS bills requests, not intentions.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Arc<Mutex<BTreeMap<String, u64>>>);

impl Calls {
    /// Requests by service.
    pub(super) fn counts(&self) -> BTreeMap<String, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[aws_smithy_runtime_api::client::interceptors::dyn_dispatch_hint]
impl Intercept for Calls {
    fn name(&self) -> &'static str {
        "ikkai-check-calls"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        config: &mut ConfigBag,
    ) -> Result<(), aws_sdk_sqs::error::BoxError> {
        let service = config.load::<Metadata>().map_or("unknown", Metadata::service);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(service.to_owned()).or_default() += 1;
        Ok(())
    }
}
