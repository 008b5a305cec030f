//! A signed POST to a service of AWS whose SDK this project does not take.

use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_sqs::config::{Credentials, ProvideCredentials};
use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::local::signed::{SigningError, sign_as};

/// Nothing that is asked here is worth a longer wait.
const WITHIN: Duration = Duration::from_secs(10);

/// There was no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PostError {
    /// The AWS settings lack something.
    #[error("your AWS settings have no {0}")]
    Setting(&'static str),
    /// The request could not be made.
    #[error("cannot make the request")]
    Request(#[from] http::Error),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] SigningError),
    /// Nobody answered.
    #[error("{service} does not answer: {told}")]
    Unreachable {
        /// Which service.
        service: &'static str,
        /// What happened instead.
        told: String,
    },
}

/// A service at one endpoint.
#[derive(Debug)]
pub struct SignedPost {
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    service: &'static str,
    signing_name: &'static str,
    region: String,
    endpoint: String,
    config: SdkConfig,
}

impl SignedPost {
    /// A service by what people and signatures call it, at the endpoint of these settings, or else at its own.
    ///
    /// # Errors
    /// The machine has no certificates.
    pub fn new(
        config: &SdkConfig,
        service: &'static str,
        signing_name: &'static str,
        region: String,
        own_endpoint: String,
    ) -> Result<Self, PostError> {
        let endpoint = config.endpoint_url().map_or(own_endpoint, ToOwned::to_owned);
        let connector = HttpsConnectorBuilder::new()
            .with_native_roots()
            .map_err(|error| PostError::Unreachable { service, told: error.to_string() })?
            .https_or_http()
            .enable_http1()
            .build();
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Self { http, service, signing_name, region, endpoint, config: config.clone() })
    }

    /// Sends a body and waits for the answer, whatever it says.
    ///
    /// # Errors
    /// The settings lack something, or nobody answers.
    pub async fn send(&self, headers: &[(&str, &str)], body: String) -> Result<(StatusCode, Bytes), PostError> {
        let credentials = self.credentials().await?;
        let uri: http::Uri = format!("{}/", self.endpoint.trim_end_matches('/')).parse().map_err(http::Error::from)?;
        let host = uri.authority().ok_or(PostError::Setting("valid endpoint"))?.to_string();
        let request = Request::post(uri).header(header::HOST, host);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let mut request = request.body(Bytes::from(body))?;
        sign_as(&mut request, self.signing_name, &self.region, &credentials)?;
        let exchange = async {
            let answer = self.http.request(request.map(Full::new)).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await?.to_bytes();
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>((status, body))
        };
        let unreachable = |told| PostError::Unreachable { service: self.service, told };
        match tokio::time::timeout(WITHIN, exchange).await {
            Ok(Ok(answered)) => Ok(answered),
            Ok(Err(error)) => Err(unreachable(crate::screen::chain(error.as_ref()))),
            Err(_) => Err(unreachable(format!("no answer within {} s", WITHIN.as_secs()))),
        }
    }

    async fn credentials(&self) -> Result<Credentials, PostError> {
        let provider = self.config.credentials_provider().ok_or(PostError::Setting("credentials"))?;
        provider.provide_credentials().await.map_err(|_| PostError::Setting("valid credentials"))
    }
}
