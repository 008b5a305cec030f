//! DynamoDB, SQS and SES on one port of 127.0.0.1: every contender talks to it.
//!
//! Writes are conditional as the real table's are, so a contender does what it does on AWS. Calls and bytes are counted by operation, connections are
//! counted, and an answer can be held back for a fixed time, as a network and a service would. It speaks plain HTTP: the handshakes of TLS are the
//! connections. Signatures are not checked; a call without one is refused as AWS refuses it, since that is how connections are warmed up.

mod counts;
mod dynamodb;
mod expression;
mod sqs;

use std::convert::Infallible;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(super) use counts::Counts;
use dynamodb::{Refusal, Tables};

const DYNAMODB: &str = "DynamoDB_20120810.";
const SQS: &str = "AmazonSQS.";
const SEND_EMAIL: &str = "/v2/email/outbound-emails";

/// The services; they end with this value.
pub(super) struct Stub {
    state: Arc<State>,
    listener: JoinHandle<()>,
}

struct State {
    url: String,
    tables: Mutex<Tables>,
    counts: Mutex<Counts>,
    connections: AtomicU64,
    delay_ms: AtomicU64,
}

impl Stub {
    /// Listens on a free port.
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let state = Arc::new(State {
            url: format!("http://{}", listener.local_addr()?),
            tables: Mutex::new(Tables::new()),
            counts: Mutex::default(),
            connections: AtomicU64::new(0),
            delay_ms: AtomicU64::new(0),
        });
        let listener = tokio::spawn(Arc::clone(&state).listen(listener));
        Ok(Self { state, listener })
    }

    /// Where it listens.
    pub(super) fn url(&self) -> &str {
        &self.state.url
    }

    /// Forgets all items.
    pub(super) fn clear(&self) {
        *locked(&self.state.tables) = Tables::new();
    }

    /// Holds every answer back for so long.
    pub(super) fn set_delay(&self, delay_ms: u64) {
        self.state.delay_ms.store(delay_ms, Ordering::SeqCst);
    }

    /// Connections that were opened so far.
    pub(super) fn connections(&self) -> u64 {
        self.state.connections.load(Ordering::SeqCst)
    }

    /// Calls so far.
    pub(super) fn counts(&self) -> Counts {
        locked(&self.state.counts).clone()
    }

    /// Makes a call of DynamoDB without HTTP, uncounted: what a table holds before anything is measured.
    pub(super) fn prepare(&self, operation: &str, request: &Value) -> Result<Value, String> {
        locked(&self.state.tables).call(operation, request).map_err(|refusal| format!("{refusal:?}"))
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

impl State {
    async fn listen(self: Arc<Self>, listener: TcpListener) {
        let mut connections = tokio::task::JoinSet::new();
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            self.connections.fetch_add(1, Ordering::SeqCst);
            let _ = stream.set_nodelay(true);
            let state = Arc::clone(&self);
            let service = service_fn(move |request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(state.serve(request).await) }
            });
            // A connection ends with an error when its function is killed.
            connections.spawn(async move {
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    }

    async fn serve(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let Ok(body) = body.collect().await else { return Answer::error(400, "SerializationException", "no body").response() };
        let body = body.to_bytes();
        let target = head.headers.get("x-amz-target").and_then(|target| target.to_str().ok()).unwrap_or_default();
        let operation = match target.rsplit_once('.') {
            Some((_, operation)) => operation,
            None if head.uri.path() == SEND_EMAIL => "SendEmail",
            None => head.uri.path(),
        };
        let answer = self.answer(&head.method, target, operation, &head.headers, &body);
        locked(&self.counts).add(operation, body.len() + answer.body.len());
        let delay = self.delay_ms.load(Ordering::Relaxed);
        if delay > 0 {
            tokio::time::sleep(Duration::from_millis(delay)).await;
        }
        answer.response()
    }

    fn answer(&self, method: &Method, target: &str, operation: &str, headers: &HeaderMap, body: &[u8]) -> Answer {
        if !headers.contains_key("authorization") {
            return Answer::error(400, "MissingAuthenticationTokenException", "Request is missing Authentication Token");
        }
        if operation == "SendEmail" && method == Method::POST {
            return Answer::ok(&json!({"MessageId": "0100018f3c5a7e1d-9a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9-000000"}));
        }
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            return Answer::error(400, "SerializationException", "the body is not JSON");
        };
        if target.starts_with(DYNAMODB) {
            return match locked(&self.tables).call(operation, &request) {
                Ok(answer) => Answer::ok(&answer),
                Err(Refusal::ConditionFailed(item)) => Answer::condition_failed(item.map(Value::Object)),
                Err(Refusal::Invalid(problem)) => Answer::error(400, "com.amazon.coral.validate#ValidationException", &problem),
            };
        }
        if target.starts_with(SQS) {
            return match sqs::call(operation, &request, &self.url) {
                Ok(answer) => Answer::ok(&answer),
                Err(problem) => Answer::error(400, "com.amazonaws.sqs#InvalidParameterValue", &problem),
            };
        }
        Answer::error(404, "UnknownOperationException", "the stub does not know this call")
    }
}

struct Answer {
    status: u16,
    body: Bytes,
}

impl Answer {
    fn ok(body: &Value) -> Self {
        Self { status: 200, body: body.to_string().into() }
    }

    fn error(status: u16, kind: &str, message: &str) -> Self {
        Self { status, body: json!({"__type": kind, "message": message}).to_string().into() }
    }

    fn condition_failed(item: Option<Value>) -> Self {
        let kind = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException";
        let mut body = json!({"__type": kind, "message": "The conditional request failed"});
        if let Some(item) = item {
            body["Item"] = item;
        }
        Self { status: 400, body: body.to_string().into() }
    }

    fn response(self) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::new(self.body));
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        headers.insert("content-type", HeaderValue::from_static("application/x-amz-json-1.0"));
        headers.insert("x-amzn-requestid", HeaderValue::from_static("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF"));
        response
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;

    /// Sends a request on the connection and returns the answer's status line and body.
    async fn call(connection: &mut TcpStream, target: &str, extra: &str, body: &Value) -> (String, Value) {
        let body = body.to_string();
        let head =
            format!("POST / HTTP/1.1\r\nhost: stub\r\nx-amz-target: {target}\r\n{extra}content-length: {}\r\n\r\n", body.len());
        connection.write_all(format!("{head}{body}").as_bytes()).await.expect("it listens");
        let mut answer = Vec::new();
        loop {
            connection.read_buf(&mut answer).await.expect("it answers");
            let text = String::from_utf8_lossy(&answer).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            if let Ok(body) = serde_json::from_str(body) {
                return (head.lines().next().unwrap_or_default().to_owned(), body);
            }
        }
    }

    const SIGNED: &str = "authorization: AWS4-HMAC-SHA256 x\r\n";

    fn put() -> Value {
        json!({
            "TableName": "floor", "Item": {"id": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(id)",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        })
    }

    #[tokio::test]
    async fn calls_of_one_connection_are_answered_in_turn_and_counted() {
        let stub = Stub::start().await.expect("a free port");
        let mut connection = TcpStream::connect(stub.url().trim_start_matches("http://")).await.expect("it listens");
        let (status, _) = call(&mut connection, "DynamoDB_20120810.PutItem", SIGNED, &put()).await;
        assert_eq!(status, "HTTP/1.1 200 OK");
        let (status, refused) = call(&mut connection, "DynamoDB_20120810.PutItem", SIGNED, &put()).await;
        assert_eq!(status, "HTTP/1.1 400 Bad Request");
        assert!(refused["__type"].as_str().is_some_and(|kind| kind.ends_with("#ConditionalCheckFailedException")), "{refused}");
        assert_eq!(refused["Item"], json!({"id": {"S": "a"}}));
        let (_, queue) = call(&mut connection, "AmazonSQS.GetQueueUrl", SIGNED, &json!({"QueueName": "email"})).await;
        assert_eq!(queue["QueueUrl"], format!("{}/000000000000/email", stub.url()));

        let counts = stub.counts();
        let calls: Vec<_> = counts.iter().map(|(operation, tally)| (operation.to_owned(), tally.calls)).collect();
        assert_eq!(calls, [("GetQueueUrl".to_owned(), 1), ("PutItem".to_owned(), 2)]);
        let (_, puts) = counts.iter().find(|(operation, _)| *operation == "PutItem").expect("puts");
        assert!(puts.bytes > 2 * put().to_string().len() as u64, "{puts:?}");
        assert_eq!(stub.connections(), 1);
        stub.clear();
        assert_eq!(call(&mut connection, "DynamoDB_20120810.PutItem", SIGNED, &put()).await.0, "HTTP/1.1 200 OK");
    }

    #[tokio::test]
    async fn an_answer_is_held_back() {
        let stub = Stub::start().await.expect("a free port");
        stub.set_delay(50);
        let mut connection = TcpStream::connect(stub.url().trim_start_matches("http://")).await.expect("it listens");
        let began = Instant::now();
        call(&mut connection, "DynamoDB_20120810.PutItem", SIGNED, &put()).await;
        assert!(began.elapsed() >= Duration::from_millis(50), "{:?}", began.elapsed());
    }

    #[tokio::test]
    async fn a_call_without_a_signature_is_refused() {
        let stub = Stub::start().await.expect("a free port");
        let mut connection = TcpStream::connect(stub.url().trim_start_matches("http://")).await.expect("it listens");
        let (status, refused) = call(&mut connection, "DynamoDB_20120810.PutItem", "", &put()).await;
        assert_eq!(
            (status.as_str(), &refused["__type"]),
            ("HTTP/1.1 400 Bad Request", &json!("MissingAuthenticationTokenException"))
        );
        assert_eq!(call(&mut connection, "DynamoDB_20120810.PutItem", SIGNED, &put()).await.0, "HTTP/1.1 200 OK");
    }
}
