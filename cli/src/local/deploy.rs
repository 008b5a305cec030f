//! Deploys the stack of `infra/template.yaml` to the engine, through CloudFormation as on AWS.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use aws_config::SdkConfig;
use aws_sdk_cloudformation::Client;
use aws_sdk_cloudformation::error::DisplayErrorContext;
use aws_sdk_cloudformation::types::{Capability, Parameter, StackStatus};
use bytes::Bytes;
use http::Request;

use super::aws::ACCESS_KEY;
use super::build::Package;
use super::checkout::Checkout;
use super::engine::REGION;
use super::loopback::{Loopback, LoopbackError};
use super::signed::{SigningError, sign_request};
use crate::deploying::packaging::{Packaged, PackagingError};
use crate::progress::Progress;

/// Holds the functions' code and the template, which is larger than what CloudFormation takes in a request.
const BUCKET: &str = "ikkai-code";

/// The template's key.
const TEMPLATE: &str = "template.yaml";

/// A local stack deploys in seconds, on LocalStack beside other work in a minute or two; after five it never will.
const DEPLOYED_WITHIN: Duration = Duration::from_secs(300);

/// Why the stack is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DeployError {
    /// The template could not be read.
    #[error("cannot read the template `{}`", path.display())]
    Template {
        /// Where it should be.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// It does not name its code as it has to.
    #[error(transparent)]
    Packaging(#[from] PackagingError),
    /// The code could not be uploaded.
    #[error("cannot upload {what} to the engine: {reason}")]
    Upload {
        /// What was uploaded.
        what: String,
        /// What the engine answered.
        reason: String,
    },
    /// CloudFormation refused a call.
    #[error("the engine's CloudFormation refused {call}: {reason}")]
    Refused {
        /// Which call.
        call: &'static str,
        /// Its answer.
        reason: String,
    },
    /// A resource failed.
    #[error("deploying the stack failed at {resource}: {reason}")]
    Failed {
        /// The first resource that failed: logical id and type.
        resource: String,
        /// The reason that CloudFormation gives.
        reason: String,
    },
    /// It took too long.
    #[error("the stack was not deployed after {} s (it is {status})", DEPLOYED_WITHIN.as_secs())]
    TimedOut {
        /// The stack's state.
        status: String,
    },
}

/// What to deploy.
#[derive(Debug, Clone)]
pub struct Stack<'a> {
    /// The stack's name.
    pub name: &'a str,
    /// The functions.
    pub packages: &'a [Package],
    /// Template parameters.
    pub parameters: &'a BTreeMap<String, String>,
}

/// Uploads the code, creates the stack, waits for it and returns its outputs.
///
/// # Errors
/// The upload or the stack failed; the error names the first resource that failed and its reason.
pub async fn deploy(
    checkout: &Checkout,
    engine: SocketAddr,
    config: &SdkConfig,
    stack: &Stack<'_>,
    progress: &Progress,
) -> Result<BTreeMap<String, String>, DeployError> {
    let path = checkout.file("infra/template.yaml");
    let template = std::fs::read_to_string(&path).map_err(|source| DeployError::Template { path, source })?;

    let step = progress.begin("deploying the stack");
    step.detail("uploading the functions");
    let packaged = Packaged::new(&template, stack.packages, BUCKET, "")?;
    put(engine, format!("/{BUCKET}"), Bytes::new()).await?;
    for upload in &packaged.uploads {
        put(engine, format!("/{BUCKET}/{}", upload.key), upload.package.zip.clone()).await?;
    }
    put(engine, format!("/{BUCKET}/{TEMPLATE}"), Bytes::from(packaged.template)).await?;

    step.detail("creating resources");
    let client = Client::new(config);
    client
        .create_stack()
        .stack_name(stack.name)
        .template_url(format!("https://s3.{REGION}.amazonaws.com/{BUCKET}/{TEMPLATE}"))
        .capabilities(Capability::CapabilityIam)
        .capabilities(Capability::CapabilityAutoExpand)
        .set_parameters(Some(
            stack
                .parameters
                .iter()
                .map(|(key, value)| Parameter::builder().parameter_key(key).parameter_value(value).build())
                .collect(),
        ))
        .customize()
        // An engine that enforces policies lets S3 into a TLS-only queue only where the stack's maker came over TLS.
        .mutate_request(|request| drop(request.headers_mut().insert("x-forwarded-proto", "https")))
        .send()
        .await
        .map_err(|error| DeployError::Refused { call: "CreateStack", reason: DisplayErrorContext(&error).to_string() })?;
    let outputs = wait(&client, stack.name).await?;
    step.done();
    Ok(outputs)
}

async fn wait(client: &Client, name: &str) -> Result<BTreeMap<String, String>, DeployError> {
    let started = Instant::now();
    loop {
        let answer = client.describe_stacks().stack_name(name).send().await;
        let answer = answer
            .map_err(|error| DeployError::Refused { call: "DescribeStacks", reason: DisplayErrorContext(&error).to_string() })?;
        let stack = answer.stacks().first();
        let status = stack.and_then(|stack| stack.stack_status());
        match status {
            Some(StackStatus::CreateComplete) => return Ok(stack.map(outputs).unwrap_or_default()),
            Some(StackStatus::CreateInProgress) | None => {}
            Some(_) => return Err(first_failure(client, name).await),
        }
        if started.elapsed() > DEPLOYED_WITHIN {
            let status = status.map_or("unknown", StackStatus::as_str).to_owned();
            return Err(DeployError::TimedOut { status });
        }
        tokio::time::sleep(Duration::from_millis(60)).await;
    }
}

fn outputs(stack: &aws_sdk_cloudformation::types::Stack) -> BTreeMap<String, String> {
    let outputs = stack.outputs().iter();
    outputs.filter_map(|output| Some((output.output_key()?.to_owned(), output.output_value()?.to_owned()))).collect()
}

/// One failed resource makes CloudFormation cancel the others: only the earliest failure tells the reason.
async fn first_failure(client: &Client, name: &str) -> DeployError {
    let events = match client.describe_stack_events().stack_name(name).send().await {
        Ok(answer) => answer.stack_events.unwrap_or_default(),
        Err(error) => {
            return DeployError::Refused { call: "DescribeStackEvents", reason: DisplayErrorContext(&error).to_string() };
        }
    };
    // Newest first.
    let failed =
        events.iter().rev().filter(|event| event.resource_status().is_some_and(|status| status.as_str().ends_with("_FAILED")));
    let is_resource = |event: &&aws_sdk_cloudformation::types::StackEvent| event.logical_resource_id() != Some(name);
    // A template that does not parse fails as the stack itself.
    let first = failed.clone().find(is_resource).or_else(|| failed.clone().next());
    let resource = first.map_or_else(
        || "an unnamed resource".to_owned(),
        |event| format!("{} ({})", event.logical_resource_id().unwrap_or("?"), event.resource_type().unwrap_or("?")),
    );
    let reason = first.and_then(|event| event.resource_status_reason()).unwrap_or("no reason given").to_owned();
    DeployError::Failed { resource, reason }
}

/// Puts a bucket or an object. Two calls are not worth an SDK.
async fn put(engine: SocketAddr, path: String, body: Bytes) -> Result<(), DeployError> {
    let failed = |reason: String| DeployError::Upload { what: path.trim_start_matches('/').to_owned(), reason };
    let mut request = Request::put(&path)
        .header(http::header::HOST, engine.to_string())
        .body(body)
        .map_err(|error| failed(error.to_string()))?;
    sign_request(&mut request, "s3", ACCESS_KEY).map_err(|error: SigningError| failed(error.to_string()))?;
    let answer = Loopback::new(Duration::from_secs(60)).send(engine, request).await;
    let answer = answer.map_err(|error: LoopbackError| failed(error.to_string()))?;
    if answer.status().is_success() {
        return Ok(());
    }
    Err(failed(format!("status {}: {}", answer.status(), String::from_utf8_lossy(answer.body()))))
}
