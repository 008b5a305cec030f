//! A service on 127.0.0.1 that answers, breaks off or keeps silent as a test says, and counts what arrives.

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
#[allow(dead_code, reason = "each test program uses some of it")]
pub(crate) struct Request {
    /// Request line and header fields.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: serde_json::Value,
}

/// What the stub does once it has read a request.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "each test program uses some of them")]
pub(crate) enum Reply {
    /// An answer with a status, header fields (each with its CRLF) and a JSON body.
    Answer(u16, &'static str, String),
    /// Raw bytes, then the end of the connection.
    Bytes(&'static str),
    /// An answer as above and, without a word about it, the end of the connection.
    AnswerAndClose(String),
    /// A TCP reset instead of an answer.
    Reset,
    /// The end of the connection instead of an answer.
    Close,
    /// Nothing at all, with the connection kept open.
    Silence,
}

#[allow(dead_code, reason = "each test program uses some of it")]
pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Request>>>,
    connections: Arc<Mutex<Connections>>,
    task: AbortHandle,
}

/// How many connections there were, and how many have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Connections {
    pub(crate) opened: usize,
    pub(crate) closed: usize,
}

#[allow(dead_code, reason = "each test program uses some of it")]
impl Stub {
    /// Starts it; it ends with the value.
    pub(crate) async fn start(reply: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, reply) = (Arc::clone(&requests), Arc::new(reply));
        let connections = Arc::new(Mutex::new(Connections::default()));
        let counted = Arc::clone(&connections);
        let serve = async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                counted.lock().unwrap().opened += 1;
                let (seen, reply, counted) = (Arc::clone(&seen), Arc::clone(&reply), Arc::clone(&counted));
                open.spawn(async move {
                    // An error is the other side's doing, or ours on purpose.
                    let _ended = serve(connection, &seen, reply.as_ref()).await;
                    counted.lock().unwrap().closed += 1;
                });
            }
        };
        Self { address, requests, connections, task: tokio::spawn(serve).abort_handle() }
    }

    /// Connections so far.
    pub(crate) fn connections(&self) -> Connections {
        *self.connections.lock().unwrap()
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
    reply: &(impl Fn(&Request) -> Reply + ?Sized),
) -> io::Result<()> {
    while let Some(request) = read_request(&mut connection).await? {
        seen.lock().unwrap().push(request.clone());
        match reply(&request) {
            Reply::Answer(status, fields, body) => connection.write_all(answer(status, fields, &body).as_bytes()).await?,
            Reply::AnswerAndClose(body) => return connection.write_all(answer(200, "", &body).as_bytes()).await,
            Reply::Bytes(bytes) => return connection.write_all(bytes.as_bytes()).await,
            Reply::Reset => return connection.set_zero_linger(),
            Reply::Close => return Ok(()),
            Reply::Silence => std::future::pending().await,
        }
    }
    Ok(())
}

fn answer(status: u16, fields: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{fields}content-length: {}\r\n\r\n{body}", body.len())
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
    let head = String::from_utf8_lossy(&bytes[..head_end]).to_ascii_lowercase();
    let length: usize =
        head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next()).map_or(0, |value| value.parse().unwrap());
    while bytes.len() < head_end + length {
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(Request { head, body: serde_json::from_slice(&bytes[head_end..]).unwrap_or_default() }))
}
