//! Who the operator says they are.

use std::time::Duration;

use aws_config::timeout::TimeoutConfig;

use super::site::Site;

/// A name is not worth a longer wait.
const WITHIN: Duration = Duration::from_secs(3);

/// The longest claim that a request takes.
const LONGEST: usize = 200;

/// The caller's identity with AWS (`sts:GetCallerIdentity` needs no permission), or the name of the user of this machine. It is a claim: the
/// history shows it as one.
pub async fn claimed_by(site: &Site) -> Option<String> {
    let known = if site.is_local() { None } else { identity(site).await };
    known.or_else(user).map(|name| name.chars().take(LONGEST).collect())
}

async fn identity(site: &Site) -> Option<String> {
    let timeouts = TimeoutConfig::builder().operation_timeout(WITHIN).build();
    let config = aws_sdk_sts::config::Builder::from(site.config()).timeout_config(timeouts).build();
    let identity = aws_sdk_sts::Client::from_conf(config).get_caller_identity().send().await.ok()?;
    identity.arn().map(ToOwned::to_owned)
}

fn user() -> Option<String> {
    ["USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok().filter(|user| !user.trim().is_empty()))
}
