//! A service on 127.0.0.1 that answers each request with the next of its replies, and keeps what arrived.

use std::{
    collections::VecDeque,
    io,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

/// What the stub does once it has read a request's head and body.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// An answer with a status, header fields (each with its CRLF) and a body.
    Answer(u16, &'static str, Vec<u8>),
    /// The head of an answer that announces so many bytes, these few of them, and the end of the connection.
    BreakOff(usize, Vec<u8>),
    /// The end of the connection instead of an answer.
    Close,
}

/// A request as it arrived: its head, and its body.
pub(crate) type Request = (String, Vec<u8>);

/// The stub; it ends with the value. After its last reply it repeats that.
pub(crate) struct Stub {
    pub(crate) url: String,
    requests: Arc<Mutex<Vec<Request>>>,
    task: AbortHandle,
}

impl Stub {
    pub(crate) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<VecDeque<_>>()));
        let seen = Arc::clone(&requests);
        let serve_all = async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let (seen, replies) = (Arc::clone(&seen), Arc::clone(&replies));
                open.spawn(async move {
                    // An error is the other side's doing, or ours on purpose.
                    let _ended = serve(connection, &seen, &replies).await;
                });
            }
        };
        Self { url, requests, task: tokio::spawn(serve_all).abort_handle() }
    }

    /// What arrived so far.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut connection: TcpStream, seen: &Mutex<Vec<Request>>, replies: &Mutex<VecDeque<Reply>>) -> io::Result<()> {
    while let Some(request) = read_request(&mut connection).await? {
        seen.lock().unwrap().push(request);
        let reply = {
            let mut replies = replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
        };
        match reply {
            Some(Reply::Answer(status, fields, body)) => {
                let head = format!("HTTP/1.1 {status} X\r\n{fields}content-length: {}\r\n\r\n", body.len());
                connection.write_all(&[head.as_bytes(), &body].concat()).await?;
            }
            Some(Reply::BreakOff(length, part)) => {
                let head = format!("HTTP/1.1 200 X\r\ncontent-length: {length}\r\n\r\n");
                return connection.write_all(&[head.as_bytes(), &part].concat()).await;
            }
            Some(Reply::Close) | None => return Ok(()),
        }
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
    let fields = head.to_ascii_lowercase();
    let length = fields.split("\r\ncontent-length: ").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.map_or(0, |value| value.parse().unwrap());
    while bytes.len() < head_end + length {
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((head, bytes[head_end..].to_vec())))
}
