//! The stack that watches the application's: everything is watched, alarms are such that somebody believes them, and whatever they, the
//! dashboard and their words refer to exists.

use std::sync::OnceLock;

use ikkai_cli::local::stack::Consumer;
use ikkai_tests::template::monitoring::{self, Series, dashboard};
use ikkai_tests::template::rules::topics;
use ikkai_tests::template::{Parameters, Stack, Synthesis, Template, parameters, synthesize, synthesize_template};
use serde_json::{Value, json};

use crate::stacks::CONSUMERS;

/// A rule over both stacks: what violates it, one line each.
type Rule = fn(&Stack, &Stack) -> Vec<String>;

const RUNBOOK: &str = include_str!("../../../docs/runbook.md");
const PAGE: &str = include_str!("../../../docs/observability.md");

/// The consumers that come with the kit; `ikkai new consumer` adds to them.
const WITH_THE_KIT: [&str; 5] = ["email", "image", "billing", "report", "webhook"];

/// Parameters that both templates have, in other values than their defaults.
const SHARED: [(&str, &str); 9] = [
    ("ApiTimeoutSeconds", "29"),
    ("EmailFunctionTimeoutSeconds", "120"),
    ("ImageFunctionTimeoutSeconds", "300"),
    ("BillingFunctionTimeoutSeconds", "15"),
    ("ReportFunctionTimeoutSeconds", "900"),
    ("WebhookFunctionTimeoutSeconds", "60"),
    ("RedriveTimeoutSeconds", "300"),
    ("QueueRetentionDays", "7"),
    ("EmailMemoryMb", "512"),
];

/// A set with the application's stack called as the synthesizer calls it.
fn watching(given: &[(&str, &str)]) -> Parameters {
    let stack = [("Stack", "ikkai")];
    stack.iter().chain(given).map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

fn with_heartbeats() -> Parameters {
    let heartbeats = CONSUMERS.map(|name| (format!("{name}SilentMinutes"), json!("60")));
    watching(&[("HttpApiId", "a1b2c3")]).into_iter().chain(heartbeats).collect()
}

/// The stacks of each parameter set: default, everything on, other shared values, few alarms, for a local engine, own topics and key, FIFO.
fn synthesis() -> &'static Synthesis {
    static STACKS: OnceLock<Synthesis> = OnceLock::new();
    STACKS.get_or_init(|| {
        let topic = |name: &str| format!("arn:aws:sns:eu-west-1:123456789012:{name}");
        let fifo = ["Email", "Billing", "Report", "Webhook"].map(|name| (format!("{name}QueueType"), json!("fifo")));
        synthesize_template(
            Template::Monitoring,
            &[
                watching(&[]),
                with_heartbeats(),
                watching(&SHARED),
                watching(&[("Alarms", "essential")]),
                watching(&[("CompositeAlarms", "false")]),
                watching(&[
                    ("PageTopicArn", &topic("page")),
                    ("TicketTopicArn", &topic("ticket")),
                    ("AlarmEmail", "a@example.com"),
                ]),
                watching(&[("KmsKeyArn", "arn:aws:kms:eu-west-1:123456789012:key/k"), ("AlarmEmail", "a@example.com")]),
                watching(&[]).into_iter().chain(fifo).collect(),
            ],
        )
    })
}

fn by_default() -> &'static Stack {
    &synthesis().stacks[0]
}

fn everything() -> &'static Stack {
    &synthesis().stacks[1]
}

/// The application with its defaults, and with the shared parameters in other values.
fn applications() -> &'static [Stack] {
    static STACKS: OnceLock<Synthesis> = OnceLock::new();
    &STACKS.get_or_init(|| synthesize(&[parameters(&[]), parameters(&SHARED)])).stacks
}

#[track_caller]
fn holds(rule: Rule) {
    let nothing = Vec::<String>::new();
    assert_eq!(rule(&applications()[0], everything()), nothing);
    assert_eq!(rule(&applications()[1], &synthesis().stacks[2]), nothing, "with other values");
}

/// The rule names `culprit` once the monitoring stack was broken.
#[track_caller]
fn notices(rule: Rule, culprit: &str, break_it: impl FnOnce(&mut Stack)) {
    let mut stack = everything().clone();
    break_it(&mut stack);
    let violations = rule(&applications()[0], &stack);
    assert!(violations.iter().any(|violation| violation.contains(culprit)), "{culprit} is not named in {violations:?}");
}

#[test]
fn every_consumer_has_every_kind_of_alarm() {
    let rule = monitoring::every_consumer_has_every_alarm;
    holds(rule);
    for (name, plain) in CONSUMERS.map(|name| (name, name.to_lowercase())) {
        for (kind, id) in [("poison", "Poison"), ("in-doubt", "InDoubt"), ("dead-letters", "DeadLetters"), ("failing", "Failing")]
        {
            notices(rule, &format!("ikkai-{plain}-{kind}: is missing"), |stack| stack.drop_resource(&format!("{name}{id}Alarm")));
        }
        let poison = format!("{name}PoisonAlarm");
        notices(rule, "does not look at", |stack| stack.set(&poison, "/Dimensions/1/Value", json!("other.type")));
        notices(rule, "does not fire above", |stack| stack.set(&poison, "/Threshold", json!(3)));
        notices(rule, "does not fire above", |stack| {
            stack.set(&format!("{name}InFlightAlarm"), "/Threshold", json!(120_000));
        });
        notices(rule, "does not look at", |stack| {
            stack.set(&format!("{name}DeadLettersAlarm"), "/Dimensions/0/Value", json!(format!("ikkai-{plain}")));
        });
    }
    let without_a_new_one = rule(&with_a_consumer_more(), everything());
    assert!(without_a_new_one.iter().any(|violation| violation == "ikkai-unwatched-poison: is missing"), "{without_a_new_one:?}");
}

/// The application with one more consumer, whose queue is called `unwatched`.
fn with_a_consumer_more() -> Stack {
    let mut stack = applications()[0].clone();
    stack.set("EmailQueue", "/QueueName", json!("ikkai-unwatched"));
    stack
}

#[test]
fn silence_is_an_alarm_for_every_queue_that_is_asked_for_and_for_no_other() {
    let rule = monitoring::silence_is_watched_where_it_is_asked_for;
    assert_eq!(rule(&applications()[0], everything()), Vec::<String>::new());
    assert_eq!(rule(&applications()[0], by_default()).len(), CONSUMERS.len(), "off by default");
    notices(rule, "ikkai-image-silent", |stack| stack.set("ImageSilentAlarm", "/TreatMissingData", json!("notBreaching")));
    notices(rule, "ikkai-image-silent", |stack| stack.set("ImageSilentAlarm", "/Threshold", json!(0)));
}

#[test]
fn what_waits_in_a_dead_letter_queue_is_told_whosever_it_is() {
    let rule = monitoring::dead_letter_queues_are_watched;
    holds(rule);
    notices(rule, "SesFeedbackDeadLetterQueue", |stack| stack.drop_resource("SesFeedbackDeadLettersAlarm"));
    notices(rule, "ReportDeadLetterQueue", |stack| stack.drop_resource("ReportDeadLettersExpiringAlarm"));
}

#[test]
fn every_function_is_watched_with_its_own_timeout() {
    let rule = monitoring::functions_are_watched;
    holds(rule);
    for id in ["SesFeedback", "DlqRedrive", "ProducerApi", "ImageConsumer"] {
        for kind in ["Throttled", "Errors", "Timeout"] {
            notices(rule, "is missing", |stack| stack.drop_resource(&format!("{id}{kind}Alarm")));
        }
        notices(rule, "fires too early", |stack| stack.set(&format!("{id}TimeoutAlarm"), "/Threshold", json!(100)));
        notices(rule, "does not reckon with", |stack| {
            stack.set(&format!("{id}TimeoutAlarm"), "/Metrics/0/Expression", json!("100 * duration / (1000 * 31)"));
        });
    }
}

#[test]
fn every_table_and_index_is_watched() {
    let rule = monitoring::tables_are_watched;
    holds(rule);
    for id in ["JobsTableReads", "JobsTableWrites", "JobsIndexWrites", "ContactsTableReads", "RedriveTableWrites"] {
        notices(rule, "no alarm on", |stack| stack.drop_resource(&format!("{id}ThrottledAlarm")));
    }
}

#[test]
fn whoever_answers_for_customers_is_called_once_and_not_by_a_deployment() {
    let rule = monitoring::customer_impact_covers_every_consumer;
    holds(rule);
    let alarm = "CustomerImpactAlarm";
    notices(rule, "ikkai-webhook-failing", |stack| {
        stack.set(alarm, "/AlarmRule", json!({"Fn::Sub": "ALARM(\"${WebhookBacklogAgeAlarm}\")"}));
    });
    notices(rule, "a deployment calls somebody", |stack| stack.remove(alarm, "/ActionsSuppressor"));
    notices(rule, "tells nobody", |stack| stack.set(alarm, "/AlarmActions", json!([])));
}

#[test]
fn dead_letters_are_told_of_long_before_they_expire() {
    let rule = monitoring::thresholds_follow_the_application;
    for days in synthesis().parameters["QueueRetentionDays"]["AllowedValues"].as_array().expect("values") {
        let given = [("QueueRetentionDays", days.to_string())];
        let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (application, watching) = (synthesize(&[parameters(&given)]), [watching(&given)]);
        let monitoring = synthesize_template(Template::Monitoring, &watching);
        assert_eq!(rule(&application.stacks[0], &monitoring.stacks[0]), Vec::<String>::new(), "{days} days");
    }
    notices(rule, "ikkai-email-dead-letters-expiring", |stack| {
        stack.set("EmailDeadLettersExpiringAlarm", "/Threshold", json!("1209600"));
    });
}

#[test]
fn alarms_neither_cry_wolf_nor_sleep() {
    for stack in &synthesis().stacks {
        assert_eq!(monitoring::alarms_are_kept_well(stack), Vec::<String>::new());
    }
    let rule: Rule = |_, monitoring| monitoring::alarms_are_kept_well(monitoring);
    let changes: [(&str, &str, Value, &str); 9] = [
        ("EmailInFlightAlarm", "/Period", json!(300), "does not look at minutes"),
        ("EmailFailingAlarm", "/Metrics/1/MetricStat/Period", json!(300), "does not look at minutes"),
        ("EmailInFlightAlarm", "/DatapointsToAlarm", json!(1), "fires for one minute"),
        ("EmailPoisonAlarm", "/EvaluationPeriods", json!(1), "fires for one minute"),
        ("EmailPoisonAlarm", "/TreatMissingData", json!("missing"), "takes silence for something else"),
        ("EmailInFlightAlarm", "/Statistic", json!("Average"), "looks at an average"),
        ("EmailPoisonAlarm", "/AlarmName", json!("ikkai-image-poison"), "has no name of its own"),
        ("EmailInFlightAlarm", "/AlarmActions", json!([{"Ref": "TicketTopic"}]), "tells"),
        ("EmailPoisonAlarm", "/AlarmActions", json!([]), "tells"),
    ];
    for (alarm, place, value, said) in changes {
        notices(rule, said, |stack| stack.set(alarm, place, value));
    }
    let without = synthesis().stacks[4].clone();
    assert!(without.of_type("AWS::CloudWatch::CompositeAlarm").next().is_none(), "nothing is reckoned for a local engine");
    assert!(monitoring::alarms(&without).iter().all(|alarm| alarm.expression.is_none()));
}

#[test]
fn few_alarms_are_a_part_of_all() {
    let names = |stack: &Stack| monitoring::alarms(stack).iter().map(|alarm| alarm.name.to_owned()).collect::<Vec<_>>();
    let (all, few) = (by_default(), &synthesis().stacks[3]);
    let named = names(all);
    assert!(names(few).iter().all(|name| named.contains(name)));
    for stack in [all, few] {
        let (alarms, metrics) = of_what_comes_with_the_kit(stack);
        let words = format!("{alarms} alarms over {metrics} metrics");
        assert!(PAGE.contains(&words), "docs/observability.md does not say: {words}");
    }
}

/// How many alarms there are, and how many metrics they look at, without those of consumers that were added.
fn of_what_comes_with_the_kit(stack: &Stack) -> (usize, usize) {
    let added = Consumer::ALL.iter().map(|consumer| consumer.name()).filter(|name| !WITH_THE_KIT.contains(&name.as_str()));
    let added: Vec<String> = added.map(|name| format!("ikkai-{name}")).collect();
    let is_added = |text: &str| added.iter().any(|name| text.starts_with(name.as_str()));
    let alarms = monitoring::alarms(stack).into_iter().filter(|alarm| !is_added(alarm.name));
    let looked_at = alarms.map(|alarm| {
        let of_the_kit = |series: &&Series| !series.dimensions.values().any(|value| is_added(value));
        alarm.series.iter().filter(of_the_kit).count()
    });
    looked_at.fold((0, 0), |(alarms, metrics), looked_at| (alarms + 1, metrics + looked_at))
}

#[test]
fn alarms_say_what_they_mean_and_where_to_go_on() {
    for stack in &synthesis().stacks {
        assert_eq!(monitoring::alarms_are_explained(stack, RUNBOOK), Vec::<String>::new());
    }
    let rule: Rule = |_, monitoring| monitoring::alarms_are_explained(monitoring, RUNBOOK);
    for said in [
        "Something is wrong",
        "Jobs fail. · Owner: us · page · look within 15 minutes · docs/runbook.md#no-such-place",
        "Jobs fail. · Owner: us · page · look within 600 minutes · docs/runbook.md#poison",
        "Jobs fail. · Owner:  · ticket · look within 480 minutes · docs/runbook.md#poison",
    ] {
        notices(rule, "EmailPoisonAlarm", |stack| stack.set("EmailPoisonAlarm", "/AlarmDescription", json!(said)));
    }
}

#[test]
fn the_page_lists_every_alarm_with_its_severity_and_place_in_the_runbook() {
    let rule: Rule = |application, stack| monitoring::alarms_are_listed(application, stack, PAGE);
    holds(rule);
    let other = "Jobs fail. · Owner: us · page · look within 20 minutes · docs/runbook.md#poison";
    notices(rule, "<stack>-email-poison", |stack| stack.set("EmailPoisonAlarm", "/AlarmDescription", json!(other)));
}

#[test]
fn alarms_look_at_metrics_that_exist() {
    let rule = monitoring::alarms_look_at_what_exists;
    holds(rule);
    for (place, value) in [
        ("/MetricName", json!("PoisonDrunk")),
        ("/Dimensions/1/Value", json!("email.sent")),
        ("/Dimensions/0/Value", json!("ikkai-email")),
        ("/Dimensions/0/Name", json!("FunctionName")),
        ("/Namespace", json!("AWS/SQS")),
    ] {
        notices(rule, "EmailPoisonAlarm", |stack| stack.set("EmailPoisonAlarm", place, value));
    }
    notices(rule, "EmailInFlightAlarm", |stack| stack.set("EmailInFlightAlarm", "/Dimensions/0/Value", json!("ikkai-mail")));
}

#[test]
fn names_follow_the_type_of_the_queue() {
    let watched: Vec<String> = monitoring::alarms(&synthesis().stacks[7])
        .into_iter()
        .flat_map(|alarm| alarm.series)
        .filter_map(|series| series.dimensions.get("QueueName").cloned())
        .collect();
    for name in ["email", "billing", "report", "webhook"] {
        for queue in [format!("ikkai-{name}"), format!("ikkai-{name}-dlq")] {
            assert!(watched.contains(&format!("{queue}.fifo")) && !watched.contains(&queue), "{queue}");
        }
    }
    assert!(watched.contains(&"ikkai-image".to_owned()), "S3 cannot notify a FIFO queue");
    assert!(dashboard(&synthesis().stacks[7]).to_string().contains(r#""ikkai-email-dlq.fifo""#));
}

#[test]
fn parameters_of_both_templates_are_declared_alike() {
    let (application, watching) = (&crate::stacks::every_stack().parameters, &synthesis().parameters);
    let application = application.as_object().expect("parameters");
    let mut shared = 0;
    for (name, declared) in watching.as_object().expect("parameters") {
        let Some(original) = application.get(name) else { continue };
        shared += 1;
        for member in ["Type", "Default", "AllowedValues", "MinValue", "MaxValue", "AllowedPattern"] {
            assert_eq!(declared[member], original[member], "{member} of {name}");
        }
    }
    assert!(shared >= 16, "{shared} are shared");
    let timeouts = application.keys().filter(|name| name.ends_with("TimeoutSeconds"));
    let missing: Vec<_> = timeouts.filter(|name| watching[name.as_str()].is_null()).collect();
    assert!(missing.is_empty(), "{missing:?} are not handed on");
}

#[test]
fn the_dashboard_shows_every_consumer_and_nothing_that_does_not_exist() {
    let exists = monitoring::the_dashboard_shows_what_exists;
    holds(exists);
    let complete = monitoring::the_dashboard_shows_every_consumer;
    holds(complete);
    let rewritten = |from: &str, to: &str| {
        let body = dashboard(everything()).to_string();
        assert!(body.contains(from), "{from} is in the dashboard");
        json!(body.replacen(from, to, 1))
    };
    for (from, to) in [
        ("ApproximateAgeOfOldestMessage", "AgeOfOldestMessage"),
        ("HandlerDuration", "HandlerTime"),
        ("ikkai-billing-dlq", "ikkai-bills-dlq"),
        (r#"METRICS(\"failed\")"#, r#"METRICS(\"fails\")"#),
        ("ikkai-report-in-doubt", "ikkai-report-doubt"),
        (r#""width":6"#, r#""width":7"#),
        (r#""id":"m_email""#, r#""id":"m_image""#),
    ] {
        notices(exists, "", |stack| stack.set("Dashboard", "/DashboardBody", rewritten(from, to)));
    }
    notices(complete, "leaves ikkai-report out", |stack| {
        let body = dashboard(stack).to_string().replace("ikkai-report", "ikkai-image");
        stack.set("Dashboard", "/DashboardBody", json!(body));
    });
}

#[test]
fn topics_take_alarms_of_this_stack_alone_and_tell_whom_they_are_told_to() {
    for stack in &synthesis().stacks {
        assert_eq!(topics::topics_are_closed(stack), Vec::<String>::new());
    }
    let count = |stack: &Stack, kind: &str| stack.of_type(kind).count();
    let (own, keyed) = (&synthesis().stacks[5], &synthesis().stacks[6]);
    assert_eq!((count(own, "AWS::SNS::Topic"), count(own, "AWS::SNS::Subscription")), (0, 0), "somebody else's topics");
    assert_eq!((count(keyed, "AWS::SNS::Topic"), count(keyed, "AWS::SNS::Subscription")), (2, 2));
    assert_eq!(count(by_default(), "AWS::SNS::Subscription"), 0);
    assert!(keyed.of_type("AWS::SNS::Topic").all(|topic| topic.at("/KmsMasterKeyId").is_string()));
    for policy in keyed.of_type("AWS::SNS::TopicPolicy") {
        let alarms = &policy.at("/PolicyDocument/Statement/1/Condition/ArnLike")["aws:SourceArn"];
        assert_eq!(alarms, "arn:aws:cloudwatch:us-east-1:123456789012:alarm:ikkai-*");
    }
}
