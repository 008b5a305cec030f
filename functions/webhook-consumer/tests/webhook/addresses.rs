//! Where a callback may lead.

use std::sync::Arc;

use ikkai::callback::Reach;
use ikkai::idempotency::Status;
use webhook_consumer::SystemLookup;

use crate::receiver::{Receiver, status};
use crate::scene::{Names, Scene, event_of};

fn refused(code: &str) -> (Status, Option<String>) {
    (Status::Dead, Some(code.to_owned()))
}

/// Whatever got into a record in whatever way.
#[tokio::test]
async fn a_url_that_may_not_be_called_is_not_called() {
    let receiver = Receiver::start([]).await;
    let port = receiver.address().port();
    let urls = [
        receiver.url(),
        format!("http://localhost:{port}/"),
        format!("https://127.0.0.1:{port}/"),
        format!("https://localhost:{port}/"),
        format!("https://2130706433:{port}/"),
        "https://127.0.0.1/".to_owned(),
        "https://169.254.169.254/latest/meta-data/".to_owned(),
        "https://[::1]/".to_owned(),
        "https://[::ffff:169.254.169.254]/".to_owned(),
        "https://shop.example@127.0.0.1/".to_owned(),
        "file:///etc/passwd".to_owned(),
        "https://shop.example/\r\nhost: other".to_owned(),
        String::new(),
    ];
    for url in urls {
        let scene = Scene::with(Arc::new(SystemLookup), Reach::Public);
        let message = event_of(&scene.ended(&url));
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), refused("callback_url_refused"), "{url}");
    }
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_not_called() {
    for addresses in [
        &["127.0.0.1"][..],
        &["10.0.0.5"],
        &["169.254.169.254"],
        &["8.8.8.8", "192.168.1.1"],
        &["::1"],
        &["fd00:ec2::254"],
        &["::ffff:127.0.0.1"],
        &["64:ff9b::169.254.169.254"],
        &["0.0.0.0"],
        &["100.64.0.1"],
    ] {
        let names = Names::answering([addresses]);
        let scene = Scene::with(names.clone(), Reach::Public);
        let message = event_of(&scene.ended("https://shop.example/hook"));
        scene.deliver(&message).await;
        assert_eq!(scene.ending(&message), refused("receiver_address_refused"), "{addresses:?}");
        assert_eq!(names.asked(), ["shop.example"]);
    }
}

#[tokio::test]
async fn a_name_without_an_address_is_asked_for_again_later() {
    let scene = Scene::with(Arc::new(Names::default()), Reach::Public);
    let message = event_of(&scene.ended("https://shop.example/hook"));
    scene.deliver(&message).await;
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("receiver_unresolved".to_owned())));
}

/// The connection goes to the address that was checked. A name that answers differently when it is asked again is not asked again: the next
/// delivery asks, checks and connects anew.
#[tokio::test]
async fn a_name_is_asked_once_a_delivery_and_its_answer_is_what_is_connected_to() {
    let receiver = Receiver::start([status(503)]).await;
    let names = Names::answering([&["127.0.0.1"], &["10.0.0.5"]]);
    let scene = Scene::with(names.clone(), Reach::Loopback);
    let message = event_of(&scene.ended(&format!("http://localhost:{}/hook", receiver.address().port())));
    scene.deliver(&message).await;
    assert_eq!((names.asked().len(), receiver.requests().len()), (1, 1));
    scene.bench.clock.advance(std::time::Duration::from_secs(3_600));
    scene.deliver(&message.clone().received(2)).await;
    assert_eq!((names.asked().len(), receiver.requests().len()), (2, 1));
    assert_eq!(scene.ending(&message), refused("receiver_address_refused"));
}
