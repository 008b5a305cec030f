//! The dashboard: JSON in a template, which nothing else reads before a person does.

use std::collections::BTreeSet;

use serde_json::Value;

use super::alarm::{Series, alarms};
use super::sources::unknown;
use crate::template::stack::{Stack, listed};

/// Columns of a dashboard
/// (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/CloudWatch-Dashboard-Body-Structure.html>).
const COLUMNS: u64 = 24;

/// The first row: everything at a glance, over all consumers.
const NUMBERS: [&str; 7] =
    ["Waiting", "Oldest", "In flight", "Failing", "Dead letters", "Time of the slowest consumer's handler", "Attempts"];

/// The body of the stack's dashboard.
///
/// # Panics
/// When there is not one dashboard, or it is no JSON.
#[must_use]
pub fn dashboard(monitoring: &Stack) -> Value {
    let bodies: Vec<_> = monitoring.of_type("AWS::CloudWatch::Dashboard").collect();
    let [dashboard] = bodies[..] else { panic!("{} dashboards", bodies.len()) };
    let body = dashboard.at("/DashboardBody").as_str().expect("a text without open references");
    serde_json::from_str(body).expect("JSON")
}

/// Whatever is drawn exists, widgets fill their rows, expressions have something to reckon with.
#[must_use]
pub fn the_dashboard_shows_what_exists(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let mut violations = Vec::new();
    let mut column = 0;
    for widget in widgets(&dashboard(monitoring)) {
        column += widget.width;
        if column > COLUMNS {
            violations.push(format!("{}: does not fit into its row", widget.title));
        }
        column %= COLUMNS;
        for (series, _) in widget.series() {
            violations.extend(unknown(application, &series).map(|problem| format!("{}: {problem}", widget.title)));
        }
        violations.extend(widget.open_expressions().map(|expression| format!("{}: {expression} is of nothing", widget.title)));
        violations.extend(widget.repeated_ids().map(|id| format!("{}: two metrics are called {id}", widget.title)));
        for name in widget.alarms() {
            let is_composite =
                |name: &str| monitoring.of_type("AWS::CloudWatch::CompositeAlarm").any(|alarm| alarm.at("/AlarmName") == name);
            if !alarms(monitoring).iter().any(|alarm| alarm.name == name) && !is_composite(&name) {
                violations.push(format!("{}: there is no alarm {name}", widget.title));
            }
        }
    }
    if column != 0 {
        violations.push("the last row has a gap".to_owned());
    }
    violations
}

/// Each number at the top is over all consumers, and each consumer has a row and its alarms.
#[must_use]
pub fn the_dashboard_shows_every_consumer(application: &Stack, monitoring: &Stack) -> Vec<String> {
    let body = dashboard(monitoring);
    let widgets = widgets(&body);
    let mut violations = Vec::new();
    for consumer in application.consumers() {
        let queue = consumer.queue.at("/QueueName").as_str().unwrap_or_default();
        let dead_letters = application.target(consumer.queue.at("/RedrivePolicy/deadLetterTargetArn"));
        let dead_letters = dead_letters.and_then(|queue| queue.at("/QueueName").as_str()).unwrap_or_default();
        let function = consumer.function.at("/FunctionName").as_str().unwrap_or_default();
        let is_its =
            |series: &Series| series.dimensions.values().any(|value| [queue, dead_letters, function].contains(&value.as_str()));
        for title in NUMBERS {
            let counted = widgets.iter().find(|widget| widget.title == title);
            if !counted.is_some_and(|widget| widget.series().iter().any(|(series, _)| is_its(series))) {
                violations.push(format!("{title}: leaves {queue} out"));
            }
        }
        let plain = queue.trim_start_matches("ikkai-").trim_end_matches(".fifo");
        let row = widgets.iter().filter(|widget| widget.title.starts_with(&format!("{plain}: ")));
        let row: Vec<_> = row.filter(|widget| widget.series().iter().all(|(series, _)| is_its(series))).collect();
        if row.len() != 4 {
            violations.push(format!("{plain}: has {} of 4 widgets of its own", row.len()));
        }
        let shown: Vec<String> = widgets.iter().flat_map(Widget::alarms).collect();
        for kind in ["backlog-age", "failing", "dead-letters", "dead-letters-growing", "in-doubt"] {
            let name = format!("ikkai-{plain}-{kind}");
            if !shown.contains(&name) {
                violations.push(format!("{name}: is not shown"));
            }
        }
    }
    violations
}

struct Widget<'a> {
    title: &'a str,
    width: u64,
    properties: &'a Value,
}

fn widgets(body: &Value) -> Vec<Widget<'_>> {
    let listed = listed(&body["widgets"]).into_iter();
    listed
        .map(|widget| Widget {
            title: widget["properties"]["title"].as_str().unwrap_or("without a title"),
            width: widget["width"].as_u64().unwrap_or_default(),
            properties: &widget["properties"],
        })
        .collect()
}

impl Widget<'_> {
    /// What is looked at, with its options.
    fn series(&self) -> Vec<(Series, &Value)> {
        let metrics = listed(&self.properties["metrics"]).into_iter().filter_map(Value::as_array);
        metrics
            .filter_map(|parts| {
                let (options, names) = parts.split_last()?;
                let texts: Vec<String> = names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
                let (namespace, metric) = (texts.first()?.clone(), texts.get(1)?.clone());
                let pairs = texts[2..].chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
                let statistic = options["stat"].as_str().unwrap_or_default().to_owned();
                Some((Series { namespace, metric, dimensions: pairs.collect(), statistic }, options))
            })
            .collect()
    }

    fn ids(&self) -> Vec<&str> {
        let metrics = listed(&self.properties["metrics"]).into_iter().filter_map(|metric| metric.as_array()?.last());
        metrics.filter_map(|options| options["id"].as_str()).collect()
    }

    fn repeated_ids(&self) -> impl Iterator<Item = &str> {
        let mut seen = BTreeSet::new();
        self.ids().into_iter().filter(move |id| !seen.insert(*id))
    }

    /// Expressions of which a part finds no metric.
    fn open_expressions(&self) -> impl Iterator<Item = &str> {
        let metrics = listed(&self.properties["metrics"]).into_iter();
        let expressions = metrics.filter_map(|metric| metric[0]["expression"].as_str());
        expressions.filter(|expression| !self.is_complete(expression))
    }

    fn is_complete(&self, expression: &str) -> bool {
        let ids: Vec<String> =
            self.series().iter().filter_map(|(_, options)| options["id"].as_str().map(str::to_owned)).collect();
        if expression.contains("METRICS()") {
            return !ids.is_empty();
        }
        let groups: Vec<&str> = expression.split("METRICS(\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        if !groups.is_empty() {
            return groups.iter().all(|group| ids.iter().any(|id| id.contains(group)));
        }
        expression.split_whitespace().next().is_some_and(|first| ids.iter().any(|id| id == first))
    }

    fn alarms(&self) -> Vec<String> {
        let arns = listed(&self.properties["alarms"]).into_iter().filter_map(Value::as_str);
        arns.filter_map(|arn| arn.split_once(":alarm:").map(|(_, name)| name.to_owned())).collect()
    }
}
