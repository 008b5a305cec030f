//! A shell whose AWS settings lead to an engine.

use std::process::{Command, Output};

use aws_config::SdkConfig;
use ikkai_cli::local::check::{FreshEngine, local_config};
use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::engine::EngineKind;
use ikkai_cli::progress::Progress;

/// A fresh engine, and a shell whose AWS settings lead to it.
pub(crate) struct Shell {
    engine: FreshEngine,
}

impl Shell {
    pub(crate) async fn open() -> Self {
        let checkout = Checkout::around(env!("CARGO_MANIFEST_DIR").as_ref()).expect("a checkout");
        let engine = FreshEngine::start(EngineKind::default(), &checkout, &Progress::silent()).await;
        Self { engine: engine.unwrap_or_else(|error| panic!("the local engine does not start: {error}")) }
    }

    /// The SDK's settings for clients of the engine.
    pub(crate) fn config(&self) -> SdkConfig {
        local_config(&self.engine.endpoint())
    }

    /// Runs the command with these arguments.
    fn ikkai(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ikkai"));
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("AWS_") || name.starts_with("IKKAI_STACK")) {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .env("AWS_ENDPOINT_URL", self.engine.endpoint())
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", "test")
            .env("AWS_SECRET_ACCESS_KEY", "test")
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .env("AWS_CONFIG_FILE", "/dev/null")
            .env("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
            .output()
            .expect("the command runs")
    }

    /// Runs a command that has to succeed, and returns what it printed.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        let output = self.ikkai(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}{said}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs a command that has to be refused, and returns what it said.
    pub(crate) fn refused(&self, arguments: &[&str], code: i32) -> String {
        let output = self.ikkai(arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}{said}", String::from_utf8_lossy(&output.stdout));
        said
    }

    pub(crate) async fn tables(&self) -> Vec<String> {
        let client = aws_sdk_dynamodb::Client::new(&self.config());
        client.list_tables().send().await.expect("tables").table_names.unwrap_or_default()
    }
}
