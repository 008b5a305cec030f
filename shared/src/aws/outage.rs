//! Which failures of a call go away by themselves.

use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use aws_smithy_runtime_api::client::result::SdkError;
use aws_smithy_types::error::metadata::ProvideErrorMetadata;

/// Whether a call failed because the service is away, busy or broken, and not because of what it was asked or by whom: nobody has to
/// mend anything, and trying again is enough.
#[must_use]
pub fn is_outage<E: ProvideErrorMetadata>(error: &SdkError<E, HttpResponse>) -> bool {
    match error {
        SdkError::ConstructionFailure(_) => false,
        SdkError::ServiceError(answered) => {
            let status = answered.raw().status().as_u16();
            // Some services throttle with a 400, under several names (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-retry-behavior.html>).
            let throttles = |code: &str| code.contains("Throttl") || code == "RequestLimitExceeded";
            status == 429 || status >= 500 || answered.err().code().is_some_and(throttles)
        }
        // No connection, no answer in time, or an answer that nobody can read.
        _ => true,
    }
}
