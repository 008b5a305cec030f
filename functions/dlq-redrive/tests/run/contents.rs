//! What messages are made of: large, full of attributes, or no jobs at all.

use dlq_redrive::protocol::VerdictCode;
use ikkai::queue::{AttributeData, AttributeValue, MAX_MESSAGE_BYTES, OutgoingMessage};
use ikkai::testing::SqsOperation;
use serde_json::json;

use crate::scene::{Scene, codes, envelope};

fn attribute(name: &str, data_type: &str, value: AttributeData) -> (String, AttributeValue) {
    (name.to_owned(), AttributeValue { data_type: data_type.to_owned(), value })
}

#[tokio::test(start_paused = true)]
async fn body_attributes_trace_header_and_group_are_kept() {
    let scene = Scene::new();
    let mut attributes: Vec<_> = (0..7)
        .map(|index| attribute(&format!("text-{index}"), "String.custom", AttributeData::Text(format!("value {index}"))))
        .collect();
    attributes.push(attribute("z-number", "Number", AttributeData::Text("42.0".into())));
    attributes.push(attribute("z-binary", "Binary", AttributeData::Bytes(vec![0, 159, 146, 150, 255])));
    attributes.push(attribute("z-empty", "Binary.none", AttributeData::Bytes(vec![0])));
    let message = OutgoingMessage {
        attributes,
        trace_header: Some("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1".into()),
        group_id: Some("tenant-7".into()),
        ..OutgoingMessage::new(envelope("mail-1").to_body())
    };
    scene.sqs.bury("email", std::slice::from_ref(&message));
    let before = scene.messages("email-dlq").remove(0);
    assert_eq!(codes(&scene.redrive(json!({})).await.unwrap().verdicts), [VerdictCode::Redriven]);
    let after = scene.messages("email").remove(0);
    assert_eq!(after.attributes.len(), 10);
    assert_eq!(
        (after.body, after.attributes, after.trace_header, after.group_id),
        (before.body, before.attributes, before.trace_header, before.group_id)
    );
    assert_ne!(after.message_id, before.message_id);
}

#[tokio::test(start_paused = true)]
async fn bodies_that_are_no_jobs_go_back_byte_for_byte() {
    let bodies = ["not JSON at all", "{\"half\": ", "[]", " {\"type\":\"email.send\"} \n", "Ω\u{10348}\ttab", "\"null\""];
    let scene = Scene::new();
    for body in bodies {
        scene.sqs.bury("email", &[OutgoingMessage::new(body)]);
    }
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven; 6]);
    let after: Vec<_> = scene.messages("email").into_iter().map(|message| message.body).collect();
    assert_eq!(after, bodies);
}

#[tokio::test(start_paused = true)]
async fn ten_messages_of_a_mebibyte_go_one_by_one() {
    let scene = Scene::new();
    for index in 0..10 {
        let mut body = format!("{index}");
        body.push_str(&"x".repeat(MAX_MESSAGE_BYTES - 1));
        scene.sqs.bury("email", &[OutgoingMessage::new(body)]);
    }
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(answer.tally.redriven, 10, "{:?}", answer.tally);
    assert_eq!(scene.sqs.count("email", SqsOperation::Send), 10);
    assert!(scene.messages("email").iter().all(|message| message.body.len() == MAX_MESSAGE_BYTES));
    assert_eq!(scene.messages("email-dlq").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_event_about_several_objects_is_one_message() {
    let scene = Scene::new();
    let object = |key: &str| {
        json!({"eventVersion": "2.1", "eventSource": "aws:s3", "awsRegion": "us-east-1", "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": "uploads"},
                "object": {"key": key, "size": 3, "eTag": "d41d8cd98f00b204e9800998ecf8427e", "sequencer": "0A1B2C3D4E5F678901"}}})
    };
    let body = json!({ "Records": [object("a.png"), object("b.png")] }).to_string();
    scene.sqs.bury("email", &[OutgoingMessage::new(body.clone())]);
    let answer = scene.redrive(json!({})).await.unwrap();
    assert_eq!(codes(&answer.verdicts), [VerdictCode::Redriven]);
    assert_eq!((answer.verdicts[0].job_ids.len(), scene.messages("email")[0].body.clone()), (2, body));
}
