//! CloudWatch's embedded metric format: log lines from which CloudWatch takes metrics.
//!
//! The rules kept here are those of
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>: at most 100 metrics and 30
//! dimensions a directive, at most 100 values a metric and line, `_aws.Timestamp` in milliseconds.

use std::fmt::Write as _;

use super::metrics::{Metric, Recorded, Series};
use crate::clock::EpochMillis;

/// CloudWatch refuses lines with longer arrays; what does not fit goes into a line of its own.
const MAX_VALUES: usize = 100;
const MAX_DIMENSION_VALUE_CHARS: usize = 1_024;
const MAX_NAMESPACE_CHARS: usize = 255;
const DEFAULT_NAMESPACE: &str = "Ikkai";
const UNKNOWN: &str = "unknown";

/// A namespace that CloudWatch takes.
pub(super) fn namespace(text: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || ".-_/#: ".contains(c);
    // A leading colon is refused, and `AWS/` is Amazon's own.
    cleaned(text.trim().trim_start_matches(':'), allowed, MAX_NAMESPACE_CHARS, DEFAULT_NAMESPACE)
}

/// A dimension value that CloudWatch takes: ASCII without control characters, not empty.
pub(super) fn dimension_value(text: &str) -> String {
    cleaned(text.trim(), |c| c.is_ascii_graphic() || c == ' ', MAX_DIMENSION_VALUE_CHARS, UNKNOWN)
}

fn cleaned(text: &str, allowed: impl Fn(char) -> bool, max_chars: usize, if_empty: &str) -> String {
    let text: String = text.chars().take(max_chars).map(|c| if allowed(c) { c } else { '_' }).collect();
    if text.is_empty() { if_empty.to_owned() } else { text }
}

/// Writes the lines of one job type: sums in the first, samples in as many as it takes.
pub(super) fn write_lines(
    out: &mut String,
    namespace: &str,
    service: &str,
    job_type: &str,
    now: EpochMillis,
    mut series: Series,
) {
    let job_type = dimension_value(job_type);
    while !series.is_empty() {
        let (line, rest) = split_off_line(series);
        write_line(out, namespace, service, &job_type, now, &line);
        series = rest;
    }
}

/// What fits into one line, and what is left for further lines.
fn split_off_line(series: Series) -> (Series, Series) {
    let (mut line, mut rest) = (Series::new(), Series::new());
    for (metric, recorded) in series {
        match recorded {
            Recorded::Samples(mut samples) if samples.len() > MAX_VALUES => {
                rest.insert(metric, Recorded::Samples(samples.split_off(MAX_VALUES)));
                line.insert(metric, Recorded::Samples(samples));
            }
            fits => {
                line.insert(metric, fits);
            }
        }
    }
    (line, rest)
}

fn write_line(out: &mut String, namespace: &str, service: &str, job_type: &str, now: EpochMillis, series: &Series) {
    let _ = write!(
        out,
        r#"{{"_aws":{{"Timestamp":{now},"CloudWatchMetrics":[{{"Namespace":{},"Dimensions":[["Service","JobType"]],"Metrics":["#,
        json_text(namespace)
    );
    separated(out, series.keys(), |out, metric: &Metric| {
        let _ = write!(out, r#"{{"Name":"{}","Unit":"{}"}}"#, metric.name(), metric.unit());
    });
    let _ = write!(out, r#"]}}]}},"Service":{},"JobType":{}"#, json_text(service), json_text(job_type));
    for (metric, recorded) in series {
        let _ = write!(out, r#","{}":"#, metric.name());
        write_value(out, recorded);
    }
    out.push_str("}\n");
}

fn write_value(out: &mut String, recorded: &Recorded) {
    match recorded {
        Recorded::Sum(sum) => {
            let _ = write!(out, "{sum}");
        }
        Recorded::Samples(samples) if samples.len() == 1 => write_number(out, samples[0]),
        Recorded::Samples(samples) => {
            out.push('[');
            separated(out, samples, |out, value: &f64| write_number(out, *value));
            out.push(']');
        }
    }
}

/// Writes a finite number, rounded to hundredths. `Display` writes neither an exponent nor `.0`.
fn write_number(out: &mut String, value: f64) {
    // Beyond this a double has no hundredths, and multiplying would only lose digits.
    const HAS_NO_HUNDREDTHS: f64 = 1e14;
    let rounded = if value.abs() < HAS_NO_HUNDREDTHS { (value * 100.0).round() / 100.0 } else { value };
    // Adding zero turns a negative zero into a plain one.
    let _ = write!(out, "{}", rounded + 0.0);
}

fn separated<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut write_item: impl FnMut(&mut String, T)) {
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_item(out, item);
    }
}

fn json_text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::observability::Metrics;

    const NOW: EpochMillis = EpochMillis::from_i64(1_700_000_000_123);

    fn flush(metrics: &Metrics) -> String {
        let mut out = Vec::new();
        let bytes = metrics.flush(NOW, &mut out).expect("memory takes all");
        assert_eq!(bytes, out.len());
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn a_batch_is_one_document_a_job_type() {
        let metrics = Metrics::new("Ikkai", "email-consumer");
        metrics.count(Metric::JobsSucceeded, "email.send", 1);
        metrics.clone().count(Metric::JobsSucceeded, "email.send", 1);
        metrics.count(Metric::JobsDead, "email.send", 0);
        metrics.sample(Metric::HandlerDuration, "email.send", 12.0);
        metrics.sample(Metric::HandlerDuration, "email.send", 7.128);
        metrics.sample(Metric::AttemptsUsed, "email.send", 1.0);
        metrics.count(Metric::PoisonSeen, "unknown", 3);
        assert_eq!(
            flush(&metrics),
            concat!(
                r#"{"_aws":{"Timestamp":1700000000123,"CloudWatchMetrics":[{"Namespace":"Ikkai","Dimensions":[["Service","JobType"]],"Metrics":["#,
                r#"{"Name":"JobsSucceeded","Unit":"Count"},{"Name":"JobsDead","Unit":"Count"},"#,
                r#"{"Name":"HandlerDuration","Unit":"Milliseconds"},{"Name":"AttemptsUsed","Unit":"Count"}]}]},"#,
                r#""Service":"email-consumer","JobType":"email.send","JobsSucceeded":2,"JobsDead":0,"HandlerDuration":[12,7.13],"AttemptsUsed":1}"#,
                "\n",
                r#"{"_aws":{"Timestamp":1700000000123,"CloudWatchMetrics":[{"Namespace":"Ikkai","Dimensions":[["Service","JobType"]],"Metrics":["#,
                r#"{"Name":"PoisonSeen","Unit":"Count"}]}]},"Service":"email-consumer","JobType":"unknown","PoisonSeen":3}"#,
                "\n",
            )
        );
    }

    #[test]
    fn nothing_recorded_writes_nothing_and_a_flush_forgets() {
        let metrics = Metrics::new("Ikkai", "s");
        assert_eq!(flush(&metrics), "");
        metrics.count(Metric::JobsRetried, "t", 1);
        assert_ne!(flush(&metrics), "");
        assert_eq!(flush(&metrics), "");
    }

    #[test]
    fn more_than_a_hundred_values_go_into_further_lines_and_sums_only_into_the_first() {
        let metrics = Metrics::new("Ikkai", "s");
        metrics.count(Metric::JobsSucceeded, "t", 205);
        for value in 0..205_u32 {
            metrics.sample(Metric::HandlerDuration, "t", f64::from(value));
        }
        let documents: Vec<Value> = flush(&metrics).lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let lengths: Vec<usize> = documents.iter().map(|d| d["HandlerDuration"].as_array().map_or(1, Vec::len)).collect();
        assert_eq!(lengths, [100, 100, 5]);
        assert_eq!(documents[2]["HandlerDuration"][4], 204);
        assert_eq!(documents.iter().filter(|d| d.get("JobsSucceeded").is_some()).count(), 1);
    }

    #[test]
    fn numbers_are_short_and_never_written_with_an_exponent() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (-0.001, "0"),
            (1.005, "1"),
            (1.006, "1.01"),
            (1_234_567.891, "1234567.89"),
            (1e21, "1000000000000000000000"),
        ] {
            let mut out = String::new();
            write_number(&mut out, value);
            assert_eq!(out, text, "{value}");
        }
        let mut out = String::new();
        write_number(&mut out, f64::MAX);
        assert!(out.bytes().all(|byte| byte.is_ascii_digit()), "{out}");
    }

    #[test]
    fn values_that_are_not_numbers_are_dropped() {
        let metrics = Metrics::new("Ikkai", "s");
        metrics.sample(Metric::JobLatency, "t", f64::NAN);
        metrics.sample(Metric::JobLatency, "t", f64::INFINITY);
        assert_eq!(flush(&metrics), "");
    }

    #[test]
    fn the_method_used_does_not_change_what_a_metric_is() {
        let metrics = Metrics::new("Ikkai", "s");
        metrics.sample(Metric::JobsDead, "t", 1.6);
        metrics.count(Metric::AttemptsUsed, "t", 3);
        metrics.count(Metric::AttemptsUsed, "t", 1);
        let document: Value = serde_json::from_str(&flush(&metrics)).expect("JSON");
        assert_eq!(document["JobsDead"], 2);
        assert_eq!(document["AttemptsUsed"], serde_json::json!([3, 1]));
    }

    #[test]
    fn names_that_cloudwatch_refuses_are_mended() {
        assert_eq!(namespace(" :Mail*service "), "Mail_service");
        assert_eq!(namespace(""), "Ikkai");
        assert_eq!(dimension_value("\u{0} メール"), "_ ___");
        assert_eq!(dimension_value("  "), "unknown");
        assert_eq!(dimension_value(&"x".repeat(2_000)).len(), 1_024);
    }

    #[test]
    fn a_writer_that_fails_is_reported() {
        let metrics = Metrics::new("Ikkai", "s");
        metrics.count(Metric::JobsDead, "t", 1);
        assert!(metrics.flush(NOW, &mut [0_u8; 8].as_mut_slice()).is_err());
    }

    #[test]
    fn every_metric_is_listed_once_and_its_name_is_its_variants() {
        for (index, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric.name(), format!("{metric:?}"));
            assert_eq!(metric as usize, index);
        }
    }

    /// Checks a document against the format's rules and adds its values to `found`.
    fn check(document: &Value, found: &mut BTreeMap<(String, String), Vec<f64>>) {
        assert_eq!(document["_aws"]["Timestamp"], 1_700_000_000_123_i64);
        let directives = document["_aws"]["CloudWatchMetrics"].as_array().expect("directives");
        assert_eq!(directives.len(), 1);
        let directive = &directives[0];
        let namespace = directive["Namespace"].as_str().expect("a text");
        assert!((1..=255).contains(&namespace.chars().count()));
        for set in directive["Dimensions"].as_array().expect("dimension sets") {
            let dimensions = set.as_array().expect("a set");
            assert!(dimensions.len() <= 30);
            for dimension in dimensions {
                let value = document[dimension.as_str().expect("a name")].as_str().expect("each dimension's value is a member");
                assert!((1..=1_024).contains(&value.len()) && value.is_ascii());
            }
        }
        let metrics = directive["Metrics"].as_array().expect("metrics");
        assert!((1..=100).contains(&metrics.len()));
        let names: Vec<&str> = metrics.iter().map(|metric| metric["Name"].as_str().expect("a name")).collect();
        let members = document.as_object().expect("an object").len();
        assert_eq!(members, names.len() + 3, "_aws, two dimensions, and each metric's value");
        for name in names {
            let values = match &document[name] {
                Value::Array(values) => values.clone(),
                value => vec![value.clone()],
            };
            assert!((1..=100).contains(&values.len()));
            let job_type = document["JobType"].as_str().expect("a text").to_owned();
            let numbers = values.iter().map(|value| value.as_f64().expect("a number"));
            found.entry((job_type, name.to_owned())).or_default().extend(numbers);
        }
    }

    proptest! {
        #[test]
        fn whatever_is_recorded_is_written_by_the_formats_rules_and_complete(
            namespace in any::<String>(),
            service in any::<String>(),
            recorded in proptest::collection::vec((0..Metric::ALL.len(), "[a-c]", 0..1_000_u32, 1..130_usize), 0..12),
        ) {
            let metrics = Metrics::new(&namespace, &service);
            let mut expected: BTreeMap<(String, String), Vec<f64>> = BTreeMap::new();
            for (index, job_type, value, times) in recorded {
                let metric = Metric::ALL[index];
                let samples = expected.entry((job_type.clone(), metric.name().to_owned())).or_default();
                for _ in 0..times {
                    metrics.sample(metric, &job_type, f64::from(value));
                    samples.push(f64::from(value));
                }
            }
            let mut found = BTreeMap::new();
            for line in flush(&metrics).lines() {
                check(&serde_json::from_str(line).expect("JSON"), &mut found);
            }
            for (key, values) in &mut expected {
                let is_sum = found.get(key).is_some_and(|found| found.len() == 1) && values.len() > 1;
                if is_sum {
                    *values = vec![values.iter().sum()];
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
