//! A receiver on 127.0.0.1 that answers as a test says and keeps what arrives, byte for byte.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn line(&self) -> &str {
        self.head.lines().next().unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(field, _)| field.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }
}

/// What the receiver does once it has read a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// An answer with this status and header fields, each with its CRLF.
    Status(u16, String),
    /// Raw bytes, then the end of the connection.
    Bytes(Vec<u8>),
    /// 200 and a body without an end.
    EndlessBody,
    /// A TCP reset.
    Reset,
    /// The end of the connection.
    Close,
    /// Nothing at all, with the connection kept open.
    Silence,
}

pub(crate) fn status(status: u16) -> Reply {
    Reply::Status(status, String::new())
}

pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    task: AbortHandle,
}

impl Receiver {
    /// Starts one that answers by the script, then 200; it ends with the value.
    pub(crate) async fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(script.into_iter().collect::<VecDeque<_>>()));
        let seen = requests.clone();
        let serve = async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                open.spawn(serve(connection, seen.clone(), script.clone()));
            }
        };
        Self { address, requests, task: tokio::spawn(serve).abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?token=t0ken", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(
    mut connection: TcpStream,
    seen: Arc<Mutex<Vec<Request>>>,
    script: Arc<Mutex<VecDeque<Reply>>>,
) -> std::io::Result<()> {
    let Some(request) = read_request(&mut connection).await? else { return Ok(()) };
    seen.lock().unwrap().push(request);
    let reply = script.lock().unwrap().pop_front().unwrap_or_else(|| status(200));
    match reply {
        Reply::Status(status, fields) => {
            let answer = format!("HTTP/1.1 {status} X\r\n{fields}content-length: 2\r\n\r\nok");
            connection.write_all(answer.as_bytes()).await
        }
        Reply::Bytes(bytes) => connection.write_all(&bytes).await,
        Reply::EndlessBody => {
            connection.write_all(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await?;
            loop {
                connection.write_all(b"400\r\n").await?;
                connection.write_all(&[b'x'; 0x400]).await?;
                connection.write_all(b"\r\n").await?;
            }
        }
        Reply::Reset => connection.set_zero_linger(),
        Reply::Close => Ok(()),
        Reply::Silence => std::future::pending().await,
    }
}

async fn read_request(connection: &mut TcpStream) -> std::io::Result<Option<Request>> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let mut request = Request { head: String::from_utf8_lossy(&bytes[..head_end]).into_owned(), body: Vec::new() };
    let length: usize = request.header("content-length").parse().expect("a request with a length");
    while bytes.len() < head_end + length {
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    request.body = bytes[head_end..].to_vec();
    Ok(Some(request))
}
