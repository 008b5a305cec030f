//! The alarms that watch a dead-letter queue.

use crate::deployment::Deployment;
use crate::doctor::facts::{Fact, Gap};
use crate::operator::figures::{FiguresError, alarms_on_depth};
use crate::screen::chain;

/// The permission that the question needs.
const ACTION: &str = "cloudwatch:DescribeAlarmsForMetric";

/// The alarms on how many messages a queue holds.
pub(super) async fn on_depth(deployment: &Deployment, queue: &str) -> Fact<Vec<String>> {
    // The stack's outputs do not name it.
    if queue.is_empty() {
        return Fact::Unknown(Gap::Missing);
    }
    match alarms_on_depth(deployment.site(), queue).await {
        Ok(alarms) => Fact::Known(alarms),
        Err(error) => Fact::Unknown(gap(&error)),
    }
}

fn gap(error: &FiguresError) -> Gap {
    let action = ACTION.to_owned();
    match error {
        FiguresError::Refused { told, .. } if told.contains("not authorized") || told.contains("AccessDenied") => {
            Gap::Denied { action }
        }
        error => Gap::Failed { action, reason: chain(error) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_permission_is_told_from_other_refusals() {
        let refused = |told: &str| gap(&FiguresError::Refused { operation: "DescribeAlarmsForMetric", told: told.to_owned() });
        let denied = "User: arn:aws:iam::1:user/u is not authorized to perform: cloudwatch:DescribeAlarmsForMetric";
        assert_eq!(refused(denied), Gap::Denied { action: ACTION.to_owned() });
        assert!(matches!(refused("Rate exceeded"), Gap::Failed { .. }));
    }
}
