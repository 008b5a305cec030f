//! Each rule on a stack as the template makes it, and on one that breaks it.

use std::collections::BTreeSet;

use super::*;
use crate::doctor::facts::{
    AllowPolicy, Encryption, Fact, FunctionFacts, Gap, Loops, MappingFacts, PermissionFacts, QueueFacts, RedriveFacts,
    RedrivePolicy, Refusal, SettingsFacts, StuckJobs,
};

/// A stack of one consumer, as the template makes it.
fn healthy() -> Facts {
    Facts {
        stack: "s".to_owned(),
        place: Place::Aws,
        consumers: vec![consumer()],
        tables: vec![table()],
        redrive: RedriveFacts { function_name: Fact::Known("s-dlq-redrive".to_owned()), retries: Fact::Known(0) },
        permissions: vec![PermissionFacts { function_name: "s-email-consumer".to_owned(), refusals: Fact::Known(Vec::new()) }],
        stuck: Fact::Known(StuckJobs { after_seconds: 3_600, job_ids: Vec::new() }),
    }
}

fn consumer() -> ConsumerFacts {
    ConsumerFacts {
        name: "email".to_owned(),
        function_name: "s-email-consumer".to_owned(),
        function: Fact::Known(FunctionFacts {
            role: "arn:aws:iam::1:role/r".to_owned(),
            timeout_seconds: 30,
            runtime: "provided.al2023".to_owned(),
            state: "Active".to_owned(),
            log_group: "/aws/lambda/s-email-consumer".to_owned(),
            log_group_of_stack: Fact::Known(true),
            settings: Fact::Known(SettingsFacts {
                queue_name: Some("s-email".to_owned()),
                max_receive_count: Some(6),
                queue_retention_seconds: Some(345_600),
                function_timeout_seconds: Some(30),
                max_concurrency: Some(2),
                max_attempts: Some(3),
                provider_rate_per_second: None,
            }),
        }),
        reserved: Fact::Known(None),
        loops: Fact::Known(Loops::Allowed),
        mappings: Fact::Known(vec![mapping()]),
        queue_name: "s-email".to_owned(),
        queue: Fact::Known(queue()),
        dead_letter_queue_name: "s-email-dlq".to_owned(),
        dead_letter_queue: Fact::Known(dead_letter_queue()),
        alarms: Fact::Known(vec!["s-email-dead-letters".to_owned()]),
        oldest_dead_letter_seconds: Fact::Known(None),
    }
}

fn mapping() -> MappingFacts {
    MappingFacts {
        uuid: "u".to_owned(),
        source_arn: "arn:aws:sqs:r:1:s-email".to_owned(),
        state: "Enabled".to_owned(),
        batch_size: 10,
        window_seconds: 30,
        reports_item_failures: true,
        max_concurrency: Some(2),
        filters: 0,
        provisioned_pollers: false,
    }
}

fn queue() -> QueueFacts {
    QueueFacts {
        arn: "arn:aws:sqs:r:1:s-email".to_owned(),
        fifo: false,
        visibility_seconds: 210,
        retention_seconds: 345_600,
        max_message_bytes: 1_048_576,
        redrive_policy: Some(RedrivePolicy { target_arn: "arn:aws:sqs:r:1:s-email-dlq".to_owned(), max_receive_count: 6 }),
        allow_policy: AllowPolicy::All,
        encryption: Encryption::Sqs,
        tls_only: true,
        visible: 7,
        in_flight: 1,
    }
}

fn dead_letter_queue() -> QueueFacts {
    QueueFacts {
        arn: "arn:aws:sqs:r:1:s-email-dlq".to_owned(),
        visibility_seconds: 30,
        retention_seconds: 1_209_600,
        redrive_policy: None,
        allow_policy: AllowPolicy::Queues(vec!["arn:aws:sqs:r:1:s-email".to_owned()]),
        visible: 0,
        ..queue()
    }
}

fn table() -> TableFacts {
    TableFacts {
        name: "jobs".to_owned(),
        table_name: "s-jobs".to_owned(),
        deletion_protection: Fact::Known(true),
        time_to_live: Fact::Known(Some("expires_at".to_owned())),
        point_in_time_recovery: Fact::Known(true),
    }
}

fn refusal() -> Refusal {
    Refusal {
        role: "arn:aws:iam::1:role/r".to_owned(),
        action: "sqs:SendMessage".to_owned(),
        resource: "arn:aws:sqs:r:1:s-email".to_owned(),
    }
}

fn known<T>(fact: &mut Fact<T>) -> &mut T {
    match fact {
        Fact::Known(value) => value,
        Fact::Unknown(gap) => panic!("{gap:?}"),
    }
}

fn queue_of(facts: &mut Facts) -> &mut QueueFacts {
    known(&mut facts.consumers[0].queue)
}

fn dead_letters_of(facts: &mut Facts) -> &mut QueueFacts {
    known(&mut facts.consumers[0].dead_letter_queue)
}

fn mapping_of(facts: &mut Facts) -> &mut MappingFacts {
    &mut known(&mut facts.consumers[0].mappings)[0]
}

fn function_of(facts: &mut Facts) -> &mut FunctionFacts {
    known(&mut facts.consumers[0].function)
}

fn settings_of(facts: &mut Facts) -> &mut SettingsFacts {
    known(&mut function_of(facts).settings)
}

fn receives(facts: &mut Facts, count: u64) {
    queue_of(facts).redrive_policy.as_mut().unwrap().max_receive_count = count;
    settings_of(facts).max_receive_count = Some(count);
}

fn found(facts: &Facts, rule: &str) -> Finding {
    let mut of_rule = examine(facts).into_iter().filter(|finding| finding.rule == rule);
    let finding = of_rule.next().unwrap_or_else(|| panic!("no rule {rule}"));
    assert!(of_rule.next().is_none(), "{rule} made two findings");
    finding
}

type Break = fn(&mut Facts);

use Severity::{Error, Ok as Good, Unknown, Warning};

/// What breaks a rule, how bad that is, and what the finding has to say.
const BROKEN: &[(&str, Break, Severity, &str)] = &[
    ("function", |facts| facts.consumers[0].function = Fact::Unknown(Gap::Missing), Error, "no function s-email-consumer"),
    ("function", |facts| function_of(facts).state = "Failed".into(), Error, "Failed"),
    ("function", |facts| function_of(facts).state = "Inactive".into(), Warning, "Inactive"),
    ("function", |facts| function_of(facts).runtime = "provided.al2".into(), Warning, "provided.al2 "),
    (
        "settings-agree",
        |facts| settings_of(facts).max_receive_count = Some(5),
        Error,
        "IKKAI_MAX_RECEIVE_COUNT is 5, maxReceiveCount 6",
    ),
    (
        "settings-agree",
        |facts| settings_of(facts).queue_retention_seconds = None,
        Error,
        "IKKAI_QUEUE_RETENTION_SECONDS is not set",
    ),
    (
        "settings-agree",
        |facts| settings_of(facts).function_timeout_seconds = Some(60),
        Error,
        "IKKAI_FUNCTION_TIMEOUT_SECONDS is 60",
    ),
    ("settings-agree", |facts| settings_of(facts).queue_name = Some("other".into()), Error, "IKKAI_QUEUE_NAME is other"),
    ("settings-agree", |facts| mapping_of(facts).max_concurrency = Some(20), Warning, "IKKAI_MAX_CONCURRENCY is 2"),
    ("recursive-loop", |facts| facts.consumers[0].loops = Fact::Known(Loops::Terminated), Error, "stopped"),
    (
        "log-retention",
        |facts| function_of(facts).log_group_of_stack = Fact::Known(false),
        Warning,
        "/aws/lambda/s-email-consumer",
    ),
    ("mapping", |facts| known(&mut facts.consumers[0].mappings).clear(), Error, "none from s-email"),
    ("mapping", |facts| mapping_of(facts).source_arn = "arn:aws:sqs:r:1:other".into(), Error, "none from s-email"),
    (
        "mapping",
        |facts| {
            let other = MappingFacts { source_arn: "arn:aws:sqs:r:1:other".into(), ..mapping() };
            known(&mut facts.consumers[0].mappings).push(other);
        },
        Error,
        "2 mappings",
    ),
    ("mapping-enabled", |facts| mapping_of(facts).state = "Disabled".into(), Warning, "Disabled"),
    ("mapping-enabled", |facts| mapping_of(facts).state = "Disabling".into(), Warning, "Disabling"),
    ("item-failures", |facts| mapping_of(facts).reports_item_failures = false, Error, "not reported"),
    ("no-filter", |facts| mapping_of(facts).filters = 1, Error, "1 filter"),
    ("maximum-concurrency", |facts| mapping_of(facts).max_concurrency = None, Warning, "not bounded"),
    ("reserved-concurrency", |facts| facts.consumers[0].reserved = Fact::Known(Some(0)), Error, "0: nothing runs"),
    ("reserved-concurrency", |facts| facts.consumers[0].reserved = Fact::Known(Some(1)), Error, "takes up to 2"),
    ("reserved-concurrency", |facts| facts.consumers[0].reserved = Fact::Known(Some(4)), Warning, "fewer than the 5"),
    ("batch-size", |facts| mapping_of(facts).batch_size = 11, Warning, "11 messages"),
    ("queues-exist", |facts| facts.consumers[0].queue = Fact::Unknown(Gap::Missing), Error, "no queue s-email"),
    ("queues-exist", |facts| facts.consumers[0].dead_letter_queue = Fact::Unknown(Gap::Missing), Error, "no queue s-email-dlq"),
    ("function-timeout-fits", |facts| queue_of(facts).visibility_seconds = 29, Error, "visibility timeout 29 s"),
    ("visibility-timeout", |facts| queue_of(facts).visibility_seconds = 209, Error, "= 210 s"),
    ("visibility-timeout", |facts| mapping_of(facts).window_seconds = 31, Error, "= 211 s"),
    ("redrive-policy", |facts| queue_of(facts).redrive_policy = None, Error, "none"),
    (
        "redrive-policy",
        |facts| queue_of(facts).redrive_policy.as_mut().unwrap().target_arn = "arn:aws:sqs:r:1:gone".into(),
        Error,
        "to gone",
    ),
    ("redrive-policy", |facts| facts.consumers[0].dead_letter_queue = Fact::Unknown(Gap::Missing), Error, "does not exist"),
    ("receive-count", |facts| receives(facts, 4), Error, "4 receives"),
    ("receive-count", |facts| settings_of(facts).max_attempts = Some(5), Error, "6 receives, 5 attempts"),
    ("queue-types", |facts| queue_of(facts).fifo = true, Error, "the queue is FIFO"),
    ("encryption", |facts| queue_of(facts).encryption = Encryption::Nothing, Error, "s-email: not encrypted"),
    ("encryption", |facts| dead_letters_of(facts).encryption = Encryption::Nothing, Error, "s-email-dlq: not encrypted"),
    ("tls-only", |facts| dead_letters_of(facts).tls_only = false, Warning, "s-email-dlq: requests without TLS"),
    ("dead-letters-stay", |facts| dead_letters_of(facts).redrive_policy = queue().redrive_policy, Error, "after 6 receives"),
    ("dead-letter-retention", |facts| dead_letters_of(facts).retention_seconds = 345_600, Error, "4 days, its source 4 days"),
    ("dead-letter-retention", |facts| dead_letters_of(facts).retention_seconds = 864_000, Warning, "10 days"),
    ("redrive-allow-policy", |facts| dead_letters_of(facts).allow_policy = AllowPolicy::All, Warning, "every queue"),
    ("redrive-allow-policy", |facts| dead_letters_of(facts).allow_policy = AllowPolicy::None, Error, "no queue"),
    (
        "redrive-allow-policy",
        |facts| dead_letters_of(facts).allow_policy = AllowPolicy::Queues(vec!["other".into()]),
        Error,
        "its own source",
    ),
    (
        "redrive-allow-policy",
        |facts| dead_letters_of(facts).allow_policy = AllowPolicy::Queues(vec!["arn:aws:sqs:r:1:s-email".into(), "other".into()]),
        Warning,
        "2 queues",
    ),
    ("message-size", |facts| dead_letters_of(facts).max_message_bytes = 262_144, Error, "262144 bytes"),
    ("message-size", |facts| queue_of(facts).max_message_bytes = 262_144, Warning, "its source 262144 bytes"),
    ("dead-letter-alarm", |facts| facts.consumers[0].alarms = Fact::Known(Vec::new()), Warning, "none"),
    ("dead-letters", |facts| dead_letters_of(facts).visible = 3, Warning, "about 3 messages"),
    (
        "dead-letter-age",
        |facts| facts.consumers[0].oldest_dead_letter_seconds = Fact::Known(Some(604_800)),
        Warning,
        "7 days old",
    ),
    ("dead-letter-age", |facts| facts.consumers[0].oldest_dead_letter_seconds = Fact::Known(Some(967_680)), Error, "11 days old"),
    ("table", |facts| facts.tables[0].deletion_protection = Fact::Unknown(Gap::Missing), Error, "no s-jobs"),
    ("time-to-live", |facts| facts.tables[0].time_to_live = Fact::Known(None), Error, "off"),
    ("time-to-live", |facts| facts.tables[0].time_to_live = Fact::Known(Some("ttl".into())), Error, "on ttl"),
    ("point-in-time-recovery", |facts| facts.tables[0].point_in_time_recovery = Fact::Known(false), Warning, "off"),
    ("deletion-protection", |facts| facts.tables[0].deletion_protection = Fact::Known(false), Warning, "off"),
    ("redrive-function", |facts| facts.redrive.function_name = Fact::Unknown(Gap::Missing), Warning, "not deployed"),
    ("redrive-retries", |facts| facts.redrive.retries = Fact::Known(2), Error, "up to 2"),
    (
        "stuck-jobs",
        |facts| facts.stuck = Fact::Known(StuckJobs { after_seconds: 3_600, job_ids: vec!["email.send-1".into()] }),
        Warning,
        "1 have not moved",
    ),
    (
        "permissions",
        |facts| facts.permissions[0].refusals = Fact::Known(vec![refusal()]),
        Error,
        "arn:aws:iam::1:role/r may not sqs:SendMessage on arn:aws:sqs:r:1:s-email",
    ),
    (
        "permissions",
        |facts| {
            // What is not known about one role does not hide what another lacks.
            facts.permissions[0].refusals = Fact::Unknown(Gap::Missing);
            let other = PermissionFacts { function_name: "other".into(), refusals: Fact::Known(vec![refusal()]) };
            facts.permissions.push(other);
        },
        Error,
        "1 not allowed",
    ),
    ("permissions", |facts| facts.permissions.clear(), Unknown, "names no functions"),
];

/// What stays within the rules, at their edges.
const KEPT: &[(&str, Break)] = &[
    ("function", |facts| function_of(facts).state = String::new()),
    ("settings-agree", |facts| receives(facts, 8)),
    ("settings-agree", |facts| mapping_of(facts).max_concurrency = None),
    ("mapping-enabled", |facts| mapping_of(facts).state = "Enabling".into()),
    ("maximum-concurrency", |facts| {
        mapping_of(facts).max_concurrency = None;
        mapping_of(facts).provisioned_pollers = true;
    }),
    ("reserved-concurrency", |facts| facts.consumers[0].reserved = Fact::Known(Some(5))),
    ("function-timeout-fits", |facts| queue_of(facts).visibility_seconds = 30),
    ("receive-count", |facts| {
        receives(facts, 5);
        settings_of(facts).max_attempts = Some(3);
    }),
    ("encryption", |facts| queue_of(facts).encryption = Encryption::Kms),
    ("queue-types", |facts| {
        queue_of(facts).fifo = true;
        dead_letters_of(facts).fifo = true;
    }),
    ("dead-letter-age", |facts| facts.consumers[0].oldest_dead_letter_seconds = Fact::Known(Some(604_799))),
];

#[test]
fn a_stack_as_the_template_makes_it_is_as_it_should_be() {
    for finding in examine(&healthy()) {
        assert_eq!(finding.severity, Good, "{finding:?}");
    }
}

#[test]
fn each_rule_finds_what_breaks_it() {
    for (rule, break_it, severity, words) in BROKEN {
        let mut facts = healthy();
        break_it(&mut facts);
        let finding = found(&facts, rule);
        assert_eq!(finding.severity, *severity, "{finding:?}");
        assert!(finding.found.contains(words), "no `{words}` in {finding:?}");
        assert!(finding.mend.is_some(), "{finding:?}");
    }
}

#[test]
fn each_rule_has_something_that_breaks_it() {
    let rules: BTreeSet<_> = examine(&healthy()).into_iter().map(|finding| finding.rule).collect();
    let broken: BTreeSet<_> = BROKEN.iter().map(|(rule, ..)| *rule).collect();
    assert_eq!(rules, broken);
}

#[test]
fn each_rule_lets_its_edges_pass() {
    for (rule, change) in KEPT {
        let mut facts = healthy();
        change(&mut facts);
        let finding = found(&facts, rule);
        assert_eq!(finding.severity, Good, "{finding:?}");
    }
}

#[test]
fn without_a_permission_a_rule_is_unknown_and_names_it() {
    fn denied<T>(action: &str) -> Fact<T> {
        Fact::Unknown(Gap::Denied { action: action.to_owned() })
    }
    let mut facts = healthy();
    let consumer = &mut facts.consumers[0];
    consumer.function = denied("lambda:GetFunctionConfiguration");
    consumer.reserved = denied("lambda:GetFunctionConcurrency");
    consumer.loops = denied("lambda:GetFunctionRecursionConfig");
    consumer.mappings = denied("lambda:ListEventSourceMappings");
    consumer.queue = denied("sqs:GetQueueAttributes");
    consumer.dead_letter_queue = denied("sqs:GetQueueAttributes");
    consumer.alarms = denied("cloudformation:ListStackResources");
    consumer.oldest_dead_letter_seconds = denied("lambda:InvokeFunction");
    facts.tables[0].deletion_protection = denied("dynamodb:DescribeTable");
    facts.tables[0].time_to_live = denied("dynamodb:DescribeTimeToLive");
    facts.tables[0].point_in_time_recovery = denied("dynamodb:DescribeContinuousBackups");
    facts.redrive = RedriveFacts {
        function_name: denied("lambda:GetFunctionConfiguration"),
        retries: denied("lambda:GetFunctionEventInvokeConfig"),
    };
    facts.permissions[0].refusals = denied("iam:SimulatePrincipalPolicy");
    facts.stuck = denied("lambda:InvokeFunction");
    for finding in examine(&facts) {
        assert_eq!(finding.severity, Unknown, "{finding:?}");
        assert!(finding.found.contains("is denied") && finding.mend.is_some(), "{finding:?}");
    }
}

#[test]
fn what_a_local_engine_leaves_out_is_nobodys_mistake() {
    for (rule, break_it, ..) in BROKEN {
        let mut facts = healthy();
        facts.place = Place::LocalEngine;
        break_it(&mut facts);
        let finding = found(&facts, rule);
        let excused = LEFT_OUT_LOCALLY.contains(rule);
        assert_eq!(finding.severity == Unknown, excused, "{finding:?}");
    }
    for rule in LEFT_OUT_LOCALLY {
        assert!(BROKEN.iter().any(|(broken, ..)| *broken == rule), "{rule} is no rule");
    }
    let mut facts = healthy();
    facts.place = Place::LocalEngine;
    assert_eq!(found(&facts, "time-to-live").severity, Good, "what the engine does is said");
}
