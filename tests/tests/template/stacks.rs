//! The stacks that the rules are asked about.

use std::sync::OnceLock;

use ikkai_tests::template::{Parameters, Stack, Synthesis, parameters, synthesize};
use serde_json::{Value, json};

/// A rule: what violates it, one line each.
pub(crate) type Rule = fn(&Stack) -> Vec<String>;

/// What the blocks of the consumers are named after.
pub(crate) const CONSUMERS: [&str; 5] = ["Email", "Image", "Billing", "Report", "Webhook"];

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
        for door in declared.allowed("ApiDoor") {
            sets.push(parameters(&[("ApiDoor", &door)]));
            sets.push(parameters(&[
                ("ApiDoor", &door),
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

/// The most attempts need more receives than the default; the least receives allow three attempts.
fn make_room(set: &mut Parameters, parameter: &str) {
    if let Some(consumer) = parameter.strip_suffix("MaxAttempts") {
        set.insert(format!("{consumer}MaxReceiveCount"), json!("12"));
    }
    if let Some(consumer) = parameter.strip_suffix("MaxReceiveCount") {
        set.insert(format!("{consumer}MaxAttempts"), json!("3"));
    }
}

#[track_caller]
pub(crate) fn holds(rule: Rule) {
    for stack in &every_stack().stacks {
        assert_eq!(rule(stack), Vec::<String>::new());
    }
}

/// The rule holds for the stack with every door, and names `culprit` once `break_it` has changed that stack.
#[track_caller]
pub(crate) fn notices(rule: Rule, culprit: &str, break_it: impl FnOnce(&mut Stack)) {
    static STACK: OnceLock<Stack> = OnceLock::new();
    let mut stack = STACK.get_or_init(|| synthesize(&[parameters(&[("ApiDoor", "Both")])]).stacks.remove(0)).clone();
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
