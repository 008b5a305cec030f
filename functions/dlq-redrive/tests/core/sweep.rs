//! Every message once, nothing lost, nothing hidden for longer than needed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use dlq_redrive::{Sweep, SweepRules};
use ikkai::queue::{Inbox, OutgoingMessage, QueueDepth, QueueError, ReceivedMessage};
use ikkai::testing::{MemorySqs, MemorySqsQueue, QueueRules, SqsFault, SqsOperation, TokioClock};

use crate::NOW;

const RULES: SweepRules = SweepRules { hidden_for: Duration::from_secs(120), wait: Duration::from_secs(1), empties: 3 };

fn queue_with(name: &str, count: usize) -> (MemorySqs, Arc<MemorySqsQueue>) {
    let sqs = MemorySqs::new(Arc::new(TokioClock::new(NOW)));
    let (_, dead_letters) = sqs.create_pair(name, 1);
    let fifo = name.ends_with(".fifo");
    let messages: Vec<_> = (0..count)
        .map(|number| OutgoingMessage {
            group_id: fifo.then(|| format!("group-{}", number % 2)),
            deduplication_id: fifo.then(|| number.to_string()),
            ..OutgoingMessage::new(number.to_string())
        })
        .collect();
    sqs.bury(name, &messages);
    (sqs, dead_letters)
}

/// Leaves everything, and says what was seen.
async fn leave_all(sweep: &mut Sweep<'_>) -> Vec<String> {
    let mut bodies = Vec::new();
    loop {
        let page = sweep.next(10).await.unwrap();
        if page.is_empty() {
            return bodies;
        }
        for message in page {
            sweep.leave(&message);
            bodies.push(message.body);
        }
    }
}

async fn depth(queue: &MemorySqsQueue) -> QueueDepth {
    use ikkai::queue::Queue;
    queue.depth().await.unwrap()
}

fn all_once(bodies: &[String], count: usize) -> bool {
    bodies.len() == count && bodies.iter().collect::<BTreeSet<_>>().len() == count
}

#[tokio::test(start_paused = true)]
async fn a_sweep_sees_every_message_once_and_leaves_the_queue_as_it_was() {
    let (sqs, queue) = queue_with("email", 35);
    let mut sweep = Sweep::new(&*queue, RULES);
    let bodies = leave_all(&mut sweep).await;
    assert!(all_once(&bodies, 35), "{bodies:?}");
    assert_eq!((sweep.seen(), depth(&queue).await.in_flight), (35, 35));
    assert_eq!(sqs.count("email-dlq", SqsOperation::Receive), 4 + 3, "four pages and three empty answers");
    sweep.release().await;
    assert_eq!(depth(&queue).await, QueueDepth { visible: 35, in_flight: 0, delayed: 0 });
    assert!(sqs.messages("email-dlq").iter().all(|kept| kept.receive_count == 1), "a look costs one receive a message");
}

#[tokio::test(start_paused = true)]
async fn a_page_is_never_larger_than_asked_for_and_none_takes_nothing() {
    let (_, queue) = queue_with("email", 20);
    let mut sweep = Sweep::new(&*queue, RULES);
    for (max, found) in [(0, 0), (3, 3), (10, 10), (25, 7)] {
        assert_eq!(sweep.next(max).await.unwrap().len(), found, "{max}");
    }
}

#[tokio::test(start_paused = true)]
async fn empty_answers_are_not_taken_at_their_word() {
    let (sqs, queue) = queue_with("email", 25);
    let mut sweep = Sweep::new(&*queue, RULES);
    for _ in 0..2 {
        sqs.fail_next("email-dlq", SqsOperation::Receive, SqsFault::FindNothing);
    }
    assert_eq!(sweep.next(10).await.unwrap().len(), 10);
    for _ in 0..2 {
        sqs.fail_next("email-dlq", SqsOperation::Receive, SqsFault::FindNothing);
    }
    assert!(all_once(&leave_all(&mut sweep).await, 15));
    for _ in 0..3 {
        sqs.fail_next("email-dlq", SqsOperation::Receive, SqsFault::FindNothing);
    }
    assert!(Sweep::new(&*queue, RULES).next(10).await.unwrap().is_empty(), "three in a row are an end");
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_goes_round_ends_the_sweep() {
    let (sqs, queue) = queue_with("email", 12);
    sqs.fail_always("email-dlq", SqsOperation::Receive, SqsFault::StayVisible);
    let mut sweep = Sweep::new(&*queue, RULES);
    let mut seen = 0;
    while let page = sweep.next(10).await.unwrap()
        && !page.is_empty()
    {
        seen += page.len();
    }
    // The same ten come first again and again: nobody can see past them.
    assert_eq!(seen, 10);
    assert_eq!(sqs.count("email-dlq", SqsOperation::Receive), 1 + 3);
}

#[tokio::test(start_paused = true)]
async fn what_became_visible_again_does_not_hide_what_was_never_seen() {
    let (_, queue) = queue_with("email", 100);
    let rules = SweepRules { hidden_for: Duration::from_secs(30), ..RULES };
    let mut sweep = Sweep::new(&*queue, rules);
    let mut bodies = Vec::new();
    while let page = sweep.next(10).await.unwrap()
        && !page.is_empty()
    {
        bodies.extend(page.into_iter().map(|message| message.body));
        if bodies.len() == 60 {
            // Work that took too long: everything that was taken so far comes out again, and stands first.
            tokio::time::advance(Duration::from_secs(30)).await;
        }
    }
    assert!(all_once(&bodies, 100), "{} seen", bodies.len());
}

#[tokio::test(start_paused = true)]
async fn a_message_that_came_again_is_released_with_its_last_handle() {
    let (sqs, queue) = queue_with("email", 3);
    let mut sweep = Sweep::new(&*queue, RULES);
    let first = sweep.next(10).await.unwrap();
    tokio::time::advance(RULES.hidden_for).await;
    assert!(sweep.next(10).await.unwrap().is_empty());
    first.iter().for_each(|message| sweep.leave(message));
    assert_eq!(depth(&queue).await.in_flight, 3);
    sweep.release().await;
    assert_eq!(depth(&queue).await.visible, 3);
    assert_eq!(sqs.count("email-dlq", SqsOperation::ChangeVisibility), 1);
}

#[tokio::test(start_paused = true)]
async fn one_release_that_is_refused_does_not_cost_the_others_theirs() {
    let (sqs, queue) = queue_with("email", 25);
    let mut sweep = Sweep::new(&*queue, RULES);
    leave_all(&mut sweep).await;
    // Some engines refuse the whole call for one bad receipt.
    sqs.fail_next("email-dlq", SqsOperation::ChangeVisibility, SqsFault::Refuse(QueueError::ReceiptLost));
    let passing = QueueError::Unavailable { operation: "a test", code: "Throttling".to_owned() };
    sqs.fail_next("email-dlq", SqsOperation::ChangeVisibility, SqsFault::FailEntries(vec![(0, passing)]));
    sweep.release().await;
    assert_eq!(depth(&queue).await, QueueDepth { visible: 24, in_flight: 1, delayed: 0 });
    tokio::time::advance(RULES.hidden_for).await;
    assert_eq!(depth(&queue).await.visible, 25, "what could not be released comes out by itself");
}

#[tokio::test(start_paused = true)]
async fn a_receive_that_fails_can_be_repeated_and_loses_nothing() {
    let (sqs, queue) = queue_with("email", 15);
    let mut sweep = Sweep::new(&*queue, RULES);
    assert_eq!(sweep.next(10).await.unwrap().len(), 10);
    sqs.fail_next("email-dlq", SqsOperation::Receive, SqsFault::LoseAnswer);
    assert!(sweep.next(10).await.is_err());
    assert!(sweep.next(10).await.unwrap().is_empty(), "the lost answer hides its messages");
    tokio::time::advance(RULES.hidden_for).await;
    assert!(all_once(&leave_all(&mut sweep).await, 5));
    sweep.release().await;
    assert_eq!(sqs.messages("email-dlq").len(), 15);
}

#[tokio::test(start_paused = true)]
async fn a_fifo_queue_is_seen_in_order_as_deep_as_one_receive_and_goes_on_when_messages_are_deleted() {
    let (sqs, queue) = queue_with("mail.fifo", 30);
    let mut sweep = Sweep::new(&*queue, RULES);
    let seen: Vec<usize> = leave_all(&mut sweep).await.iter().map(|body| body.parse().unwrap()).collect();
    assert_eq!(seen, (0..10).collect::<Vec<_>>(), "both groups are blocked by what is left of them");
    sweep.release().await;
    let mut sweep = Sweep::new(&*queue, RULES);
    let mut seen = Vec::new();
    while let page = sweep.next(10).await.unwrap()
        && !page.is_empty()
    {
        let handles: Vec<_> = page.iter().map(|message: &ReceivedMessage| message.receipt_handle.clone()).collect();
        assert!(queue.delete(&handles).await.unwrap().iter().all(Result::is_ok));
        seen.extend(page.into_iter().map(|message| message.body.parse::<usize>().unwrap()));
    }
    assert_eq!(seen, (0..30).collect::<Vec<_>>());
    assert!(sqs.messages("mail-dlq.fifo").is_empty());
}

#[tokio::test(start_paused = true)]
async fn under_chance_every_message_is_seen_at_most_once_and_none_is_lost() {
    for seed in 0..60 {
        let (sqs, queue) = queue_with("email", 40);
        sqs.fail_by_chance(seed, 200);
        let mut sweep = Sweep::new(&*queue, RULES);
        let mut seen = BTreeSet::new();
        for _ in 0..60 {
            for message in sweep.next(10).await.unwrap_or_default() {
                sweep.leave(&message);
                assert!(seen.insert(message.body), "seed {seed}: seen twice");
            }
        }
        sweep.release().await;
        assert_eq!(sqs.messages("email-dlq").len(), 40, "seed {seed}");
        tokio::time::advance(RULES.hidden_for).await;
        sqs.heal();
        assert_eq!(depth(&queue).await.visible, 40, "seed {seed}");
        assert!(all_once(&leave_all(&mut Sweep::new(&*queue, RULES)).await, 40), "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_empty_queue_costs_as_many_receives_as_the_rules_say() {
    let sqs = MemorySqs::new(Arc::new(TokioClock::new(NOW)));
    let queue = sqs.create("empty", QueueRules::default());
    assert!(Sweep::new(&*queue, RULES).next(10).await.unwrap().is_empty());
    assert_eq!(sqs.count("empty", SqsOperation::Receive), 3);
    assert!(Sweep::new(&*queue, SweepRules { empties: 0, ..RULES }).next(10).await.unwrap().is_empty());
    assert_eq!(sqs.count("empty", SqsOperation::Receive), 4, "at least one");
}
