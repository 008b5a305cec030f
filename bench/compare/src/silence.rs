//! An address that a function may call but should not.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Listens where AWS is said to be, counts those who call, and hangs up.
pub(crate) struct Silence {
    url: String,
    calls: Arc<AtomicU32>,
    listener: JoinHandle<()>,
}

impl Silence {
    pub(crate) async fn listen() -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let calls = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&calls);
        let listener = tokio::spawn(async move {
            loop {
                if listener.accept().await.is_ok() {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            }
        });
        Ok(Self { url, calls, listener })
    }

    /// Where it listens.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// How many connections there were.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        self.listener.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn whoever_calls_is_counted_and_hears_nothing() {
        let silence = Silence::listen().await.expect("a free port");
        let address = silence.url().strip_prefix("http://").expect("an http address").to_owned();
        let mut stream = TcpStream::connect(address).await.expect("somebody listens");
        assert_eq!(stream.read(&mut [0; 1]).await.expect("hung up politely"), 0);
        assert_eq!(silence.calls(), 1);
    }
}
