//! Which alarms watch a queue.

use serde_json::{Value, json};

use super::FiguresError;
use super::cloudwatch::CloudWatch;
use crate::operator::Site;

/// The names of the alarms, of whatever stack, that watch how many messages a queue holds. Alarms on arithmetic over metrics are not among them
/// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarmsForMetric.html>).
///
/// # Errors
/// CloudWatch is not there, or the caller may not ask.
pub async fn alarms_on_depth(site: &Site, queue: &str) -> Result<Vec<String>, FiguresError> {
    let question = json!({
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{ "Name": "QueueName", "Value": queue }],
    });
    Ok(names(&CloudWatch::new(site.config())?.ask("DescribeAlarmsForMetric", &question).await?))
}

fn names(answer: &Value) -> Vec<String> {
    let alarms = answer["MetricAlarms"].as_array().into_iter().flatten();
    alarms.filter_map(|alarm| alarm["AlarmName"].as_str().map(ToOwned::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alarms_are_read_by_name() {
        assert_eq!(names(&json!({"MetricAlarms": [{"AlarmName": "a", "StateValue": "OK"}, {"AlarmName": "b"}]})), ["a", "b"]);
        assert_eq!(names(&json!({"MetricAlarms": []})), [""; 0]);
        assert_eq!(names(&json!("nonsense")), [""; 0]);
    }
}
