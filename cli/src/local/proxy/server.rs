//! The proxy's two sides: an HTTP/1.1 server for the functions, and a client to the engine.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client as HttpClient;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::fault_answer;
use super::journal::{Ending, Journal};
use super::operation::Subject;
use super::rule::{Action, ActiveRule};

/// Connections to the engine are dropped before the engine's own keep-alive (75 s) can close them under a request.
const IDLE_CONNECTIONS_LIVE: Duration = Duration::from_secs(30);

/// What all connections share.
pub(super) struct Shared {
    pub(super) upstream: Mutex<SocketAddr>,
    pub(super) rules: Mutex<Vec<Arc<ActiveRule>>>,
    pub(super) journal: Journal,
    pub(super) door: Door,
    http: HttpClient<HttpConnector, Full<Bytes>>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Shared").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// Closes the client's connection without an answer: hyper does so when the service fails.
#[derive(Debug, thiserror::Error)]
#[error("connection closed on purpose")]
struct Hangup;

impl Shared {
    pub(super) fn new(upstream: SocketAddr) -> Arc<Self> {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let http = HttpClient::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_CONNECTIONS_LIVE)
            // The client's own Host header goes through: the engine routes by it.
            .set_host(false)
            .build(connector);
        Arc::new(Self {
            upstream: Mutex::new(upstream),
            rules: Mutex::default(),
            journal: Journal::new(),
            door: Door::new(),
            http,
        })
    }

    /// The first rule, in the order they were added, that meets the call.
    fn rule_for(&self, subject: &Subject, body: &[u8]) -> Option<Arc<ActiveRule>> {
        let rules = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        rules.iter().find(|rule| rule.meets(subject, body)).cloned()
    }

    async fn serve(self: Arc<Self>, request: Request<Incoming>, connection: u64) -> Result<Response<Full<Bytes>>, Hangup> {
        let (parts, body) = request.into_parts();
        // A client that dies while it sends has not made a call.
        let body = body.collect().await.map_err(|_| Hangup)?.to_bytes();
        let subject = Subject::of(&parts.method, &parts.uri, &parts.headers, &body);
        let mut call = OpenCall::new(&self, &subject, body.len(), connection);
        let rule = self.rule_for(&subject, &body);
        let action = rule.as_ref().map(|rule| &rule.rule.action);

        match action {
            Some(Action::Answer { status, code, message }) => {
                call.ending = Ending::Refused(*status);
                return Ok(match subject.is_foreign() {
                    true => fault_answer::foreign_error(*status, code, message),
                    false => fault_answer::aws_error(&parts.headers, *status, code, message),
                });
            }
            Some(Action::Drop) => {
                call.ending = Ending::Dropped;
                return Err(Hangup);
            }
            Some(Action::Delay(time)) => tokio::time::sleep(*time).await,
            Some(Action::Hold) => hold(rule.as_deref()).await,
            _ => {}
        }

        let answer = self.forward(Request::from_parts(parts, body), subject, call.sequence).await;
        let Some(answer) = answer else {
            call.ending = Ending::Unreachable;
            return Err(Hangup);
        };
        match action {
            Some(Action::ForwardThenDrop) => {
                call.ending = Ending::AnswerLost(answer.status().as_u16());
                return Err(Hangup);
            }
            Some(Action::ForwardThenDelay(time)) => tokio::time::sleep(*time).await,
            Some(Action::ForwardThenHold) => hold(rule.as_deref()).await,
            _ => {}
        }
        call.ending = Ending::Forwarded(answer.status().as_u16());
        Ok(answer)
    }

    /// Asks the engine, in a task of its own: once a call is on its way, a client that leaves does not take it back.
    async fn forward(
        self: &Arc<Self>,
        request: Request<Bytes>,
        subject: Subject,
        sequence: u64,
    ) -> Option<Response<Full<Bytes>>> {
        let shared = Arc::clone(self);
        let exchange = async move {
            let (mut parts, body) = request.into_parts();
            let upstream = *shared.upstream.lock().unwrap_or_else(PoisonError::into_inner);
            parts.uri = at(upstream, &parts.uri)?;
            remove_connection_headers(&mut parts.headers, &body);
            let answer = shared.http.request(Request::from_parts(parts, Full::new(body))).await.ok()?;
            let (mut parts, body) = answer.into_parts();
            let body = body.collect().await.ok()?.to_bytes();
            shared.journal.engine_answered(sequence, &subject, parts.status.as_u16(), body.len());
            for name in [header::CONNECTION, header::TRANSFER_ENCODING, HeaderName::from_static("keep-alive")] {
                parts.headers.remove(name);
            }
            Some(Response::from_parts(parts, Full::new(body)))
        };
        tokio::spawn(exchange).await.ok().flatten()
    }
}

async fn hold(rule: Option<&ActiveRule>) {
    if let Some(rule) = rule {
        rule.released().await;
    }
}

fn at(upstream: SocketAddr, uri: &Uri) -> Option<Uri> {
    let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    Uri::builder().scheme("http").authority(upstream.to_string()).path_and_query(path).build().ok()
}

/// Headers that belong to one connection (RFC 9110 §7.6.1). The body was read whole, so what was chunked gets a length.
fn remove_connection_headers(headers: &mut HeaderMap, body: &Bytes) {
    for name in [header::CONNECTION, header::EXPECT, header::TE, HeaderName::from_static("keep-alive")] {
        headers.remove(name);
    }
    if headers.remove(header::TRANSFER_ENCODING).is_some() {
        headers.insert(header::CONTENT_LENGTH, body.len().into());
    }
}

/// A call in the journal; writes its ending when it is dropped, also when hyper drops it because the client went away.
struct OpenCall<'a> {
    journal: &'a Journal,
    sequence: u64,
    ending: Ending,
}

impl<'a> OpenCall<'a> {
    fn new(shared: &'a Shared, subject: &Subject, request_bytes: usize, connection: u64) -> Self {
        let sequence = shared.journal.arrived(subject, request_bytes, connection);
        Self { journal: &shared.journal, sequence, ending: Ending::Abandoned }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.journal.ended(self.sequence, self.ending);
    }
}

/// Whether clients are let in, as it should be and as it is.
pub(super) struct Door {
    wanted: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Door {
    fn new() -> Self {
        Self { wanted: watch::Sender::new(true), open: watch::Sender::new(true) }
    }

    /// Opens or shuts it, and waits until it is so.
    pub(super) async fn set(&self, open: bool) {
        self.wanted.send_replace(open);
        wait_for(&self.open, open).await;
    }

    async fn until(&self, open: bool) {
        wait_for(&self.wanted, open).await;
    }
}

/// The sender lives as long as its reference: waiting cannot fail.
async fn wait_for(state: &watch::Sender<bool>, wanted: bool) {
    let _ = state.subscribe().wait_for(|now| *now == wanted).await;
}

/// Serves until the future is dropped. While the door is shut nobody listens, so that the system itself refuses connections.
pub(super) async fn serve(mut listener: TcpListener, address: SocketAddr, shared: Arc<Shared>) -> Infallible {
    loop {
        tokio::select! {
            never = accept(&listener, &shared) => match never {},
            () = shared.door.until(false) => {}
        }
        drop(listener);
        shared.door.open.send_replace(false);
        shared.door.until(true).await;
        listener = listen_again(address).await;
        shared.door.open.send_replace(true);
    }
}

/// The port may have been taken meanwhile, by a connection that happened to get it; such ones end.
async fn listen_again(address: SocketAddr) -> TcpListener {
    loop {
        match TcpListener::bind(address).await {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

async fn accept(listener: &TcpListener, shared: &Arc<Shared>) -> Infallible {
    loop {
        // Out of file descriptors, or a client gone before it was accepted: neither ends the proxy.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(Duration::from_millis(10)).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let connection = shared.journal.connected();
        let shared = Arc::clone(shared);
        tokio::spawn(async move {
            let served = Arc::clone(&shared);
            let service = service_fn(move |request| Arc::clone(&served).serve(request, connection));
            let serving = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            tokio::select! {
                // Ends in an error when a rule hangs up or a client disappears: both are business as usual here.
                _ = serving => {}
                // Clients that are in already are put out.
                () = shared.door.until(false) => {}
            }
        });
    }
}
