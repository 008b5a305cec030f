//! The stacks that the rules are asked about.

use std::sync::OnceLock;

use ikkai_cli::local::consumers::Consumer;
use ikkai_tests::template::rules::Rule;
use ikkai_tests::template::{Parameters, Stack, Synthesis, parameters, synthesize};
use serde_json::{Value, json};

/// What the blocks of the consumers are named after.
pub(crate) const CONSUMERS: [&str; Consumer::ALL.len()] = {
    let mut names = [""; Consumer::ALL.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Consumer::ALL[index].prefix();
        index += 1;
    }
    names
};

/// Every value of every listed parameter, both ends of the others, and every door of the API.
pub(crate) fn every_stack() -> &'static Synthesis {
    static STACKS: OnceLock<Synthesis> = OnceLock::new();
    STACKS.get_or_init(|| {
        let declared = synthesize(&[parameters(&[])]);
        let longest_window = declared.parameters["EmailBatchingWindowSeconds"]["MaxValue"].to_string();
        let mut sets: Vec<Parameters> = vec![parameters(&[])];
        for timeout in declared.allowed("EmailFunctionTimeoutSeconds") {
            let mut set = parameters(&[("EmailBatchingWindowSeconds", &longest_window)]);
            for name in CONSUMERS.map(|name| format!("{name}FunctionTimeoutSeconds")) {
                // Reports take longer ones alone.
                if declared.allowed(&name).contains(&timeout) {
                    set.insert(name, json!(timeout));
                }
            }
            sets.push(set);
        }
        for concurrency in declared.allowed("EmailMaxConcurrency") {
            let mut set = parameters(&[]);
            set.extend(CONSUMERS.map(|name| (format!("{name}MaxConcurrency"), json!(concurrency))));
            sets.push(set);
        }
        for queues in declared.allowed("EmailQueueType") {
            for (key, tracing, reserve, warm) in [("", "on", "off", ""), (KEY, "off", "on", "999999"), (KEY, "on", "on", "4000")]
            {
                let mut set = of_queue_type(&queues);
                let settings = [
                    ("Api", "both"),
                    ("KmsKeyArn", key),
                    ("Tracing", tracing),
                    ("ReserveConcurrency", reserve),
                    ("JobsTableWarmWritesPerSecond", warm),
                    ("FifoAfterDeath", "hold_group"),
                ];
                set.extend(settings.map(|(name, value)| (name.to_owned(), json!(value))));
                sets.push(set);
            }
        }
        for stage in declared.allowed("Stage") {
            sets.push(parameters(&[("Stage", &stage), ("Owner", "Team Post")]));
        }
        for value in declared.allowed("QueueRetentionDays") {
            sets.push(parameters(&[("QueueRetentionDays", &value)]));
        }
        for value in declared.allowed("RedriveHistoryDays") {
            sets.push(parameters(&[("RedriveHistoryDays", &value)]));
        }
        sets.push(parameters(&[("RedriveReservedConcurrency", "1")]));
        for (parameter, declaration) in declared.parameters.as_object().expect("parameters") {
            for end in ["MinValue", "MaxValue"].into_iter().filter(|end| declaration.get(end).is_some()) {
                let mut set = parameters(&[(parameter, &declaration[end].to_string())]);
                make_room(&mut set, parameter);
                sets.push(set);
            }
        }
        for door in declared.allowed("Api") {
            sets.push(parameters(&[("Api", &door)]));
            sets.push(parameters(&[
                ("Api", &door),
                ("JwtIssuer", "https://issuer.example"),
                ("JwtAudience", "jobs,reports"),
                ("CorsAllowOrigins", "https://a.example,https://b.example"),
                ("ApiCallerPrincipal", "arn:aws:iam::123456789012:role/caller"),
            ]));
        }
        for (name, most, function_timeout) in [("Email", "60000", "120"), ("Billing", "60000", "300"), ("Webhook", "30000", "60")]
        {
            let (call, function) = (format!("{name}ProviderTimeoutMs"), format!("{name}FunctionTimeoutSeconds"));
            sets.push(parameters(&[(&call, "100"), (&function, "3")]));
            sets.push(parameters(&[(&call, most), (&function, function_timeout)]));
        }
        for rate in ["1", "999999"] {
            sets.push(parameters(&[("EmailProviderRatePerSecond", rate), ("BillingProviderRatePerSecond", rate)]));
        }
        sets.push(parameters(&[("EmailFromName", &"n".repeat(128)), ("EmailConfigurationSet", &"c".repeat(64))]));
        sets.push(parameters(&[
            ("SenderIdentityArn", "arn:aws:ses:eu-west-1:123456789012:identity/mail@example.com"),
            ("EmailFromName", "Łódź Café & Friends"),
            ("EmailConfigurationSet", "transactional"),
            ("EmailProviderRatePerSecond", "14"),
            ("SesEndpointUrl", "https://ses.example"),
        ]));
        sets.push(parameters(&[
            ("ImageUploadSizes", "1,2,3,4,5,6,7,8,9,8192"),
            ("ImageUploadFormats", "png,jpeg,webp"),
            ("ImageBackground", "#00AA99"),
            ("ImageEnlarge", "on"),
        ]));
        sets.push(parameters(&[("PaymentApiUrl", "https://payments.example:8443/stripe")]));
        synthesize(&sets)
    })
}

/// A key of the account.
pub(crate) const KEY: &str = "arn:aws:kms:us-east-1:123456789012:key/0f3a0b6c-1d2e-4f56-8a9b-0c1d2e3f4a5b";

/// The consumers whose queues may be FIFO. (S3 notifies no FIFO queue.)
pub(crate) const ORDERED: [&str; CONSUMERS.len() - 1] = {
    let mut names = [""; CONSUMERS.len() - 1];
    let (mut index, mut found) = (0, 0);
    while index < CONSUMERS.len() {
        if !matches!(Consumer::ALL[index], Consumer::Image) {
            names[found] = CONSUMERS[index];
            found += 1;
        }
        index += 1;
    }
    names
};

/// All queues that can be are of this type, and FIFO ones get the most attempts that a parameter allows.
pub(crate) fn of_queue_type(queues: &str) -> Parameters {
    let mut set = parameters(&[]);
    set.extend(ORDERED.map(|name| (format!("{name}QueueType"), json!(queues))));
    if queues == "fifo" {
        set.extend(ORDERED.map(|name| (format!("{name}MaxAttempts"), json!("10"))));
        set.extend(ORDERED.map(|name| (format!("{name}MaxReceiveCount"), json!("12"))));
    }
    set
}

/// The most attempts need more receives than the default; the least receives allow three attempts.
fn make_room(set: &mut Parameters, parameter: &str) {
    if let Some(consumer) = parameter.strip_suffix("MaxAttempts") {
        set.insert(format!("{consumer}MaxReceiveCount"), json!("12"));
    }
    // That of all FIFO queues leaves room for the most attempts by itself.
    if let Some(consumer) = parameter.strip_suffix("MaxReceiveCount").filter(|consumer| CONSUMERS.contains(consumer)) {
        set.insert(format!("{consumer}MaxAttempts"), json!("3"));
    }
}

#[track_caller]
pub(crate) fn holds(rule: Rule) {
    for stack in &every_stack().stacks {
        assert_eq!(rule(stack), Vec::<String>::new());
    }
}

/// The stack with every door and defaults for the rest.
pub(crate) fn plain_stack() -> &'static Stack {
    static STACK: OnceLock<Stack> = OnceLock::new();
    STACK.get_or_init(|| synthesize(&[parameters(&[("Api", "both")])]).stacks.remove(0))
}

/// The stack in which every switch is on.
pub(crate) fn full_stack() -> &'static Stack {
    static STACK: OnceLock<Stack> = OnceLock::new();
    STACK.get_or_init(|| {
        let mut set = of_queue_type("fifo");
        let switches = [
            ("Api", "both"),
            ("KmsKeyArn", KEY),
            ("Tracing", "on"),
            ("ReserveConcurrency", "on"),
            ("JobsTableWarmWritesPerSecond", "8000"),
        ];
        set.extend(switches.map(|(name, value)| (name.to_owned(), json!(value))));
        synthesize(&[set]).stacks.remove(0)
    })
}

/// The rule holds for the plain stack, and names `culprit` once `break_it` has changed that stack.
#[track_caller]
pub(crate) fn notices(rule: Rule, culprit: &str, break_it: impl FnOnce(&mut Stack)) {
    notices_in(plain_stack(), rule, culprit, break_it);
}

/// The same for a stack of other parameters.
#[track_caller]
pub(crate) fn notices_in(stack: &Stack, rule: Rule, culprit: &str, break_it: impl FnOnce(&mut Stack)) {
    let mut stack = stack.clone();
    assert_eq!(rule(&stack), Vec::<String>::new(), "the rule holds before");
    break_it(&mut stack);
    let violations = rule(&stack);
    assert!(violations.iter().any(|violation| violation.starts_with(culprit)), "{culprit} is not named in {violations:?}");
}

/// The place of an environment variable in a function.
pub(crate) fn variable(name: &str) -> String {
    format!("/Environment/Variables/{name}")
}

/// The place of a statement in a role, by its `Sid`.
pub(crate) fn statement(stack: &Stack, role: &str, sid: &str) -> String {
    let role = stack.target(&json!({"Ref": role})).expect("a role");
    let statements = role.at("/Policies/0/PolicyDocument/Statement").as_array().expect("statements");
    let index = statements.iter().position(|statement| statement["Sid"] == sid).expect("a statement of that Sid");
    format!("/Policies/0/PolicyDocument/Statement/{index}")
}

pub(crate) fn set_in_statement(stack: &mut Stack, role: &str, sid: &str, pointer: &str, value: Value) {
    let place = statement(stack, role, sid);
    stack.set(role, &format!("{place}{pointer}"), value);
}

pub(crate) fn remove_from_statement(stack: &mut Stack, role: &str, sid: &str, pointer: &str) {
    let place = statement(stack, role, sid);
    stack.remove(role, &format!("{place}{pointer}"));
}
