//! Where a stack is, and what it is made of.

use std::collections::BTreeMap;

use aws_config::{BehaviorVersion, SdkConfig};
use aws_sdk_cloudformation::error::DisplayErrorContext;

use crate::local::aws;
use crate::local::running::Running;

/// A stack's output: the name of the operators' function.
const FUNCTION: &str = "DlqRedriveFunctionName";

/// The stack could not be found out about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SiteError {
    /// CloudFormation did not say.
    #[error("cannot read the stack `{stack}` (cloudformation:DescribeStacks): {told}")]
    Unreadable {
        /// Which stack.
        stack: String,
        /// What CloudFormation said.
        told: String,
    },
}

/// A stack, or at least an account and region to look into.
#[derive(Debug, Clone)]
pub struct Site {
    config: SdkConfig,
    stack: Option<String>,
    outputs: BTreeMap<String, String>,
    parameters: BTreeMap<String, String>,
    is_local: bool,
}

impl Site {
    /// A local environment.
    #[must_use]
    pub fn local(running: &Running) -> Self {
        Self {
            config: aws::sdk_config(running.engine),
            stack: Some(running.stack.name().to_owned()),
            outputs: running.stack.outputs().clone(),
            parameters: BTreeMap::new(),
            is_local: true,
        }
    }

    /// A stack in the account and region that the user's own AWS settings lead to.
    ///
    /// # Errors
    /// There is no such stack, or the caller may not see it.
    pub async fn stack(name: &str) -> Result<Self, SiteError> {
        let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
        Self::deployed(config, name).await
    }

    /// A stack in the account and region of `config`.
    ///
    /// # Errors
    /// As for [`stack`](Self::stack).
    pub async fn deployed(config: SdkConfig, name: &str) -> Result<Self, SiteError> {
        let unreadable = |told: String| SiteError::Unreadable { stack: name.to_owned(), told };
        let client = aws_sdk_cloudformation::Client::new(&config);
        let described = client.describe_stacks().stack_name(name).send().await;
        let described = described.map_err(|error| unreadable(DisplayErrorContext(&error).to_string()))?;
        let stack = described.stacks().first().ok_or_else(|| unreadable("there is none of this name".to_owned()))?;
        let pair = |name: Option<&str>, value: Option<&str>| Some((name?.to_owned(), value?.to_owned()));
        Ok(Self {
            outputs: stack.outputs().iter().filter_map(|output| pair(output.output_key(), output.output_value())).collect(),
            parameters: stack
                .parameters()
                .iter()
                .filter_map(|parameter| pair(parameter.parameter_key(), parameter.parameter_value()))
                .collect(),
            stack: Some(name.to_owned()),
            config,
            is_local: false,
        })
    }

    /// The account and region that the user's own AWS settings lead to, without a stack.
    pub async fn account() -> Self {
        let config = aws_config::defaults(BehaviorVersion::latest()).load().await;
        Self { config, stack: None, outputs: BTreeMap::new(), parameters: BTreeMap::new(), is_local: false }
    }

    /// The SDK's settings for it.
    #[must_use]
    pub fn config(&self) -> &SdkConfig {
        &self.config
    }

    /// The stack's name, where there is one.
    #[must_use]
    pub fn stack_name(&self) -> Option<&str> {
        self.stack.as_deref()
    }

    /// Whether it is the local environment of this checkout.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.is_local
    }

    /// An output of the stack.
    #[must_use]
    pub fn output(&self, name: &str) -> Option<&str> {
        self.outputs.get(name).map(String::as_str)
    }

    /// All outputs of the stack.
    #[must_use]
    pub fn outputs(&self) -> &BTreeMap<String, String> {
        &self.outputs
    }

    /// A parameter of the stack, where CloudFormation told it.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// The name of the operators' function; `None` where the stack has none.
    #[must_use]
    pub fn function(&self) -> Option<&str> {
        self.output(FUNCTION)
    }
}

/// What the template names the parts of a queue's consumer after: `Email` for `email`.
pub(super) fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect()
}
