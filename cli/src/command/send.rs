//! `ikkai send`: posts jobs through the API.

use std::process::ExitCode;

use clap::Args;
use serde_json::{Map, Value, json};

use super::Failure;
use super::ending::Ending;
use super::job::tone;
use super::patience::Patience;
use super::target::Target;
use crate::local::api::Api;
use crate::screen::{Format, Screen};

/// The API takes so many jobs in one call.
const BATCH: u32 = 100;

/// Stands for the job's number in a batch.
const NUMBER: &str = "{n}";

/// Options of `send`.
#[derive(Debug, Args)]
pub(super) struct Send {
    #[command(flatten)]
    target: Target,
    /// A stack: nothing is posted then, for its API takes jobs from callers with credentials of their own. So a job that is meant for it does
    /// not get into the local environment.
    #[arg(long, env = "IKKAI_STACK", value_name = "NAME")]
    stack: Option<String>,
    /// The job's type: `email.send`, `image.resize`, `billing.charge` or `report.generate`.
    #[arg(long = "type", value_name = "TYPE")]
    job_type: String,
    /// The idempotency key: the same key is the same job.
    #[arg(long)]
    key: String,
    /// The payload, a JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    payload: Map<String, Value>,
    /// Private inputs that stay out of the queue, a JSON object.
    #[arg(long, value_name = "JSON", value_parser = object)]
    data: Option<Map<String, Value>>,
    /// What the job is about in the caller's own words, such as an order's number; the key if left out.
    #[arg(long, value_name = "ID")]
    business_id: Option<String>,
    /// Whom the job is for. Where the payload names an account (`report.generate`), it need not be said again.
    #[arg(long, value_name = "ACCOUNT")]
    account: Option<String>,
    /// Who is told of the job's end; in the local environment also `http` URLs of this machine.
    #[arg(long, value_name = "URL")]
    callback_url: Option<String>,
    /// Not before this time, at most 15 minutes ahead, such as 2031-07-14T08:15:00Z.
    #[arg(long, value_name = "TIME")]
    run_at: Option<String>,
    /// Posts so many jobs; `{n}` in key, business id and payload is the number of each (appended to the key if it is not in it).
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    count: Option<u32>,
}

fn object(text: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err("it must be a JSON object, such as {\"userId\":\"user-42\"}".to_owned()),
        Err(error) => Err(format!("it is not JSON: {error}")),
    }
}

impl Send {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        if let Some(elsewhere) = self.meant_for_elsewhere() {
            screen.note(elsewhere);
            return Ok(Ending::Usage.into());
        }
        match self.count {
            Some(count) => self.batch(screen, count).await,
            None => self.single(screen).await,
        }
    }

    /// A stack is named and no API: then the local environment is not what was meant.
    fn meant_for_elsewhere(&self) -> Option<String> {
        let stack = self.stack.as_ref().filter(|_| !self.target.is_named())?;
        Some(format!(
            "error: the stack `{stack}` is named (`--stack`, IKKAI_STACK), and its API takes jobs from callers with credentials of their \
             own; nothing was posted. Post it as one of them, or unset IKKAI_STACK: then the job goes to the local environment of this \
             checkout"
        ))
    }

    /// The request's body.
    fn body(&self) -> Value {
        let mut body = json!({
            "type": self.job_type,
            "businessId": self.business_id.as_ref().unwrap_or(&self.key),
            "payload": self.payload,
        });
        if let Some(data) = &self.data {
            body["data"] = Value::Object(data.clone());
        }
        let texts = [("accountId", &self.account), ("callbackUrl", &self.callback_url), ("runAt", &self.run_at)];
        for (member, text) in texts {
            if let Some(text) = text {
                body[member] = text.as_str().into();
            }
        }
        body
    }

    /// The body of the batch's job `number`, with its key in it.
    fn numbered(&self, number: u32) -> Value {
        let mut job = self.body();
        let key = if self.key.contains(NUMBER) { self.key.clone() } else { format!("{}-{NUMBER}", self.key) };
        if self.business_id.is_none() {
            job["businessId"] = key.clone().into();
        }
        job["idempotencyKey"] = key.into();
        replace(&mut job, &number.to_string());
        job
    }

    async fn single(&self, screen: &Screen) -> Result<ExitCode, Failure> {
        let (api, mut patience) = (self.target.api()?, Patience::new());
        let answer = loop {
            let answer = api.post_job(&self.key, &self.body()).await?;
            if !patience.waits_out(answer.status().as_u16(), retry_after(&answer)).await {
                break answer;
            }
        };
        let body = read(answer.body());
        let status = answer.status();
        let accepted = status.is_success();
        match screen.format() {
            Format::Json => screen.json(&body),
            Format::Text if accepted => show(screen, &body),
            Format::Text => screen.note(problem(status.as_u16(), &body)),
        }
        Ok(if accepted { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    async fn batch(&self, screen: &Screen, count: u32) -> Result<ExitCode, Failure> {
        let (api, mut patience) = (self.target.api()?, Patience::new());
        let numbers: Vec<u32> = (1..=count).collect();
        let mut verdicts = Vec::new();
        for chunk in numbers.chunks(BATCH as usize) {
            let jobs: Vec<Value> = chunk.iter().map(|number| self.numbered(*number)).collect();
            match post_together(&api, &jobs, &mut patience).await? {
                Ok(of_chunk) => verdicts.extend(of_chunk),
                Err(refused) => {
                    screen.note(refused);
                    return Ok(ExitCode::FAILURE);
                }
            }
        }
        let refused = verdicts.iter().filter(|verdict| verdict.get("job").is_none()).count();
        match screen.format() {
            Format::Json => screen.json(&verdicts),
            Format::Text => {
                for verdict in &verdicts {
                    match verdict.get("job") {
                        Some(job) => show(screen, job),
                        None => {
                            let status = verdict["status"].as_u64().and_then(|status| u16::try_from(status).ok());
                            screen.note(problem(status.unwrap_or(0), &verdict["problem"]));
                        }
                    }
                }
                screen.note(format!("{} accepted, {refused} refused", verdicts.len() - refused));
            }
        }
        Ok(if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

/// Posts jobs with one call, and those that are put off again. One verdict a job, in order, or why the call as a whole was refused.
async fn post_together(api: &Api, jobs: &[Value], patience: &mut Patience) -> Result<Result<Vec<Value>, String>, Failure> {
    let mut verdicts = vec![Value::Null; jobs.len()];
    let mut places: Vec<usize> = (0..jobs.len()).collect();
    loop {
        let posted: Vec<&Value> = places.iter().map(|place| &jobs[*place]).collect();
        let answer = api.post_batch(&json!({ "jobs": posted })).await?;
        let (status, body) = (answer.status(), read(answer.body()));
        let of_call = body["jobs"].as_array().filter(|of_call| status.is_success() && of_call.len() == places.len());
        let Some(of_call) = of_call else {
            if patience.waits_out(status.as_u16(), retry_after(&answer)).await {
                continue;
            }
            return Ok(Err(problem(status.as_u16(), &body)));
        };
        for (place, verdict) in places.iter().zip(of_call) {
            verdicts[*place] = verdict.clone();
        }
        let put_off = |place: &usize| verdicts[*place]["problem"]["retryAfterSeconds"].is_u64();
        places.retain(put_off);
        // The one that asks for the most time: the others are done by then.
        let slowest =
            places.iter().map(|place| &verdicts[*place]).max_by_key(|verdict| verdict["problem"]["retryAfterSeconds"].as_u64());
        let Some(slowest) = slowest else { return Ok(Ok(verdicts)) };
        let status = slowest["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or_default();
        if !patience.waits_out(status, slowest["problem"]["retryAfterSeconds"].as_u64()).await {
            return Ok(Ok(verdicts));
        }
    }
}

/// The header, in seconds; the API sends no dates.
fn retry_after(answer: &http::Response<bytes::Bytes>) -> Option<u64> {
    answer.headers().get(http::header::RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// Puts the job's number in every text.
fn replace(value: &mut Value, number: &str) {
    match value {
        Value::String(text) => *text = text.replace(NUMBER, number),
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, number)),
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, number)),
        _ => {}
    }
}

/// The body as JSON, or as a text if it is none.
pub(super) fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|_| Value::String(String::from_utf8_lossy(body).into_owned()))
}

/// A job's id and state. The same request again is told the state that the job has by now.
fn show(screen: &Screen, job: &Value) {
    let status = job["status"].as_str().unwrap_or("?");
    screen.line(format!("{}  {}", job["jobId"].as_str().unwrap_or("?"), screen.paint(tone(status), status)));
}

/// An RFC 9457 problem in words: its detail, then each field.
pub(super) fn problem(status: u16, body: &Value) -> String {
    let detail = ["detail", "title", "message", "Message"].iter().find_map(|member| body[member].as_str());
    let mut words = match detail {
        Some(detail) => format!("error: {detail} (status {status})"),
        None => format!("error: the API answered status {status}: {body}"),
    };
    for field in body["errors"].as_array().into_iter().flatten() {
        let place = field["pointer"].as_str().unwrap_or_default();
        let why = field["detail"].as_str().or_else(|| field["message"].as_str()).unwrap_or_default();
        words.push_str(&format!("\n  {place}: {why}"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send(arguments: &[&str]) -> Send {
        use clap::Parser;
        #[derive(Parser)]
        struct Wrapper {
            #[command(flatten)]
            send: Send,
        }
        Wrapper::parse_from(["send", "--type", "email.send"].iter().chain(arguments)).send
    }

    #[test]
    fn a_job_for_a_stack_does_not_get_into_the_local_environment() {
        let plain = ["--key", "k", "--payload", "{}"];
        let told = send(&[&plain[..], &["--stack", "shop"]].concat()).meant_for_elsewhere().unwrap();
        assert!(told.contains("`shop`") && told.contains("nothing was posted"), "{told}");
        let with_api = [&plain[..], &["--stack", "shop", "--api", "http://127.0.0.1:1"]].concat();
        assert_eq!(send(&with_api).meant_for_elsewhere(), None, "the API that is named is the one that is meant");
        assert_eq!(send(&plain).meant_for_elsewhere(), None);
    }

    #[test]
    fn each_job_of_a_batch_has_its_number_in_key_and_payload() {
        let send = send(&["--key", "k", "--payload", r#"{"deliveryId":"mail-{n}","deep":[{"a":"{n}"}]}"#]);
        let job = send.numbered(7);
        assert_eq!((job["idempotencyKey"].as_str(), job["businessId"].as_str()), (Some("k-7"), Some("k-7")));
        assert_eq!(job["payload"], json!({"deliveryId": "mail-7", "deep": [{"a": "7"}]}));
    }

    #[test]
    fn the_number_goes_where_the_key_wants_it() {
        let send = send(&["--key", "a-{n}-b", "--payload", "{}", "--business-id", "order"]);
        let job = send.numbered(2);
        assert_eq!((job["idempotencyKey"].as_str(), job["businessId"].as_str()), (Some("a-2-b"), Some("order")));
    }

    #[test]
    fn what_is_not_said_is_not_in_the_request() {
        let plain = send(&["--key", "k", "--payload", "{}"]).body();
        assert_eq!(plain, json!({"type": "email.send", "businessId": "k", "payload": {}}));
        let all =
            ["--account", "acme", "--callback-url", "http://127.0.0.1:1/", "--run-at", "2031-07-14T08:15:00Z", "--data", "{}"];
        let body = send(&[&["--key", "k", "--payload", "{}"][..], &all].concat()).body();
        assert_eq!((body["accountId"].as_str(), body["callbackUrl"].as_str()), (Some("acme"), Some("http://127.0.0.1:1/")));
        assert_eq!((body["runAt"].as_str(), &body["data"]), (Some("2031-07-14T08:15:00Z"), &json!({})));
    }

    #[test]
    fn a_problem_is_told_with_its_fields() {
        let body = json!({"title": "Bad", "detail": "the payload is not valid", "errors": [{"pointer": "/payload/userId", "detail": "is missing"}]});
        assert_eq!(problem(422, &body), "error: the payload is not valid (status 422)\n  /payload/userId: is missing");
        assert_eq!(problem(502, &json!("oops")), "error: the API answered status 502: \"oops\"");
    }

    #[test]
    fn a_payload_that_is_no_object_is_refused() {
        assert!(object("[1]").unwrap_err().contains("JSON object"));
        assert!(object("{").unwrap_err().contains("not JSON"));
    }
}
