//! Queues and buckets take nothing that comes without TLS, whoever may send it.

use serde_json::Value;

use crate::lab::{Transport, on_engine};
use crate::roles::probes;

#[test]
fn queues_and_buckets_refuse_whoever_comes_without_tls() {
    on_engine(async |lab| {
        let principal = lab.principal().await;
        let mut seen = Vec::new();
        for function in lab.stack().functions() {
            let statements: Vec<Value> = lab.statements_of(function).await;
            lab.allow(&principal, &statements).await;
            for probe in probes(&statements) {
                if !["sqs:SendMessage", "s3:PutObject", "s3:GetObject"].contains(&probe.action.as_str()) {
                    continue;
                }
                let over_tls = lab.call(&principal, &probe.call, Transport::Tls).await;
                assert!(!over_tls.is_refused(), "{function}: {} with TLS: {over_tls:?}", probe.action);
                let plain = lab.call(&principal, &probe.call, Transport::Plain).await;
                assert!(plain.is_refused(), "{function}: {} without TLS: {plain:?}", probe.action);
                seen.push(probe.action.clone());
            }
        }
        assert!(seen.len() > 15 && seen.iter().any(|action| action.starts_with("s3:")), "{seen:?}");
    });
}
