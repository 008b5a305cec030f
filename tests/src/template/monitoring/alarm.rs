//! An alarm, whether it looks at one metric or reckons with several.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::template::stack::{Resource, Stack, listed};

/// One metric as somebody looks at it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// `AWS/SQS`, or the kit's own.
    pub namespace: String,
    /// Its name.
    pub metric: String,
    /// Its dimensions.
    pub dimensions: BTreeMap<String, String>,
    /// How its values are taken.
    pub statistic: String,
}

/// An alarm over metrics.
#[derive(Debug)]
pub struct Alarm<'a> {
    /// The resource.
    pub resource: Resource<'a>,
    /// Its name in CloudWatch.
    pub name: &'a str,
    /// What it looks at.
    pub series: Vec<Series>,
    /// How long each datapoint is, in seconds; one a series.
    pub periods_seconds: Vec<Option<u64>>,
    /// What is reckoned from several metrics; nothing where it looks at one.
    pub expression: Option<&'a str>,
}

/// The alarms over metrics of a stack.
#[must_use]
pub fn alarms(stack: &Stack) -> Vec<Alarm<'_>> {
    stack.of_type("AWS::CloudWatch::Alarm").map(Alarm::of).collect()
}

impl<'a> Alarm<'a> {
    fn of(resource: Resource<'a>) -> Self {
        let metrics = listed(resource.at("/Metrics"));
        let stats: Vec<&Value> = metrics.iter().map(|metric| &metric["MetricStat"]).filter(|stat| !stat.is_null()).collect();
        let alone = metrics.is_empty();
        let series = match alone {
            true => vec![Series::of(resource.at(""), resource.at("/Statistic"))],
            false => stats.iter().map(|stat| Series::of(&stat["Metric"], &stat["Stat"])).collect(),
        };
        let periods_seconds = match alone {
            true => vec![resource.number("/Period")],
            false => stats.iter().map(|stat| stat["Period"].as_u64()).collect(),
        };
        Self {
            resource,
            name: resource.at("/AlarmName").as_str().unwrap_or_default(),
            series,
            periods_seconds,
            expression: metrics.iter().find_map(|metric| metric["Expression"].as_str()),
        }
    }

    /// A setting that may be a text.
    #[must_use]
    pub fn threshold(&self) -> Option<f64> {
        let threshold = self.resource.at("/Threshold");
        threshold.as_f64().or_else(|| threshold.as_str()?.parse().ok())
    }

    /// Where it tells that it is an alarm, as logical ids or ARNs.
    #[must_use]
    pub fn tells(&self, property: &str) -> Vec<String> {
        let topics = listed(self.resource.at(property)).into_iter();
        topics.filter_map(|topic| topic["Ref"].as_str().or_else(|| topic.as_str()).map(str::to_owned)).collect()
    }
}

impl Series {
    fn of(metric: &Value, statistic: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let dimensions = listed(&metric["Dimensions"]).into_iter();
        Self {
            namespace: text(&metric["Namespace"]),
            metric: text(&metric["MetricName"]),
            dimensions: dimensions.map(|dimension| (text(&dimension["Name"]), text(&dimension["Value"]))).collect(),
            statistic: text(statistic),
        }
    }
}
