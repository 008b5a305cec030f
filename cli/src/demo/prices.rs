//! List prices, and nothing else: to bring them up to date is to edit this file.
//!
//! Region us-east-1, first tier, without free tiers and discounts. All in dollars per million units.

use serde::Serialize;

/// A list price.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Price {
    /// What is counted.
    pub(crate) unit: &'static str,
    /// Dollars per million units.
    pub(crate) dollars_per_million: f64,
    /// The month in which this price was last looked up.
    pub(crate) as_of: &'static str,
    /// Who says so.
    pub(crate) source: &'static str,
}

/// Where these prices hold.
pub(crate) const REGION: &str = "us-east-1";

/// A write of up to 1 KB. Failed conditional writes cost the same.
pub(crate) const DYNAMODB_WRITE: Price = Price {
    unit: "DynamoDB write request unit",
    dollars_per_million: 0.625,
    as_of: "2026-11",
    source: "aws.amazon.com/dynamodb/pricing/on-demand",
};

/// A strongly consistent read of up to 4 KB.
pub(crate) const DYNAMODB_READ: Price = Price {
    unit: "DynamoDB read request unit",
    dollars_per_million: 0.125,
    as_of: "2026-11",
    source: "aws.amazon.com/dynamodb/pricing/on-demand",
};

/// A request to a standard queue of up to 64 KB.
pub(crate) const SQS_REQUEST: Price =
    Price { unit: "SQS request", dollars_per_million: 0.40, as_of: "2026-06", source: "aws.amazon.com/sqs/pricing" };

/// An invocation.
pub(crate) const LAMBDA_REQUEST: Price =
    Price { unit: "Lambda request", dollars_per_million: 0.20, as_of: "2026-05", source: "aws.amazon.com/lambda/pricing" };

/// A gigabyte of memory for a second, on arm64.
pub(crate) const LAMBDA_GIGABYTE_SECOND: Price = Price {
    unit: "Lambda GB-second (arm64)",
    dollars_per_million: 13.3334,
    as_of: "2026-05",
    source: "aws.amazon.com/lambda/pricing",
};

/// A mail: $0.10 per thousand.
pub(crate) const SES_MAIL: Price =
    Price { unit: "SES mail", dollars_per_million: 100.0, as_of: "2026-11", source: "aws.amazon.com/ses/pricing" };

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_about_deploying_has_these_prices() {
        let page = include_str!("../../../docs/deploy.md");
        // The last cell of a row: `0.40 (2026-06)`.
        let cell = |line: &str| Some(line.strip_suffix(" |")?.rsplit_once("| ")?.1.to_owned());
        let price = |cell: String| {
            let (dollars, month) = cell.strip_suffix(')')?.split_once(" (")?;
            Some((dollars.parse::<f64>().ok()?.to_string(), month.to_owned()))
        };
        let told: BTreeSet<_> = page.lines().filter_map(cell).filter_map(price).collect();
        let known = [DYNAMODB_WRITE, DYNAMODB_READ, SQS_REQUEST, LAMBDA_REQUEST, LAMBDA_GIGABYTE_SECOND, SES_MAIL];
        let known = known.map(|price| (price.dollars_per_million.to_string(), price.as_of.to_owned())).into();
        assert_eq!(told, known);
    }
}
