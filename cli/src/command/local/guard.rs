//! What stands between a check and a real account.

use aws_config::{BehaviorVersion, Region, SdkConfig};
use clap::Args;

use super::Failure;
use crate::command::consent::Asker;
use crate::command::ending::Ending;
use crate::demo::prices::{DYNAMODB_WRITE, Price, SQS_REQUEST};
use crate::local::check::{Place, Record, records};
use crate::local::checkout::Checkout;
use crate::screen::Screen;

/// Options for a check on AWS itself.
#[derive(Debug, Args)]
#[command(next_help_heading = "With --engine aws")]
pub(super) struct Guard {
    /// The number of the account that you mean. The check runs only if your AWS settings lead to it.
    #[arg(long, value_name = "NUMBER", required_if_eq("engine", "aws"), value_parser = account_number)]
    account: Option<String>,
    /// The region.
    #[arg(long, required_if_eq("engine", "aws"))]
    region: Option<String>,
    /// Does not ask.
    #[arg(long)]
    yes: bool,
}

impl Guard {
    /// Says so where these options stand without the engine that they belong to: whoever names an account means AWS.
    pub(super) fn refuse_without_aws(&self) -> Result<(), Failure> {
        match (&self.account, &self.region) {
            (None, None) => Ok(()),
            _ => Err("--account and --region are for `--engine aws`; local engines have neither".into()),
        }
    }

    /// Lets a check through to an account: the one that was named, and after a yes. `Err` within: no, and it was said why.
    pub(super) async fn admit(&self, screen: &Screen) -> Result<Result<(Place, SdkConfig), Ending>, Failure> {
        let (Some(account), Some(region)) = (&self.account, &self.region) else {
            return Err("`--engine aws` needs --account and --region".into());
        };
        if is_ci() && !self.yes {
            return Err("this runs in CI and would use a real account; `--yes` says that it is meant".into());
        }
        let config = aws_config::defaults(BehaviorVersion::latest()).region(Region::new(region.clone())).load().await;
        let identity = aws_sdk_sts::Client::new(&config).get_caller_identity().send().await;
        let identity = identity.map_err(|error| {
            format!("your AWS settings lead to no account: {}", aws_sdk_sts::error::DisplayErrorContext(&error))
        })?;
        let found = identity.account().unwrap_or_default();
        if found != account {
            return Err(format!("--account says {account}, but your AWS settings lead to {found}; nothing was done").into());
        }
        screen.note(announcement(account, region, measured_before().as_ref()));
        let question = format!("run the check in account {account}, {region}?");
        Ok(Asker::new(self.yes).consent(screen, &question).await.map(|()| (Place::account(account, region), config)))
    }
}

/// What a check makes and costs, as a check of a local engine counted it.
fn measured_before() -> Option<Record> {
    let kept = records(&Checkout::find().ok()?).ok()?;
    kept.into_iter().max_by_key(|record| record.calls.values().sum::<u64>())
}

fn announcement(account: &str, region: &str, before: Option<&Record>) -> String {
    let mut text = format!(
        "a check in account {account}, {region}, makes queues, tables, buckets, a function with its roles, and more, all named \
         `ikkai-check-…`, and removes them when it ends, also after Ctrl-C"
    );
    let Some(before) = before else {
        text.push_str("\nno former check was kept in docs/measured/engines/, so there is no count of its calls");
        return text;
    };
    let made: Vec<_> = before.made.iter().map(|(kind, count)| format!("{count} × {kind}")).collect();
    let calls: Vec<_> = before.calls.iter().map(|(service, count)| format!("{service} {count}")).collect();
    text.push_str(&format!(
        "\nthe check of {} {} on {} made {}\nand sent these requests: {}",
        before.engine,
        before.version,
        before.day(),
        made.join(", "),
        calls.join(", ")
    ));
    for (service, price) in [("SQS", SQS_REQUEST), ("DynamoDB", DYNAMODB_WRITE)] {
        if let Some(count) = before.calls.get(service) {
            text.push_str(&format!("\n{service}: {}", cost(*count, &price)));
        }
    }
    text.push_str(
        "\nnot in these figures: what the mappings poll and the function does by themselves, messages of more than 64 KB (they count as several \
         requests), and the other services, whose prices this program does not know",
    );
    text
}

fn cost(count: u64, price: &Price) -> String {
    let dollars = count as f64 * price.dollars_per_million / 1_000_000.0;
    format!("{count} × ${} a million ({}, list price of {}) = ${dollars:.6}", price.dollars_per_million, price.unit, price.as_of)
}

/// Build machines set it (GitHub, GitLab, Buildkite and others).
fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

fn account_number(text: &str) -> Result<String, String> {
    if text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(text.to_owned());
    }
    Err("the number of an account has 12 digits".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_twelve_digits() {
        assert_eq!(account_number("123456789012").as_deref(), Ok("123456789012"));
        for wrong in ["12345678901", "1234567890123", "12345678901x", ""] {
            assert!(account_number(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_cost_is_what_was_counted_times_the_list_price() {
        assert!(cost(2_500, &SQS_REQUEST).ends_with("= $0.001000"), "{}", cost(2_500, &SQS_REQUEST));
        let text = announcement("123456789012", "eu-west-1", None);
        assert!(!text.contains('$') && text.contains("123456789012"), "without a count there is no figure: {text}");
    }
}
