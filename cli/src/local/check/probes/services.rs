//! Doors, mails and alarms.

use aws_sdk_lambda::types::FunctionUrlAuthType;
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, Message};
use futures::FutureExt;
use http::StatusCode;
use serde_json::json;

use crate::local::check::finding::Finding;
use crate::local::check::lab::Lab;
use crate::local::check::ledger::Made;
use crate::local::check::place::Target;
use crate::local::check::probe::{Needs, Probe};
use crate::local::check::trouble::{Doing, Trouble, part};

const GROUP: &str = "doors, mails, alarms";

pub(super) const PROBES: [Probe; 4] = [
    Probe {
        id: "function-url-iam",
        group: GROUP,
        feature: "function URL with IAM",
        aws: "A function URL with the authorization type `AWS_IAM` refuses an unsigned request with 403.",
        source: "https://docs.aws.amazon.com/lambda/latest/dg/urls-auth.html",
        needs: Needs::Function,
        run: |lab| function_url(lab).boxed_local(),
    },
    Probe {
        id: "http-api",
        group: GROUP,
        feature: "HTTP API",
        aws: "An HTTP API with a route to the function answers with what the function answers.",
        source: "https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api.html",
        needs: Needs::Function,
        run: |lab| http_api(lab).boxed_local(),
    },
    Probe {
        id: "ses-v2-identities",
        group: GROUP,
        feature: "SES v2",
        aws: "A mail from an identity that is not verified is refused with MessageRejected.",
        source: "https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_SendEmail.html",
        needs: Needs::Nothing,
        run: |lab| mails(lab).boxed_local(),
    },
    Probe {
        id: "composite-alarm",
        group: GROUP,
        feature: "composite alarms",
        aws: "CloudFormation makes a composite alarm of other alarms.",
        source: "https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Create_Composite_Alarm.html",
        needs: Needs::Nothing,
        run: |lab| composite_alarm(lab).boxed_local(),
    },
];

async fn function_url(lab: &Lab) -> Result<Finding, Trouble> {
    let worker = lab.worker().await?;
    let call = lab.clients.lambda.create_function_url_config().function_name(&worker.name).auth_type(FunctionUrlAuthType::AwsIam);
    let url = call.send().await.doing("CreateFunctionUrlConfig")?.function_url;
    let answer = lab.place.get_given(&url).await;
    let (status, _) = answer.map_err(|told| unreachable("the function URL", told))?;
    Ok(Finding::judged(status == StatusCode::FORBIDDEN, format!("an unsigned request was answered with {}", status.as_u16())))
}

async fn http_api(lab: &Lab) -> Result<Finding, Trouble> {
    let worker = lab.worker().await?;
    let source = json!({ "Fn::Sub": "arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${Api}/*" });
    let template = json!({
        "Resources": {
            "Api": { "Type": "AWS::ApiGatewayV2::Api", "Properties": { "Name": lab.name("api"), "ProtocolType": "HTTP" } },
            "Integration": { "Type": "AWS::ApiGatewayV2::Integration", "Properties": {
                "ApiId": { "Ref": "Api" },
                "IntegrationType": "AWS_PROXY",
                "IntegrationUri": worker.arn,
                "PayloadFormatVersion": "2.0",
            } },
            "Route": { "Type": "AWS::ApiGatewayV2::Route", "Properties": {
                "ApiId": { "Ref": "Api" },
                "RouteKey": "GET /check",
                "Target": { "Fn::Sub": "integrations/${Integration}" },
            } },
            "Stage": { "Type": "AWS::ApiGatewayV2::Stage", "Properties": {
                "ApiId": { "Ref": "Api" }, "StageName": "$default", "AutoDeploy": true,
            } },
            "Permission": { "Type": "AWS::Lambda::Permission", "Properties": {
                "Action": "lambda:InvokeFunction",
                "FunctionName": worker.name,
                "Principal": "apigateway.amazonaws.com",
                "SourceArn": source,
            } },
        },
        "Outputs": {
            "Id": { "Value": { "Ref": "Api" } },
            "Endpoint": { "Value": { "Fn::GetAtt": ["Api", "ApiEndpoint"] } },
        },
    });
    let outputs = match lab.stack("http-api", &template.to_string()).await? {
        Ok(outputs) => outputs,
        Err(told) => return Ok(Finding::absent(format!("the API was not made: {told}"))),
    };
    let id = part(outputs.get("Id"), "CreateStack", "id of the API")?;
    let endpoint = part(outputs.get("Endpoint"), "CreateStack", "endpoint of the API")?;
    let answer = match lab.place.target() {
        Target::Aws { .. } => lab.place.get_given(&format!("{}/check", endpoint.trim_end_matches('/'))).await,
        // By the host's name where an engine gives one of its own, else by the path that both engines know.
        Target::Endpoint(url) => {
            let port = url.rsplit(':').next().unwrap_or_default();
            match lab.place.get_given(&format!("http://{id}.execute-api.localhost:{port}/check")).await {
                Ok((status, body)) if status.is_success() => Ok((status, body)),
                _ => lab.place.get_path(&format!("/_aws/execute-api/{id}/$default/check")).await,
            }
        }
    };
    let (status, body) = answer.map_err(|told| unreachable("the HTTP API", told))?;
    if status == StatusCode::NOT_FOUND {
        return Ok(Finding::absent("the stack with the API was made, but nothing serves it: 404"));
    }
    let ours = status.is_success() && body.as_ref() == b"check-probe";
    Ok(Finding::judged(
        ours,
        format!("GET /check was answered with {}{}", status.as_u16(), if ours { " by the function" } else { "" }),
    ))
}

async fn mails(lab: &Lab) -> Result<Finding, Trouble> {
    // A domain, for which SES sends no mail to anybody, and one that belongs to nobody (RFC 2606).
    let domain = format!("{}.example.com", lab.name("mail"));
    lab.note(Made::Identity(domain.clone()));
    lab.clients.ses.create_email_identity().email_identity(&domain).send().await.doing("CreateEmailIdentity")?;
    let content = |text: &str| Content::builder().data(text).build();
    let (Ok(subject), Ok(text)) = (content("check"), content("check")) else {
        return Err(Trouble::Incomplete { call: "SendEmail", part: "content" });
    };
    let message = Message::builder().subject(subject).body(Body::builder().text(text).build()).build();
    let call = lab.clients.ses.send_email().from_email_address(format!("check@{domain}"));
    let call = call.destination(Destination::builder().to_addresses("success@simulator.amazonses.com").build());
    match call.content(EmailContent::builder().simple(message).build()).send().await.doing("SendEmail") {
        Ok(_) => Ok(Finding::differs("a mail from an identity that is not verified was taken")),
        Err(trouble) if trouble.code() == Some("MessageRejected") => Ok(Finding::as_aws("it was refused with MessageRejected")),
        Err(trouble) if trouble.is_refusal() => {
            Ok(Finding::differs(format!("it was refused with {}", trouble.code().unwrap_or("no code"))))
        }
        Err(trouble) => Err(trouble),
    }
}

async fn composite_alarm(lab: &Lab) -> Result<Finding, Trouble> {
    let name = lab.name("alarm");
    let template = json!({
        "Resources": {
            "Part": { "Type": "AWS::CloudWatch::Alarm", "Properties": {
                "AlarmName": name,
                "Namespace": "AWS/SQS",
                "MetricName": "ApproximateAgeOfOldestMessage",
                "Statistic": "Maximum",
                "Period": 60,
                "EvaluationPeriods": 1,
                "Threshold": 1,
                "ComparisonOperator": "GreaterThanThreshold",
            } },
            "Whole": { "Type": "AWS::CloudWatch::CompositeAlarm", "DependsOn": "Part", "Properties": {
                "AlarmName": format!("{name}-whole"),
                "AlarmRule": format!("ALARM(\"{name}\")"),
            } },
        },
    });
    Ok(match lab.stack("alarms", &template.to_string()).await? {
        Ok(_) => Finding::as_aws("the stack with a composite alarm was made"),
        Err(told) => Finding::absent(format!("the stack with a composite alarm failed: {told}")),
    })
}

fn unreachable(what: &str, told: String) -> Trouble {
    Trouble::Call { call: what.to_owned(), code: None, status: None, told }
}
