//! The HTTP side: the calls that a function makes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot, watch};

use super::invocation::{Deadline, Event, Outcome};
use super::output::Output;

const FUNCTION_ARN: &str = "arn:aws:lambda:us-east-1:000000000000:function:under-test";
const NEXT: &str = "/2018-06-01/runtime/invocation/next";
const INVOCATION: &str = "/2018-06-01/runtime/invocation/";
const INIT_ERROR: &str = "/2018-06-01/runtime/init/error";
const ERROR_KIND: &str = "lambda-runtime-function-error-type";

/// The moment at which a function took an event.
pub(super) struct HandedOver {
    pub(super) at: Instant,
    /// How far the function's output was then.
    pub(super) output_bytes: u64,
}

/// An event on its way to the function.
struct Queued {
    event: Event,
    handed_over: oneshot::Sender<HandedOver>,
}

/// What the caller of an invocation waits for.
pub(super) struct Pending {
    pub(super) handed_over: oneshot::Receiver<HandedOver>,
    pub(super) outcome: oneshot::Receiver<Outcome>,
}

/// The runtime API of one process.
pub(super) struct RuntimeApi {
    queue: mpsc::UnboundedSender<Queued>,
    /// Locked by the call of the function that is to get the next event.
    events: tokio::sync::Mutex<mpsc::UnboundedReceiver<Queued>>,
    open: Mutex<HashMap<String, oneshot::Sender<Outcome>>>,
    /// Calls for an event that are waiting now.
    waiting: watch::Sender<usize>,
    first_call: watch::Sender<Option<Instant>>,
    init_error: watch::Sender<Option<Bytes>>,
    stdout: Arc<Output>,
}

impl RuntimeApi {
    pub(super) fn new(stdout: Arc<Output>) -> Arc<Self> {
        let (queue, events) = mpsc::unbounded_channel();
        Arc::new(Self {
            queue,
            events: tokio::sync::Mutex::new(events),
            open: Mutex::default(),
            waiting: watch::Sender::new(0),
            first_call: watch::Sender::new(None),
            init_error: watch::Sender::new(None),
            stdout,
        })
    }

    /// Serves until the task is dropped.
    pub(super) async fn serve(self: Arc<Self>, listener: TcpListener) {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            let api = Arc::clone(&self);
            let service = service_fn(move |request| {
                let api = Arc::clone(&api);
                async move { Ok::<_, Infallible>(api.answer(request).await) }
            });
            // A connection ends with an error when the function is killed; whoever waits for an answer learns of that from the exit status.
            connections.spawn(async move {
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    }

    /// Puts an event into the queue.
    pub(super) fn enqueue(&self, event: Event) -> Pending {
        let (handed_over_sender, handed_over) = oneshot::channel();
        let (outcome_sender, outcome) = oneshot::channel();
        self.open().insert(event.request_id.clone(), outcome_sender);
        // The receiver lives as long as `self`.
        let _ = self.queue.send(Queued { event, handed_over: handed_over_sender });
        Pending { handed_over, outcome }
    }

    /// Forgets an invocation; a late answer to it is refused, as Lambda refuses it.
    pub(super) fn abandon(&self, request_id: &str) {
        self.open().remove(request_id);
    }

    /// The moment of the first call for an event: the end of init.
    pub(super) async fn first_call(&self) -> Instant {
        some(self.first_call.subscribe()).await
    }

    /// The report of a function that gave up in init.
    pub(super) async fn init_error(&self) -> Bytes {
        some(self.init_error.subscribe()).await
    }

    /// Waits until the function asks for its next event.
    pub(super) async fn idle(&self) {
        // The sender lives as long as `self`.
        let _ = self.waiting.subscribe().wait_for(|waiting| *waiting > 0).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let Ok(body) = body.collect().await else { return refusal(StatusCode::BAD_REQUEST, "InvalidRequest") };
        let (body, path) = (body.to_bytes(), parts.uri.path());
        let kind = parts.headers.get(ERROR_KIND).and_then(|kind| kind.to_str().ok()).map(str::to_owned);
        match (parts.method, path) {
            (Method::GET, NEXT) => self.next().await,
            (Method::POST, INIT_ERROR) => {
                self.init_error.send_replace(Some(body));
                accepted()
            }
            (Method::POST, path) => match path.strip_prefix(INVOCATION).and_then(|rest| rest.split_once('/')) {
                Some((id, "response")) => self.settle(id, Outcome::Response(body)),
                Some((id, "error")) => self.settle(id, Outcome::Error { kind, report: body }),
                _ => refusal(StatusCode::NOT_FOUND, "NotFound"),
            },
            _ => refusal(StatusCode::NOT_FOUND, "NotFound"),
        }
    }

    async fn next(&self) -> Response<Full<Bytes>> {
        self.first_call.send_if_modified(|first| {
            let is_first = first.is_none();
            first.get_or_insert_with(Instant::now);
            is_first
        });
        let queued = {
            let _waiting = Waiting::new(&self.waiting);
            self.events.lock().await.recv().await
        };
        let Some(Queued { event, handed_over }) = queued else { return refusal(StatusCode::INTERNAL_SERVER_ERROR, "Closed") };
        // The caller may have stopped waiting; the function works on the event all the same.
        let _ = handed_over.send(HandedOver { at: Instant::now(), output_bytes: self.stdout.len() });
        event_response(event)
    }

    fn settle(&self, request_id: &str, outcome: Outcome) -> Response<Full<Bytes>> {
        match self.open().remove(request_id) {
            Some(caller) => {
                let _ = caller.send(outcome);
                accepted()
            }
            None => refusal(StatusCode::BAD_REQUEST, "InvalidRequestID"),
        }
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<String, oneshot::Sender<Outcome>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a waiting call while it exists; a call that is given up (its connection broke) no longer counts.
struct Waiting<'a>(&'a watch::Sender<usize>);

impl<'a> Waiting<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|waiting| *waiting += 1);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

/// Waits for a value that is set once.
async fn some<T: Clone>(mut receiver: watch::Receiver<Option<T>>) -> T {
    match receiver.wait_for(Option::is_some).await.map(|value| value.clone()) {
        Ok(Some(value)) => value,
        // The sender is gone, so the value will never come.
        _ => std::future::pending().await,
    }
}

fn event_response(event: Event) -> Response<Full<Bytes>> {
    let mut response = Response::builder()
        .header("content-type", "application/json")
        .header("lambda-runtime-aws-request-id", &event.request_id)
        .header("lambda-runtime-invoked-function-arn", FUNCTION_ARN);
    if let Some(trace) = &event.trace {
        response = response.header("lambda-runtime-trace-id", trace);
    }
    if let Some(deadline_ms) = deadline_ms(event.deadline) {
        response = response.header("lambda-runtime-deadline-ms", deadline_ms);
    }
    response.body(Full::new(event.payload)).unwrap_or_else(|_| refusal(StatusCode::INTERNAL_SERVER_ERROR, "InvalidEvent"))
}

fn deadline_ms(deadline: Deadline) -> Option<String> {
    let since_1970 = match deadline {
        Deadline::In(duration) => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + duration,
        Deadline::At(millis) => Duration::from_millis(millis),
        Deadline::Missing => return None,
    };
    Some(since_1970.as_millis().to_string())
}

fn accepted() -> Response<Full<Bytes>> {
    json(StatusCode::ACCEPTED, r#"{"status":"OK"}"#.to_owned())
}

fn refusal(status: StatusCode, kind: &str) -> Response<Full<Bytes>> {
    json(status, format!(r#"{{"errorType":"{kind}","errorMessage":"refused by the fake runtime API"}}"#))
}

fn json(status: StatusCode, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert("content-type", http::HeaderValue::from_static("application/json"));
    response
}
