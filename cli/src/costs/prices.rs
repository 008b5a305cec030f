//! List prices that the page needs beyond those of the demo. Dollars a unit, us-east-1 where a region matters, first tier, without free tiers.

use super::table::markdown;
use crate::demo::prices::{DYNAMODB_READ, DYNAMODB_WRITE, LAMBDA_GIGABYTE_SECOND, LAMBDA_REQUEST, Price, SES_MAIL, SQS_REQUEST};

/// A list price a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct UnitPrice {
    /// What is counted.
    pub(super) unit: &'static str,
    /// Dollars for one.
    pub(super) dollars: f64,
    /// The month of the source.
    pub(super) as_of: &'static str,
    /// Who says so. Where the vendor's own page shows its figures only in a browser, who read it there.
    pub(super) source: &'static str,
}

pub(super) const LOGS_GIGABYTE: UnitPrice = UnitPrice {
    unit: "GB of logs taken in by CloudWatch",
    dollars: 0.50,
    as_of: "2026-06",
    source: "aws.amazon.com/cloudwatch/pricing, read by factualminds.com",
};
pub(super) const CUSTOM_METRIC: UnitPrice = UnitPrice {
    unit: "custom metric, a month in which it has values",
    dollars: 0.30,
    as_of: "2026-02",
    source: "aws.amazon.com/cloudwatch/pricing, read by signoz.io",
};
pub(super) const ALARM_METRIC: UnitPrice = UnitPrice {
    unit: "metric that an alarm looks at, a month",
    dollars: 0.10,
    as_of: "2026-11",
    source: "aws.amazon.com/cloudwatch/pricing",
};
pub(super) const COMPOSITE_ALARM: UnitPrice =
    UnitPrice { unit: "composite alarm, a month", dollars: 0.50, as_of: "2026-11", source: "aws.amazon.com/cloudwatch/pricing" };
pub(super) const DASHBOARD: UnitPrice = UnitPrice {
    unit: "dashboard, a month, from the fourth of an account on",
    dollars: 3.0,
    as_of: "2026-06",
    source: "aws.amazon.com/cloudwatch/pricing, read by factualminds.com",
};
pub(super) const KMS_KEY: UnitPrice =
    UnitPrice { unit: "KMS key of one's own, a month", dollars: 1.0, as_of: "2026-03", source: "aws.amazon.com/kms/pricing" };
pub(super) const SECRET: UnitPrice = UnitPrice {
    unit: "secret in Secrets Manager, a month",
    dollars: 0.40,
    as_of: "undated",
    source: "hivebook.wiki on Secrets Manager; not confirmed by a dated source",
};
pub(super) const FARGATE_VCPU_HOUR: UnitPrice = UnitPrice {
    unit: "Fargate vCPU, Linux on arm64, an hour",
    dollars: 0.032_38,
    as_of: "2026-09",
    source: "aws.amazon.com/fargate/pricing",
};
pub(super) const FARGATE_GIGABYTE_HOUR: UnitPrice = UnitPrice {
    unit: "Fargate GB of memory, Linux on arm64, an hour",
    dollars: 0.003_56,
    as_of: "2026-09",
    source: "aws.amazon.com/fargate/pricing",
};
pub(super) const PUBLIC_ADDRESS_HOUR: UnitPrice =
    UnitPrice { unit: "public IPv4 address, an hour", dollars: 0.005, as_of: "2026-09", source: "aws.amazon.com/vpc/pricing" };
pub(super) const QSTASH_MESSAGE: UnitPrice = UnitPrice {
    unit: "Upstash QStash: message",
    dollars: 1.0 / 100_000.0,
    as_of: "undated",
    source: "upstash.com/docs/qstash/overall/pricing",
};
pub(super) const CLOUDFLARE_OPERATION: UnitPrice = UnitPrice {
    unit: "Cloudflare Queues: operation of 64 KB",
    dollars: 0.40 / 1e6,
    as_of: "undated",
    source: "developers.cloudflare.com/queues/platform/pricing, read by api-evangelist",
};
pub(super) const CLOUD_TASKS_OPERATION: UnitPrice = UnitPrice {
    unit: "Google Cloud Tasks: operation of 32 KB",
    dollars: 0.40 / 1e6,
    as_of: "undated",
    source: "cloud.google.com/tasks/docs/pricing",
};
pub(super) const STATE_TRANSITION: UnitPrice = UnitPrice {
    unit: "Step Functions, standard: state transition",
    dollars: 25.0 / 1e6,
    as_of: "2026-03",
    source: "aws.amazon.com/step-functions/pricing, read by wring.co",
};
pub(super) const TEMPORAL_ACTION: UnitPrice = UnitPrice {
    unit: "Temporal Cloud, Developer plan: action",
    dollars: 50.0 / 1e6,
    as_of: "undated",
    source: "docs.temporal.io/cloud/pricing",
};
/// Temporal's Developer plan has no base fee and takes this share on top.
pub(super) const TEMPORAL_PLAN_SHARE: f64 = 0.10;

/// The demo's prices are told by the million.
pub(super) fn each(price: Price) -> f64 {
    price.dollars_per_million / 1e6
}

/// All prices of the page.
pub(super) fn table() -> String {
    let of_demo = [DYNAMODB_WRITE, DYNAMODB_READ, SQS_REQUEST, LAMBDA_REQUEST, LAMBDA_GIGABYTE_SECOND, SES_MAIL];
    let of_demo =
        of_demo.map(|price| UnitPrice { unit: price.unit, dollars: each(price), as_of: price.as_of, source: price.source });
    let of_page = [
        LOGS_GIGABYTE,
        CUSTOM_METRIC,
        ALARM_METRIC,
        COMPOSITE_ALARM,
        DASHBOARD,
        KMS_KEY,
        SECRET,
        FARGATE_VCPU_HOUR,
        FARGATE_GIGABYTE_HOUR,
        PUBLIC_ADDRESS_HOUR,
        QSTASH_MESSAGE,
        CLOUDFLARE_OPERATION,
        CLOUD_TASKS_OPERATION,
        STATE_TRANSITION,
        TEMPORAL_ACTION,
    ];
    markdown(
        ["unit", "$", "as of", "source"],
        of_demo.into_iter().chain(of_page).map(|price| {
            let amount = if price.dollars < 0.001 {
                format!("{} a million", super::table::units(price.dollars * 1e6))
            } else {
                format!("{}", price.dollars)
            };
            [price.unit.to_owned(), amount, price.as_of.to_owned(), price.source.to_owned()]
        }),
    )
}
