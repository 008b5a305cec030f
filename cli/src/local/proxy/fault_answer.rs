//! Errors as AWS writes them, so that an SDK reads a fault as it would the service's own.

use bytes::Bytes;
use http::{HeaderMap, Response, header};
use http_body_util::Full;

/// An error as a provider with a JSON API of its own writes it, Stripe for one (<https://docs.stripe.com/api/errors>).
pub(super) fn foreign_error(status: u16, code: &str, message: &str) -> Response<Full<Bytes>> {
    let body = serde_json::json!({ "error": { "type": code, "message": message } });
    response(status, &[("content-type", "application/json")], body.to_string())
}

/// An error in the protocol that the request speaks: XML for the query protocol and S3, JSON for the rest.
///
/// JSON services name the error in `__type` and in `x-amzn-errortype`
/// (<https://smithy.io/2.0/aws/protocols/aws-json-1_0-protocol.html#operation-error-serialization>).
pub(super) fn aws_error(request: &HeaderMap, status: u16, code: &str, message: &str) -> Response<Full<Bytes>> {
    let content_type = request.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let query = content_type.starts_with("application/x-www-form-urlencoded");
    let s3 = request
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .is_some_and(|credential| credential.contains("/s3/aws4_request"));
    let (content_type, body) = if query {
        let body = format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{}</Code><Message>{}</Message></Error><RequestId>fault</RequestId></ErrorResponse>",
            xml(code),
            xml(message)
        );
        ("text/xml", body)
    } else if s3 {
        ("application/xml", format!("<Error><Code>{}</Code><Message>{}</Message></Error>", xml(code), xml(message)))
    } else {
        let content_type = if content_type.is_empty() { "application/json" } else { content_type };
        (content_type, serde_json::json!({ "__type": code, "message": message }).to_string())
    };
    response(status, &[("content-type", content_type), ("x-amzn-errortype", code), ("x-amzn-requestid", "fault")], body)
}

fn response(status: u16, headers: &[(&'static str, &str)], body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    for (name, value) in headers {
        // A code with characters that no header carries still reaches the client in the body.
        if let Ok(value) = http::HeaderValue::from_str(value) {
            response.headers_mut().insert(*name, value);
        }
    }
    response
}

fn xml(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
