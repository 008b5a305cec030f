//! The function and the code that it is made of answer alike, whoever asks.

use std::time::Duration;

use dlq_redrive::Invocation;
use ikkai::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use crate::operator::{Operator, with_idle_queue};

/// The answer of the same code in this process.
async fn answered_here(operator: &Operator<'_>, request: &Value) -> Value {
    let deadline = SystemClock.now() + Duration::from_secs(60);
    let invocation = Invocation { deadline, caller: None, request_id: "here".to_owned() };
    operator.workbench().await.answer(request.clone(), &invocation).await.to_json()
}

#[test]
fn the_deployed_function_and_the_same_code_run_by_an_operator_answer_alike() {
    with_idle_queue(async |operator| {
        let lab = operator.lab;
        let dead = lab.stack.email_dead_letter_queue();
        let key = lab.key("alike");
        let body = json!({
            "type": "email.send", "schemaVersion": 1, "idempotencyKey": key,
            "payload": {"deliveryId": key, "templateId": "welcome", "userId": "user-1"},
        });
        lab.send_to(dead, &body.to_string()).await;
        let kind = ikkai::job::find("email.send").expect("registered");
        let parsed = ikkai::job::IdempotencyKey::parse(&key).expect("a key");
        let job_id = ikkai::job::JobId::for_direct_sender(lab.stack.email_queue(), &kind.job_type(), &parsed);
        let run_id = lab.key("run");
        let run = json!({
            "action": "redrive", "queue": "email", "filter": {"jobIds": [job_id.as_str()]}, "dryRun": true, "reason": "to see",
            "runId": run_id,
        });
        let first = operator.run(&run).await;
        assert_eq!(first["tally"]["redriven"], 1, "{first}");
        for request in [
            json!({"action": "status"}),
            json!({"action": "list", "queue": "email"}),
            json!({"action": "history", "queue": "email"}),
            json!({"action": "history", "runId": run_id}),
            json!({"action": "inspect", "jobId": job_id.as_str(), "message": false}),
            // A run that was made by the function is known to the code, and the other way round.
            run,
            json!({"action": "redrive", "queue": "email", "reason": "x", "ratePerSecond": 0}),
            json!({"action": "resolve", "jobId": job_id.as_str(), "as": "done", "reason": "x"}),
            json!({"action": "moveTask", "operation": "list", "queue": "email"}),
            json!({"action": "history", "runID": "x"}),
            json!({"action": "purge"}),
            json!([]),
        ] {
            let (there, here) = (operator.ask(&request).await, answered_here(operator, &request).await);
            assert_eq!(there, here, "{request}");
            assert_eq!(there["version"], 1, "{request}: {there}");
        }
        let cleaned = json!({
            "action": "discard", "deadLetterQueue": dead, "filter": {"jobIds": [job_id.as_str()]}, "reason": "tidy",
        });
        assert_eq!(operator.run(&cleaned).await["tally"]["byVerdict"]["discarded"], 1);
    });
}
