//! What goes wrong on demand.

use std::time::Duration;

use ikkai::queue::{Inbox, Queue, QueueError};
use ikkai::testing::{Moment, QueueRules, SqsFault, SqsOperation};

use super::{HALF_A_MINUTE, bodies, body, receive, sqs};

fn passing() -> QueueError {
    QueueError::Unavailable { operation: "a test", code: "Throttling".to_owned() }
}

#[tokio::test(start_paused = true)]
async fn each_fault_leaves_what_it_says() {
    let (sqs, _) = sqs();
    let queue = sqs.create("email", QueueRules::default());
    let left = || sqs.messages("email").iter().map(|kept| kept.body.clone()).collect::<Vec<_>>();
    sqs.fail_next("email", SqsOperation::Send, SqsFault::Refuse(passing()));
    assert_eq!(queue.send(&[body("a")]).await, Err(passing()));
    assert!(left().is_empty());
    sqs.fail_next("email", SqsOperation::Send, SqsFault::LoseAnswer);
    assert!(queue.send(&[body("b")]).await.is_err());
    assert_eq!(left(), ["b"]);
    sqs.fail_next("email", SqsOperation::Send, SqsFault::FailEntries(vec![(0, passing())]));
    assert_eq!(queue.send(&[body("c"), body("d")]).await.unwrap(), [Err(passing()), Ok(())]);
    assert_eq!(left(), ["b", "d"]);
    for (done, text) in [(true, "e"), (false, "f")] {
        sqs.fail_next("email", SqsOperation::Send, SqsFault::Unmentioned { entries: vec![0], done });
        assert!(queue.send(&[body(text)]).await.unwrap()[0].is_err());
    }
    assert_eq!(left(), ["b", "d", "e"]);
    sqs.fail_next("email", SqsOperation::Receive, SqsFault::FindNothing);
    sqs.fail_next("email", SqsOperation::Receive, SqsFault::StayVisible);
    assert!(receive(&queue).await.is_empty());
    assert_eq!(bodies(&receive(&queue).await), ["b", "d", "e"]);
    let again = receive(&queue).await;
    assert_eq!(again[0].receive_count, 2);
    sqs.fail_always("email", SqsOperation::Delete, SqsFault::Refuse(passing()));
    for _ in 0..2 {
        assert_eq!(queue.delete(&[again[0].receipt_handle.clone()]).await, Err(passing()));
    }
    sqs.heal();
    assert_eq!(queue.delete(&[again[0].receipt_handle.clone()]).await.unwrap(), [Ok(())]);
    assert_eq!(left(), ["d", "e"]);
    assert_eq!(sqs.count("email", SqsOperation::Delete), 3);
}

#[tokio::test(start_paused = true)]
async fn whoever_crashes_never_gets_on_before_or_after_the_effect() {
    for (moment, left) in [(Moment::Before, 1), (Moment::After, 0)] {
        let (sqs, _) = sqs();
        let (queue, dead) = sqs.create_pair("email", 1);
        sqs.bury("email", &[body("a")]);
        sqs.crash_at(3, moment);
        let work = async {
            let message = receive(&dead).await.remove(0);
            queue.send(&[message.copy()]).await.unwrap();
            dead.delete(&[message.receipt_handle]).await.unwrap();
        };
        tokio::select! {
            () = work => panic!("it got on"),
            () = sqs.crashed() => {}
        }
        assert_eq!((sqs.messages("email").len(), sqs.messages("email-dlq").len()), (1, left), "{moment:?}");
        assert!(queue.depth().await.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn chance_is_the_same_for_the_same_seed_and_hits_about_as_often_as_asked() {
    let run = |seed| async move {
        let (sqs, _) = sqs();
        let queue = sqs.create("email", QueueRules::default());
        sqs.fail_by_chance(seed, 300);
        let mut answers = Vec::new();
        for _ in 0..200 {
            answers.push(queue.send(&[body("a"), body("b")]).await);
            answers.push(queue.receive(2, HALF_A_MINUTE, Duration::ZERO).await.map(|found| vec![Ok(()); found.len()]));
        }
        answers
    };
    let one = run(1).await;
    assert_eq!(one, run(1).await);
    assert_ne!(one, run(2).await);
    let failed = one.iter().filter(|answer| answer.is_err()).count();
    assert!((10..150).contains(&failed), "{failed} of 400");
    assert!(one.iter().flatten().flatten().any(Result::is_err), "no entry failed");
}
