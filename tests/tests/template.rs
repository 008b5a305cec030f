//! Template tests: what is deployed keeps the rules that the code relies on, for every value that a parameter allows. Each rule is also
//! shown to notice a stack that was broken on purpose.

use std::sync::OnceLock;

use ikkai_tests::template::policy::{Request, allows};
use ikkai_tests::template::{
    Parameters, Stack, Synthesis, api, functions, lint, mappings, parameters, queues, refusals, roles, settings, synthesize,
    tables,
};
use serde_json::{Value, json};

/// A rule: what violates it, one line each.
type Rule = fn(&Stack) -> Vec<String>;

/// Every value of every listed parameter, the ends of the others that rules are about, and every door of the API.
fn every_stack() -> &'static Synthesis {
    static STACKS: OnceLock<Synthesis> = OnceLock::new();
    STACKS.get_or_init(|| {
        let declared = synthesize(&[parameters(&[])]);
        let longest_window = declared.parameters["EmailBatchingWindowSeconds"]["MaxValue"].to_string();
        let mut sets: Vec<Parameters> = vec![parameters(&[])];
        for timeout in declared.allowed("EmailFunctionTimeoutSeconds") {
            sets.push(parameters(&[("EmailFunctionTimeoutSeconds", &timeout), ("EmailBatchingWindowSeconds", &longest_window)]));
        }
        for parameter in ["QueueRetentionDays", "EmailMaxConcurrency"] {
            for value in declared.allowed(parameter) {
                sets.push(parameters(&[(parameter, &value)]));
            }
        }
        for (parameter, declaration) in declared.parameters.as_object().expect("parameters") {
            for end in ["MinValue", "MaxValue"].into_iter().filter(|end| declaration.get(end).is_some()) {
                let mut set = parameters(&[(parameter, &declaration[end].to_string())]);
                // The most attempts need more receives than the default.
                set.entry("EmailMaxReceiveCount").or_insert(json!("12"));
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
        for (timeout, function) in [("100", "3"), ("60000", "120")] {
            sets.push(parameters(&[("EmailProviderTimeoutMs", timeout), ("EmailFunctionTimeoutSeconds", function)]));
        }
        for rate in ["1", "999999"] {
            sets.push(parameters(&[("EmailProviderRatePerSecond", rate)]));
        }
        sets.push(parameters(&[("EmailFromName", &"n".repeat(128)), ("EmailConfigurationSet", &"c".repeat(64))]));
        sets.push(parameters(&[
            ("SenderIdentityArn", "arn:aws:ses:eu-west-1:123456789012:identity/mail@example.com"),
            ("EmailFromName", "Łódź Café & Friends"),
            ("EmailConfigurationSet", "transactional"),
            ("EmailProviderRatePerSecond", "14"),
            ("SesEndpointUrl", "https://ses.example"),
        ]));
        synthesize(&sets)
    })
}

#[track_caller]
fn holds(rule: Rule) {
    for stack in &every_stack().stacks {
        assert_eq!(rule(stack), Vec::<String>::new());
    }
}

/// The rule holds for the stack with every door, and names `culprit` once `break_it` has changed that stack.
#[track_caller]
fn notices(rule: Rule, culprit: &str, break_it: impl FnOnce(&mut Stack)) {
    static STACK: OnceLock<Stack> = OnceLock::new();
    let mut stack = STACK.get_or_init(|| synthesize(&[parameters(&[("ApiDoor", "Both")])]).stacks.remove(0)).clone();
    assert_eq!(rule(&stack), Vec::<String>::new(), "the rule holds before");
    break_it(&mut stack);
    let violations = rule(&stack);
    assert!(violations.iter().any(|violation| violation.starts_with(culprit)), "{culprit} is not named in {violations:?}");
}

/// The place of a statement in a role, by its `Sid`.
fn statement(stack: &Stack, role: &str, sid: &str) -> String {
    let role = stack.target(&json!({"Ref": role})).expect("a role");
    let statements = role.at("/Policies/0/PolicyDocument/Statement").as_array().expect("statements");
    let index = statements.iter().position(|statement| statement["Sid"] == sid).expect("a statement of that Sid");
    format!("/Policies/0/PolicyDocument/Statement/{index}")
}

fn set_in_statement(stack: &mut Stack, role: &str, sid: &str, pointer: &str, value: Value) {
    let place = statement(stack, role, sid);
    stack.set(role, &format!("{place}{pointer}"), value);
}

mod queue {
    use super::*;

    #[test]
    fn visibility_is_at_least_six_function_timeouts_and_the_window_for_every_timeout() {
        holds(queues::visibility_covers_the_function);
        notices(queues::visibility_covers_the_function, "EmailQueue", |stack| {
            stack.set("EmailQueue", "/VisibilityTimeout", json!("179"));
        });
        notices(queues::visibility_covers_the_function, "EmailQueue", |stack| {
            stack.set("EmailConsumerFunction", "/Timeout", json!("60"));
        });
        notices(queues::visibility_covers_the_function, "EmailQueue", |stack| {
            stack.set("EmailConsumerFunctionEmailQueue", "/MaximumBatchingWindowInSeconds", json!("31"));
        });
    }

    #[test]
    fn the_receive_limit_is_at_least_five_and_known_to_the_function() {
        holds(queues::receive_limits_agree);
        notices(queues::receive_limits_agree, "EmailQueue", |stack| {
            stack.set("EmailQueue", "/RedrivePolicy/maxReceiveCount", json!("7"));
        });
        notices(queues::receive_limits_agree, "EmailQueue: 4 receives", |stack| {
            stack.set("EmailQueue", "/RedrivePolicy/maxReceiveCount", json!("4"));
            stack.set("EmailConsumerFunction", "/Environment/Variables/IKKAI_MAX_RECEIVE_COUNT", json!("4"));
        });
        notices(queues::receive_limits_agree, "EmailQueue: no redrive", |stack| stack.remove("EmailQueue", "/RedrivePolicy"));
    }

    #[test]
    fn dead_letter_queues_keep_messages_for_14_days_and_accept_their_source_alone() {
        let rule = queues::dead_letter_queues_suit_their_sources;
        holds(rule);
        let dead = "EmailDeadLetterQueue";
        notices(rule, dead, |stack| stack.set(dead, "/MessageRetentionPeriod", json!("345600")));
        notices(rule, dead, |stack| stack.set("EmailQueue", "/MessageRetentionPeriod", json!("1209600")));
        notices(rule, dead, |stack| stack.set("EmailQueue", "/FifoQueue", json!(true)));
        notices(rule, dead, |stack| stack.set("EmailQueue", "/QueueName", json!("ikkai-other")));
        notices(rule, dead, |stack| stack.set(dead, "/RedriveAllowPolicy/redrivePermission", json!("allowAll")));
        notices(rule, dead, |stack| stack.set(dead, "/MaximumMessageSize", json!("262144")));
        notices(rule, "EmailQueue", |stack| stack.drop_resource(dead));
    }

    #[test]
    fn succeeded_records_outlive_every_copy_of_their_message() {
        holds(queues::records_outlive_messages);
        for function in ["EmailConsumerFunction", "ProducerApiFunction"] {
            let variable = "/Environment/Variables/IKKAI_RECORD_RETENTION_SECONDS";
            notices(queues::records_outlive_messages, function, |stack| stack.set(function, variable, json!("1727999")));
            notices(queues::records_outlive_messages, function, |stack| stack.remove(function, variable));
        }
    }

    #[test]
    fn every_queue_is_encrypted_and_refuses_requests_without_tls() {
        holds(queues::queues_are_encrypted);
        holds(queues::queues_demand_tls);
        for queue in ["EmailQueue", "EmailDeadLetterQueue"] {
            notices(queues::queues_are_encrypted, queue, |stack| stack.set(queue, "/SqsManagedSseEnabled", json!(false)));
            notices(queues::queues_demand_tls, queue, |stack| stack.drop_resource(&format!("{queue}Policy")));
        }
        let condition = "/PolicyDocument/Statement/0/Condition/Bool/aws:SecureTransport";
        notices(queues::queues_demand_tls, "EmailQueue", |stack| stack.set("EmailQueuePolicy", condition, json!("true")));
        notices(queues::queues_demand_tls, "EmailQueuePolicy: lets everybody in", |stack| {
            stack.set("EmailQueuePolicy", "/PolicyDocument/Statement/0/Effect", json!("Allow"));
        });
    }
}

mod mapping {
    use super::*;

    const MAPPING: &str = "EmailConsumerFunctionEmailQueue";

    #[test]
    fn every_queue_that_jobs_are_sent_to_has_one_consumer() {
        holds(mappings::every_queue_has_its_consumer);
        notices(mappings::every_queue_has_its_consumer, "EmailQueue", |stack| stack.drop_resource(MAPPING));
        notices(mappings::every_queue_has_its_consumer, MAPPING, |stack| {
            stack.set(MAPPING, "/EventSourceArn", json!("arn:aws:sqs:us-east-1:123456789012:elsewhere"));
        });
        notices(mappings::every_queue_has_its_consumer, "EmailConsumerFunction", |stack| {
            stack.set("EmailConsumerFunction", "/Environment/Variables/IKKAI_QUEUE_NAME", json!("elsewhere"));
        });
    }

    #[test]
    fn every_mapping_from_a_queue_reports_failed_items() {
        holds(mappings::failures_are_reported_by_item);
        notices(mappings::failures_are_reported_by_item, MAPPING, |stack| stack.remove(MAPPING, "/FunctionResponseTypes"));
    }

    #[test]
    fn concurrency_is_bounded_at_the_mapping_and_never_reserved() {
        let rule = mappings::concurrency_is_bounded_at_the_mapping;
        holds(rule);
        notices(rule, MAPPING, |stack| stack.remove(MAPPING, "/ScalingConfig"));
        notices(rule, MAPPING, |stack| stack.set(MAPPING, "/ScalingConfig/MaximumConcurrency", json!(1)));
        notices(rule, "EmailConsumerFunction", |stack| stack.set(MAPPING, "/ScalingConfig/MaximumConcurrency", json!(3)));
        // MiniStack stops polling altogether when it is a string.
        notices(rule, MAPPING, |stack| stack.set(MAPPING, "/ScalingConfig/MaximumConcurrency", json!("2")));
        notices(rule, "EmailConsumerFunction", |stack| {
            stack.set("EmailConsumerFunction", "/ReservedConcurrentExecutions", json!(2));
        });
    }

    #[test]
    fn batches_are_as_lambda_wants_them() {
        let rule = mappings::batches_are_as_lambda_wants_them;
        holds(rule);
        notices(rule, MAPPING, |stack| stack.set(MAPPING, "/BatchSize", json!("11")));
        notices(rule, MAPPING, |stack| stack.set(MAPPING, "/FilterCriteria", json!({"Filters": []})));
        notices(rule, MAPPING, |stack| {
            stack.set("EmailQueue", "/FifoQueue", json!(true));
            stack.set(MAPPING, "/MaximumBatchingWindowInSeconds", json!(1));
        });
    }
}

mod table {
    use super::*;

    #[test]
    fn expired_items_go_by_the_attribute_that_the_code_writes() {
        holds(tables::items_expire_by_the_attribute_of_the_code);
        for table in ["JobsTable", "ContactsTable"] {
            let rule = tables::items_expire_by_the_attribute_of_the_code;
            notices(rule, table, |stack| stack.set(table, "/TimeToLiveSpecification/AttributeName", json!("ttl")));
            notices(rule, table, |stack| stack.set(table, "/TimeToLiveSpecification/Enabled", json!(false)));
        }
    }

    #[test]
    fn tables_have_the_keys_of_the_code() {
        holds(tables::tables_have_the_keys_of_the_code);
        notices(tables::tables_have_the_keys_of_the_code, "EmailConsumerFunction", |stack| {
            stack.set("ContactsTable", "/KeySchema/0/AttributeName", json!("email"));
        });
    }

    #[test]
    fn tables_are_encrypted_backed_up_and_refuse_deletion_unless_told_otherwise() {
        holds(tables::tables_are_encrypted_and_backed_up);
        holds(tables::tables_refuse_deletion);
        notices(tables::tables_are_encrypted_and_backed_up, "JobsTable", |stack| stack.remove("JobsTable", "/SSESpecification"));
        notices(tables::tables_are_encrypted_and_backed_up, "JobsTable", |stack| {
            stack.remove("JobsTable", "/PointInTimeRecoverySpecification");
        });
        let unprotected = synthesize(&[parameters(&[("DeletionProtection", "false")])]);
        assert_eq!(tables::tables_refuse_deletion(&unprotected.stacks[0]).len(), 2);
    }
}

mod role {
    use super::*;

    #[test]
    fn roles_have_no_wildcards() {
        holds(roles::roles_have_no_wildcards);
        notices(roles::roles_have_no_wildcards, "ProducerApiRole", |stack| {
            set_in_statement(stack, "ProducerApiRole", "Jobs", "/Resource", json!("*"));
        });
        notices(roles::roles_have_no_wildcards, "ProducerApiRole", |stack| {
            set_in_statement(stack, "ProducerApiRole", "Jobs", "/Action", json!(["dynamodb:*"]));
        });
        notices(roles::roles_have_no_wildcards, "EmailConsumerRole", |stack| {
            set_in_statement(stack, "EmailConsumerRole", "OwnJobs", "/NotAction", json!("dynamodb:DeleteTable"));
        });
    }

    #[test]
    fn every_function_has_a_role_of_its_own() {
        holds(roles::roles_are_not_shared);
        notices(roles::roles_are_not_shared, "ProducerApiRole", |stack| {
            stack.set("EmailConsumerFunction", "/Role", json!({"Fn::GetAtt": ["ProducerApiRole", "Arn"]}));
        });
        notices(roles::roles_are_not_shared, "EmailConsumerRole", |stack| {
            stack.set("EmailConsumerRole", "/AssumeRolePolicyDocument/Statement/0/Principal", json!("*"));
        });
        notices(roles::roles_are_not_shared, "EmailConsumerRole", |stack| {
            stack.set("EmailConsumerRole", "/ManagedPolicyArns", json!(["arn:aws:iam::aws:policy/AdministratorAccess"]));
        });
    }

    #[test]
    fn consumers_reach_only_their_own_jobs_and_queue() {
        let rule = roles::consumers_reach_only_their_own;
        let (function, role) = ("EmailConsumerFunction", "EmailConsumerRole");
        holds(rule);
        for prefixes in [json!(["*"]), json!(["email.*"]), json!(["email.send-*", "billing.charge-*"])] {
            notices(rule, function, |stack| {
                let place = "/Condition/ForAllValues:StringLike/dynamodb:LeadingKeys";
                set_in_statement(stack, role, "OwnJobs", place, prefixes);
            });
        }
        notices(rule, function, |stack| {
            let place = statement(stack, role, "OwnJobs");
            stack.remove(role, &format!("{place}/Condition/Null"));
        });
        notices(rule, function, |stack| {
            let place = statement(stack, role, "OwnJobs");
            stack.remove(role, &format!("{place}/Condition"));
        });
        notices(rule, function, |stack| {
            let other = json!({"Fn::GetAtt": ["EmailDeadLetterQueue", "Arn"]});
            set_in_statement(stack, role, "OwnQueue", "/Resource", other);
        });
    }

    #[test]
    fn functions_write_their_own_logs_alone() {
        holds(roles::functions_write_their_own_logs);
        notices(roles::functions_write_their_own_logs, "ProducerApiFunction", |stack| {
            let other = json!({"Fn::GetAtt": ["EmailConsumerLogGroup", "Arn"]});
            set_in_statement(stack, "ProducerApiRole", "OwnLogs", "/Resource", other);
        });
        notices(roles::functions_write_their_own_logs, "ProducerApiFunction", |stack| {
            set_in_statement(stack, "ProducerApiRole", "OwnLogs", "/Action", json!(["logs:PutLogEvents"]));
        });
    }

    #[test]
    fn mail_is_sent_as_the_sender_alone() {
        holds(roles::mail_is_sent_as_the_sender);
        notices(roles::mail_is_sent_as_the_sender, "EmailConsumerFunction", |stack| {
            let place = statement(stack, "EmailConsumerRole", "SendAsSender");
            stack.remove("EmailConsumerRole", &format!("{place}/Condition"));
        });
        notices(roles::mail_is_sent_as_the_sender, "EmailConsumerFunction", |stack| {
            set_in_statement(stack, "EmailConsumerRole", "SendAsSender", "/Resource", json!("*"));
        });
    }

    /// The conditions decided by an evaluator that is not ours.
    #[test]
    fn an_evaluator_lets_the_consumer_at_its_own_jobs_and_at_nothing_else() {
        let request = |action, resource, context| Request { action, resource, context };
        let key = |id: &str| json!({"dynamodb:leadingkeys": [id]});
        let from = |address: &str| json!({"ses:fromaddress": address});
        let identity = "arn:aws:ses:us-east-1:123456789012:identity/example.com";
        let cases = [
            (request("dynamodb:UpdateItem", "JobsTable", key("email.send-aaaa")), true),
            (request("dynamodb:PutItem", "JobsTable", key("email.send-msg-1")), true),
            (request("dynamodb:UpdateItem", "JobsTable", key("billing.charge-aaaa")), false),
            (request("dynamodb:GetItem", "JobsTable", key("email.send")), false),
            (
                request("dynamodb:GetItem", "JobsTable", json!({"dynamodb:leadingkeys": ["email.send-a", "billing.charge-a"]})),
                false,
            ),
            // No leading key: the case in which ForAllValues alone says yes.
            (request("dynamodb:GetItem", "JobsTable", json!({})), false),
            (request("dynamodb:Scan", "JobsTable", json!({})), false),
            (request("dynamodb:DeleteItem", "JobsTable", key("email.send-aaaa")), false),
            (request("dynamodb:GetItem", "ContactsTable", key("user-42")), true),
            (request("dynamodb:PutItem", "ContactsTable", key("user-42")), false),
            (request("sqs:SendMessage", "EmailQueue", json!({})), true),
            (request("sqs:SendMessage", "EmailDeadLetterQueue", json!({})), false),
            (request("sqs:PurgeQueue", "EmailQueue", json!({})), false),
            (request("ses:SendEmail", identity, from("mail@example.com")), true),
            (request("ses:SendRawEmail", identity, from("Mail@Example.com")), true),
            (request("ses:SendEmail", identity, from("boss@example.com")), false),
            (request("ses:SendEmail", identity, json!({})), false),
            (
                request("ses:SendEmail", "arn:aws:ses:us-east-1:123456789012:identity/example.org", from("mail@example.com")),
                false,
            ),
        ];
        let (requests, expected): (Vec<_>, Vec<_>) = cases.into_iter().unzip();
        let decided = allows(&every_stack().stacks[0], "EmailConsumerFunction", &requests);
        for ((request, expected), decided) in requests.iter().zip(expected).zip(decided) {
            assert_eq!(decided, expected, "{request:?}");
        }
    }

    #[test]
    fn an_evaluator_lets_the_producer_enqueue_but_not_receive() {
        let request = |action, resource| Request { action, resource, context: json!({}) };
        let requests = [
            request("dynamodb:PutItem", "JobsTable"),
            request("sqs:SendMessage", "EmailQueue"),
            request("sqs:ReceiveMessage", "EmailQueue"),
            request("sqs:DeleteMessage", "EmailQueue"),
            request("dynamodb:GetItem", "ContactsTable"),
            request("dynamodb:DeleteItem", "JobsTable"),
        ];
        assert_eq!(allows(&every_stack().stacks[0], "ProducerApiFunction", &requests), [true, true, false, false, false, false]);
    }
}

mod door {
    use super::*;

    #[test]
    fn every_door_asks_who_is_calling() {
        holds(api::every_door_asks_who_is_calling);
        notices(api::every_door_asks_who_is_calling, "ProducerApiUrl", |stack| {
            stack.set("ProducerApiUrl", "/AuthType", json!("NONE"));
        });
        notices(api::every_door_asks_who_is_calling, "HttpApiRoute", |stack| stack.remove("HttpApiRoute", "/AuthorizationType"));
        notices(api::every_door_asks_who_is_calling, "HttpApiRoute", |stack| {
            stack.set("HttpApiRoute", "/AuthorizationType", json!("JWT"));
        });
    }

    #[test]
    fn each_door_exists_when_it_was_chosen() {
        for (door, urls, apis) in [("FunctionUrl", 1, 0), ("HttpApi", 0, 1), ("Both", 1, 1)] {
            let stack = &synthesize(&[parameters(&[("ApiDoor", door)])]).stacks[0];
            assert_eq!(stack.of_type("AWS::Lambda::Url").count(), urls, "{door}");
            assert_eq!(stack.of_type("AWS::ApiGatewayV2::Route").count(), apis, "{door}");
        }
    }

    #[test]
    fn permissions_name_their_holders() {
        holds(api::permissions_name_their_holders);
        notices(api::permissions_name_their_holders, "ProducerApiUrlPermission", |stack| {
            stack.set("ProducerApiUrlPermission", "/Principal", json!("*"));
        });
        notices(api::permissions_name_their_holders, "ProducerApiInvokePermission", |stack| {
            stack.remove("ProducerApiInvokePermission", "/InvokedViaFunctionUrl");
        });
        notices(api::permissions_name_their_holders, "HttpApiPermission", |stack| {
            stack.remove("HttpApiPermission", "/SourceArn");
        });
    }

    #[test]
    fn whoever_may_call_the_function_url_has_both_permissions() {
        holds(api::function_urls_can_be_called);
        for permission in ["ProducerApiUrlPermission", "ProducerApiInvokePermission"] {
            notices(api::function_urls_can_be_called, "ProducerApiUrl", |stack| stack.drop_resource(permission));
        }
    }

    #[test]
    fn parameters_that_would_break_a_rule_are_refused() {
        let long_name = "n".repeat(129);
        let cases = [
            ("ApiCallerPrincipal", "*"),
            ("ApiCallerPrincipal", "arn:aws:iam::*:role/caller"),
            ("CorsAllowOrigins", "*"),
            ("CorsAllowOrigins", "https://App.example.com"),
            ("CorsAllowOrigins", "https://app.example.com/"),
            ("CallerPolicy", "{}"),
            ("CallerPolicy", ""),
            ("SendLeaseMs", "499"),
            ("SendLeaseMs", "60001"),
            ("EmailMaxReceiveCount", "4"),
            ("EmailMaxConcurrency", "1"),
            ("EmailFunctionTimeoutSeconds", "31"),
            ("EmailBatchingWindowSeconds", "31"),
            ("EmailBatchSize", "11"),
            ("EmailFrom", "Mail <mail@example.com>"),
            ("EmailFrom", "mail@Example.com"),
            ("EmailFrom", "mail@b\u{fc}cher.example"),
            ("EmailFrom", "m\u{e4}il@example.com"),
            ("EmailFrom", "${aws:username}@example.com"),
            ("EmailFromName", "Shop <boss@example.com>,"),
            ("EmailFromName", long_name.as_str()),
            ("EmailProviderTimeoutMs", "99"),
            ("EmailProviderTimeoutMs", "60001"),
            ("EmailProviderRatePerSecond", "0.5"),
            ("SenderIdentityArn", "*"),
            ("QueueRetentionDays", "14"),
        ];
        let sets: Vec<Parameters> = cases.iter().map(|case| parameters(&[*case])).collect();
        for ((parameter, value), refused) in cases.iter().zip(refusals(&sets)) {
            assert!(refused.is_some_and(|reason| reason.starts_with(parameter)), "{parameter}={value} is refused");
        }
    }
}

mod function {
    use super::*;

    #[test]
    fn functions_are_native_and_built_for_one_processor() {
        holds(functions::functions_are_native);
        notices(functions::functions_are_native, "ProducerApiFunction", |stack| {
            stack.set("ProducerApiFunction", "/Architectures", json!(["arm64", "x86_64"]));
        });
    }

    #[test]
    fn logs_are_kept_for_a_time() {
        holds(functions::logs_are_kept_for_a_time);
        notices(functions::logs_are_kept_for_a_time, "ProducerApiLogGroup", |stack| {
            stack.remove("ProducerApiLogGroup", "/RetentionInDays");
        });
        notices(functions::logs_are_kept_for_a_time, "EmailConsumerFunction", |stack| {
            stack.remove("EmailConsumerFunction", "/LoggingConfig");
        });
    }

    #[test]
    fn environments_are_what_the_code_reads() {
        let rule = functions::environments_are_what_the_code_reads;
        holds(rule);
        let place = |variable: &str| format!("/Environment/Variables/{variable}");
        notices(rule, "EmailConsumerFunction: IKKAI_EMAIL_FROM is missing", |stack| {
            stack.remove("EmailConsumerFunction", &place("IKKAI_EMAIL_FROM"));
        });
        notices(rule, "EmailConsumerFunction: IKKAI_MAX_RETRIES is not read", |stack| {
            stack.set("EmailConsumerFunction", &place("IKKAI_MAX_RETRIES"), json!("3"));
        });
        notices(rule, "ProducerApiFunction: IKKAI_DEFER_SECONDS is not read", |stack| {
            stack.set("ProducerApiFunction", &place("IKKAI_DEFER_SECONDS"), json!("60"));
        });
        notices(rule, "ProducerApiFunction: IKKAI_RECORD_RETENTION_SECONDS is 5", |stack| {
            stack.set("ProducerApiFunction", &place("IKKAI_RECORD_RETENTION_SECONDS"), json!(5));
        });
    }

    /// Also at both ends of what each parameter allows.
    #[test]
    fn functions_start_with_every_value_that_a_parameter_allows() {
        holds(settings::functions_start);
        let place = |variable: &str| format!("/Environment/Variables/{variable}");
        notices(settings::functions_start, "EmailConsumerFunction: IKKAI_MAX_RECEIVE_COUNT", |stack| {
            stack.set("EmailConsumerFunction", &place("IKKAI_MAX_RECEIVE_COUNT"), json!("4"));
        });
        notices(settings::functions_start, "EmailConsumerFunction: IKKAI_QUEUE_NAME", |stack| {
            stack.remove("EmailConsumerFunction", &place("IKKAI_QUEUE_NAME"));
        });
        notices(settings::functions_start, "EmailConsumerFunction: IKKAI_LEASE_CHUNK_SECOND is not read", |stack| {
            stack.set("EmailConsumerFunction", &place("IKKAI_LEASE_CHUNK_SECOND"), json!("45"));
        });
        notices(settings::functions_start, "EmailConsumerFunction: IKKAI_PROVIDER_TIMEOUT_MS", |stack| {
            stack.set("EmailConsumerFunction", &place("IKKAI_PROVIDER_TIMEOUT_MS"), json!("99"));
        });
        for (variable, value) in [("IKKAI_SEND_LEASE_MS", "499"), ("IKKAI_QUEUES", "{}"), ("IKKAI_CALLER_POLICY", "{}")] {
            notices(settings::functions_start, &format!("ProducerApiFunction: {variable}"), |stack| {
                stack.set("ProducerApiFunction", &place(variable), json!(value));
            });
        }
    }

    #[test]
    fn receives_that_leave_no_room_for_renewal_are_refused() {
        let most: u64 = every_stack().parameters["EmailMaxAttempts"]["MaxValue"].as_u64().expect("a bound");
        let around = |attempts: u64| [attempts + 1, attempts + 2].map(|receives| (attempts, receives.max(5)));
        let cases: Vec<(u64, u64)> = (1..=most).flat_map(around).collect();
        let set = |(attempts, receives): &(u64, u64)| {
            parameters(&[("EmailMaxAttempts", &attempts.to_string()), ("EmailMaxReceiveCount", &receives.to_string())])
        };
        let refused = refusals(&cases.iter().map(set).collect::<Vec<_>>());
        for ((attempts, receives), refused) in cases.into_iter().zip(refused) {
            assert_eq!(refused.is_some(), receives < attempts + 2, "{attempts} attempts, {receives} receives: {refused:?}");
        }
    }

    #[test]
    fn consumers_know_their_timeout_keep_within_it_and_may_renew() {
        holds(functions::functions_know_their_timeout);
        holds(functions::provider_calls_fit_into_an_invocation);
        holds(functions::renewal_is_not_taken_for_a_loop);
        notices(functions::functions_know_their_timeout, "EmailConsumerFunction", |stack| {
            stack.set("EmailConsumerFunction", "/Timeout", json!(31));
        });
        notices(functions::provider_calls_fit_into_an_invocation, "EmailConsumerFunction", |stack| {
            stack.set("EmailConsumerFunction", "/Environment/Variables/IKKAI_PROVIDER_TIMEOUT_MS", json!("22500"));
        });
        notices(functions::renewal_is_not_taken_for_a_loop, "EmailConsumerFunction", |stack| {
            stack.remove("EmailConsumerFunction", "/RecursiveLoop");
        });
    }
}

#[test]
fn the_template_is_clean() {
    assert_eq!(lint(), "");
}

/// What CloudFormation takes in a request; more would have to go through a bucket
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html>).
#[test]
fn the_template_fits_into_one_request() {
    let template = include_str!("../../infra/template.yaml");
    assert!(template.len() <= 51_200, "{} bytes", template.len());
}
