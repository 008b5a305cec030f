//! The SQS in memory does what SQS does, so that what is tested on it means something.

mod consumer;
mod faults;
mod fifo;
mod standard;

use std::sync::Arc;
use std::time::Duration;

use ikkai::clock::EpochMillis;
use ikkai::queue::{Inbox, OutgoingMessage, ReceivedMessage};
use ikkai::testing::{MemorySqs, MemorySqsQueue, TokioClock};

const HALF_A_MINUTE: Duration = Duration::from_secs(30);

fn sqs() -> (MemorySqs, TokioClock) {
    let clock = TokioClock::new(EpochMillis::from_i64(1_800_000_000_000));
    (MemorySqs::new(Arc::new(clock.clone())), clock)
}

fn body(text: &str) -> OutgoingMessage {
    OutgoingMessage::new(text)
}

async fn receive(queue: &MemorySqsQueue) -> Vec<ReceivedMessage> {
    queue.receive(10, HALF_A_MINUTE, Duration::ZERO).await.unwrap()
}

fn bodies(messages: &[ReceivedMessage]) -> Vec<&str> {
    messages.iter().map(|message| message.body.as_str()).collect()
}
