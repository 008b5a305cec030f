//! Requests that are told by their path: mails, invocations, function URLs, and the API of a provider that is not AWS.

use http::{HeaderMap, Method, header};
use serde_json::Value;

use super::{JOB_TAG, Subject};

/// SES API v2, <https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html>.
pub(super) fn ses_operation(method: &Method, path: &str) -> Option<String> {
    let rest = path.strip_prefix("/v2/email/")?;
    Some(match (method.as_str(), rest) {
        ("POST", "outbound-emails") => "SendEmail".to_owned(),
        ("POST", "outbound-bulk-emails") => "SendBulkEmail".to_owned(),
        ("POST", "identities") => "CreateEmailIdentity".to_owned(),
        (method, _) => method.to_owned(),
    })
}

pub(super) fn mail(operation: String, body: &[u8]) -> Subject {
    let json: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let destination = &json["Destination"];
    let recipients = ["ToAddresses", "CcAddresses", "BccAddresses"].iter().flat_map(|field| texts(&destination[field])).collect();
    let tags: Vec<(String, String)> = json["EmailTags"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tag| Some((tag["Name"].as_str()?.to_owned(), tag["Value"].as_str()?.to_owned())))
        .collect();
    let job_ids = tags.iter().filter(|(name, _)| name == JOB_TAG).map(|(_, value)| value.clone()).collect();
    Subject { operation: format!("ses.{operation}"), job_ids, recipients, tags, ..Subject::default() }
}

/// `/2015-03-31/functions/<name>/invocations` and its neighbours.
pub(super) fn lambda_operation(method: &Method, path: &str) -> Option<(String, Option<String>)> {
    let mut parts = path.trim_start_matches('/').split('/');
    let version = parts.next()?;
    let dated = version.len() == 10 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    if !dated || parts.next()? != "functions" {
        return None;
    }
    let function = parts.next().filter(|name| !name.is_empty()).map(str::to_owned);
    let operation = match (method.as_str(), &function, parts.next()) {
        ("POST", Some(_), Some("invocations")) => "Invoke".to_owned(),
        ("POST", None, _) => "CreateFunction".to_owned(),
        ("GET", Some(_), None) => "GetFunction".to_owned(),
        (method, _, _) => method.to_owned(),
    };
    Some((operation, function))
}

pub(super) fn is_function_url(path: &str, headers: &HeaderMap) -> bool {
    path.starts_with("/_aws/lambda-url/")
        || headers.get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(|host| host.contains(".lambda-url."))
}

/// A request without an AWS signature: one to a provider's own API, such as `http.POST /v1/payment_intents`. Ids in the path, such as
/// `pi_1a2b`, read `*`; the last of them is the target. The idempotency key names the job: what stands before a colon in it.
pub(super) fn foreign(method: &Method, path: &str, headers: &HeaderMap) -> Subject {
    let is_id = |segment: &&str| segment.contains('_') && segment.bytes().any(|byte| byte.is_ascii_digit());
    let shape: Vec<&str> = path.split('/').map(|segment| if is_id(&segment) { "*" } else { segment }).collect();
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    let job = key.and_then(|key| key.split(':').next()).filter(|job| !job.is_empty());
    Subject {
        operation: format!("http.{method} {}", shape.join("/")),
        target: path.split('/').rfind(is_id).map(str::to_owned),
        job_ids: job.map(str::to_owned).into_iter().collect(),
        ..Subject::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_to_a_provider_is_named_by_its_path_and_its_job_by_the_key() {
        let mut headers = HeaderMap::new();
        headers.insert("idempotency-key", "billing.charge-1a:r2".parse().unwrap());
        let charge = foreign(&Method::POST, "/v1/payment_intents", &headers);
        assert_eq!(charge.operation, "http.POST /v1/payment_intents");
        assert_eq!((charge.job_ids, charge.target), (vec!["billing.charge-1a".to_owned()], None));

        let confirm = foreign(&Method::POST, "/v1/payment_intents/pi_3Nx1/confirm", &HeaderMap::new());
        assert_eq!(confirm.operation, "http.POST /v1/payment_intents/*/confirm");
        assert_eq!((confirm.target.as_deref(), confirm.job_ids.len()), (Some("pi_3Nx1"), 0));
    }
}
