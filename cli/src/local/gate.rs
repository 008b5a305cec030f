//! A door in front of a server on this machine that can be shut: then connections are refused, as by a provider that is down.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, PoisonError};

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// A door. It is gone with this value.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    upstream: SocketAddr,
    /// What lets connections through, while the door is open.
    open: Mutex<Option<JoinHandle<()>>>,
}

impl Gate {
    /// An open door on a free port of 127.0.0.1, to `upstream`.
    ///
    /// # Errors
    /// The loopback address has no free port.
    pub async fn open_to(upstream: SocketAddr) -> std::io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let open = Mutex::new(Some(tokio::spawn(let_through(listener, upstream))));
        Ok(Self { address, upstream, open })
    }

    /// The door's address as a URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Shuts the door: connections that are open end, new ones are refused. The port stays reserved by nobody; on a machine whose
    /// programs take free ports by chance it could be taken meanwhile, and [`open`](Self::open) then says so.
    pub async fn shut(&self) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(open) = open {
            open.abort();
            // The listener is closed once the task is gone.
            let _ = open.await;
        }
    }

    /// Opens the door again, on the same port.
    ///
    /// # Errors
    /// Somebody else took the port.
    pub fn open(&self) -> std::io::Result<()> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.is_none() {
            let socket = TcpSocket::new_v4()?;
            // Connections that ended a moment ago still hold the port.
            socket.set_reuseaddr(true)?;
            socket.bind(self.address)?;
            *open = Some(tokio::spawn(let_through(socket.listen(128)?, self.upstream)));
        }
        Ok(())
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(open) = self.open.lock().unwrap_or_else(PoisonError::into_inner).take() {
            open.abort();
        }
    }
}

/// Connections live in a set of this task: they end with it.
async fn let_through(listener: TcpListener, upstream: SocketAddr) {
    let mut connections = JoinSet::new();
    while let Ok((mut inside, _)) = listener.accept().await {
        connections.spawn(async move {
            if let Ok(mut outside) = TcpStream::connect(upstream).await {
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    async fn echo() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let (mut read, mut write) = stream.split();
                    let _ = tokio::io::copy(&mut read, &mut write).await;
                });
            }
        });
        address
    }

    #[tokio::test]
    async fn a_shut_door_refuses_and_an_open_one_lets_through_on_the_same_port() {
        let gate = Gate::open_to(echo().await).await.unwrap();
        let address = gate.address;
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut word = [0; 4];
        stream.write_all(b"ping").await.unwrap();
        stream.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"ping");

        gate.shut().await;
        assert_eq!(TcpStream::connect(address).await.unwrap_err().kind(), ErrorKind::ConnectionRefused);
        let ended = stream.read(&mut word).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "what was open ends: {ended:?}");

        gate.open().unwrap();
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(b"pong").await.unwrap();
        stream.read_exact(&mut word).await.unwrap();
        assert_eq!(&word, b"pong");
    }
}
