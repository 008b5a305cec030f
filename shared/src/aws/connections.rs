//! HTTP clients for a function's AWS clients: who shares connections, and how long an idle one is trusted.
//!
//! An AWS client brings a pool of connections of its own unless its configuration names an HTTP client, and
//! `SdkConfig::http_client` is empty unless somebody sets it. So two clients of one service open two sets of connections, and
//! warming one of them does nothing for the other.

use std::error::Error;
use std::time::Duration;

use aws_smithy_http_client::{
    Connector,
    proxy::ProxyConfig,
    tls::{Provider, rustls_provider::CryptoMode},
};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::http::{HttpConnectorSettings, SharedHttpClient, SharedHttpConnector, http_client_fn};
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::BeforeTransmitInterceptorContextMut;
use aws_smithy_runtime_api::client::result::DispatchFailure;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use aws_smithy_types::config_bag::ConfigBag;

/// A connection that is not up after this will hardly come up later. The SDK's own default.
pub const MAX_CONNECT_TIME: Duration = Duration::from_millis(3100);

/// How long hyper keeps an idle connection when nothing else is said. Good for calls that the SDK repeats by itself.
const DEFAULT_IDLE_TIME: Duration = Duration::from_secs(90);

/// An HTTP client to be put into the `SdkConfig` that several AWS clients are made from: they share its connections.
#[must_use]
pub fn shared() -> SharedHttpClient {
    http_client(MAX_CONNECT_TIME, DEFAULT_IDLE_TIME)
}

/// Takes the signature off a request. The service refuses such a call at the door, so it needs no permission, leaves no denied call in the
/// account's trail and uses no quota; the connection it opened stays.
#[derive(Debug)]
pub struct Unsigned;

impl Intercept for Unsigned {
    fn name(&self) -> &'static str {
        "Unsigned"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        for header in ["authorization", "x-amz-security-token"] {
            context.request_mut().headers_mut().remove(header);
        }
        Ok(())
    }
}

/// Whether a call of an AWS client failed in making its connection (name lookup, TCP, TLS), before any byte of a request went out. The SDK itself
/// does not tell that from a connection that broke later.
#[must_use]
pub fn never_connected(failure: &DispatchFailure) -> bool {
    let mut cause = failure.as_connector_error().map(|error| error as &(dyn Error + 'static));
    while let Some(error) = cause {
        if error.downcast_ref::<hyper_util::client::legacy::Error>().is_some_and(hyper_util::client::legacy::Error::is_connect) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// An HTTP client with the SDK's own TLS and proxy settings and one pool of connections, whatever the timeouts of the AWS clients
/// that use it.
#[must_use]
pub fn http_client(connect_timeout: Duration, idle_timeout: Duration) -> SharedHttpClient {
    let connector = Connector::builder()
        .connector_settings(HttpConnectorSettings::builder().connect_timeout(connect_timeout).build())
        .pool_idle_timeout(idle_timeout)
        .proxy_config(ProxyConfig::from_env())
        .tls_provider(Provider::Rustls(CryptoMode::AwsLc))
        .build();
    let connector = SharedHttpConnector::new(connector);
    http_client_fn(move |_, _| connector.clone())
}
