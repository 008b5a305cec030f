//! Which AWS operation a request is, and which table, queue, function, job and address it names.
//!
//! The proxy reads requests the way AWS routes them: `X-Amz-Target` for the JSON protocols, the path for the REST ones, `Action=` for the
//! query protocol, and the service out of the signature's credential scope
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>).

use http::{HeaderMap, Method, Uri, header};
use serde_json::Value;

/// What a request asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// `service.Operation`, such as `dynamodb.UpdateItem`; `service.METHOD` where the operation has no name here.
    pub operation: String,
    /// The table, queue, bucket or function that the request names.
    pub target: Option<String>,
    /// The ids of the jobs that the request is about: the key of an item, the bodies of messages, the tag of a mail (in the
    /// characters of a [tag](tag_value)).
    pub job_ids: Vec<String>,
    /// The addresses that a mail goes to.
    pub recipients: Vec<String>,
    /// The tags of a mail (`EmailTags`), name and value.
    pub tags: Vec<(String, String)>,
}

/// The tag by which a mail names its job.
pub const JOB_TAG: &str = "ikkai-job";

/// A job id in the characters that SES lets a tag have.
#[must_use]
pub fn tag_value(job_id: &str) -> String {
    let allowed = |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
    job_id.chars().map(allowed).collect()
}

/// Whether a job is among `named`, by its id or as a tag writes it.
pub(super) fn names_job(named: &[String], job_id: &str) -> bool {
    named.iter().any(|name| name == job_id || *name == tag_value(job_id))
}

impl Subject {
    /// Reads a request. Never fails: what cannot be read is left empty.
    #[must_use]
    pub fn of(method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Self {
        let scope = credential_scope(headers);
        if let Some((service, operation)) = target_header(headers) {
            let json = serde_json::from_slice(body).unwrap_or(Value::Null);
            return Self {
                operation: format!("{service}.{operation}"),
                target: target_of(&json),
                job_ids: job_ids_of(&json),
                ..Self::default()
            };
        }
        let path = uri.path();
        if let Some(operation) = ses_operation(method, path) {
            return mail(operation, body);
        }
        if let Some((operation, function)) = lambda_operation(method, path) {
            return Self { operation: format!("lambda.{operation}"), target: function, ..Self::default() };
        }
        if is_function_url(path, headers) {
            return Self { operation: format!("function-url.{method}"), ..Self::default() };
        }
        if let Some(action) = query_action(headers, body) {
            return Self { operation: format!("{}.{action}", scope.unwrap_or("unknown")), ..Self::default() };
        }
        match scope {
            Some("s3") => s3(method, uri),
            Some(service) => Self { operation: format!("{service}.{method}"), ..Self::default() },
            None => Self { operation: format!("unknown.{method}"), ..Self::default() },
        }
    }

    /// The value of a mail's tag.
    #[must_use]
    pub fn tag(&self, name: &str) -> Option<&str> {
        self.tags.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// `Credential=<key>/<date>/<region>/<service>/aws4_request`: the service.
fn credential_scope(headers: &HeaderMap) -> Option<&str> {
    let authorization = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let credential = authorization.split("Credential=").nth(1)?.split([',', ' ']).next()?;
    credential.split('/').nth(3)
}

/// `X-Amz-Target: DynamoDB_20120810.UpdateItem`.
fn target_header(headers: &HeaderMap) -> Option<(String, &str)> {
    let (prefix, operation) = headers.get("x-amz-target")?.to_str().ok()?.split_once('.')?;
    let service = match prefix {
        "AmazonSQS" => "sqs".to_owned(),
        // A date follows the service's name: `DynamoDB_20120810`, `Logs_20140328`.
        other => other.split('_').next().unwrap_or(other).to_ascii_lowercase(),
    };
    Some((service, operation))
}

/// SES API v2, <https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html>.
fn ses_operation(method: &Method, path: &str) -> Option<String> {
    let rest = path.strip_prefix("/v2/email/")?;
    Some(match (method.as_str(), rest) {
        ("POST", "outbound-emails") => "SendEmail".to_owned(),
        ("POST", "outbound-bulk-emails") => "SendBulkEmail".to_owned(),
        ("POST", "identities") => "CreateEmailIdentity".to_owned(),
        (method, _) => method.to_owned(),
    })
}

fn mail(operation: String, body: &[u8]) -> Subject {
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
    Subject { operation: format!("ses.{operation}"), target: None, job_ids, recipients, tags }
}

/// `/2015-03-31/functions/<name>/invocations` and its neighbours.
fn lambda_operation(method: &Method, path: &str) -> Option<(String, Option<String>)> {
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

fn is_function_url(path: &str, headers: &HeaderMap) -> bool {
    path.starts_with("/_aws/lambda-url/")
        || headers.get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(|host| host.contains(".lambda-url."))
}

/// The query protocol's `Action`, for CloudFormation, IAM and older SQS clients.
fn query_action(headers: &HeaderMap, body: &[u8]) -> Option<String> {
    let form = headers.get(header::CONTENT_TYPE)?.to_str().ok()?.starts_with("application/x-www-form-urlencoded");
    let text = form.then(|| std::str::from_utf8(body).ok())??;
    text.split('&').find_map(|pair| pair.strip_prefix("Action=")).map(str::to_owned)
}

/// S3 by method and depth of the path (path-style addressing).
fn s3(method: &Method, uri: &Uri) -> Subject {
    let (bucket, key) = uri.path().trim_start_matches('/').split_once('/').unwrap_or((uri.path().trim_start_matches('/'), ""));
    let operation = match (method.as_str(), key.is_empty()) {
        ("GET", false) => "GetObject",
        ("PUT", false) => "PutObject",
        ("HEAD", false) => "HeadObject",
        ("DELETE", false) => "DeleteObject",
        ("PUT", true) => "CreateBucket",
        ("GET", true) => "ListObjectsV2",
        (other, _) => other,
    };
    Subject {
        operation: format!("s3.{operation}"),
        target: (!bucket.is_empty()).then(|| bucket.to_owned()),
        ..Subject::default()
    }
}

fn target_of(json: &Value) -> Option<String> {
    if let Some(name) = ["TableName", "QueueName", "logGroupName"].iter().find_map(|field| json[field].as_str()) {
        return Some(name.to_owned());
    }
    json["QueueUrl"].as_str().and_then(|url| url.rsplit('/').next()).map(str::to_owned)
}

/// The job ids in a DynamoDB key or item, or in the bodies of SQS messages.
fn job_ids_of(json: &Value) -> Vec<String> {
    let mut ids = Vec::new();
    for holder in ["Key", "Item"] {
        ids.extend(json[holder]["job_id"]["S"].as_str().map(str::to_owned));
    }
    let single = std::iter::once(json);
    for entry in single.chain(json["Entries"].as_array().into_iter().flatten()) {
        let Some(body) = entry["MessageBody"].as_str() else { continue };
        let envelope: Value = serde_json::from_str(body).unwrap_or(Value::Null);
        ids.extend(envelope["jobId"].as_str().map(str::to_owned));
    }
    ids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
    }

    fn signed_for(service: &str) -> HeaderMap {
        let credential =
            format!("AWS4-HMAC-SHA256 Credential=test/20261129/us-east-1/{service}/aws4_request, SignedHeaders=host");
        headers(&[("authorization", &credential)])
    }

    #[test]
    fn a_dynamodb_call_names_its_table_and_its_job() {
        let body = br#"{"TableName":"jobs","Key":{"job_id":{"S":"email.send-1"}}}"#;
        let subject = Subject::of(
            &Method::POST,
            &Uri::from_static("/"),
            &headers(&[("x-amz-target", "DynamoDB_20120810.UpdateItem")]),
            body,
        );
        assert_eq!(subject.operation, "dynamodb.UpdateItem");
        assert_eq!(subject.target.as_deref(), Some("jobs"));
        assert_eq!(subject.job_ids, ["email.send-1"]);
    }

    #[test]
    fn a_batch_of_messages_names_every_job_in_it() {
        let body = br#"{"QueueUrl":"http://127.0.0.1:1/000000000000/email","Entries":[{"Id":"0","MessageBody":"{\"jobId\":\"a\"}"},{"Id":"1","MessageBody":"{\"jobId\":\"b\"}"},{"Id":"2","MessageBody":"not json"}]}"#;
        let subject =
            Subject::of(&Method::POST, &Uri::from_static("/"), &headers(&[("x-amz-target", "AmazonSQS.SendMessageBatch")]), body);
        assert_eq!(subject.operation, "sqs.SendMessageBatch");
        assert_eq!(subject.target.as_deref(), Some("email"));
        assert_eq!(subject.job_ids, ["a", "b"]);
    }

    #[test]
    fn a_mail_names_its_job_and_its_recipients() {
        let body =
            br#"{"Destination":{"ToAddresses":["a@example.com"]},"EmailTags":[{"Name":"ikkai-job","Value":"email.send-1"}]}"#;
        let subject = Subject::of(&Method::POST, &Uri::from_static("/v2/email/outbound-emails"), &signed_for("ses"), body);
        assert_eq!(subject.operation, "ses.SendEmail");
        assert_eq!(subject.job_ids, ["email.send-1"]);
        assert_eq!(subject.recipients, ["a@example.com"]);
        assert_eq!(subject.tag(JOB_TAG), Some("email.send-1"));
    }

    #[test]
    fn an_invocation_names_its_function() {
        let subject = Subject::of(
            &Method::POST,
            &Uri::from_static("/2015-03-31/functions/email-consumer/invocations"),
            &signed_for("lambda"),
            b"{}",
        );
        assert_eq!(subject.operation, "lambda.Invoke");
        assert_eq!(subject.target.as_deref(), Some("email-consumer"));
    }

    #[test]
    fn an_object_and_a_bucket_are_told_apart() {
        let object = Subject::of(&Method::PUT, &Uri::from_static("/code/a.zip?x-id=PutObject"), &signed_for("s3"), b"");
        let bucket = Subject::of(&Method::PUT, &Uri::from_static("/code"), &signed_for("s3"), b"");
        assert_eq!((object.operation.as_str(), object.target.as_deref()), ("s3.PutObject", Some("code")));
        assert_eq!(bucket.operation, "s3.CreateBucket");
    }

    #[test]
    fn the_query_protocol_takes_its_service_from_the_signature() {
        let mut signed = signed_for("cloudformation");
        signed.insert(header::CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8".parse().unwrap());
        let subject = Subject::of(&Method::POST, &Uri::from_static("/"), &signed, b"Action=DescribeStacks&Version=2010-05-15");
        assert_eq!(subject.operation, "cloudformation.DescribeStacks");
    }

    #[test]
    fn an_unreadable_request_still_gets_a_name() {
        let subject = Subject::of(&Method::PATCH, &Uri::from_static("/x"), &HeaderMap::new(), &[0xff, 0x00]);
        assert_eq!(subject.operation, "unknown.PATCH");
        assert!(subject.job_ids.is_empty());
    }
}
