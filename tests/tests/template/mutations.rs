//! Whatever is broken in the template turns a test red: every property that is taken away, and the mistakes that are made by hand, are
//! noticed by the rules as a whole.

use std::collections::BTreeSet;

use ikkai_tests::template::Stack;
use ikkai_tests::template::rules::ALL;
use serde_json::{Value, json};

use crate::stacks::{KEY, full_stack, plain_stack, set_in_statement, variable};

/// Properties that may go without breaking a rule: type, property, why.
const FREE: &[(&str, &str, &str)] = &[
    ("AWS::ApiGatewayV2::Api", "Name", REQUIRED),
    ("AWS::ApiGatewayV2::Api", "ProtocolType", REQUIRED),
    ("AWS::ApiGatewayV2::Integration", "ApiId", REQUIRED),
    ("AWS::ApiGatewayV2::Integration", "IntegrationType", REQUIRED),
    ("AWS::ApiGatewayV2::Integration", "IntegrationUri", REQUIRED),
    ("AWS::ApiGatewayV2::Integration", "PayloadFormatVersion", "the function reads both"),
    ("AWS::ApiGatewayV2::Route", "ApiId", REQUIRED),
    ("AWS::ApiGatewayV2::Route", "RouteKey", REQUIRED),
    ("AWS::ApiGatewayV2::Route", "Target", REQUIRED),
    ("AWS::ApiGatewayV2::Stage", "AutoDeploy", "a door that stays shut is seen at once"),
    ("AWS::ApiGatewayV2::Stage", "StageName", REQUIRED),
    ("AWS::DynamoDB::Table", "BillingMode", REQUIRED),
    ("AWS::DynamoDB::Table", "DeletionProtectionEnabled", "a matter of the stage, with a rule of its own"),
    ("AWS::DynamoDB::Table", "TableName", NAME),
    ("AWS::Lambda::EventInvokeConfig", "DestinationConfig", "an empty one, of SAM's"),
    ("AWS::Lambda::EventInvokeConfig", "MaximumEventAgeInSeconds", "six hours are Lambda's own"),
    ("AWS::Lambda::EventInvokeConfig", "Qualifier", REQUIRED),
    ("AWS::Lambda::EventSourceMapping", "BatchSize", "ten is Lambda's own"),
    ("AWS::Lambda::EventSourceMapping", "Enabled", "on is Lambda's own"),
    ("AWS::Lambda::EventSourceMapping", "MaximumBatchingWindowInSeconds", "none is Lambda's own"),
    ("AWS::Lambda::Function", "Description", "read by people"),
    ("AWS::Lambda::Function", "FunctionName", NAME),
    ("AWS::Lambda::Function", "MemorySize", "128 MB are Lambda's own"),
    ("AWS::Lambda::Function", "ReservedConcurrentExecutions", "not to reserve is right, too"),
    ("AWS::Lambda::Function", "Timeout", "of those that are told theirs"),
    ("AWS::Lambda::Function", "TracingConfig", "where it is on"),
    ("AWS::Lambda::Permission", "Action", REQUIRED),
    ("AWS::Lambda::Permission", "FunctionName", REQUIRED),
    ("AWS::Lambda::Permission", "SourceAccount", "the ARN of the source names it"),
    ("AWS::Logs::LogGroup", "LogGroupName", NAME),
    ("AWS::S3::Bucket", "BucketName", NAME),
    ("AWS::SNS::Subscription", "Endpoint", REQUIRED),
    ("AWS::SNS::Subscription", "Protocol", REQUIRED),
    ("AWS::SNS::Subscription", "TopicArn", REQUIRED),
    ("AWS::SNS::Topic", "TopicName", NAME),
    ("AWS::SQS::Queue", "KmsDataKeyReusePeriodSeconds", "five minutes are SQS's own"),
    ("AWS::SQS::Queue", "MessageRetentionPeriod", "four days are SQS's own"),
    ("AWS::SQS::Queue", "QueueName", NAME),
    ("AWS::SQS::Queue", "ReceiveMessageWaitTimeSeconds", "Lambda's pollers and the kit ask for a long poll themselves"),
    ("AWS::SQS::Queue", "SqsManagedSseEnabled", "with a key, off is what is left"),
    ("AWS::SecretsManager::Secret", "Description", "read by people"),
    ("AWS::SecretsManager::Secret", "GenerateSecretString", "one without a value is made empty, and its consumer waits"),
    ("AWS::SecretsManager::Secret", "Name", NAME),
];

/// CloudFormation and cfn-lint ask for it.
const REQUIRED: &str = "required";

/// CloudFormation makes one up.
const NAME: &str = "a name";

/// What the rules say about a stack.
fn findings(stack: &Stack) -> Vec<String> {
    ALL.iter().flat_map(|rule| rule(stack)).collect()
}

#[test]
fn the_real_stacks_break_no_rule() {
    assert_eq!(findings(plain_stack()), Vec::<String>::new());
    assert_eq!(findings(full_stack()), Vec::<String>::new());
}

#[test]
fn every_property_that_is_taken_away_is_missed() {
    let mut free: BTreeSet<(&str, &str)> = FREE.iter().map(|(kind, property, _)| (*kind, *property)).collect();
    let mut unnoticed = BTreeSet::new();
    for stack in [plain_stack(), full_stack()] {
        for (resource, kind, property) in stack.properties() {
            let mut broken = stack.clone();
            broken.remove(resource, &format!("/{property}"));
            if findings(&broken).is_empty() {
                unnoticed.insert((kind, property));
            }
        }
    }
    let surprising: Vec<_> = unnoticed.difference(&free).copied().collect();
    assert!(surprising.is_empty(), "nobody misses {surprising:?}");
    free.retain(|property| !unnoticed.contains(property));
    assert!(free.is_empty(), "these are missed and listed as free: {free:?}");
}

/// A mistake, with what a finding about it begins with.
type Mistake = (&'static str, fn(&mut Stack));

const MISTAKES: &[Mistake] = &[
    ("EmailConsumerFunctionEmailQueue: without ReportBatchItemFailures", |stack| {
        stack.remove("EmailConsumerFunctionEmailQueue", "/FunctionResponseTypes");
    }),
    ("EmailConsumerFunctionEmailQueue: filters", |stack| {
        stack.set("EmailConsumerFunctionEmailQueue", "/FilterCriteria", json!({"Filters": []}));
    }),
    ("EmailConsumerFunctionEmailQueue: a FIFO queue", |stack| {
        stack.set("EmailConsumerFunctionEmailQueue", "/MaximumBatchingWindowInSeconds", json!(5));
    }),
    ("BillingQueue: a visibility timeout", |stack| stack.set("BillingQueue", "/VisibilityTimeout", json!("179"))),
    ("BillingQueue: a visibility timeout", |stack| stack.set("BillingConsumerFunction", "/Timeout", json!("60"))),
    ("BillingConsumerFunction: is told another timeout", |stack| stack.set("BillingConsumerFunction", "/Timeout", json!("20"))),
    ("ReportQueue: 4 receives", |stack| stack.set("ReportQueue", "/RedrivePolicy/maxReceiveCount", json!("4"))),
    ("WebhookDeadLetterQueue: is of another type", |stack| stack.remove("WebhookDeadLetterQueue", "/FifoQueue")),
    ("WebhookDeadLetterQueue: its name says", |stack| {
        stack.set("WebhookDeadLetterQueue", "/QueueName", json!("ikkai-webhook-dlq"));
    }),
    ("WebhookDeadLetterQueue: keeps messages", |stack| {
        stack.set("WebhookDeadLetterQueue", "/MessageRetentionPeriod", json!("345600"));
    }),
    ("WebhookDeadLetterQueue: does not accept", |stack| stack.remove("WebhookDeadLetterQueue", "/RedriveAllowPolicy")),
    ("EmailConsumerFunction: records are kept", |stack| {
        stack.set("EmailConsumerFunction", &variable("IKKAI_RECORD_RETENTION_SECONDS"), json!("86400"));
    }),
    ("EmailQueue: takes requests without TLS", |stack| stack.drop_resource("EmailQueuePolicy")),
    ("ImageQueuePolicy: lets a service in for anybody", |stack| {
        stack.remove("ImageQueuePolicy", "/PolicyDocument/Statement/1/Condition/StringEquals");
    }),
    ("ImageQueuePolicy: lets everybody in", |stack| {
        stack.set("ImageQueuePolicy", "/PolicyDocument/Statement/1/Principal", json!("*"));
    }),
    ("EmailQueue: not encrypted", |stack| stack.remove("EmailQueue", "/KmsMasterKeyId")),
    ("JobsTable: items do not expire", |stack| stack.set("JobsTable", "/TimeToLiveSpecification/AttributeName", json!("ttl"))),
    ("JobsTable: no point-in-time", |stack| {
        stack.set("JobsTable", "/PointInTimeRecoverySpecification/PointInTimeRecoveryEnabled", json!(false));
    }),
    ("JobsTable: takes", |stack| stack.remove("JobsTable", "/GlobalSecondaryIndexes/0/WarmThroughput")),
    ("AssetsBucket: without BlockPublicPolicy", |stack| {
        stack.set("AssetsBucket", "/PublicAccessBlockConfiguration/BlockPublicPolicy", json!(false));
    }),
    ("ReportsBucket: takes requests without TLS", |stack| stack.drop_resource("ReportsBucketPolicy")),
    ("ReportsBucket: goes with its stack", |stack| stack.set_attribute("ReportsBucket", "DeletionPolicy", json!("Delete"))),
    ("ProducerApiUrl: is open to everybody", |stack| stack.set("ProducerApiUrl", "/AuthType", json!("NONE"))),
    ("ProducerApiUrl: nobody has lambda:InvokeFunction", |stack| stack.drop_resource("ProducerApiInvokePermission")),
    ("ProducerApiUrlPermission: held by `*`", |stack| stack.set("ProducerApiUrlPermission", "/Principal", json!("*"))),
    ("HttpApiRoute: is open to everybody", |stack| stack.set("HttpApiRoute", "/AuthorizationType", json!("NONE"))),
    ("HttpApiStage: logs $context.identity.sourceIp", |stack| {
        stack.set("HttpApiStage", "/AccessLogSettings/Format", json!(r#"{"from":"$context.identity.sourceIp"}"#));
    }),
    ("EmailConsumerFunction: reserves", |stack| {
        stack.set("EmailConsumerFunction", "/ReservedConcurrentExecutions", json!(1));
    }),
    ("EmailConsumerRole: a wildcard", |stack| {
        set_in_statement(stack, "EmailConsumerRole", "OwnQueue", "/Resource", json!("*"));
    }),
    ("ProducerApiRole: a wildcard", |stack| set_in_statement(stack, "ProducerApiRole", "Jobs", "/Action", json!("dynamodb:*"))),
    ("BillingConsumerRole: has policies from elsewhere", |stack| {
        stack.set("BillingConsumerRole", "/ManagedPolicyArns", json!(["arn:aws:iam::aws:policy/AmazonSQSFullAccess"]));
    }),
    ("WebhookConsumerFunction: dynamodb:DeleteItem is allowed", |stack| {
        set_in_statement(stack, "WebhookConsumerRole", "OwnJobs", "/Action/0", json!("dynamodb:DeleteItem"));
    }),
    ("DlqRedriveFunction: dlq-redrive calls s3:PutObject", |stack| {
        set_in_statement(stack, "DlqRedriveRole", "Archive", "/Action", json!("s3:GetObject"));
    }),
    ("ReportConsumerFunction: may use other keys", |stack| {
        set_in_statement(
            stack,
            "ReportConsumerRole",
            "Key",
            "/Resource",
            json!([KEY, "arn:aws:kms:us-east-1:123456789012:key/other"]),
        );
    }),
    ("DlqRedriveFunction: Lambda repeats", |stack| {
        stack.set("DlqRedriveFunctionEventInvokeConfig", "/MaximumRetryAttempts", json!(2));
    }),
    ("SesFeedbackTopicPolicy: lets others in", |stack| {
        stack.set("SesFeedbackTopicPolicy", "/PolicyDocument/Statement/1/Principal", json!({"AWS": "*"}));
    }),
    ("PaymentSecret: its value", |stack| stack.set("PaymentSecret", "/SecretString", json!("sk_live_1"))),
    ("ImageConsumerFunction: its outputs", |stack| {
        stack.set("ImageConsumerFunction", &variable("IKKAI_DERIVED_PREFIX"), json!("uploads/small/"));
    }),
    ("ImageConsumerLogGroup: keeps lines for ever", |stack| stack.remove("ImageConsumerLogGroup", "/RetentionInDays")),
    ("ReportsBucket: has the tags", |stack| stack.set("ReportsBucket", "/Tags/0/Value", Value::Null)),
];

#[test]
fn every_mistake_is_noticed() {
    for (finding, make) in MISTAKES {
        let mut stack = full_stack().clone();
        make(&mut stack);
        let found = findings(&stack);
        assert!(found.iter().any(|found| found.starts_with(finding)), "`{finding}` is not in {found:?}");
    }
}
