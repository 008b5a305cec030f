//! What is paid by the month, whether anything happens or not.

use super::pattern::{MeasuredRun, ikkai_sent_directly, ikkai_with_api, in_a_container, powertools};
use super::prices::{
    ALARM_METRIC, COMPOSITE_ALARM, CUSTOM_METRIC, DASHBOARD, FARGATE_GIGABYTE_HOUR, FARGATE_VCPU_HOUR, KMS_KEY,
    PUBLIC_ADDRESS_HOUR, SECRET, each,
};
use super::table::{dollars, markdown, units};
use crate::demo::prices::SQS_REQUEST;

const TEMPLATE: &str = include_str!("../../../infra/template.yaml");
const MONITORING: &str = include_str!("../../../infra/monitoring.yaml");
/// Says how many alarms there are; a test of the template holds it to that.
const OBSERVABILITY: &str = include_str!("../../../docs/observability.md");

/// AWS's own month.
const HOURS: f64 = 730.0;

/// Lambda does not go below five pollers where a mapping has a maximum concurrency, as all of the template's have
/// (<https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html>).
const POLLERS: f64 = 5.0;

/// An empty long poll takes SQS's longest wait, twenty seconds.
const EMPTY_POLLS_PER_HOUR: f64 = 3.0 * 60.0;

/// Metrics that have values where all jobs succeed: `JobsSucceeded`, `HandlerDuration`, `JobLatency`, `AttemptsUsed`, `AttemptsFailed`.
const METRICS_OF_A_CONSUMER: f64 = 5.0;

/// The smallest task that Fargate has, twice, so that one may end.
const TASKS: f64 = 2.0;
const TASK_VCPU: f64 = 0.25;
const TASK_GIGABYTES: f64 = 0.5;

/// One line of a month.
struct Line {
    what: String,
    units: f64,
    dollars: f64,
}

fn line(what: impl Into<String>, units: f64, each: f64) -> Line {
    Line { what: what.into(), units, dollars: units * each }
}

#[expect(clippy::cast_precision_loss, reason = "a handful")]
fn times(word: &str, text: &str) -> f64 {
    text.matches(word).count() as f64
}

fn mappings() -> f64 {
    times("          Type: SQS\n", TEMPLATE)
}

/// Requests of the pollers of `queues` queues in a month without a message.
fn empty_polls(queues: f64, pollers: f64) -> f64 {
    queues * pollers * EMPTY_POLLS_PER_HOUR * HOURS
}

/// How many metrics all alarms look at, and how many the essential ones: `… 101 alarms over 110 metrics; …`.
fn alarm_metrics() -> [f64; 2] {
    let told = OBSERVABILITY.split(" alarms over ").skip(1).filter_map(|rest| {
        let (number, _) = rest.split_once(" metrics")?;
        number.parse().ok()
    });
    told.collect::<Vec<_>>().try_into().expect("the page tells two numbers of metrics")
}

fn of_stack() -> Vec<Line> {
    let [all, _] = alarm_metrics();
    vec![
        line(format!("empty polls of {} mappings", mappings()), empty_polls(mappings(), POLLERS), each(SQS_REQUEST)),
        line(
            "secrets (payment provider, webhook signing)",
            times("Type: AWS::SecretsManager::Secret\n", TEMPLATE),
            SECRET.dollars,
        ),
        line("metrics that alarms look at, `Alarms=all`", all, ALARM_METRIC.dollars),
        line("composite alarms", times("Type: AWS::CloudWatch::CompositeAlarm", MONITORING), COMPOSITE_ALARM.dollars),
    ]
}

fn sum(lines: &[Line]) -> f64 {
    lines.iter().map(|line| line.dollars).sum()
}

fn rows(lines: Vec<Line>) -> impl Iterator<Item = [String; 3]> {
    lines.into_iter().map(|line| [line.what, units(line.units), dollars(line.dollars)])
}

/// A month of both stacks in which nothing happens.
pub(super) fn idle() -> String {
    let [all, essential] = alarm_metrics();
    let always = of_stack();
    let (with_all, polling) = (sum(&always), always[0].dollars);
    let with_essential = with_all - (all - essential) * ALARM_METRIC.dollars;
    let told = |name: &str, amount: f64| [format!("**{name}**"), String::new(), format!("**{}**", dollars(amount))];
    let free = [
        "functions, queues, tables on demand, custom metrics without values",
        "a key of one's own (`KmsKeyArn`), if there is one",
    ];
    let [nothing, key] = free.map(str::to_owned);
    markdown(
        ["a month without a job", "units", "$"],
        rows(always).chain([
            [nothing, String::new(), dollars(0.0)],
            [key, "0 or 1".to_owned(), format!("0 or {}", dollars(KMS_KEY.dollars))],
            [
                "dashboard, from the fourth of an account on".to_owned(),
                "0 or 1".to_owned(),
                format!("0 or {}", dollars(DASHBOARD.dollars)),
            ],
            told("application and `Alarms=all`", with_all),
            told("application and `Alarms=essential`", with_essential),
            told("application with one consumer, without the monitoring stack or a secret", polling / mappings()),
        ]),
    )
}

fn of_containers() -> Vec<Line> {
    vec![
        line(format!("vCPU hours: {TASKS} tasks of {TASK_VCPU}"), TASKS * TASK_VCPU * HOURS, FARGATE_VCPU_HOUR.dollars),
        line(
            format!("GB hours: {TASKS} tasks of {TASK_GIGABYTES}"),
            TASKS * TASK_GIGABYTES * HOURS,
            FARGATE_GIGABYTE_HOUR.dollars,
        ),
        line("hours of public addresses, in place of a NAT gateway", TASKS * HOURS, PUBLIC_ADDRESS_HOUR.dollars),
        line("empty polls of one queue, one poller a task", empty_polls(1.0, TASKS), each(SQS_REQUEST)),
    ]
}

/// A month of containers that wait, and how many jobs they have to do to be cheaper.
pub(super) fn container(run: &MeasuredRun) -> String {
    let lines = of_containers();
    let fixed = sum(&lines);
    let idle_polls = empty_polls(1.0, POLLERS) * each(SQS_REQUEST);
    let saved = ikkai_sent_directly(run).dollars() - in_a_container().dollars();
    let even = (fixed - idle_polls) / saved / 1e6;
    let total = ["**sum**".to_owned(), String::new(), format!("**{}**", dollars(fixed))];
    markdown(["a month of one consumer in containers", "units", "$"], rows(lines).chain([total]))
        + &format!(
            "\nThe mapping's empty polls, {} $ a month, fall away, and a job is {} $ a million cheaper than one sent directly to Ikkai. So two tasks cost less \
             from **{even:.0} million jobs a month** on, which is {:.0} a second, day and night.\n",
            dollars(idle_polls),
            dollars(saved * 1e6),
            even * 1e6 / (HOURS * 3600.0),
        )
}

/// The month as a whole, for one consumer.
pub(super) fn months(run: &MeasuredRun) -> String {
    let polls = empty_polls(1.0, POLLERS) * each(SQS_REQUEST);
    let metrics = METRICS_OF_A_CONSUMER * CUSTOM_METRIC.dollars;
    let (api, direct, powertools) = (ikkai_with_api(run), ikkai_sent_directly(run), powertools(run));
    let containers = (in_a_container(), sum(&of_containers()));
    let rows = [0.0, 1e5, 1e6, 1e7, 1e8].map(|jobs: f64| {
        let metrics = if jobs > 0.0 { metrics } else { 0.0 };
        let jobs_told = if jobs == 0.0 { "0".to_owned() } else { format!("{} million", units(jobs / 1e6)) };
        [
            jobs_told,
            dollars(jobs * api.dollars() + polls + metrics),
            dollars(jobs * direct.dollars() + polls + metrics),
            dollars(jobs * powertools.dollars() + polls),
            dollars(jobs * containers.0.dollars() + containers.1 + metrics),
        ]
    });
    markdown(["jobs a month, $", api.name, direct.name, powertools.name, containers.0.name], rows)
}

#[test]
fn what_is_counted_in_templates_and_pages_is_there() {
    assert_eq!(mappings(), 5.0);
    let [all, essential] = alarm_metrics();
    assert!(all > essential && essential > 0.0);
    assert!(of_stack().iter().all(|line| line.units > 0.0));
}
