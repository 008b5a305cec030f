//! The fault proxy: it stands between the functions and the local engine, and a second one between the billing consumer and its provider.
//!
//! The engine hands its `AWS_ENDPOINT_URL` to every function process that it starts. That address is this proxy, so every AWS call of
//! every function passes here, without any change to functions or template. The proxy
//!
//! - forwards calls byte for byte and keeps the `Host` header, by which the engine routes;
//! - counts calls, bytes and connections by operation, and keeps a bounded [journal](Calls) of them;
//! - counts effects by the engine's own answers: a mail is an effect once the engine took it, whether the sender was told or not;
//! - plays the faults of the [rules](Rule) that were added;
//! - [refuses connections](Proxy::refuse_connections) while the other side is to be down.
//!
//! It runs on a thread of its own: it outlives the runtime of the test that started it, and works while its caller blocks.

mod fault_answer;
mod journal;
mod operation;
mod rule;
mod server;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, PoisonError};

use tokio::net::TcpListener;
use tokio::sync::oneshot;

pub use journal::{Call, Calls, Ending, Totals};
pub use operation::{JOB_TAG, Subject, tag_value};
pub use rule::{Action, Rule, RuleHandle};

use rule::ActiveRule;
use server::Shared;

/// Why a proxy could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on 127.0.0.1 for the fault proxy")]
pub struct ProxyError(#[source] std::io::Error);

/// A running fault proxy; it stops when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Proxy {
    /// Listens on a free port of 127.0.0.1 and forwards to `upstream`.
    ///
    /// # Errors
    /// The loopback address has no free port, or no thread could be started.
    pub async fn start(upstream: SocketAddr) -> Result<Self, ProxyError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(ProxyError)?;
        let address = listener.local_addr().map_err(ProxyError)?;
        // Leaves the caller's runtime; the proxy's own takes it over.
        let listener = listener.into_std().map_err(ProxyError)?;
        let shared = Shared::new(upstream);
        let (stop, stopped) = oneshot::channel::<()>();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(ProxyError)?;
        let serving = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("fault-proxy".to_owned())
            .spawn(move || {
                runtime.block_on(async move {
                    let Ok(listener) = TcpListener::from_std(listener) else { return };
                    tokio::select! {
                        _ = stopped => {}
                        never = server::serve(listener, address, serving) => match never {},
                    }
                });
                // Held calls wait for a release that may never come: do not wait for them.
                runtime.shutdown_background();
            })
            .map_err(ProxyError)?;
        Ok(Self { address, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Where the proxy listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The proxy's address as an endpoint URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Forwards to another address from now on.
    pub fn set_upstream(&self, upstream: SocketAddr) {
        *self.shared.upstream.lock().unwrap_or_else(PoisonError::into_inner) = upstream;
    }

    /// Shuts the door: open connections are closed, and new ones refused by the system, as if nothing listened here. What is already on its way
    /// to the other side is done there.
    pub async fn refuse_connections(&self) {
        self.shared.door.set(false).await;
    }

    /// Opens the door again, at the same address.
    pub async fn accept_connections(&self) {
        self.shared.door.set(true).await;
    }

    /// Adds a rule. Rules are asked in the order they were added; the first that meets a call decides.
    pub fn add(&self, rule: Rule) -> RuleHandle {
        let active = ActiveRule::new(rule);
        let mut rules = self.shared.rules.lock().unwrap_or_else(PoisonError::into_inner);
        // A soak adds thousands, and every call is compared with all that are left.
        rules.retain(|rule| !rule.is_removed());
        rules.push(Arc::clone(&active));
        RuleHandle(active)
    }

    /// Takes all rules away and lets go what they hold.
    pub fn clear_rules(&self) {
        for rule in self.shared.rules.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let handle = RuleHandle(rule);
            handle.remove();
            handle.release();
        }
    }

    /// A picture of all calls until now.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.shared.journal.snapshot()
    }

    /// Waits until the calls look as wanted. The caller limits the time.
    pub async fn until(&self, wanted: impl Fn(&Calls) -> bool) -> Calls {
        let mut changes = self.shared.journal.changes();
        loop {
            let calls = self.calls();
            if wanted(&calls) {
                return calls;
            }
            // The sender lives as long as `self`.
            let _ = changes.changed().await;
        }
    }

    /// How many mails the engine has taken for a job (mails tagged [`JOB_TAG`]).
    #[must_use]
    pub fn effects_of(&self, job_id: &str) -> u64 {
        self.shared.journal.mails_of(job_id)
    }

    /// How many mails the engine has taken for an address.
    #[must_use]
    pub fn mails_to(&self, address: &str) -> u64 {
        self.shared.journal.mails_to(address)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
