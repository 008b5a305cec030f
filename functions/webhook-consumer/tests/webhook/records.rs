//! A jobs table that does not hand out the record of the ended job.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use ikkai::callback::Reach;
use ikkai::clock::{Clock, EpochMillis, ManualClock};
use ikkai::consumer::ConsumerSettings;
use ikkai::idempotency::{JobView, JobViews, Status, StoreError};
use ikkai::job::JobId;
use ikkai::observability::logs::{LevelSetting, LogSetup, capture::Captured};
use ikkai::testing::{Bench, MessageBuilder};
use webhook_consumer::{Courier, Keyring, SystemLookup, WebhookHandler};

use crate::scene::{Secret, TIMEOUT, ended, event_of, settings};

/// Answers every question with this error.
struct Failing(fn() -> StoreError);

#[async_trait]
impl JobViews for Failing {
    async fn view(&self, _job_id: &JobId, _now: EpochMillis) -> Result<Option<JobView>, StoreError> {
        Err((self.0)())
    }
}

/// A consumer with two attempts, whose table answers so.
fn bench(error: fn() -> StoreError) -> Bench<WebhookHandler> {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(Bench::<WebhookHandler>::START));
    let keyring = Keyring::new(Arc::new(Secret::default()), clock.clone());
    let courier = Courier::new(Arc::new(SystemLookup), Reach::Loopback, TIMEOUT).expect("certificates");
    let handler = WebhookHandler::new(Arc::new(Failing(error)), keyring, courier, clock, settings().backoff);
    let settings = ConsumerSettings { max_attempts: 2, circuit_failures: 9, error_when_all_fail: false, ..settings() };
    Bench::with(handler, settings)
}

fn message() -> MessageBuilder {
    event_of(&ended("https://shop.example/hook"))
}

#[tokio::test]
async fn a_table_that_cannot_be_read_uses_no_attempt_however_often() {
    let unreachable =
        || StoreError::Unreachable { operation: "GetItem", code: "no connection".to_owned(), source: "refused".into() };
    let cases: [(fn() -> StoreError, u64); 4] = [
        (|| StoreError::Throttled { operation: "GetItem" }, 60),
        (unreachable, 60),
        (|| StoreError::Denied { operation: "GetItem" }, 300),
        (|| StoreError::Refused { operation: "GetItem", code: "ResourceNotFoundException".to_owned() }, 300),
    ];
    for (error, seconds) in cases {
        let logs = Captured::start(LogSetup::new(LevelSetting::Info).own_crate("webhook_consumer"));
        let (bench, message, code) = (bench(error), message(), error().code());
        for _ in 0..4 {
            assert_eq!(bench.run_batch([message.build()]).await.unwrap().failed, ["event-1"]);
            let record = bench.record_of(&message).unwrap();
            assert_eq!((record.status, record.attempts), (Status::RetryScheduled, 0), "{code}");
            assert_eq!(record.last_error.unwrap().code, code);
            assert_eq!(bench.queue.last_visibility(&message.receipt_handle()), Some(Duration::from_secs(seconds)), "{code}");
            bench.clock.advance(Duration::from_secs(seconds));
        }
        let is_told = |line: &String| line.contains("\"ERROR\"") && line.contains(&format!("\"error_code\":\"{code}\""));
        let told = logs.lines().iter().filter(|line| is_told(line)).count();
        assert_eq!(told, if seconds == 300 { 4 } else { 0 }, "{code}: somebody has to mend it, or it passes by itself");
    }
}

#[tokio::test]
async fn a_record_that_cannot_be_understood_is_given_up_in_the_end() {
    let (bench, message) = (bench(|| StoreError::Corrupt { attribute: "status", problem: "not a known status" }), message());
    for receives in 1..=3 {
        bench.run_batch([message.clone().received(receives).build()]).await.unwrap();
        bench.clock.advance(Duration::from_secs(3_600));
    }
    let record = bench.record_of(&message).unwrap();
    assert_eq!((record.status, record.last_error.unwrap().code.as_str()), (Status::Dead, "record_corrupt"));
}
