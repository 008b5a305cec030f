//! A service on 127.0.0.1 that answers, breaks off or keeps silent as a test says, and keeps what arrives.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A request as it arrived, complete.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Request line and header fields, byte for byte.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Method, path with query, and version.
    #[must_use]
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    /// The value of a header field, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        fields.into_iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// The body, read as JSON.
    ///
    /// # Panics
    /// When it is no JSON.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    fn body_length(&self) -> usize {
        self.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)
    }
}

/// What the stub does once it has read a request.
#[derive(Clone, Debug)]
pub enum HttpReply {
    /// An answer; the connection stays open.
    Answer {
        /// The status.
        status: u16,
        /// Header fields, each with its CRLF.
        fields: String,
        /// The body; its length is announced.
        body: Vec<u8>,
    },
    /// Raw bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// 200 and a body without an end.
    EndlessBody,
    /// A TCP reset instead of an answer.
    Reset,
    /// The end of the connection instead of an answer.
    Close,
    /// Nothing at all, with the connection kept open.
    Silence,
}

impl HttpReply {
    /// An answer without header fields of its own.
    #[must_use]
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status, fields: String::new(), body: body.into() }
    }

    /// An answer with header fields, each with its CRLF.
    #[must_use]
    pub fn with_fields(status: u16, fields: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer { status, fields: fields.into(), body: body.into() }
    }

    /// An answer with this document as its body and its media type.
    #[must_use]
    pub fn json(status: u16, document: impl ToString) -> Self {
        Self::with_fields(status, "content-type: application/json\r\n", document.to_string())
    }

    /// The same answer and, without a word about it, the end of the connection.
    #[must_use]
    pub fn then_closes(self) -> Self {
        match self {
            Self::Answer { status, fields, body } => Self::Bytes(answer(status, &fields, &body)),
            other => other,
        }
    }
}

/// How many connections there were, and how many have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Connections {
    /// All so far.
    pub opened: usize,
    /// Those that have ended.
    pub closed: usize,
}

/// The service; it ends with the value, and with it all its connections.
#[derive(Debug)]
pub struct HttpStub {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    task: AbortHandle,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<HttpRequest>,
    connections: Connections,
}

impl HttpStub {
    /// Starts a service that replies as a function says, which is given the request and how many came before it.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn start(reply: impl Fn(&HttpRequest, usize) -> HttpReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("the port that was bound");
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let (noted, reply) = (Arc::clone(&seen), Arc::new(reply));
        let accept = async move {
            let mut open = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                locked(&noted).connections.opened += 1;
                let (noted, reply) = (Arc::clone(&noted), Arc::clone(&reply));
                open.spawn(async move {
                    // An error is the other side's doing, or ours on purpose.
                    let _ended = serve(connection, &noted, reply.as_ref()).await;
                    locked(&noted).connections.closed += 1;
                });
            }
        };
        Self { address, seen, task: tokio::spawn(accept).abort_handle() }
    }

    /// Starts a service that gives these replies in turn, and the last of them again and again.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn scripted(replies: impl IntoIterator<Item = HttpReply>) -> Self {
        let script = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
        Self::start(move |_, _| {
            let mut script = locked(&script);
            let next = if script.len() > 1 { script.pop_front() } else { script.front().cloned() };
            next.unwrap_or(HttpReply::Close)
        })
        .await
    }

    /// Starts a service that replies so to each request.
    ///
    /// # Panics
    /// When the machine has no free port.
    pub async fn replying(reply: HttpReply) -> Self {
        Self::scripted([reply]).await
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The same as a URL, without a slash at its end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What arrived so far.
    #[must_use]
    pub fn requests(&self) -> Vec<HttpRequest> {
        locked(&self.seen).requests.clone()
    }

    /// Its connections so far.
    #[must_use]
    pub fn connections(&self) -> Connections {
        locked(&self.seen).connections
    }

    /// Ends it and waits for that: from then on its port refuses connections.
    pub async fn stop(self) {
        self.task.abort();
        while !self.task.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for HttpStub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(
    mut connection: TcpStream,
    seen: &Mutex<Seen>,
    reply: &(impl Fn(&HttpRequest, usize) -> HttpReply + ?Sized),
) -> io::Result<()> {
    while let Some(request) = read_request(&mut connection).await? {
        let before = {
            let mut seen = locked(seen);
            seen.requests.push(request.clone());
            seen.requests.len() - 1
        };
        match reply(&request, before) {
            HttpReply::Answer { status, fields, body } => connection.write_all(&answer(status, &fields, &body)).await?,
            HttpReply::Bytes(bytes) => return connection.write_all(&bytes).await,
            HttpReply::EndlessBody => return write_endlessly(&mut connection).await,
            HttpReply::Reset => return connection.set_zero_linger(),
            HttpReply::Close => return Ok(()),
            HttpReply::Silence => std::future::pending().await,
        }
    }
    Ok(())
}

fn answer(status: u16, fields: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status} X\r\n{fields}content-length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

async fn write_endlessly(connection: &mut TcpStream) -> io::Result<()> {
    connection.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
    let chunk = [b"400\r\n".as_slice(), &[b'x'; 0x400], b"\r\n"].concat();
    loop {
        connection.write_all(&chunk).await?;
    }
}

/// The next request on the connection, or `None` when there are no more.
async fn read_request(connection: &mut TcpStream) -> io::Result<Option<HttpRequest>> {
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
    let mut request = HttpRequest { head, body: bytes.split_off(head_end) };
    let length = request.body_length();
    while request.body.len() < length {
        if connection.read_buf(&mut request.body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(request))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn exchange(connection: &mut TcpStream, request: &str, answer: &str) {
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = vec![0; answer.len()];
        connection.read_exact(&mut bytes).await.unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), answer);
    }

    #[tokio::test]
    async fn requests_of_one_connection_are_answered_in_turn_and_kept() {
        let stub = HttpStub::start(|request, before| HttpReply::json(200, format!("{}{before}", request.json()))).await;
        let mut connection = TcpStream::connect(stub.address()).await.unwrap();
        for number in 0..2 {
            let answer = format!("HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n7{number}");
            exchange(&mut connection, "POST /a?b HTTP/1.1\r\nContent-Length: 1\r\nX-Name:  Value\r\n\r\n7", &answer).await;
        }
        let requests = stub.requests();
        assert_eq!((requests.len(), requests[1].line(), requests[1].body.as_slice()), (2, "POST /a?b HTTP/1.1", &b"7"[..]));
        assert_eq!((requests[1].header("x-name"), requests[1].header("x-other")), (Some("Value"), None));
        assert_eq!(stub.connections(), Connections { opened: 1, closed: 0 });
    }

    #[tokio::test]
    async fn a_script_ends_with_its_last_reply_again_and_again() {
        let stub = HttpStub::scripted([HttpReply::new(500, ""), HttpReply::new(204, "")]).await;
        let mut connection = TcpStream::connect(stub.address()).await.unwrap();
        for status in [500, 204, 204] {
            let answer = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
            exchange(&mut connection, "GET / HTTP/1.1\r\n\r\n", &answer).await;
        }
    }

    #[tokio::test]
    async fn a_reply_can_be_the_end_of_its_connection() {
        for (reply, answer) in [
            (HttpReply::Close, ""),
            (HttpReply::Bytes(b"220 mail".to_vec()), "220 mail"),
            (HttpReply::new(200, "ok").then_closes(), "HTTP/1.1 200 X\r\ncontent-length: 2\r\n\r\nok"),
        ] {
            let stub = HttpStub::replying(reply).await;
            let mut connection = TcpStream::connect(stub.address()).await.unwrap();
            exchange(&mut connection, "GET / HTTP/1.1\r\n\r\n", answer).await;
            assert_eq!(connection.read(&mut [0; 1]).await.unwrap(), 0);
            while stub.connections().closed < 1 {
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test]
    async fn who_was_stopped_refuses_connections() {
        let stub = HttpStub::replying(HttpReply::Silence).await;
        let address = stub.address();
        stub.stop().await;
        assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }
}
