//! The expressions of a claim, without a client that sends them.

use crate::clock::EpochMillis;
use crate::idempotency::{Claim, claim_update};

/// What a claim's `UpdateItem` request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimExpressions {
    /// What changes.
    pub update: String,
    /// Under which condition.
    pub condition: String,
    /// How many names and values stand in both.
    pub placeholders: usize,
}

/// Builds what [`DynamoStore`](crate::idempotency::DynamoStore) sends for `claim`, for those who measure it.
#[must_use]
pub fn claim_expressions(claim: &Claim, now: EpochMillis) -> ClaimExpressions {
    let update = claim_update(claim, now);
    let placeholders = update.names.len() + update.values.len();
    ClaimExpressions { update: update.expression().unwrap_or_default(), condition: update.condition, placeholders }
}
