//! What a charge must say before it is taken: money, exactly, in one place.

use serde_json::{Value, json};

use crate::bench::{Bench, post};

fn charge(data: Value) -> Value {
    json!({"type": "billing.charge", "payload": {"invoiceId": "inv-1", "customerId": "cus_1"}, "data": data})
}

#[tokio::test]
async fn money_stays_in_the_record_and_out_of_the_queue() {
    let bench = Bench::new();
    let data = json!({"amount": "19.99", "currency": "EUR"});
    let answer = bench.post("k", &charge(data.clone())).await;
    assert_eq!(answer.status, 202, "{}", answer.body);
    assert_eq!(bench.record().data, Some(data));
    assert!(!bench.queue.sent()[0].body.contains("19.99"));
}

#[tokio::test]
async fn money_that_is_not_exact_is_refused_before_anything_is_written() {
    let bench = Bench::new();
    for (amount, currency, pointer) in [
        (json!(100), json!("EUR"), "/data/amount"),
        (json!(null), json!("EUR"), "/data/amount"),
        (json!("1.005"), json!("EUR"), "/data/amount"),
        (json!("500.0"), json!("JPY"), "/data/amount"),
        (json!("1e3"), json!("EUR"), "/data/amount"),
        (json!("-0"), json!("EUR"), "/data/amount"),
        (json!("0"), json!("EUR"), "/data/amount"),
        (json!("-1"), json!("EUR"), "/data/amount"),
        (json!("NaN"), json!("EUR"), "/data/amount"),
        (json!("99999999999999.99"), json!("EUR"), "/data/amount"),
        (json!("19.99"), json!("eur"), "/data/currency"),
        (json!("19.99"), json!("DEM"), "/data/currency"),
        (json!("19.99"), json!(978), "/data/currency"),
    ] {
        let answer = bench.post("k", &charge(json!({"amount": amount, "currency": currency}))).await;
        assert_eq!((answer.status, answer.pointers()), (422, vec![pointer]), "{amount} {currency}: {}", answer.body);
    }
    for data in [json!({}), json!({"amount": "19.99"}), json!({"amount": "19.99", "currency": "EUR", "tip": "1.00"})] {
        assert_eq!(bench.post("k", &charge(data)).await.status, 422);
    }
    let nothing =
        bench.post("k", &json!({"type": "billing.charge", "payload": {"invoiceId": "inv-1", "customerId": "cus_1"}})).await;
    assert_eq!((nothing.status, nothing.pointers()), (422, vec!["/data"]), "missing never means everything");
    assert!(bench.store.calls().is_empty());
}

#[tokio::test]
async fn an_amount_that_is_a_float_is_refused_naming_the_field() {
    let bench = Bench::new();
    for amount in ["100.0", "19.99", "1e3", "-0"] {
        let mut event = post("k", &json!({}));
        event["body"] = json!(format!(
            r#"{{"type":"billing.charge","payload":{{"invoiceId":"inv-1","customerId":"cus_1"}},"data":{{"amount":{amount},"currency":"EUR"}}}}"#
        ));
        let answer = bench.event(&event).await;
        assert_eq!((answer.status, answer.pointers()), (400, vec!["/data/amount"]), "{amount}: {}", answer.body);
    }
}

#[tokio::test]
async fn money_in_both_places_is_refused_and_another_amount_under_the_same_key_too() {
    let bench = Bench::new();
    let mut twice = charge(json!({"amount": "19.99", "currency": "EUR"}));
    twice["payload"]["amount"] = json!("19.99");
    twice["payload"]["currency"] = json!("EUR");
    assert_eq!(bench.post("k", &twice).await.pointers(), ["/data"]);

    assert_eq!(bench.post("k", &charge(json!({"amount": "19.99", "currency": "EUR"}))).await.status, 202);
    let changed = bench.post("k", &charge(json!({"amount": "29.99", "currency": "EUR"}))).await;
    assert_eq!(changed.status, 422, "{}", changed.body);
    assert_eq!(bench.queue.sent().len(), 1);
}
