//! A receiver on 127.0.0.1 that answers as a test says and keeps what arrives, byte for byte.

use std::ops::Deref;

use ikkai::testing::{HttpReply, HttpStub};

/// An answer with this status and a body that says nothing.
pub(crate) fn status(status: u16) -> HttpReply {
    HttpReply::new(status, "ok")
}

pub(crate) struct Receiver(HttpStub);

impl Receiver {
    /// Starts one that answers by the script, then 200; it ends with the value.
    pub(crate) async fn start(script: impl IntoIterator<Item = HttpReply>) -> Self {
        Self(HttpStub::scripted(script.into_iter().chain([status(200)])).await)
    }

    /// The callback URL.
    pub(crate) fn url(&self) -> String {
        format!("{}/hook?token=t0ken", self.0.url())
    }
}

impl Deref for Receiver {
    type Target = HttpStub;

    fn deref(&self) -> &HttpStub {
        &self.0
    }
}
