//! An engine that is started for a check, and ends with it.

use std::net::{Ipv4Addr, SocketAddr};

use crate::local::checkout::Checkout;
use crate::local::engine::{Authorization, Engine, EngineError, EngineKind, PrepareError, Prepared};
use crate::local::instance::{Instance, InstanceError};
use crate::local::proxy::{Proxy, ProxyError};
use crate::progress::Progress;

/// The engine does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the error of the step that it is named after")]
pub enum FreshError {
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A running engine with nothing on it.
#[derive(Debug)]
pub struct FreshEngine {
    // Dropped in this order, as in a whole environment.
    engine: Engine,
    _proxy: Proxy,
    _instance: Instance,
}

impl FreshEngine {
    /// Starts one of this kind.
    ///
    /// # Errors
    /// A step failed; the message says what to do about it.
    pub async fn start(kind: EngineKind, checkout: &Checkout, progress: &Progress) -> Result<Self, FreshError> {
        let instance = Instance::claim(checkout, "check")?;
        let prepared = Prepared::of(kind, checkout, progress).await?;
        let step = progress.begin("starting the engine");
        // Functions reach the engine through the proxy, as they do in a whole environment: its address is known before the engine's.
        let proxy = Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let engine = Engine::start(&prepared, instance.folder(), None, &proxy.url(), Authorization::Ignored).await?;
        proxy.set_upstream(engine.address().socket);
        step.done();
        Ok(Self { engine, _proxy: proxy, _instance: instance })
    }

    /// Where it listens.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.engine.address().socket)
    }
}
