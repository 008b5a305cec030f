//! The question to CloudWatch, and its answer.

use std::collections::BTreeMap;

use ikkai::observability::Metric;
use serde_json::{Value, json};

use super::{Figures, Subject, WINDOW};

/// CloudWatch aligns what it adds up to multiples of this, in seconds.
const PERIOD: u64 = 300;

/// Puts a value where it belongs.
type Place = fn(&mut Figures) -> &mut Option<f64>;

/// One figure: which metric, how it is taken, and where it goes.
struct Figure {
    id: &'static str,
    metric: &'static str,
    stat: &'static str,
    takes: Takes,
    place: Place,
}

/// What becomes of several values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// They add up.
    Sum,
    /// The newest counts.
    Newest,
}

const AGE: &str = "ApproximateAgeOfOldestMessage";

const fn job(id: &'static str, metric: Metric, stat: &'static str, takes: Takes, place: Place) -> Figure {
    Figure { id, metric: metric.name(), stat, takes, place }
}

const FIGURES: [Figure; 7] = [
    Figure { id: "age", metric: AGE, stat: "Maximum", takes: Takes::Newest, place: |of| &mut of.oldest_seconds },
    job("succeeded", Metric::JobsSucceeded, "Sum", Takes::Sum, |of| &mut of.succeeded),
    job("retried", Metric::JobsRetried, "Sum", Takes::Sum, |of| &mut of.retried),
    job("dead", Metric::JobsDead, "Sum", Takes::Sum, |of| &mut of.dead),
    job("doubt", Metric::JobsInDoubt, "Sum", Takes::Sum, |of| &mut of.in_doubt),
    job("handler", Metric::HandlerDuration, "p95", Takes::Newest, |of| &mut of.handler_p95_ms),
    job("latency", Metric::JobLatency, "p95", Takes::Newest, |of| &mut of.latency_p95_ms),
];

/// The body of `GetMetricData`
/// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html>).
pub(super) fn request(subjects: &[Subject], namespace: &str, now: u64) -> Value {
    let end = now.div_ceil(PERIOD) * PERIOD;
    let queries: Vec<Value> = subjects
        .iter()
        .enumerate()
        .flat_map(|(place, subject)| FIGURES.iter().filter_map(move |figure| query(place, subject, figure, namespace)))
        .collect();
    json!({
        "MetricDataQueries": queries,
        "StartTime": end.saturating_sub(WINDOW.as_secs()),
        "EndTime": end,
        "ScanBy": "TimestampDescending",
    })
}

fn query(place: usize, subject: &Subject, figure: &Figure, namespace: &str) -> Option<Value> {
    let dimension = |name: &str, value: &str| json!({ "Name": name, "Value": value });
    let (namespace, dimensions, period) = match figure.metric {
        AGE => ("AWS/SQS", vec![dimension("QueueName", &subject.queue)], 60),
        _ => {
            let service = subject.service.as_deref()?;
            (namespace, vec![dimension("Service", service), dimension("JobType", &subject.job_type)], PERIOD)
        }
    };
    Some(json!({
        "Id": id(place, figure),
        "MetricStat": {
            "Metric": { "Namespace": namespace, "MetricName": figure.metric, "Dimensions": dimensions },
            "Period": period,
            "Stat": figure.stat,
        },
        "ReturnData": true,
    }))
}

fn id(place: usize, figure: &Figure) -> String {
    format!("{}_{place}", figure.id)
}

/// Reads the answer: by queue, under its name in the stack.
pub(super) fn read(subjects: &[Subject], answer: &Value) -> BTreeMap<String, Figures> {
    let results = answer["MetricDataResults"].as_array().map(Vec::as_slice).unwrap_or_default();
    let values = |id: &str| -> Vec<f64> {
        let result = results.iter().find(|result| result["Id"] == id);
        result.and_then(|result| result["Values"].as_array()).into_iter().flatten().filter_map(Value::as_f64).collect()
    };
    let of_subject = |(place, subject): (usize, &Subject)| {
        let mut figures = Figures::default();
        for figure in &FIGURES {
            let values = values(&id(place, figure));
            *(figure.place)(&mut figures) = match figure.takes {
                Takes::Sum => (!values.is_empty()).then(|| values.iter().sum()),
                Takes::Newest => values.first().copied(),
            };
        }
        (subject.name.clone(), figures)
    };
    subjects.iter().enumerate().map(of_subject).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(service: Option<&str>) -> Subject {
        Subject {
            name: "email".to_owned(),
            queue: "ikkai-email".to_owned(),
            job_type: "email.send".to_owned(),
            service: service.map(ToOwned::to_owned),
        }
    }

    #[test]
    fn each_figure_of_each_queue_is_asked_for_over_whole_periods() {
        let request = request(&[subject(Some("ikkai-email-consumer"))], "Mail", 1_000_000_001);
        assert_eq!((&request["StartTime"], &request["EndTime"]), (&json!(999_999_300_u64), &json!(1_000_000_200_u64)));
        let queries = request["MetricDataQueries"].as_array().unwrap();
        assert_eq!(queries.len(), FIGURES.len());
        let age = &queries[0]["MetricStat"];
        assert_eq!(age["Metric"]["Dimensions"], json!([{"Name": "QueueName", "Value": "ikkai-email"}]));
        let latency = &queries[6]["MetricStat"];
        let expected = json!({"Namespace": "Mail", "MetricName": "JobLatency", "Dimensions": [
            {"Name": "Service", "Value": "ikkai-email-consumer"}, {"Name": "JobType", "Value": "email.send"}]});
        assert_eq!((&latency["Metric"], &latency["Stat"]), (&expected, &json!("p95")));
    }

    #[test]
    fn jobs_of_a_consumer_whose_name_is_not_known_are_not_asked_for() {
        let request = request(&[subject(None)], "Ikkai", 600);
        assert_eq!(request["MetricDataQueries"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn sums_add_up_the_newest_of_the_others_counts_and_what_is_not_told_is_absent() {
        let answer = json!({"MetricDataResults": [
            {"Id": "age_0", "Values": [42.0, 99.0]},
            {"Id": "succeeded_0", "Values": [3.0, 4.0]},
            {"Id": "dead_0", "Values": []},
            {"Id": "latency_1", "Values": [7.0]},
        ]});
        let figures = read(&[subject(None)], &answer);
        let expected = Figures { oldest_seconds: Some(42.0), succeeded: Some(7.0), ..Figures::default() };
        assert_eq!(figures["email"], expected);
        assert_eq!(read(&[subject(None)], &json!("nonsense"))["email"], Figures::default());
    }
}
