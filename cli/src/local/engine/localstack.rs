//! LocalStack (<https://github.com/localstack/localstack>): how it is started and asked.
//!
//! What its free edition does not do without Docker is added by the package `localstack/plugin`, which runs inside of it.

use std::process::Command;

use super::Setup;
use super::prepared::LocalStackParts;

pub(super) const HEALTH: &str = "/_localstack/health";
/// Served by our plugin, in the form that is wanted here.
pub(super) const MAILS: &str = "/_ikkai/mails";
pub(super) const MESSAGES: &str = "/_ikkai/queues";

/// The command that runs it; what every engine is given is added by the caller.
pub(super) fn command(parts: &LocalStackParts, setup: &Setup<'_>) -> Command {
    let address = setup.address;
    let mut command = Command::new(parts.python.python());
    command
        .args(["-m", "ikkai_localstack"])
        .env_clear()
        .env("PYTHONPATH", &parts.plugin)
        .env("GATEWAY_LISTEN", address.to_string())
        // A name, for it stands in the host of function URLs: `<id>.lambda-url.<region>.127.0.0.1` is no host.
        .env("LOCALSTACK_HOST", format!("localhost:{}", address.port()))
        // Its files, where it would take the machine for its container.
        .env("OVERRIDE_IN_DOCKER", "false")
        .env("FILESYSTEM_ROOT", setup.scratch)
        // It asks nobody for names, certificates or news, and tells nobody of itself.
        .env("DNS_ADDRESS", "0")
        .env("SKIP_SSL_CERT_DOWNLOAD", "1")
        .env("DISABLE_EVENTS", "1")
        // Its log is the functions' log, too: one line a call would bury theirs.
        .env("LS_LOG", "warning")
        // Queue URLs of this address: no name has to be resolved.
        .env("SQS_ENDPOINT_STRATEGY", "off")
        .env("LAMBDA_RUNTIME_EXECUTOR", "native")
        // Longer than our executor waits: it says why a function did not start.
        .env("LAMBDA_RUNTIME_ENVIRONMENT_TIMEOUT", "40")
        .env("IKKAI_FUNCTION_ENDPOINT", setup.endpoint_for_functions)
        .env("IKKAI_DYNAMODB_LOCAL", &parts.dynamodb_local)
        .env("JAVA_HOME", &parts.java_home);
    command
}
