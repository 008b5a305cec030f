//! Parts of that work by themselves.

use std::time::Duration;

use aws_lambda_events::sqs::SqsBatchResponse;
use ikkai::clock::EpochMillis;
use ikkai::idempotency::{Claim, ClaimRules, EffectPolicy, Takeover};
use ikkai::job::{self, Envelope, IdempotencyKey, JobId, JobType, Parsed, payload_digest};
use ikkai::observability::{Metric, Metrics};
use ikkai::testing::claim_expressions;
use ikkai::visibility::{Backoff, visibility_seconds};
use serde_json::json;

use crate::measured::count_each;

const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_001_000);
const TYPE: &str = "email.send";
const KEY: &str = "email:welcome:user-0042";

pub(super) fn envelope(repetitions: u32) -> Duration {
    let body = body();
    let kind = job::find(TYPE).expect("a registered type");
    let inputs = (0..repetitions).map(|_| body.clone()).collect();
    let (took, parsed) = count_each(inputs, |body: String| Envelope::parse(&body, kind));
    assert!(parsed.iter().all(|parsed| matches!(parsed, Ok(Parsed::Job(_)))));
    took
}

pub(super) fn claim(repetitions: u32) -> Duration {
    let (job_type, key) = (JobType::parse(TYPE).expect("a type"), IdempotencyKey::parse(KEY).expect("a key"));
    let payload = json!({"deliveryId": "mail-0042", "templateId": "welcome", "userId": "user-42"});
    let claim = Claim {
        job_id: JobId::derive("shop", &job_type, &key),
        job_type,
        schema_version: 1,
        caller: "shop".to_owned(),
        idempotency_key: KEY.to_owned(),
        business_id: Some("order-1001".to_owned()),
        payload_digest: payload_digest(&payload),
        payload,
        token: "0b4f7c1e-7d2c-4a8e-9f55-5a3f1f0a9d11".to_owned(),
        lease_until: NOW + Duration::from_secs(35),
        sent_at: Some(NOW),
        takeover: Takeover::Postpone,
        rules: ClaimRules { max_attempts: 5, max_generations: 10, needs_data: false, effect: EffectPolicy::Hold },
    };
    let inputs = (0..repetitions).map(|_| &claim).collect();
    let (took, made) = count_each(inputs, |claim| claim_expressions(claim, NOW));
    assert!(made.iter().all(|made| made.update.starts_with("SET ") && made.condition.contains("attribute_not_exists")));
    took
}

pub(super) fn backoff(repetitions: u32) -> Duration {
    let backoff = Backoff { base: Duration::from_secs(10), cap: Duration::from_secs(900) };
    let inputs = (0..repetitions).map(|index| (index % 5 + 1, f64::from(index % 100) / 100.0)).collect();
    let (took, delays) = count_each(inputs, |(attempt, jitter)| visibility_seconds(backoff.delay(attempt, jitter)));
    assert!(delays.iter().all(|seconds| (0..=160).contains(seconds)) && delays.contains(&159));
    took
}

pub(super) fn metric_line(repetitions: u32) -> Duration {
    let inputs = (0..repetitions).map(|_| Metrics::new("Ikkai", "email-consumer")).collect();
    let (took, written) = count_each(inputs, |metrics: Metrics| {
        for _ in 0..10 {
            metrics.count(Metric::JobsSucceeded, TYPE, 1);
            metrics.sample(Metric::HandlerDuration, TYPE, 1_234.0);
            metrics.sample(Metric::JobLatency, TYPE, 12_345.0);
            metrics.sample(Metric::AttemptsUsed, TYPE, 1.0);
            metrics.sample(Metric::AttemptsFailed, TYPE, 0.0);
        }
        let bytes = metrics.flush(NOW, &mut std::io::sink());
        (metrics, bytes)
    });
    assert!(written.iter().all(|(_, bytes)| bytes.as_ref().is_ok_and(|bytes| *bytes > 0)));
    took
}

pub(super) fn log_line(repetitions: u32) -> Duration {
    let job_id = format!("{TYPE}-{}", "x".repeat(43));
    let inputs = (0..repetitions).map(|_| job_id.as_str()).collect();
    let (took, _) = count_each(inputs, |job_id| {
        tracing::info!(
            job_id,
            job_type = TYPE,
            attempt = 1,
            message_id = "059f36b4-87a3-44ab-83d2-661975830a7d",
            request_id = "8f507cfc-0000-4697-b07a-ac58fc914c95",
            outcome = "succeeded",
            duration_ms = 1_234,
            "job succeeded"
        );
    });
    took
}

pub(super) fn batch_response(repetitions: u32) -> Duration {
    let ids = ["059f36b4-87a3-44ab-83d2-661975830003", "059f36b4-87a3-44ab-83d2-661975830007"];
    let inputs = (0..repetitions).map(|_| ids).collect();
    let (took, answers) = count_each(inputs, |ids| {
        let mut response = SqsBatchResponse::default();
        ids.into_iter().for_each(|id| response.add_failure(id));
        serde_json::to_vec(&response)
    });
    let answer = |bytes: &[u8]| bytes.starts_with(br#"{"batchItemFailures":[{"itemIdentifier":""#);
    assert!(answers.iter().all(|bytes| bytes.as_deref().is_ok_and(answer)));
    took
}

/// The body of a job's message as the producer writes it.
fn body() -> String {
    let (job_type, key) = (JobType::parse(TYPE).expect("a type"), IdempotencyKey::parse(KEY).expect("a key"));
    let envelope = Envelope {
        job_id: Some(JobId::derive("shop", &job_type, &key)),
        job_type,
        schema_version: 1,
        business_id: Some("order-1001".to_owned()),
        idempotency_key: key,
        payload: json!({"deliveryId": "mail-0042", "templateId": "welcome", "userId": "user-42"}),
    };
    envelope.to_body()
}
