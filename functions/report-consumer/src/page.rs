//! The page: totals and charts, readable on a phone and on paper, without scripts and without anything from elsewhere.

use std::sync::LazyLock;

use ikkai::idempotency::Status;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, value::Serde};
use serde::Serialize;

use crate::{
    chart::{DayChart, percent},
    checksum::Checksum,
    draft::Draft,
    latency::spoken,
    report::Report,
};

const TEMPLATE: &str = "report.html";
const STYLE: &str = include_str!("templates/report.css");

static TEMPLATES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template(TEMPLATE, include_str!("templates/report.html")).expect("the template is checked by a test");
    environment
});

#[derive(Serialize)]
struct Page<'a> {
    style: Value,
    /// The only style that the page's policy lets apply.
    style_sha256: String,
    report_id: &'a str,
    account_id: &'a str,
    period: &'a str,
    first_day: String,
    last_day: String,
    as_of: String,
    jobs: u64,
    statuses: Vec<&'a str>,
    totals: Vec<Total<'a>>,
    types: Vec<TypeRow<'a>>,
    chart: DayChart,
    days: Vec<Day>,
    latencies: Option<LatencyTable>,
    csv_name: &'a str,
    csv_bytes: u64,
    csv_sha256: String,
}

#[derive(Serialize)]
struct Total<'a> {
    status: &'a str,
    count: u64,
    bar: u64,
    class: &'static str,
}

#[derive(Serialize)]
struct TypeRow<'a> {
    name: &'a str,
    counts: Vec<u64>,
    total: u64,
}

#[derive(Serialize)]
struct Day {
    date: String,
    succeeded: u64,
    failed: u64,
    other: u64,
}

#[derive(Serialize)]
struct LatencyTable {
    p50: String,
    p95: String,
    bands: Vec<Band>,
}

#[derive(Serialize)]
struct Band {
    name: &'static str,
    count: u64,
    bar: u64,
}

/// The page of a draft whose rows are all read.
pub(crate) fn render(report: &Report, draft: &Draft) -> String {
    let template = TEMPLATES.get_template(TEMPLATE).expect("it was added");
    template.render(Serde(page(report, draft))).expect("every variable of the template is there")
}

fn page<'a>(report: &'a Report, draft: &'a Draft) -> Page<'a> {
    let (period, summary) = (&report.scope.period, &draft.summary);
    let by_status = summary.by_status();
    let most = by_status.values().copied().max().unwrap_or(0);
    let statuses = in_order(by_status.keys().copied());
    let mut style_sum = Checksum::new();
    style_sum.add(STYLE.as_bytes());
    Page {
        style: Value::from_safe_string(STYLE.to_owned()),
        style_sha256: style_sum.base64(),
        report_id: &report.report_id,
        account_id: &report.scope.account_id,
        period: period.as_str(),
        first_day: period.date(0),
        last_day: period.date(period.days() - 1),
        as_of: report.scope.as_of.rfc3339().to_string(),
        jobs: summary.jobs,
        totals: statuses
            .iter()
            .map(|status| (status, by_status.get(status).copied().unwrap_or(0)))
            .map(|(status, count)| Total { status, count, bar: percent(count, most), class: class_of(status) })
            .collect(),
        types: summary
            .by_type
            .iter()
            .map(|(name, counts)| TypeRow {
                name,
                counts: statuses.iter().map(|status| counts.get(*status).copied().unwrap_or(0)).collect(),
                total: counts.values().sum(),
            })
            .collect(),
        chart: DayChart::new(&summary.days, |day| period.date(day)),
        days: summary
            .days
            .iter()
            .enumerate()
            .filter(|(_, count)| count.total() > 0)
            .map(|(day, count)| Day {
                date: period.date(day),
                succeeded: count.succeeded,
                failed: count.failed,
                other: count.other,
            })
            .collect(),
        latencies: latencies(draft),
        csv_name: report.csv_name(),
        csv_bytes: draft.bytes,
        csv_sha256: draft.checksum.hex(),
        statuses,
    }
}

fn latencies(draft: &Draft) -> Option<LatencyTable> {
    let latencies = &draft.summary.latencies;
    let (p50, p95) = (latencies.percentile(50)?, latencies.percentile(95)?);
    let bands = latencies.bands();
    let most = bands.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let bands = bands.into_iter().map(|(name, count)| Band { name, count, bar: percent(count, most) });
    Some(LatencyTable { p50: spoken(p50), p95: spoken(p95), bands: bands.collect() })
}

/// The statuses in the order of the state diagram, those of other versions after them.
fn in_order<'a>(found: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let place = |status: &str| Status::ALL.iter().position(|known| known.as_str() == status).unwrap_or(usize::MAX);
    let mut statuses: Vec<&str> = found.collect();
    statuses.sort_by_key(|status| (place(status), *status));
    statuses
}

fn class_of(status: &str) -> &'static str {
    match Status::from_name(status) {
        Some(Status::Succeeded) => "succeeded",
        Some(Status::Dead | Status::InDoubt) => "failed",
        _ => "other",
    }
}

#[cfg(test)]
mod tests {
    use ikkai::{
        clock::EpochMillis,
        job::{IdempotencyKey, JobId, JobType, Period, ReferenceId, ReportGenerate},
    };

    use super::*;

    fn empty() -> String {
        let id = |text| ReferenceId::parse(text).unwrap();
        let period = Period::parse("2026-01").unwrap();
        let asked = ReportGenerate { report_id: id("report-1"), account_id: id("account-7"), period: period.clone() };
        let job_type = JobType::parse("report.generate").unwrap();
        let job_id = JobId::derive("caller", &job_type, &IdempotencyKey::parse("key").unwrap());
        render(&Report::new(&job_id, &asked, EpochMillis::from_i64(0), "reports/"), &Draft::new(&period))
    }

    #[test]
    fn the_policy_lets_the_pages_own_style_apply_and_nothing_else() {
        let html = empty();
        let (_, rest) = html.split_once("<style>").unwrap();
        let (style, rest) = rest.split_once("</style>").unwrap();
        let mut sum = Checksum::new();
        sum.add(style.as_bytes());
        // The template's escaping is undone as a browser does it.
        let policy = html.replace("&#x2f;", "/");
        assert!(policy.contains(&format!("style-src 'sha256-{}';", sum.base64())));
        assert!(!rest.contains("<style") && !html.contains("unsafe-inline"));
    }

    #[test]
    fn statuses_stand_in_the_order_of_a_jobs_life_and_unknown_ones_last() {
        let found = ["zz", "dead", "succeeded", "aa", "accepted"];
        assert_eq!(in_order(found.into_iter()), ["accepted", "succeeded", "dead", "aa", "zz"]);
    }
}
