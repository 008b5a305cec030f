//! What a receiver's answer means for the event.

use std::sync::Arc;
use std::time::Duration;

use ikkai::callback::Reach;
use ikkai::clock::Clock as _;
use ikkai::idempotency::{ErrorClass, JobRecord, Status};
use ikkai::testing::{Bench, HttpReply, TokioClock};
use webhook_consumer::{DeliveryError, SystemLookup, WebhookHandler};

use crate::receiver::{Receiver, status};
use crate::scene::{Scene, Secret, ended, event_of, handler, settings};

async fn ending_after(reply: HttpReply) -> (Status, Option<String>) {
    let (scene, receiver) = (Scene::new(), Receiver::start([reply]).await);
    let message = event_of(&scene.ended(&receiver.url()));
    scene.deliver(&message).await;
    assert_eq!(receiver.requests().len(), 1, "one try, one request");
    scene.ending(&message)
}

#[tokio::test]
async fn any_2xx_is_taken() {
    for code in [200, 201, 202, 204, 299] {
        let reply = if code == 204 { HttpReply::Bytes(b"HTTP/1.1 204 X\r\n\r\n".to_vec()) } else { status(code) };
        assert_eq!(ending_after(reply).await, (Status::Succeeded, None), "{code}");
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_again() {
    let cases = [
        (400, "receiver_refuses"),
        (401, "receiver_refuses"),
        (404, "receiver_refuses"),
        (408, "receiver_refuses"),
        (425, "receiver_refuses"),
        (429, "receiver_throttles"),
        (500, "receiver_fails"),
        (502, "receiver_fails"),
        (503, "receiver_fails"),
        (599, "receiver_fails"),
    ];
    for (code, name) in cases {
        assert_eq!(ending_after(status(code)).await, (Status::RetryScheduled, Some(name.to_owned())), "{code}");
    }
}

#[tokio::test]
async fn who_is_gone_is_not_asked_again() {
    assert_eq!(ending_after(status(410)).await, (Status::Dead, Some("receiver_gone".to_owned())));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Receiver::start([]).await;
    for code in [301, 302, 303, 307, 308] {
        let reply = HttpReply::with_fields(code, format!("location: {}\r\n", elsewhere.url()), "ok");
        assert_eq!(ending_after(reply).await, (Status::RetryScheduled, Some("receiver_redirects".to_owned())), "{code}");
    }
    assert!(elsewhere.requests().is_empty());
}

#[tokio::test]
async fn a_connection_that_breaks_or_talks_nonsense_is_tried_again() {
    let lost = (Status::RetryScheduled, Some("receiver_connection_lost".to_owned()));
    let endless_head = [b"HTTP/1.1 200 OK\r\nx: ".to_vec(), vec![b'x'; 100_000]].concat();
    let nonsense = b"220 mail.example ESMTP\r\n".to_vec();
    for reply in [HttpReply::Reset, HttpReply::Close, HttpReply::Bytes(nonsense), HttpReply::Bytes(endless_head)] {
        assert_eq!(ending_after(reply).await, lost);
    }
}

#[tokio::test]
async fn the_body_of_an_answer_changes_nothing_however_long_or_broken() {
    assert_eq!(ending_after(HttpReply::EndlessBody).await, (Status::Succeeded, None));
    let cut_off = HttpReply::Bytes(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf".to_vec());
    assert_eq!(ending_after(cut_off).await, (Status::Succeeded, None));
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_tried_again() {
    let scene = Scene::new();
    let url = {
        let receiver = Receiver::start([]).await;
        receiver.url()
    };
    tokio::task::yield_now().await;
    let message = event_of(&scene.ended(&url));
    scene.deliver(&message).await;
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("receiver_unreachable".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_receiver_that_says_nothing_costs_its_timeout_and_is_tried_again() {
    let receiver = Receiver::start([HttpReply::Silence]).await;
    let scene = Scene::new();
    scene.ended(&receiver.url());
    let clock = TokioClock::new(Bench::<WebhookHandler>::START);
    let handler = handler(&scene.jobs, &Arc::new(Secret::default()), Arc::new(clock), Arc::new(SystemLookup), Reach::Loopback);
    let bench = Bench::timed_with(handler, settings());
    let message = event_of(&ended(&receiver.url()));
    bench.run_batch([message.build()]).await.unwrap();
    let record = bench.record_of(&message).unwrap();
    assert_eq!((record.status, record.last_error.unwrap().code.as_str()), (Status::RetryScheduled, "receiver_timed_out"));
}

#[tokio::test]
async fn a_delivery_is_begun_only_where_the_answer_can_be_taken_off_the_wire_too() {
    let (scene, receiver) = (Scene::new(), Receiver::start([]).await);
    let message = event_of(&scene.ended(&receiver.url()));
    // A quarter of it is kept for settling, so that 5.25 s are left: enough for the head of the answer alone.
    let scarce = scene.bench.clock.now() + Duration::from_secs(7);
    scene.bench.run_until([message.build()], Some(scarce)).await.unwrap();
    assert_eq!(scene.ending(&message), (Status::RetryScheduled, Some("no_time_for_effect".to_owned())));
    assert!(receiver.requests().is_empty());

    scene.bench.clock.advance(Duration::from_secs(3_600));
    let enough = scene.bench.clock.now() + Duration::from_secs(8);
    scene.bench.run_until([message.clone().received(2).build()], Some(enough)).await.unwrap();
    assert_eq!((scene.record(&message).status, receiver.requests().len()), (Status::Succeeded, 1));
}

#[tokio::test]
async fn retry_after_lengthens_the_backoff_never_shortens_it_and_is_capped() {
    let wait_after = async |value: &str, attempts: u32| {
        let reply = || HttpReply::with_fields(503, format!("retry-after: {value}\r\n"), "ok");
        let (scene, receiver) = (Scene::new(), Receiver::start((0..attempts).map(|_| reply())).await);
        let message = event_of(&scene.ended(&receiver.url()));
        for _ in 0..attempts {
            scene.deliver(&message).await;
            scene.bench.clock.advance(Duration::from_secs(3_600));
        }
        scene.bench.queue.last_visibility(&message.receipt_handle()).unwrap()
    };
    assert_eq!(wait_after("120", 1).await, Duration::from_secs(120));
    assert_eq!(wait_after("1", 1).await, Duration::from_secs(10), "the first backoff at its longest");
    assert_eq!(wait_after("1", 3).await, Duration::from_secs(40), "the third one");
    assert_eq!(wait_after("99999999", 1).await, Duration::from_secs(3_600));
    // The scene's clock shows Fri, 15 Jan 2027 08:00:01 GMT.
    assert_eq!(wait_after("Fri, 15 Jan 2027 08:02:01 GMT", 1).await, Duration::from_secs(120), "a date");
    assert_eq!(wait_after("Fri, 15 Jan 2027 08:00:03 GMT", 1).await, Duration::from_secs(10));
    assert_eq!(wait_after("Wed, 21 Oct 2026 07:28:00 GMT", 1).await, Duration::from_secs(10), "a date that has passed");
    assert_eq!(wait_after("Sun, 17 Jan 2027 08:00:00 GMT", 1).await, Duration::from_secs(3_600));
    for odd in ["soon", "-1", "1.5", "2027-01-15T08:02:01Z"] {
        assert!(wait_after(odd, 1).await <= Duration::from_secs(10), "{odd}");
    }
}

#[tokio::test]
async fn who_always_throttles_is_given_up_in_the_end() {
    let (scene, receiver) = (Scene::new(), Receiver::start((0..99).map(|_| status(429))).await);
    let message = event_of(&scene.ended(&receiver.url()));
    for receives in 1..=15 {
        scene.deliver(&message.clone().received(receives)).await;
        scene.bench.clock.advance(Duration::from_secs(3_600));
    }
    assert_eq!(receiver.requests().len(), 12);
    let record = scene.record(&message);
    assert_eq!((record.status, record.last_error.unwrap().class), (Status::Dead, ErrorClass::Transient));
}

#[tokio::test]
async fn one_failing_receiver_does_not_hold_up_the_events_of_others() {
    let (scene, good) = (Scene::new(), Receiver::start([]).await);
    let bad = Receiver::start((0..9).map(|_| status(500))).await;
    let failing = event_of(&scene.ended(&bad.url()));
    for receives in 1..=3 {
        scene.deliver(&failing.clone().received(receives)).await;
        scene.bench.clock.advance(Duration::from_secs(3_600));
    }
    let other = JobRecord { generation: 1, ..ended(&good.url()) };
    scene.jobs.put(other.clone());
    let fine = event_of(&other);
    assert!(scene.deliver(&fine).await.failed.is_empty(), "the circuit, which opens after one failure here, is closed");
    assert_eq!(good.requests().len(), 1);
}

#[test]
fn codes_are_unique_and_texts_name_no_host() {
    use DeliveryError::{
        AddressRefused, ConnectionLost, Fails, Gone, Redirects, Refuses, Throttles, TimedOut, Tls, Unreachable, Unresolved,
        UrlRefused,
    };
    let all = [
        Gone,
        Redirects(301),
        Throttles { retry_after: None },
        Fails { status: 500, retry_after: None },
        Refuses(404),
        UrlRefused,
        AddressRefused,
        Unresolved,
        Unreachable,
        Tls,
        TimedOut,
        ConnectionLost,
    ];
    let codes: std::collections::BTreeSet<_> = all.iter().map(DeliveryError::code).collect();
    assert_eq!(codes.len(), all.len());
    assert!(all.iter().all(|error| error.to_string().len() <= 200), "a record keeps no longer text");
}
