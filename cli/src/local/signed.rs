//! Signs HTTP requests with SigV4 where no SDK does it for us: function URLs, uploads, the engine's logs.

use std::time::SystemTime;

use aws_sdk_sqs::config::Credentials;
use aws_sigv4::http_request::{
    PercentEncodingMode, SignableBody, SignableRequest, SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use aws_smithy_runtime_api::client::identity::Identity;
use bytes::Bytes;
use http::{HeaderName, HeaderValue, Request, header};

use super::engine::REGION;

/// A request could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign the request: {0}")]
pub struct SigningError(String);

/// Signs a request, which must have a `Host` header, for a service of a local engine, which knows every access key.
///
/// # Errors
/// The request has no host, or a header that is not text.
pub fn sign_request(request: &mut Request<Bytes>, service: &str, access_key: &str) -> Result<(), SigningError> {
    sign_as(request, service, REGION, &Credentials::new(access_key, "local", None, None, "ikkai-local"))
}

/// Signs a request, which must have a `Host` header, for a service in a region, with credentials of any account.
///
/// # Errors
/// As for [`sign_request`].
pub fn sign_as(request: &mut Request<Bytes>, service: &str, region: &str, credentials: &Credentials) -> Result<(), SigningError> {
    let failed = |error: &dyn std::fmt::Display| SigningError(error.to_string());
    let identity: Identity = credentials.clone().into();
    let mut settings = SigningSettings::default();
    if service == "s3" {
        // S3 signs paths as they are (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
        settings.percent_encoding_mode = PercentEncodingMode::Single;
        settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
    }
    let parameters = v4::SigningParams::builder()
        .identity(&identity)
        .region(region)
        .name(service)
        .time(SystemTime::now())
        .settings(settings)
        .build()
        .map_err(|error| failed(&error))?
        .into();

    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let host = host.ok_or_else(|| SigningError("no host header".to_owned()))?;
    let path = request.uri().path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    let uri = format!("https://{host}{path}");
    let mut headers = Vec::new();
    for (name, value) in request.headers() {
        headers.push((name.as_str(), value.to_str().map_err(|error| failed(&error))?));
    }
    let body = SignableBody::Bytes(request.body());
    let signable =
        SignableRequest::new(request.method().as_str(), uri, headers.into_iter(), body).map_err(|error| failed(&error))?;
    let (instructions, _) = sign(signable, &parameters).map_err(|error| failed(&error))?.into_parts();
    let (signature, _) = instructions.into_parts();
    for header in signature {
        let name = HeaderName::from_bytes(header.name().as_bytes()).map_err(|error| failed(&error))?;
        let value = HeaderValue::from_str(header.value()).map_err(|error| failed(&error))?;
        request.headers_mut().insert(name, value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_names_caller_region_and_service() {
        let mut request =
            Request::post("/v1/jobs?x=1").header("host", "abc.lambda-url.us-east-1.on.aws").body(Bytes::from("{}")).unwrap();
        sign_request(&mut request, "lambda", "alice").unwrap();
        let authorization = request.headers()["authorization"].to_str().unwrap();
        assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=alice/"), "{authorization}");
        assert!(authorization.contains("/us-east-1/lambda/aws4_request"), "{authorization}");
        assert!(authorization.contains("host;"), "{authorization}");
    }

    #[test]
    fn a_request_without_host_is_not_signed() {
        let mut request = Request::get("/").body(Bytes::new()).unwrap();
        assert_eq!(sign_request(&mut request, "lambda", "a").unwrap_err().to_string(), "cannot sign the request: no host header");
    }
}
