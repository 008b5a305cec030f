//! A receiver of webhooks on this machine: it keeps what it is sent and answers as it is told.
//!
//! It is written from the documentation of the events alone and shares no code with their sender, so it shows that others can check
//! them too.

mod signature;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use signature::{SignatureError, caller_key, verify};

/// Something that was sent.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Delivery {
    /// When it was complete.
    pub at: SystemTime,
    /// Where to.
    pub path: String,
    /// Its header fields.
    pub headers: HeaderMap,
    /// Its body, byte for byte.
    pub body: Bytes,
    /// What it was answered with.
    pub answered: u16,
}

impl Delivery {
    /// A header field's text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// The body as JSON; null if it is none.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct Seen {
    deliveries: Vec<Delivery>,
    /// Answers to come, for the path they are for.
    answers: VecDeque<(String, u16)>,
}

/// A running receiver. It ends with this value.
#[derive(Debug)]
pub struct Receiver {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

impl Receiver {
    /// Listens on a free port of 127.0.0.1. Every delivery is answered with 204 unless another answer is asked for.
    ///
    /// # Errors
    /// The loopback address has no free port.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let seen = Arc::new(Mutex::new(Seen::default()));
        let shared = Arc::clone(&seen);
        let accept = async move {
            while let Ok((stream, _)) = listener.accept().await {
                let seen = Arc::clone(&shared);
                tokio::spawn(async move {
                    let service = service_fn(move |request| take(Arc::clone(&seen), request));
                    // A sender that goes away is its own business.
                    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        };
        Ok(Self { address, seen, task: tokio::spawn(accept) })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The URL of a path here.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Answers the next `times` deliveries to `path` with this status.
    pub fn answer(&self, path: &str, status: u16, times: usize) {
        self.lock().answers.extend(std::iter::repeat_n((path.to_owned(), status), times));
    }

    /// What was sent to `path`, oldest first.
    #[must_use]
    pub fn deliveries(&self, path: &str) -> Vec<Delivery> {
        self.lock().deliveries.iter().filter(|delivery| delivery.path == path).cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take(seen: Arc<Mutex<Seen>>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let status = match body.collect().await {
        Ok(body) => {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let path = parts.uri.path().to_owned();
            let told = seen.answers.iter().position(|(of, _)| *of == path).and_then(|at| seen.answers.remove(at));
            let answered = told.map_or(204, |(_, status)| status);
            let delivery = Delivery { at: SystemTime::now(), path, headers: parts.headers, body: body.to_bytes(), answered };
            seen.deliveries.push(delivery);
            answered
        }
        Err(_) => 400,
    };
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::local::loopback::Loopback;

    async fn post(receiver: &Receiver, path: &str) -> u16 {
        let request = Request::post(path).header("x-test", "1").body(Bytes::from("{\"a\":1}")).unwrap();
        let http = Loopback::new(std::time::Duration::from_secs(5));
        http.send(receiver.address, request).await.unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn it_keeps_what_it_is_sent_and_answers_as_it_is_told() {
        let receiver = Receiver::start().await.unwrap();
        receiver.answer("/flaky", 503, 1);
        assert_eq!(post(&receiver, "/good").await, 204);
        assert_eq!((post(&receiver, "/flaky").await, post(&receiver, "/flaky").await), (503, 204));
        let deliveries = receiver.deliveries("/flaky");
        assert_eq!(deliveries.iter().map(|delivery| delivery.answered).collect::<Vec<_>>(), [503, 204]);
        assert_eq!((deliveries[0].header("x-test"), deliveries[0].json()["a"].as_u64()), (Some("1"), Some(1)));
        assert!(receiver.url("/good").starts_with("http://127.0.0.1:"));
    }
}
