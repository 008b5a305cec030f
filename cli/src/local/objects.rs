//! Objects in the engine's S3, for who looks from outside: past the proxy, so that nothing is counted.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};

use super::aws::ACCESS_KEY;
use super::loopback::{Loopback, LoopbackError};
use super::signed::{SigningError, sign_request};

/// Longer than anything on this machine takes.
const ANSWERS_WITHIN: Duration = Duration::from_secs(60);

/// An object could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// The request could not be made.
    #[error("cannot make the request")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// The engine did not answer.
    #[error("cannot reach the engine's S3")]
    Unreachable(#[from] LoopbackError),
    /// The engine refused.
    #[error("S3 answered {status} to {method} `{bucket}/{key}`")]
    Refused {
        /// What was asked.
        method: Method,
        /// Of which bucket.
        bucket: String,
        /// Of which object, if of one.
        key: String,
        /// The answer.
        status: StatusCode,
    },
}

/// An object as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Object {
    /// Its bytes.
    pub bytes: Bytes,
    /// Its content type.
    pub content_type: Option<String>,
    /// Its cache header.
    pub cache_control: Option<String>,
}

/// One bucket.
#[derive(Debug, Clone)]
pub struct Bucket {
    engine: SocketAddr,
    name: String,
    http: Loopback,
}

impl Bucket {
    /// The bucket of this name. Bound to the Tokio runtime that it is first used on.
    #[must_use]
    pub fn new(engine: SocketAddr, name: impl Into<String>) -> Self {
        Self { engine, name: name.into(), http: Loopback::new(ANSWERS_WITHIN) }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts an object.
    ///
    /// # Errors
    /// The engine cannot be reached or refuses.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<(), ObjectError> {
        let answer = self.call(Method::PUT, key, "", bytes).await?;
        self.accepted(answer, Method::PUT, key).map(drop)
    }

    /// An object, or `None` when there is none of this key.
    ///
    /// # Errors
    /// The engine cannot be reached or refuses.
    pub async fn get(&self, key: &str) -> Result<Option<Object>, ObjectError> {
        let answer = self.call(Method::GET, key, "", Bytes::new()).await?;
        if answer.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let answer = self.accepted(answer, Method::GET, key)?;
        let text = |name| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (content_type, cache_control) = (text(header::CONTENT_TYPE), text(header::CACHE_CONTROL));
        Ok(Some(Object { bytes: answer.into_body(), content_type, cache_control }))
    }

    /// The keys that begin with `prefix`, up to a thousand.
    ///
    /// # Errors
    /// The engine cannot be reached or refuses.
    pub async fn keys(&self, prefix: &str) -> Result<Vec<String>, ObjectError> {
        let query = format!("?list-type=2&prefix={}", percent_encoded(prefix, ""));
        let answer = self.call(Method::GET, "", &query, Bytes::new()).await?;
        let answer = self.accepted(answer, Method::GET, "")?;
        Ok(keys_in(&String::from_utf8_lossy(answer.body())))
    }

    async fn call(&self, method: Method, key: &str, query: &str, body: Bytes) -> Result<Response<Bytes>, ObjectError> {
        let path = format!("/{}/{}{query}", self.name, percent_encoded(key, "/"));
        let mut request = Request::builder().method(method).uri(path).header(header::HOST, self.engine.to_string()).body(body)?;
        sign_request(&mut request, "s3", ACCESS_KEY)?;
        Ok(self.http.send(self.engine, request).await?)
    }

    fn accepted(&self, answer: Response<Bytes>, method: Method, key: &str) -> Result<Response<Bytes>, ObjectError> {
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        Err(ObjectError::Refused { method, bucket: self.name.clone(), key: key.to_owned(), status })
    }
}

/// Everything but RFC 3986's unreserved characters and those in `kept`, as S3 wants a key in a path.
fn percent_encoded(text: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if character.is_ascii_alphanumeric() || "-._~".contains(character) || kept.contains(character) {
            encoded.push(character);
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

/// The keys in the XML of a listing.
fn keys_in(xml: &str) -> Vec<String> {
    let keys = xml.split("<Key>").skip(1).filter_map(|rest| rest.split_once("</Key>"));
    keys.map(|(key, _)| unescaped(key)).collect()
}

fn unescaped(text: &str) -> String {
    // The ampersand comes last: what it makes is not read once more.
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&#39;", "'"), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (name, character)| text.replace(name, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_encoded_byte_by_byte_and_keeps_its_slashes() {
        assert_eq!(percent_encoded("uploads/summer 2031/a b+c.jpg", "/"), "uploads/summer%202031/a%20b%2Bc.jpg");
        assert_eq!(percent_encoded("ü/", ""), "%C3%BC%2F");
    }

    #[test]
    fn keys_are_read_out_of_a_listing() {
        let xml = "<ListBucketResult><Contents><Key>a &amp; b/&lt;1&gt;</Key><Size>1</Size></Contents><Contents><Key>c</Key></Contents>";
        assert_eq!(keys_in(xml), ["a & b/<1>", "c"]);
        assert!(keys_in("<ListBucketResult></ListBucketResult>").is_empty());
    }
}
