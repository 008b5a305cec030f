//! Where a check works: a local engine behind an endpoint, or an account.

use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Nothing that is asked over plain HTTP takes longer.
const WITHIN: Duration = Duration::from_secs(15);

/// There is nothing to measure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlaceError {
    /// It is no URL of a server.
    #[error("`{url}` is no endpoint; write it as http://127.0.0.1:4566")]
    NotAnEndpoint {
        /// What was given.
        url: String,
    },
    /// Nobody answers.
    #[error("nothing answers at {url}: {told}; start an engine there, or leave the endpoint out and one is started")]
    Silent {
        /// Where.
        url: String,
        /// What happened instead.
        told: String,
    },
}

/// What a check is pointed at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// An engine.
    Endpoint(String),
    /// An account.
    Aws {
        /// Its number.
        account: String,
        /// The region.
        region: String,
    },
}

/// Where a check works.
#[derive(Debug, Clone)]
pub struct Place {
    target: Target,
    engine: String,
    version: String,
}

impl Place {
    /// Asks the server at an endpoint what it is.
    ///
    /// # Errors
    /// It is no endpoint, or nobody answers there.
    pub async fn engine_at(url: &str) -> Result<Self, PlaceError> {
        let not_an_endpoint = || PlaceError::NotAnEndpoint { url: url.to_owned() };
        let uri: http::Uri = url.parse().map_err(|_| not_an_endpoint())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none() {
            return Err(not_an_endpoint());
        }
        let url = url.trim_end_matches('/');
        let (mut engine, mut version) = ("unknown".to_owned(), "unknown".to_owned());
        // MiniStack answers to both names, so its own is asked first.
        for (name, path) in [("ministack", "/_ministack/health"), ("localstack", "/_localstack/health")] {
            let answer = get(&format!("{url}{path}"), None).await;
            let (status, body) = answer.map_err(|told| PlaceError::Silent { url: url.to_owned(), told })?;
            let health: Option<Value> = serde_json::from_slice(&body).ok();
            let told = health.filter(|_| status.is_success()).and_then(|health| Some(health["version"].as_str()?.to_owned()));
            if let Some(told) = told {
                (engine, version) = (name.to_owned(), told);
                break;
            }
        }
        Ok(Self { target: Target::Endpoint(url.to_owned()), engine, version })
    }

    /// An account.
    #[must_use]
    pub fn account(account: &str, region: &str) -> Self {
        let target = Target::Aws { account: account.to_owned(), region: region.to_owned() };
        Self { target, engine: "aws".to_owned(), version: region.to_owned() }
    }

    /// What plays AWS: `ministack`, `localstack`, `aws`, or `unknown`.
    #[must_use]
    pub fn engine(&self) -> &str {
        &self.engine
    }

    /// Its version; the region where it is AWS itself.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// What it is.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// How long something may take to happen: on AWS a mapping alone needs up to a minute until it polls.
    pub(super) fn patience(&self) -> Duration {
        match self.target {
            Target::Endpoint(_) => Duration::from_secs(60),
            Target::Aws { .. } => Duration::from_secs(240),
        }
    }

    /// Between two looks.
    pub(super) fn pause(&self) -> Duration {
        match self.target {
            Target::Endpoint(_) => Duration::from_millis(200),
            Target::Aws { .. } => Duration::from_secs(2),
        }
    }

    /// Calls an URL that AWS gave out, such as a function's. An engine serves it at its own address, by the name of the host.
    pub(super) async fn get_given(&self, url: &str) -> Result<(StatusCode, Bytes), String> {
        let Target::Endpoint(endpoint) = &self.target else { return get(url, None).await };
        let uri: http::Uri = url.parse().map_err(|_| format!("`{url}` is no URL"))?;
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        get(&format!("{endpoint}{path}"), uri.authority().map(ToString::to_string)).await
    }

    /// Asks the engine itself for a path.
    pub(super) async fn get_path(&self, path: &str) -> Result<(StatusCode, Bytes), String> {
        match &self.target {
            Target::Endpoint(endpoint) => get(&format!("{endpoint}{path}"), None).await,
            Target::Aws { .. } => Err("an account has no paths of its own".to_owned()),
        }
    }
}

fn client() -> Result<Client<HttpsConnector<HttpConnector>, Full<Bytes>>, String> {
    let connector = HttpsConnectorBuilder::new().with_native_roots().map_err(|error| error.to_string())?;
    let connector = connector.https_or_http().enable_http1().build();
    // The Host header is ours where an engine routes by it.
    Ok(Client::builder(TokioExecutor::new()).set_host(false).build(connector))
}

async fn get(url: &str, host: Option<String>) -> Result<(StatusCode, Bytes), String> {
    let uri: http::Uri = url.parse().map_err(|_| format!("`{url}` is no URL"))?;
    let host = host.or_else(|| uri.authority().map(ToString::to_string)).unwrap_or_default();
    let request =
        Request::get(uri).header(header::HOST, host).body(Full::new(Bytes::new())).map_err(|error| error.to_string())?;
    let exchange = async {
        let answer = client()?.request(request).await.map_err(|error| crate::screen::chain(&error))?;
        let status = answer.status();
        let body = answer.into_body().collect().await.map_err(|error| crate::screen::chain(&error))?;
        Ok((status, body.to_bytes()))
    };
    tokio::time::timeout(WITHIN, exchange).await.unwrap_or_else(|_| Err(format!("no answer within {} s", WITHIN.as_secs())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_no_endpoint_is_refused_with_the_form_of_one() {
        for url in ["127.0.0.1:4566", "ftp://127.0.0.1", "nonsense", ""] {
            let error = Place::engine_at(url).await.unwrap_err().to_string();
            assert!(error.contains("http://127.0.0.1:4566"), "{url}: {error}");
        }
        let silent = Place::engine_at("http://127.0.0.1:1").await.unwrap_err().to_string();
        assert!(silent.contains("nothing answers at http://127.0.0.1:1"), "{silent}");
    }
}
