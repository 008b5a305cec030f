//! The question and its answers, in the shape of the API's page
//! (<https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html>).

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use super::*;
use crate::local::aws::sdk_config;

const ROLE: &str = "arn:aws:iam::123456789012:role/r";
const QUEUES: [&str; 2] = ["arn:aws:sqs:us-east-1:123456789012:a", "arn:aws:sqs:us-east-1:123456789012:b"];

type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// Answers one question, and keeps who signed it and what it said.
async fn served(status: u16, body: String) -> (SocketAddr, Seen) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, seen) = (listener.local_addr().unwrap(), Seen::default());
    let log = Arc::clone(&seen);
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let service = service_fn(|request: Request<hyper::body::Incoming>| {
            let (log, body) = (Arc::clone(&log), body.clone());
            async move {
                let signature = request.headers()["authorization"].to_str().unwrap().to_owned();
                let asked = request.into_body().collect().await.unwrap().to_bytes();
                log.lock().unwrap().push((signature, String::from_utf8(asked.to_vec()).unwrap()));
                Response::builder().status(status).body(Full::new(Bytes::from(body)))
            }
        });
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
    });
    (address, seen)
}

fn need() -> Need {
    let list = ContextValue::List(vec!["email.send-x".to_owned()]);
    let text = ContextValue::Text("post@example.com".to_owned());
    Need {
        actions: &["sqs:SendMessage"],
        resources: QUEUES.map(str::to_owned).into(),
        context: vec![Context { key: "dynamodb:LeadingKeys", value: list }, Context { key: "ses:FromAddress", value: text }],
    }
}

fn answer(members: &str) -> String {
    format!(
        r#"<SimulatePrincipalPolicyResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/">
  <SimulatePrincipalPolicyResult>
    <IsTruncated>false</IsTruncated>
    <EvaluationResults>{members}</EvaluationResults>
  </SimulatePrincipalPolicyResult>
  <ResponseMetadata><RequestId>1cdb5b0a-4c15-11e5-b121-bd8c7EXAMPLE</RequestId></ResponseMetadata>
</SimulatePrincipalPolicyResponse>"#
    )
}

fn member(resource: &str, decision: &str, rest: &str) -> String {
    format!(
        "<member><MatchedStatements><member><SourcePolicyId>p</SourcePolicyId><EndPosition><Column>4</Column><Line>7</Line>\
         </EndPosition></member></MatchedStatements><MissingContextValues/><EvalResourceName>{resource}</EvalResourceName>\
         <EvalDecision>{decision}</EvalDecision><EvalActionName>sqs:SendMessage</EvalActionName>{rest}</member>"
    )
}

fn resources(decisions: [&str; 2]) -> String {
    let members = QUEUES.iter().zip(decisions).map(|(queue, decision)| {
        format!(
            "<member><EvalResourceName>{queue}</EvalResourceName><EvalResourceDecision>{decision}</EvalResourceDecision></member>"
        )
    });
    format!("<ResourceSpecificResults>{}</ResourceSpecificResults>", members.collect::<String>())
}

async fn told(status: u16, body: String) -> Fact<Vec<Refusal>> {
    let (address, _) = served(status, body).await;
    Simulator::new(&sdk_config(address)).unwrap().refusals(ROLE, &need()).await
}

fn refused(resources: &[&str]) -> Fact<Vec<Refusal>> {
    let refusal = |resource: &&str| Refusal {
        role: ROLE.to_owned(),
        action: "sqs:SendMessage".to_owned(),
        resource: (*resource).to_owned(),
    };
    Fact::Known(resources.iter().map(refusal).collect())
}

#[tokio::test]
async fn the_question_is_signed_for_iam_and_names_all() {
    let (address, seen) = served(200, answer(&member("*", "allowed", ""))).await;
    assert_eq!(Simulator::new(&sdk_config(address)).unwrap().refusals(ROLE, &need()).await, refused(&[]));
    let (signature, asked) = seen.lock().unwrap()[0].clone();
    assert!(signature.contains("/us-east-1/iam/aws4_request"), "{signature}");
    for part in [
        "Action=SimulatePrincipalPolicy&Version=2010-05-08",
        "PolicySourceArn=arn%3Aaws%3Aiam%3A%3A123456789012%3Arole%2Fr",
        "ActionNames.member.1=sqs%3ASendMessage",
        "ResourceArns.member.2=arn%3Aaws%3Asqs%3Aus-east-1%3A123456789012%3Ab",
        "ContextEntries.member.1.ContextKeyName=dynamodb%3ALeadingKeys",
        "ContextEntries.member.1.ContextKeyType=stringList",
        "ContextEntries.member.1.ContextKeyValues.member.1=email.send-x",
        "ContextEntries.member.2.ContextKeyName=ses%3AFromAddress",
        "ContextEntries.member.2.ContextKeyType=string&",
        "ContextEntries.member.2.ContextKeyValues.member.1=post%40example.com",
    ] {
        assert!(asked.contains(part), "no {part} in {asked}");
    }
}

#[tokio::test]
async fn a_refusal_names_its_resource() {
    // One judgement over all resources.
    let one = answer(&member("*", "implicitDeny", &resources(["allowed", "implicitDeny"])));
    assert_eq!(told(200, one).await, refused(&QUEUES[1..]));
    // One judgement a resource.
    let each = member(QUEUES[0], "explicitDeny", "") + &member(QUEUES[1], "allowed", "");
    assert_eq!(told(200, answer(&each)).await, refused(&QUEUES[..1]));
    // None said.
    assert_eq!(told(200, answer(&member("*", "implicitDeny", ""))).await, refused(&QUEUES));
}

#[tokio::test]
async fn what_was_not_judged_is_not_allowed() {
    let whole = answer(&member("*", "allowed", ""));
    let truncated = whole.replace("<IsTruncated>false", "<IsTruncated>true");
    let cut = whole[..whole.len() / 2].to_owned();
    for body in [answer(""), truncated, cut, "{}".to_owned(), String::new(), "<a/>".to_owned()] {
        let told = told(200, body.clone()).await;
        assert!(matches!(told, Fact::Unknown(Gap::Failed { .. })), "{body}: {told:?}");
    }
}

#[tokio::test]
async fn who_may_not_ask_and_what_does_not_know_are_told_apart() {
    let error = |code: &str| {
        format!(
            r#"<ErrorResponse xmlns="https://iam.amazonaws.com/doc/2010-05-08/"><Error><Type>Sender</Type><Code>{code}</Code>
<Message>no</Message></Error><RequestId>r</RequestId></ErrorResponse>"#
        )
    };
    let action = || ACTION.to_owned();
    assert_eq!(told(403, error("AccessDenied")).await, Fact::Unknown(Gap::Denied { action: action() }));
    assert_eq!(told(400, error("InvalidAction")).await, Fact::Unknown(Gap::Unsupported { action: action() }));
    let failed = |reason: &str| Fact::Unknown(Gap::Failed { action: action(), reason: reason.to_owned() });
    assert_eq!(told(404, error("NoSuchEntity")).await, failed("NoSuchEntity no"));
    assert_eq!(told(500, "oops".to_owned()).await, failed("status 500 Internal Server Error"));
}

#[test]
fn each_partition_has_its_own_iam() {
    assert_eq!(home("eu-central-1"), ("us-east-1", "https://iam.amazonaws.com"));
    assert_eq!(home("cn-northwest-1").0, "cn-north-1");
    assert_eq!(home("us-gov-east-1").0, "us-gov-west-1");
}
