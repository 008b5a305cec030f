//! A Lambda event of any HTTP door: function URL, HTTP API, REST API.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ikkai::job::strict_json;
use producer_api::{Code, Response};
use serde_json::{Map, Value, json};

use crate::door::Door;
use crate::json_mutation::Vocabulary;
use crate::{masking, pointing};

/// Everything that the API answers to something that is wrong with a request, and to what is not.
const STATUSES: [u16; 13] = [200, 202, 204, 207, 400, 401, 403, 404, 405, 409, 413, 415, 422];

/// Problems that are about members of the body.
const ABOUT_MEMBERS: [&str; 4] = ["request_invalid", "payload_invalid", "payload_refused", "callback_refused"];

/// Longest text for a person: a pointer has up to 32 names of 64 characters.
const LONGEST_TEXT: usize = 8_192;

/// Words of events and of what is posted.
pub const WORDS: Vocabulary = Vocabulary {
    names: &[
        "httpMethod",
        "path",
        "rawPath",
        "requestContext",
        "http",
        "method",
        "headers",
        "multiValueHeaders",
        "body",
        "isBase64Encoded",
        "idempotency-key",
        "Idempotency-Key",
        "content-type",
        "content-encoding",
        "x-amzn-trace-id",
        "origin",
        "authorizer",
        "iam",
        "userArn",
        "jwt",
        "claims",
        "identity",
        "sub",
        "iss",
        "jobs",
        "type",
        "payload",
        "schemaVersion",
        "idempotencyKey",
        "businessId",
        "accountId",
        "runAt",
        "callbackUrl",
        "data",
        "amount",
        "currency",
    ],
    values: &[
        "\"POST\"",
        "\"GET\"",
        "\"HEAD\"",
        "\"DELETE\"",
        "\"OPTIONS\"",
        "\"/v1/jobs\"",
        "\"/dev/v1/jobs/batch\"",
        "\"/v1/jobs/email.send-k5mr2qxw7c3vnhd4tbz6yjfgsa\"",
        "\"application/json; charset=utf-8\"",
        "\"gzip\"",
        "\"\\\"k, 1\\\"\"",
        "true",
        "\"billing.charge\"",
        "\"report.generate\"",
        "\"image.resize\"",
        "\"webhook.deliver\"",
        "\"2027-01-15T08:05:00+01:00\"",
        "\"https://shop.example/hook\"",
        "{\"amount\":\"5\",\"currency\":\"JPY\"}",
        "\"arn:aws:iam::123456789012:user/ann\"",
    ],
};

/// What has to hold for any JSON that Lambda may hand over.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let Ok(event) = serde_json::from_slice::<Value>(input) else { return };
    let door = Door::new();
    let Ok(answer) = door.handle(&event) else {
        assert_eq!(method(&event), None, "an event that names a method is answered");
        return;
    };
    check_answer(&answer, &event);
    let sent = door.check_sent();
    let is_posted = answer.status_code == 202 || answer.status_code == 207;
    assert!(is_posted || sent.is_empty(), "{} and a job is on its way", answer.status_code);
    if is_posted {
        check_told(&answer, sent.keys().map(String::as_str).collect());
    }
    check_repeated(&door, &event, &answer);
    check_other_forms(&event, &answer);
    check_nothing_repeated(&event);
}

fn method(event: &Value) -> Option<&str> {
    let text = |pointer| event.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    text("/requestContext/http/method").or_else(|| text("/httpMethod"))
}

fn check_answer(answer: &Response, event: &Value) {
    assert!(STATUSES.contains(&answer.status_code), "{}: {}", answer.status_code, answer.body);
    for (name, value) in &answer.headers {
        assert!(value.chars().all(|character| matches!(character, ' '..='~')), "{name} cannot be a header");
    }
    if method(event) == Some("HEAD") || answer.status_code == 204 {
        assert_eq!(answer.body, "");
        return;
    }
    let body: Value = serde_json::from_str(&answer.body).expect("every answer is JSON");
    if answer.status_code >= 400 {
        assert_eq!(answer.headers["content-type"], "application/problem+json");
        check_problem(&body, answer.status_code, posted(event).as_ref());
    } else {
        assert_eq!(answer.headers["content-type"], "application/json");
    }
    if answer.status_code == 207 {
        check_verdicts(&body, &posted(event).expect("a batch was read"));
    }
}

/// A problem document says what it is, and names the members that are wrong.
fn check_problem(problem: &Value, status: u16, body: Option<&Value>) {
    let code = Code::ALL.into_iter().find(|code| problem["code"] == code.name()).expect("a code of the page");
    assert_eq!((code.status(), &problem["status"]), (status, &json!(status)));
    assert_eq!(problem["type"], format!("urn:ikkai:problem:{}", code.name()));
    for name in ["title", "detail"] {
        assert!(problem[name].as_str().is_some_and(|text| !text.is_empty() && text.len() < LONGEST_TEXT), "{name}: {problem}");
    }
    let errors = problem.get("errors").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    assert!(!errors.is_empty() || !ABOUT_MEMBERS.contains(&code.name()), "no member is named: {problem}");
    for error in errors {
        let (pointer, message) = (error["pointer"].as_str().expect("a pointer"), error["message"].as_str().expect("a message"));
        assert!(!message.is_empty() && error["code"].is_string());
        assert!(body.is_none_or(|body| pointing::leads_into(body, pointer)), "{pointer} leads nowhere: {problem}");
    }
}

/// A batch has one verdict a job, each as if it had been posted alone.
fn check_verdicts(answer: &Value, body: &Value) {
    let (verdicts, jobs) = (answer["jobs"].as_array().expect("verdicts"), body["jobs"].as_array().expect("jobs"));
    assert_eq!(verdicts.len(), jobs.len());
    for verdict in verdicts {
        let status = verdict["status"].as_u64().and_then(|status| u16::try_from(status).ok()).expect("a status");
        assert!(STATUSES.contains(&status), "{verdict}");
        match verdict.get("problem") {
            Some(problem) => check_problem(problem, status, Some(body)),
            None => assert!(verdict["job"]["jobId"].is_string() && status == 202, "{verdict}"),
        }
    }
}

/// What the client is told is what was sent.
fn check_told(answer: &Response, mut sent: Vec<&str>) {
    let body: Value = serde_json::from_str(&answer.body).expect("JSON");
    let verdicts = body["jobs"].as_array().into_iter().flatten().filter_map(|verdict| verdict["job"]["jobId"].as_str());
    let mut told: Vec<&str> = body["jobId"].as_str().into_iter().chain(verdicts).collect();
    told.sort_unstable();
    told.dedup();
    sent.sort_unstable();
    assert_eq!(told, sent);
}

/// The same request again is the same job, and sends nothing; what was refused is refused in the same words.
fn check_repeated(door: &Door, event: &Value, answer: &Response) {
    let sent = door.sent().len();
    let again = door.handle(event).expect("it was answered before");
    assert_eq!((again.status_code, door.sent().len()), (answer.status_code, sent));
    if method(event) != Some("DELETE") && again.status_code != 207 {
        assert_eq!(again.body, answer.body);
    }
    assert_eq!(again.headers.contains_key("idempotent-replayed"), answer.status_code == 202);
}

/// The door makes no difference: payload format 1.0 or 2.0, the body as text or as base64.
fn check_other_forms(event: &Value, answer: &Response) {
    let forms = [encoded(event), decoded(event), in_format_one(event)];
    for form in forms.into_iter().flatten() {
        let other = Door::new().handle(&form).expect("an HTTP request in another form");
        assert_eq!((other.status_code, &other.body), (answer.status_code, &answer.body), "{form}");
    }
}

fn is_encoded(event: &Value) -> bool {
    event.get("isBase64Encoded") == Some(&json!(true))
}

fn encoded(event: &Value) -> Option<Value> {
    let body = event.get("body")?.as_str().filter(|_| !is_encoded(event))?;
    Some(with(event, [("body", json!(STANDARD.encode(body))), ("isBase64Encoded", json!(true))]))
}

fn decoded(event: &Value) -> Option<Value> {
    let body = STANDARD.decode(event.get("body")?.as_str().filter(|_| is_encoded(event))?).ok()?;
    Some(with(event, [("body", json!(String::from_utf8(body).ok()?)), ("isBase64Encoded", json!(false))]))
}

/// An event of format 2.0 as a REST API would send it.
fn in_format_one(event: &Value) -> Option<Value> {
    let text = |pointer| event.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let method = text("/requestContext/http/method")?;
    let path = text("/rawPath").or_else(|| text("/requestContext/http/path"));
    let mut context = event["requestContext"].clone();
    context.as_object_mut()?.remove("http");
    let mut one = with(event, [("httpMethod", json!(method)), ("path", json!(path)), ("requestContext", context)]);
    let members = one.as_object_mut()?;
    members.remove("rawPath");
    if event.get("multiValueHeaders").is_none() {
        let headers = event.get("headers").and_then(Value::as_object)?;
        let lists = headers.iter().filter(|(_, value)| value.is_string()).map(|(name, value)| (name.clone(), json!([value])));
        members.insert("multiValueHeaders".to_owned(), Value::Object(lists.collect::<Map<_, _>>()));
    }
    Some(one)
}

fn with<const N: usize>(event: &Value, changes: [(&str, Value); N]) -> Value {
    let mut changed = event.clone();
    for (name, value) in changes {
        changed[name] = value;
    }
    changed
}

/// The JSON that was posted, if it was any.
fn posted(event: &Value) -> Option<Value> {
    let body = event.get("body")?.as_str()?;
    let bytes = if is_encoded(event) { STANDARD.decode(body).ok()? } else { body.as_bytes().to_vec() };
    strict_json::parse_bytes(&bytes).ok()
}

/// No answer repeats a value of the body.
fn check_nothing_repeated(event: &Value) {
    let Some(body) = posted(event) else { return };
    let masked = masking::values(&body, &["type"]).to_string();
    let event = with(event, [("body", json!(masked)), ("isBase64Encoded", json!(false))]);
    let answer = Door::new().handle(&event).expect("an HTTP request");
    assert!(!masking::shows(&answer.body), "{}", answer.body);
}
