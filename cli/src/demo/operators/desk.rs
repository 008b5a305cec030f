//! Who asks the redrive function.

use aws_sdk_lambda::primitives::Blob;
use dlq_redrive::protocol::{Answer, Request};
use serde_json::Value;

use crate::demo::findings::Missed;
use crate::demo::scene::works;
use crate::local::environment::LocalAws;
use crate::local::stack::Stack;

/// Invokes a stack's redrive function, as an operator does.
pub(super) struct Desk {
    lambda: aws_sdk_lambda::Client,
    function: String,
}

impl Desk {
    pub(super) fn of(aws: &LocalAws, stack: &Stack) -> Result<Self, Missed> {
        let function = stack.outputs().get("DlqRedriveFunctionName").cloned();
        let missed = || Missed { what: "the stack has a redrive function".into(), found: "none".into() };
        Ok(Self { lambda: aws_sdk_lambda::Client::new(&aws.sdk_config()), function: function.ok_or_else(missed)? })
    }

    /// Asks, and reads the answer. A refusal is an answer that was not wanted.
    pub(super) async fn ask(&self, request: &Value) -> Result<Answer, Missed> {
        let what = || format!("the redrive function answers `{}`", request["action"].as_str().unwrap_or("?"));
        let request = Request::read(request.clone()).map_err(|refusal| Missed { what: what(), found: refusal.to_string() })?;
        let payload = Blob::new(request.to_json().to_string());
        let answer = self.lambda.invoke().function_name(&self.function).payload(payload).send().await;
        let answer = works(&what(), answer.map_err(|error| aws_sdk_lambda::error::DisplayErrorContext(error).to_string()))?;
        let bytes = answer.payload.unwrap_or_else(|| Blob::new(Vec::new())).into_inner();
        if let Some(error) = answer.function_error {
            return Err(Missed { what: what(), found: format!("{error}: {}", String::from_utf8_lossy(&bytes)) });
        }
        let read = serde_json::from_slice::<Value>(&bytes).and_then(Answer::read);
        match works(&what(), read)? {
            Answer::Refused(_, refusal) => Err(Missed { what: what(), found: refusal.to_string() }),
            answer => Ok(answer),
        }
    }
}
