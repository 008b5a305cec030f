//! Swaps the code of one function of a running environment.
//!
//! Messages that are in flight stay where they are: what the old code does not finish comes back to its queue, and the new code gets it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use aws_sdk_lambda::Client;
use aws_sdk_lambda::error::DisplayErrorContext;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::LastUpdateStatus;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::aws;
use super::build::Package;
use super::process;
use super::stack::Stack;

/// An engine swaps code in a second; a worker may finish its batch before, which no timeout of the stack lets last longer.
const SWAPPED_WITHIN: Duration = Duration::from_secs(60);

/// Between two looks.
const EVERY: Duration = Duration::from_millis(50);

/// The code was not swapped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RedeployError {
    /// The stack has no such function.
    #[error("the stack `{stack}` has no function `{function}`; `ikkai local status` lists those that it has")]
    NotInStack {
        /// The running stack.
        stack: String,
        /// What was looked for.
        function: String,
    },
    /// Lambda refused a call.
    #[error("the engine's Lambda refused {call}: {reason}")]
    Refused {
        /// Which call.
        call: &'static str,
        /// Its answer.
        reason: String,
    },
    /// The new code was refused after it had been taken.
    #[error("the engine could not update `{function}`: {reason}; the old code serves on")]
    Failed {
        /// The function.
        function: String,
        /// What Lambda says.
        reason: String,
    },
    /// It took too long.
    #[error("`{function}` was still served by its old code after {} s", SWAPPED_WITHIN.as_secs())]
    TimedOut {
        /// The function.
        function: String,
    },
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Redeployed {
    /// The function has this code already.
    Unchanged,
    /// The new code serves.
    Swapped {
        /// Processes of the old code that have ended.
        old_workers: usize,
        /// From the upload until the new code served.
        took: Duration,
    },
}

/// The full name of a stack's function, which ends in the name of its package.
///
/// # Errors
/// The stack has no such function.
pub fn function_of<'a>(stack: &'a Stack, package: &str) -> Result<&'a str, RedeployError> {
    let own = format!("-{package}");
    let found = stack.functions().into_iter().find(|name| name.ends_with(&own));
    found.ok_or_else(|| RedeployError::NotInStack { stack: stack.name().to_owned(), function: package.to_owned() })
}

/// Uploads a function's code, and waits until it serves: Lambda says so, and no process of the old code is left.
///
/// # Errors
/// The stack has no such function, or the engine does not take the code.
pub async fn redeploy(
    engine: SocketAddr,
    engine_pid: i32,
    stack: &Stack,
    package: &Package,
) -> Result<Redeployed, RedeployError> {
    let function = function_of(stack, &package.name)?;
    let client = Client::new(&aws::sdk_config(engine));
    let wanted = STANDARD.encode(Sha256::digest(&package.zip));
    if code_of(&client, function).await?.digest == wanted {
        return Ok(Redeployed::Unchanged);
    }
    let before = workers(engine_pid, function);
    let began = Instant::now();
    let call = client.update_function_code().function_name(function).zip_file(Blob::new(package.zip.as_ref()));
    call.send().await.map_err(|error| refused("UpdateFunctionCode", &error))?;
    loop {
        let now = code_of(&client, function).await?;
        if let Some(reason) = now.failure {
            return Err(RedeployError::Failed { function: function.to_owned(), reason });
        }
        let left = workers(engine_pid, function).iter().any(|pid| before.contains(pid));
        if now.settled && now.digest == wanted && !left {
            return Ok(Redeployed::Swapped { old_workers: before.len(), took: began.elapsed() });
        }
        if began.elapsed() > SWAPPED_WITHIN {
            return Err(RedeployError::TimedOut { function: function.to_owned() });
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// What Lambda says about a function's code.
struct CodeState {
    digest: String,
    settled: bool,
    failure: Option<String>,
}

async fn code_of(client: &Client, function: &str) -> Result<CodeState, RedeployError> {
    let call = client.get_function_configuration().function_name(function);
    let answer = call.send().await.map_err(|error| refused("GetFunctionConfiguration", &error))?;
    let status = answer.last_update_status();
    let failed = status == Some(&LastUpdateStatus::Failed);
    Ok(CodeState {
        digest: answer.code_sha256().unwrap_or_default().to_owned(),
        settled: status.is_none_or(|status| *status == LastUpdateStatus::Successful),
        failure: failed.then(|| answer.last_update_status_reason().unwrap_or("no reason given").to_owned()),
    })
}

/// The processes that run a function now.
fn workers(engine_pid: i32, function: &str) -> Vec<i32> {
    let members = process::members(engine_pid).into_iter().map(|member| member.pid);
    members.filter(|pid| process::variable(*pid, "AWS_LAMBDA_FUNCTION_NAME").as_deref() == Some(function)).collect()
}

fn refused(call: &'static str, error: &(impl std::error::Error + 'static)) -> RedeployError {
    RedeployError::Refused { call, reason: DisplayErrorContext(error).to_string() }
}
