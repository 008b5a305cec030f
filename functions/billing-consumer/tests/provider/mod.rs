//! A payment provider on 127.0.0.1 that remembers keys as Stripe does, keeps what it charged, and fails as a test says.

#![allow(dead_code, reason = "each test program uses some of it")]

mod payments;

use std::{
    collections::VecDeque,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::AbortHandle};

pub(crate) use payments::{Card, Payments};

/// A request as it arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) key: Option<String>,
    pub(crate) authorization: String,
    pub(crate) body: String,
}

/// What happens to the next request to charge.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// It is carried out; the connection breaks before the answer.
    LoseAnswer,
    /// The connection breaks before anything is done.
    DropRequest,
    /// It is carried out; the stored answer is a 500.
    ChargeAndFail,
    /// It is not carried out; the stored answer is a 500.
    Fail,
    /// It is carried out; what is answered (and stored) is not JSON.
    Garble,
    /// Answered without being carried out or stored: status, header fields, body.
    Answer(u16, Vec<(&'static str, &'static str)>, Value),
    /// Answered with 200 and this instead of the payment, which is not made.
    Claim(Value),
    /// The connection stays open without a word.
    Silence,
    /// Carried out and answered, this much later.
    Late(Duration),
}

/// The provider. It ends with the value.
pub(crate) struct Provider {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    task: AbortHandle,
}

struct State {
    payments: Payments,
    faults: VecDeque<Fault>,
    /// Answers to everything but requests to charge.
    reading_faults: VecDeque<Fault>,
    before_each: Box<dyn FnMut(&Seen) + Send>,
    seen: Vec<Seen>,
    accepted_key: String,
}

enum Reply {
    Answer { status: u16, fields: Vec<(String, String)>, body: Bytes },
    Break,
    Silence,
    Late(Duration, Box<Reply>),
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            payments: Payments::default(),
            faults: VecDeque::new(),
            reading_faults: VecDeque::new(),
            before_each: Box::new(|_| ()),
            seen: Vec::new(),
            accepted_key: "sk_test_good".to_owned(),
        }));
        let shared = state.clone();
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let state = shared.clone();
                open.spawn(async move {
                    let service = hyper::service::service_fn(|request| serve(request, &state));
                    // An error is the other side's doing, or ours on purpose.
                    let _ended =
                        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(connection), service).await;
                });
            }
        });
        Self { address, state, task: task.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What the next request to charge meets that meets nothing yet.
    pub(crate) fn fail_next(&self, fault: Fault) {
        self.lock().faults.push_back(fault);
    }

    /// What the next other request meets.
    pub(crate) fn fail_next_reading(&self, fault: Fault) {
        self.lock().reading_faults.push_back(fault);
    }

    /// What happens before a request with an accepted API key is answered.
    pub(crate) fn before_each(&self, work: impl FnMut(&Seen) + Send + 'static) {
        self.lock().before_each = Box::new(work);
    }

    /// The only API key that is accepted from now on.
    pub(crate) fn accept_key(&self, key: &str) {
        key.clone_into(&mut self.lock().accepted_key);
    }

    /// Works on customers, keys and payments.
    pub(crate) fn payments<T>(&self, work: impl FnOnce(&mut Payments) -> T) -> T {
        work(&mut self.lock().payments)
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.lock().seen.clone()
    }

    /// Every request to charge so far.
    pub(crate) fn charge_requests(&self) -> Vec<Seen> {
        self.seen().into_iter().filter(Seen::is_charge).collect()
    }

    /// How often a customer was charged.
    pub(crate) fn charges(&self) -> usize {
        self.payments(|payments| payments.charges())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    pub(crate) fn is_charge(&self) -> bool {
        self.method == "POST" && self.target == "/v1/payment_intents"
    }
}

async fn serve(request: Request<Incoming>, state: &Mutex<State>) -> Result<Response<Full<Bytes>>, std::io::Error> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_or_else(|_| Bytes::new(), http_body_util::Collected::to_bytes);
    let field = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let seen = Seen {
        method: head.method.to_string(),
        target: head.uri.to_string(),
        key: field("idempotency-key"),
        authorization: field("authorization").unwrap_or_default(),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    let mut reply = state.lock().unwrap().reply(seen);
    if let Reply::Late(delay, late) = reply {
        tokio::time::sleep(delay).await;
        reply = *late;
    }
    match reply {
        Reply::Answer { status, fields, body } => {
            let fields =
                fields.into_iter().fold(Response::builder().status(status), |answer, (name, value)| answer.header(name, value));
            Ok(fields.body(Full::new(body)).unwrap())
        }
        Reply::Break | Reply::Late(..) => Err(std::io::Error::other("broken on purpose")),
        Reply::Silence => std::future::pending::<Result<_, Infallible>>().await.map_err(std::io::Error::other),
    }
}

impl State {
    fn reply(&mut self, seen: Seen) -> Reply {
        self.seen.push(seen.clone());
        if seen.authorization != format!("Bearer {}", self.accepted_key) {
            return answer(
                401,
                &json!({"error": {"type": "invalid_request_error", "message": "Invalid API Key provided: sk_test_***"}}),
            );
        }
        (self.before_each)(&seen);
        if seen.is_charge() {
            let fault = self.faults.pop_front();
            return self.charge(&seen, fault);
        }
        match self.reading_faults.pop_front() {
            Some(Fault::Answer(status, fields, body)) => with_fields(status, &fields, &body),
            Some(Fault::Silence) => Reply::Silence,
            Some(Fault::Late(delay)) => Reply::Late(delay, Box::new(self.read(&seen))),
            Some(_) => Reply::Break,
            None => self.read(&seen),
        }
    }

    fn read(&self, seen: &Seen) -> Reply {
        let (status, body) = self.payments.read(&seen.target);
        answer(status, &body)
    }

    fn charge(&mut self, seen: &Seen, fault: Option<Fault>) -> Reply {
        match fault {
            None => self.executed(seen),
            Some(Fault::DropRequest) => Reply::Break,
            Some(Fault::Silence) => Reply::Silence,
            Some(Fault::Late(delay)) => Reply::Late(delay, Box::new(self.executed(seen))),
            Some(Fault::Answer(status, fields, body)) => with_fields(status, &fields, &body),
            Some(Fault::Claim(body)) => answer(200, &body),
            Some(Fault::LoseAnswer) => {
                self.executed(seen);
                Reply::Break
            }
            Some(Fault::ChargeAndFail) => {
                self.executed(seen);
                self.payments.overwrite(seen, 500, b"{\"error\":{\"type\":\"api_error\"}}");
                Reply::Answer { status: 500, fields: Vec::new(), body: Bytes::from_static(b"{}") }
            }
            Some(Fault::Fail) => {
                self.payments.overwrite(seen, 500, b"{\"error\":{\"type\":\"api_error\"}}");
                Reply::Answer { status: 500, fields: Vec::new(), body: Bytes::from_static(b"{}") }
            }
            Some(Fault::Garble) => {
                self.executed(seen);
                self.payments.overwrite(seen, 200, b"<html>");
                Reply::Answer { status: 200, fields: Vec::new(), body: Bytes::from_static(b"<html>") }
            }
        }
    }

    fn executed(&mut self, seen: &Seen) -> Reply {
        let (status, body, repeated) = self.payments.charge(seen);
        let fields = repeated.then(|| ("idempotent-replayed".to_owned(), "true".to_owned()));
        Reply::Answer { status, fields: fields.into_iter().collect(), body: Bytes::from(body) }
    }
}

fn answer(status: u16, body: &Value) -> Reply {
    with_fields(status, &[], body)
}

fn with_fields(status: u16, fields: &[(&str, &str)], body: &Value) -> Reply {
    let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Reply::Answer { status, fields, body: Bytes::from(body.to_string()) }
}
