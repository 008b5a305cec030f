//! One call an action: the least that a service takes for it, on a given resource.

use http::Method;
use serde_json::{Value, json};

/// A call of an AWS service.
pub(crate) struct Call {
    /// The service that it is signed for.
    pub(crate) service: &'static str,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Call {
    /// The call that needs `action` on `resource`, an ARN as it stands in a policy; nothing for an action that is not known here.
    pub(crate) fn of(action: &str, resource: &str) -> Option<Self> {
        let (service, operation) = action.split_once(':')?;
        match service {
            "sqs" => queue(operation, resource),
            "dynamodb" => table(operation, resource),
            "logs" => log_stream(operation, resource),
            "s3" => object(operation, resource.strip_prefix("arn:aws:s3:::")?),
            "secretsmanager" => {
                Some(json_call("secretsmanager", &format!("secretsmanager.{operation}"), &json!({"SecretId": secret(resource)})))
            }
            "ses" => mail(operation),
            _ => None,
        }
    }

    /// A read of one record with these of its attributes.
    pub(crate) fn of_attributes(table: &str, attributes: &str) -> Self {
        let body = json!({"TableName": table, "Key": {"job_id": {"S": "probe"}}, "ProjectionExpression": attributes});
        json_call("dynamodb", "DynamoDB_20120810.GetItem", &body)
    }
}

fn json_call(service: &'static str, target: &str, body: &Value) -> Call {
    let headers = vec![("x-amz-target", target.to_owned()), ("content-type", "application/x-amz-json-1.0".to_owned())];
    Call { service, method: Method::POST, path: "/".to_owned(), headers, body: body.to_string() }
}

fn queue(operation: &str, arn: &str) -> Option<Call> {
    let mut parts = arn.rsplit(':');
    let (name, account) = (parts.next()?, parts.next()?);
    let url = format!("http://127.0.0.1/{account}/{name}");
    let body = match operation {
        "SendMessage" => json!({"QueueUrl": url, "MessageBody": "probe"}),
        "DeleteMessage" => json!({"QueueUrl": url, "ReceiptHandle": "none"}),
        "ChangeMessageVisibility" => json!({"QueueUrl": url, "ReceiptHandle": "none", "VisibilityTimeout": 0}),
        "ReceiveMessage" | "ListDeadLetterSourceQueues" => json!({"QueueUrl": url}),
        "GetQueueAttributes" => json!({"QueueUrl": url, "AttributeNames": ["QueueArn"]}),
        "GetQueueUrl" => json!({"QueueName": name}),
        "StartMessageMoveTask" | "ListMessageMoveTasks" => json!({"SourceArn": arn}),
        "CancelMessageMoveTask" => json!({"TaskHandle": "bm9uZQ=="}),
        _ => return None,
    };
    Some(json_call("sqs", &format!("AmazonSQS.{operation}"), &body))
}

fn table(operation: &str, arn: &str) -> Option<Call> {
    let mut parts = arn.split_once(":table/")?.1.split('/');
    let (name, index) = (parts.next()?, parts.nth(1));
    let key = match name.rsplit('-').next()? {
        "jobs" => json!({"job_id": {"S": "probe"}}),
        "contacts" => json!({"user_id": {"S": "probe"}}),
        "redrive" => json!({"pk": {"S": "probe"}, "sk": {"S": "probe"}}),
        _ => return None,
    };
    let mut body = json!({"TableName": name});
    match operation {
        "GetItem" | "UpdateItem" | "DeleteItem" => body["Key"] = key,
        "PutItem" => body["Item"] = key,
        "Scan" => body["Limit"] = json!(1),
        "BatchGetItem" => body = json!({"RequestItems": {name: {"Keys": [key]}}}),
        "Query" => {
            let partition = if index.is_some() { "account_id" } else { "pk" };
            body["KeyConditionExpression"] = json!(format!("{partition} = :value"));
            body["ExpressionAttributeValues"] = json!({":value": {"S": "probe"}});
            body["Limit"] = json!(1);
            if let Some(index) = index {
                body["IndexName"] = json!(index);
            }
        }
        _ => return None,
    }
    Some(json_call("dynamodb", &format!("DynamoDB_20120810.{operation}"), &body))
}

fn log_stream(operation: &str, arn: &str) -> Option<Call> {
    let group = arn.split_once(":log-group:")?.1.trim_end_matches(":*");
    let mut body = json!({"logGroupName": group, "logStreamName": "probe"});
    match operation {
        "CreateLogStream" => {}
        "PutLogEvents" => body["logEvents"] = json!([]),
        _ => return None,
    }
    Some(json_call("logs", &format!("Logs_20140328.{operation}"), &body))
}

/// `place` is a bucket, or a bucket and a key in which `*` stands for whatever follows.
fn object(operation: &str, place: &str) -> Option<Call> {
    let place = place.replace('*', "probe");
    let (method, query) = match operation {
        "GetObject" => (Method::GET, ""),
        "GetObjectVersion" => (Method::GET, "?versionId=none"),
        "PutObject" => (Method::PUT, ""),
        "DeleteObject" => (Method::DELETE, ""),
        "AbortMultipartUpload" => (Method::DELETE, "?uploadId=none"),
        "ListBucket" => (Method::GET, "?list-type=2"),
        _ => return None,
    };
    Some(Call { service: "s3", method, path: format!("/{place}{query}"), headers: Vec::new(), body: String::new() })
}

/// A secret's name: the engine's policies have it in the place of its ARN.
fn secret(resource: &str) -> &str {
    let name = resource.rsplit(":secret:").next().unwrap_or(resource);
    name.trim_end_matches("-*")
}

fn mail(operation: &str) -> Option<Call> {
    let content = match operation {
        "SendEmail" => json!({"Simple": {"Subject": {"Data": "probe"}, "Body": {"Text": {"Data": "probe"}}}}),
        _ => return None,
    };
    let body = json!({
        "FromEmailAddress": ikkai_cli::local::environment::SENDER,
        "Destination": {"ToAddresses": ["probe@example.com"]},
        "Content": content,
    });
    Some(Call {
        service: "ses",
        method: Method::POST,
        path: "/v2/email/outbound-emails".to_owned(),
        headers: vec![("content-type", "application/json".to_owned())],
        body: body.to_string(),
    })
}
