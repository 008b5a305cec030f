//! A service on 127.0.0.1 that answers as a test says and remembers what it was asked.

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// A request as it arrived, complete.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method, path and query.
    pub(crate) line: String,
    /// Request line and header fields, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// The value of a header field, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// An answer: status, header fields (each with its CRLF), body.
pub(crate) struct Answer(pub(crate) u16, pub(crate) String, pub(crate) String);

impl Answer {
    pub(crate) fn ok(body: impl ToString) -> Self {
        Self(200, String::new(), body.to_string())
    }
}

pub(crate) struct Stub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: AbortHandle,
}

impl Stub {
    /// Starts it; it ends with the value. `answer` is given the request and how many came before it.
    pub(crate) async fn start(answer: impl Fn(&Request, usize) -> Answer + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (seen, answer) = (Arc::clone(&requests), Arc::new(answer));
        let serve = async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                // An error is the other side's doing.
                open.spawn(async move { drop(serve(connection, &seen, answer.as_ref()).await) });
            }
        };
        Self { address, requests, task: tokio::spawn(serve).abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut connection: TcpStream,
    seen: &Mutex<Vec<Request>>,
    answer: &(impl Fn(&Request, usize) -> Answer + ?Sized),
) -> io::Result<()> {
    while let Some(request) = read_request(&mut connection).await? {
        let before = {
            let mut seen = seen.lock().unwrap();
            seen.push(request.clone());
            seen.len() - 1
        };
        let Answer(status, fields, body) = answer(&request, before);
        let text = format!("HTTP/1.1 {status} X\r\n{fields}content-length: {}\r\n\r\n{body}", body.len());
        connection.write_all(text.as_bytes()).await?;
    }
    Ok(())
}

/// The next request on the connection, or `None` when there are no more.
async fn read_request(connection: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let line = head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_owned();
    let head = head.to_ascii_lowercase();
    let length: usize =
        head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).map_or(0, |value| value.parse().unwrap());
    while bytes.len() < head_end + length {
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Request { line, head, body: bytes[head_end..head_end + length].to_vec() }))
}
