//! A Lambda event of any HTTP door, as one kind of request.
//!
//! Function URLs and HTTP APIs send payload format 2.0, REST APIs and older HTTP APIs 1.0
//! (<https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html>). Local engines leave members out
//! or set them to `null`, so every member is optional here and one of another JSON type counts as absent. Nothing is parsed that is not
//! used: a broken `Host` header is no reason to fail.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// An HTTP request, whichever door it came through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method, as it was sent.
    pub(crate) method: String,
    /// The path as the door saw it: a stage or base path may stand in front.
    pub(crate) path: String,
    /// The headers.
    pub(crate) headers: Headers,
    /// The body's bytes.
    pub(crate) body: Result<Vec<u8>, NotBase64>,
    /// What the door says about who asks.
    pub(crate) identity: Identity,
}

/// The body was announced as base64 and is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NotBase64;

/// What the door's authorizer found out. Only the door writes these members; clients cannot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// ARN of the IAM principal that signed the request.
    pub(crate) user_arn: Option<String>,
    /// The user of a Cognito identity pool, all of whom share one role.
    pub(crate) cognito_identity: Option<String>,
    /// Text claims of a verified token.
    pub(crate) claims: BTreeMap<String, String>,
}

/// Header values by lower-case name: HTTP/2 doors send lower case, REST APIs what the client wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Headers(BTreeMap<String, Vec<String>>);

impl Headers {
    /// Every value of a header; `name` is in lower case.
    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// The first value of a header; `name` is in lower case.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        self.all(name).first().map(String::as_str)
    }
}

/// Why an event is no HTTP request: somebody invoked the function with something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EventError {
    /// The event is not JSON that can be read.
    #[error("the event cannot be read as JSON")]
    Unreadable,
    /// The event is JSON of another kind.
    #[error(
        "the event is no HTTP request: it has neither `requestContext.http.method` (payload format 2.0) nor `httpMethod` (1.0); \
         call this function through its function URL or an API Gateway"
    )]
    NotHttp,
}

impl EventError {
    /// Stable machine name.
    #[must_use]
    pub const fn error_type(self) -> &'static str {
        match self {
            Self::Unreadable => "event_unreadable",
            Self::NotHttp => "event_not_http",
        }
    }
}

impl Request {
    /// Reads an event of payload format 1.0 or 2.0.
    ///
    /// # Errors
    /// When it names no HTTP method.
    pub fn from_event(event: &Value) -> Result<Self, EventError> {
        let (method, path) = match text(event, "/requestContext/http/method") {
            Some(method) => (method, text(event, "/rawPath").or_else(|| text(event, "/requestContext/http/path"))),
            None => (text(event, "/httpMethod").ok_or(EventError::NotHttp)?, text(event, "/path")),
        };
        Ok(Self {
            method: method.to_owned(),
            path: path.unwrap_or("/").to_owned(),
            headers: headers(event),
            body: body(event),
            identity: identity(event),
        })
    }
}

fn text<'e>(event: &'e Value, pointer: &str) -> Option<&'e str> {
    event.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
}

/// Format 1.0 has every value in `multiValueHeaders` and the last one again in `headers`; format 2.0 joins them with commas.
fn headers(event: &Value) -> Headers {
    let mut all: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, values) in event.get("multiValueHeaders").and_then(Value::as_object).into_iter().flatten() {
        let values = values.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
        all.entry(name.to_ascii_lowercase()).or_default().extend(values);
    }
    let mut singles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in event.get("headers").and_then(Value::as_object).into_iter().flatten() {
        let value = value.as_str().map(str::to_owned);
        singles.entry(name.to_ascii_lowercase()).or_default().extend(value);
    }
    for (name, values) in singles {
        all.entry(name).or_insert(values);
    }
    Headers(all)
}

fn body(event: &Value) -> Result<Vec<u8>, NotBase64> {
    let text = event.get("body").and_then(Value::as_str).unwrap_or_default();
    match event.get("isBase64Encoded") {
        Some(Value::Bool(true)) => STANDARD.decode(text).map_err(|_| NotBase64),
        _ => Ok(text.as_bytes().to_vec()),
    }
}

fn identity(event: &Value) -> Identity {
    let either = |two: &str, one: &str| text(event, two).or_else(|| text(event, one)).map(str::to_owned);
    let claims =
        event.pointer("/requestContext/authorizer/jwt/claims").or_else(|| event.pointer("/requestContext/authorizer/claims"));
    let claims = claims.and_then(Value::as_object).into_iter().flatten();
    Identity {
        user_arn: either("/requestContext/authorizer/iam/userArn", "/requestContext/identity/userArn"),
        cognito_identity: either(
            "/requestContext/authorizer/iam/cognitoIdentity/identityId",
            "/requestContext/identity/cognitoIdentityId",
        ),
        claims: claims.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn both_payload_formats_give_the_same_request() {
        let two = json!({"version": "2.0", "rawPath": "/v1/jobs", "headers": {"content-type": "application/json", "x-a": "1,2"},
            "requestContext": {"http": {"method": "POST", "path": "/v1/jobs"}, "stage": "$default"}, "body": "{}", "isBase64Encoded": false});
        let one = json!({"version": "1.0", "path": "/v1/jobs", "httpMethod": "POST", "headers": {"Content-Type": "application/json", "X-A": "2"},
            "multiValueHeaders": {"Content-Type": ["application/json"], "X-A": ["1", "2"]}, "body": "e30=", "isBase64Encoded": true});
        let (one, two) = (Request::from_event(&one).unwrap(), Request::from_event(&two).unwrap());
        assert_eq!((&one.method, &one.path, &one.body), (&two.method, &two.path, &two.body));
        assert_eq!(one.headers.first("content-type"), two.headers.first("content-type"));
        assert_eq!(one.headers.all("x-a"), ["1", "2"]);
        assert_eq!(two.headers.all("x-a"), ["1,2"]);
    }

    #[test]
    fn a_header_that_came_in_two_spellings_has_both_values() {
        let event = json!({"httpMethod": "POST", "headers": {"Idempotency-Key": "a", "idempotency-key": "b"}});
        assert_eq!(Request::from_event(&event).unwrap().headers.all("idempotency-key").len(), 2);
    }

    #[test]
    fn missing_and_null_members_are_no_failure() {
        for event in [
            json!({"httpMethod": "GET"}),
            json!({"httpMethod": "GET", "path": null, "headers": null, "multiValueHeaders": null, "body": null, "requestContext": null}),
            json!({"requestContext": {"http": {"method": "GET"}, "authorizer": null, "authentication": null}, "rawPath": 7, "headers": []}),
        ] {
            let request = Request::from_event(&event).unwrap();
            assert_eq!((request.path.as_str(), request.body, request.identity), ("/", Ok(Vec::new()), Identity::default()));
        }
    }

    #[test]
    fn a_body_that_is_not_the_base64_it_claims_to_be_is_known_as_such() {
        let event = json!({"httpMethod": "POST", "body": "{\"a\":1}", "isBase64Encoded": true});
        assert_eq!(Request::from_event(&event).unwrap().body, Err(NotBase64));
    }

    #[test]
    fn an_event_that_is_no_request_is_named() {
        for event in [json!(null), json!([]), json!({"Records": []}), json!({"httpMethod": ""}), json!("GET /")] {
            assert_eq!(Request::from_event(&event), Err(EventError::NotHttp));
        }
    }

    #[test]
    fn identities_of_every_authorizer_are_found() {
        let iam_two = json!({"requestContext": {"http": {"method": "GET"}, "authorizer": {"iam": {"userArn": "arn:x", "cognitoIdentity": {"identityId": "id"}}}}});
        let iam_one =
            json!({"httpMethod": "GET", "requestContext": {"identity": {"userArn": "arn:x", "cognitoIdentityId": "id"}}});
        let jwt_two =
            json!({"requestContext": {"http": {"method": "GET"}, "authorizer": {"jwt": {"claims": {"sub": "u", "n": 1}}}}});
        let jwt_one = json!({"httpMethod": "GET", "requestContext": {"authorizer": {"claims": {"sub": "u"}}}});
        for event in [iam_two, iam_one] {
            let identity = Request::from_event(&event).unwrap().identity;
            assert_eq!((identity.user_arn.as_deref(), identity.cognito_identity.as_deref()), (Some("arn:x"), Some("id")));
        }
        for event in [jwt_two, jwt_one] {
            let identity = Request::from_event(&event).unwrap().identity;
            assert_eq!(identity.claims, BTreeMap::from([("sub".to_owned(), "u".to_owned())]));
        }
    }

    proptest! {
        #[test]
        fn no_headers_and_no_body_make_the_reader_panic(name in any::<String>(), value in any::<String>(), encoded in any::<bool>()) {
            let event = json!({"httpMethod": value, "headers": {&name: &value}, "multiValueHeaders": {&name: [&value]}, "body": name,
                "isBase64Encoded": encoded});
            let _ = Request::from_event(&event);
        }
    }
}
