use super::*;

const TEMPLATE: &str = "\
Metadata:
  AWS::CloudFormation::Interface:
    ParameterGroups:
      - Label: {default: Billing}
        Parameters:
          [PaymentApiUrl, BillingMemoryMb,
           BillingConsumerEnabled]
      - Label: {default: Report}
        Parameters: [ReportMemoryMb]

Parameters:
  # ---- Billing ------------------------------------------------------------------------------------------------------------
  PaymentApiUrl:
    Type: String
  BillingProviderTimeoutMs:
    Type: String
    Description: >-
      How long one call to the payment provider may take. A charge is two calls:
      half of it.
    Default: ''
  BillingMemoryMb:
    Type: Number
    # Little.
    Default: 256
    Description: Memory of the billing consumer, MB.

  # ---- Report -------------------------------------------------------------------------------------------------------------
  ReportMemoryMb:
    Type: Number

Conditions:
  HasBillingRate: !Not [!Equals [!Ref BillingProviderRatePerSecond, '']]
  ReportConsumerIsEnabled: !Equals [!Ref ReportConsumerEnabled, 'true']

Resources:
  JobsTable:
    Properties:
      BillingMode: PAY_PER_REQUEST

  ProducerApiRole:
    Properties:
      # The billing queue is among them.
      Resource: [!GetAtt EmailQueue.Arn, !GetAtt BillingQueue.Arn, !GetAtt ReportQueue.Arn]
      Queues: !Sub >-
        {\"email.send\":\"${EmailQueue.QueueName}\",
        \"billing.charge\":\"${BillingQueue.QueueName}\",\"report.generate\":\"${ReportQueue.QueueName}\"}

  # ---- Billing ------------------------------------------------------------------------------------------------------------
  # The key.
  PaymentSecret:
    Type: AWS::SecretsManager::Secret

  BillingConsumerRole:
    Properties:
      Statement:
        - Sid: OwnJobs
          Resource: billing.charge-*
        - Sid: PaymentKey
          Action: secretsmanager:GetSecretValue
          Resource: !Ref PaymentSecret

  BillingConsumerFunction:
    Properties:
      Description: Charges the customers of billing.charge jobs.
      Variables:
        IKKAI_PROVIDER_TIMEOUT_MS: !FindInMap [FunctionTimeout, '30', PaymentTimeoutMs]
        IKKAI_PAYMENT_API_URL: !Ref PaymentApiUrl
        IKKAI_WARM_UP: !Ref WarmUp

  # ---- Operators ----------------------------------------------------------------------------------------------------------
  DlqRedriveFunction:
    Properties:
      Resource:
        - !GetAtt EmailQueue.Arn
        - !GetAtt BillingQueue.Arn
        - !GetAtt ReportQueue.Arn
      Queues: !Sub >-
        [{\"name\":\"email\",\"type\":\"email.send\"},
        {\"name\":\"billing\",\"type\":\"billing.charge\",
        \"queue\":\"${BillingQueue.QueueName}\"},
        {\"name\":\"report\",\"type\":\"report.generate\"}]

Outputs:
  BillingQueueName:
    Value: !GetAtt BillingQueue.QueueName
  ReportQueueName:
    Value: !GetAtt ReportQueue.QueueName
";

fn sms() -> Names {
    Names::new("sms", None).unwrap()
}

/// The lines that the copy has and the original has not, in order.
fn added(original: &str, edited: &str) -> Vec<String> {
    let mut rest = original.lines().peekable();
    let mut added = Vec::new();
    for line in edited.lines() {
        if rest.peek() == Some(&line) {
            rest.next();
        } else {
            added.push(line.to_owned());
        }
    }
    assert_eq!(rest.next(), None, "nothing is taken out of the original, and its order stays");
    added
}

#[test]
fn a_new_consumer_stands_beside_its_model_wherever_that_is_named() {
    let edited = with_consumer(TEMPLATE, &sms()).unwrap();
    let expected = "
      - Label: {default: Sms}
        Parameters:
          [SmsProviderTimeoutMs, SmsMemoryMb]
HEADLINE
  SmsProviderTimeoutMs:
    Type: String
    Description: >-
      How long one call to the provider may take, milliseconds; at most three quarters of the function timeout less 500. Empty
      means 5000, or half of the function timeout where that is less.
    Default: ''
  SmsMemoryMb:
    Type: Number
    # Little.
    Default: 256
    Description: Memory of the sms consumer, MB.

  HasSmsRate: !Not [!Equals [!Ref SmsProviderRatePerSecond, '']]
      Resource: [!GetAtt EmailQueue.Arn, !GetAtt BillingQueue.Arn, !GetAtt SmsQueue.Arn, !GetAtt ReportQueue.Arn]
        \"billing.charge\":\"${BillingQueue.QueueName}\",\"sms.send\":\"${SmsQueue.QueueName}\",\"report.generate\":\"${ReportQueue.QueueName}\"}
HEADLINE
  SmsConsumerRole:
    Properties:
      Statement:
        - Sid: OwnJobs
          Resource: sms.send-*

  SmsConsumerFunction:
    Properties:
      Description: Works on the jobs of sms.send.
      Variables:
        IKKAI_PROVIDER_TIMEOUT_MS: !FindInMap [FunctionTimeout, '30', ProviderTimeoutMs]
        IKKAI_WARM_UP: !Ref WarmUp

        - !GetAtt SmsQueue.Arn
        {\"name\":\"sms\",\"type\":\"sms.send\",
        \"queue\":\"${SmsQueue.QueueName}\"},
  SmsQueueName:
    Value: !GetAtt SmsQueue.QueueName
";
    let expected = expected.replace("HEADLINE", &entry::headline("Sms"));
    let without_lists: String = TEMPLATE
        .lines()
        .filter(|line| !line.contains("BillingQueue.Arn, ") && !line.contains("\"billing.charge\":"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(added(&without_lists, &edited).join("\n") + "\n", expected.trim_start_matches('\n'));
}

#[test]
fn two_new_consumers_have_a_block_each() {
    let once = with_consumer(TEMPLATE, &sms()).unwrap();
    let twice = with_consumer(&once, &Names::new("push", None).unwrap()).unwrap();
    for name in ["Sms", "Push", "Billing"] {
        for part in ["  {}QueueName:\n", "  {}ConsumerRole:\n", "        - !GetAtt {}Queue.Arn\n"] {
            assert_eq!(twice.matches(&part.replace("{}", name)).count(), 1, "{part} of {name}");
        }
    }
}

#[test]
fn what_is_there_already_is_refused_by_name() {
    let once = with_consumer(TEMPLATE, &sms()).unwrap();
    let error = with_consumer(&once, &sms()).unwrap_err();
    assert_eq!(error, MirrorError::Exists { name: "SmsProviderTimeoutMs".into() });
    let taken = with_consumer(TEMPLATE, &Names::new("provider", None).unwrap()).unwrap_err();
    assert!(matches!(taken, MirrorError::Exists { .. }), "{taken}");
}

#[test]
fn a_template_without_the_model_is_refused() {
    let without = TEMPLATE.replace("# ---- Billing", "# ---- Charges");
    assert_eq!(with_consumer(&without, &sms()).unwrap_err(), MirrorError::NoModel);
}

#[test]
fn a_part_of_the_model_s_own_that_is_not_known_is_not_copied_blindly() {
    let more = TEMPLATE.replace(
        "          Resource: billing.charge-*\n",
        "          Resource: billing.charge-*\n          Note: keeps charges apart\n",
    );
    let error = with_consumer(&more, &sms()).unwrap_err();
    assert_eq!(error, MirrorError::Leftover { line: "Note: keeps charges apart".into() });
}

#[test]
fn a_list_whose_member_cannot_be_told_apart_is_refused_with_its_line() {
    let last = TEMPLATE
        .replace(", !GetAtt BillingQueue.Arn, !GetAtt ReportQueue.Arn]", ", !GetAtt ReportQueue.Arn, !GetAtt BillingQueue.Arn]");
    let error = with_consumer(&last, &sms()).unwrap_err();
    let line = TEMPLATE.lines().position(|line| line.contains("Resource: [")).unwrap() + 1;
    assert!(matches!(&error, MirrorError::Line { number, .. } if *number == line), "{error}");
}

#[test]
fn a_consumer_s_parameters_are_listed_with_their_defaults() {
    let edited = with_consumer(TEMPLATE, &sms()).unwrap();
    assert_eq!(parameters(&edited, "Sms"), ["`SmsProviderTimeoutMs`", "`SmsMemoryMb` [256]"]);
}
