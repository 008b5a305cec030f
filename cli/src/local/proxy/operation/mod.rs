//! Which operation a request is, and which table, queue, object, function, job and address it names.
//!
//! The proxy reads requests the way AWS routes them: `X-Amz-Target` for the JSON protocols, the path for the REST ones, `Action=` for the
//! query protocol, and the service out of the signature's credential scope
//! (<https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html>).

mod rest;
mod s3;

use http::{HeaderMap, Method, Uri, header};
use serde_json::Value;

/// What a request asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject {
    /// `service.Operation`, such as `dynamodb.UpdateItem`; `service.METHOD` where the operation has no name here; `http.METHOD /path` where
    /// the request is not one of AWS.
    pub operation: String,
    /// The table, queue, bucket, function, secret or topic that the request names.
    pub target: Option<String>,
    /// The key of an object in a bucket.
    pub object: Option<String>,
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
        if let Some(operation) = rest::ses_operation(method, path) {
            return rest::mail(operation, body);
        }
        if let Some((operation, function)) = rest::lambda_operation(method, path) {
            return Self { operation: format!("lambda.{operation}"), target: function, ..Self::default() };
        }
        if rest::is_function_url(path, headers) {
            return Self { operation: format!("function-url.{method}"), ..Self::default() };
        }
        match scope {
            Some("s3") => s3::subject(method, uri, headers),
            Some(service) => match form(headers, body) {
                Some(form) => query_protocol(service, method, form),
                None => Self { operation: format!("{service}.{method}"), ..Self::default() },
            },
            None => rest::foreign(method, path, headers),
        }
    }

    /// Whether it is no request to AWS.
    pub(super) fn is_foreign(&self) -> bool {
        self.operation.starts_with("http.")
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

/// The query protocol, of CloudFormation, IAM, SNS and older SQS clients: a form with the operation in `Action`.
fn query_protocol(service: &str, method: &Method, form: &str) -> Subject {
    let field = |name: &str| form.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name);
    let operation = field("Action").map_or(method.as_str(), |(_, action)| action);
    let target = field("TopicArn").map(|(_, arn)| decoded(arn));
    Subject { operation: format!("{service}.{operation}"), target, ..Subject::default() }
}

fn form<'a>(headers: &HeaderMap, body: &'a [u8]) -> Option<&'a str> {
    let content_type = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    content_type.starts_with("application/x-www-form-urlencoded").then(|| std::str::from_utf8(body).ok())?
}

/// Percent-encoded text as it is meant; what is encoded wrongly stays as it stands.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code =
            tail.get(..2).and_then(|code| std::str::from_utf8(code).ok()).and_then(|code| u8::from_str_radix(code, 16).ok());
        match code {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

fn target_of(json: &Value) -> Option<String> {
    if let Some(name) = ["TableName", "QueueName", "SecretId", "logGroupName"].iter().find_map(|field| json[field].as_str()) {
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
    fn the_query_protocol_takes_its_service_from_the_signature() {
        let mut signed = signed_for("cloudformation");
        signed.insert(header::CONTENT_TYPE, "application/x-www-form-urlencoded; charset=utf-8".parse().unwrap());
        let subject = Subject::of(&Method::POST, &Uri::from_static("/"), &signed, b"Action=DescribeStacks&Version=2010-05-15");
        assert_eq!(subject.operation, "cloudformation.DescribeStacks");
    }

    #[test]
    fn a_published_message_names_its_topic() {
        let mut signed = signed_for("sns");
        signed.insert(header::CONTENT_TYPE, "application/x-www-form-urlencoded".parse().unwrap());
        let body =
            b"Action=Publish&Version=2010-03-31&TopicArn=arn%3Aaws%3Asns%3Aus-east-1%3A000000000000%3Afeedback&Message=%7B%7D";
        let subject = Subject::of(&Method::POST, &Uri::from_static("/"), &signed, body);
        assert_eq!(subject.operation, "sns.Publish");
        assert_eq!(subject.target.as_deref(), Some("arn:aws:sns:us-east-1:000000000000:feedback"));
    }

    #[test]
    fn a_secret_that_is_read_is_named() {
        let target = headers(&[("x-amz-target", "secretsmanager.GetSecretValue")]);
        let subject = Subject::of(&Method::POST, &Uri::from_static("/"), &target, br#"{"SecretId":"ikkai/payment-key"}"#);
        assert_eq!(subject.operation, "secretsmanager.GetSecretValue");
        assert_eq!(subject.target.as_deref(), Some("ikkai/payment-key"));
    }

    #[test]
    fn a_request_of_s3_is_read_as_one() {
        let subject = Subject::of(&Method::GET, &Uri::from_static("/assets/a%20b.jpg"), &signed_for("s3"), b"");
        assert_eq!((subject.operation.as_str(), subject.object.as_deref()), ("s3.GetObject", Some("a b.jpg")));
    }

    #[test]
    fn text_that_is_encoded_wrongly_stays_as_it_stands() {
        for (text, meant) in
            [("a%20b", "a b"), ("100%", "100%"), ("%zz", "%zz"), ("%", "%"), ("%C3%A9", "\u{e9}"), ("%ff", "%ff")]
        {
            assert_eq!(decoded(text), meant);
        }
    }

    #[test]
    fn an_unreadable_request_still_gets_a_name() {
        let subject = Subject::of(&Method::PATCH, &Uri::from_static("/x"), &HeaderMap::new(), &[0xff, 0x00]);
        assert_eq!(subject.operation, "http.PATCH /x");
        assert!(subject.job_ids.is_empty());
    }
}
