use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::*;
use crate::job::payload::JobPayload;
use crate::job::payloads::ReferenceId;
use crate::job::registry::{decode, decode_value};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Order {
    customer_id: ReferenceId,
    lines: Vec<Line>,
    priority: Option<Priority>,
    gift: Option<Gift>,
    #[serde(default)]
    labels: BTreeMap<ReferenceId, String>,
    #[serde(default)]
    corner: (i8, i8),
    #[serde(default)]
    paid: bool,
    #[serde(default)]
    delivery: Delivery,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Line {
    item_id: ReferenceId,
    count: u16,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Priority {
    /// Today.
    High,
    /// This week.
    Low,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Gift {
    card_id: ReferenceId,
}

#[derive(Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Delivery {
    #[default]
    Pickup,
    Post {
        address_id: ReferenceId,
    },
    Days(u8),
}

impl JobPayload for Order {
    const TYPE: &'static str = "shop.order";
    const SCHEMA_VERSION: u32 = 1;

    fn check(&self) -> Vec<FieldError> {
        match self.lines.is_empty() {
            true => vec![FieldError::new("/lines", "no_lines", "must have at least one line")],
            false => Vec::new(),
        }
    }
}

fn good() -> Value {
    json!({
        "customerId": "cus-1",
        "lines": [{"itemId": "item-1", "count": 2}],
        "priority": "high",
        "gift": null,
        "labels": {"a": "x"},
        "corner": [-1, 2],
        "paid": true,
        "delivery": {"post": {"address_id": "adr-1"}}
    })
}

/// The good order with one place set to something else.
fn with(pointer: &str, value: Value) -> Value {
    let mut order = good();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match order.pointer_mut(parent).unwrap() {
        Value::Object(members) => _ = members.insert(name.to_owned(), value),
        Value::Array(elements) => elements[name.parse::<usize>().unwrap()] = value,
        _ => unreachable!("a container"),
    }
    order
}

fn errors_of(order: &Value) -> Vec<(String, &'static str, String)> {
    let errors = decode::<Order>(order).expect_err("refused");
    errors.into_iter().map(|error| (error.pointer, error.code, error.message)).collect()
}

#[track_caller]
fn assert_refused(order: &Value, pointer: &str, code: &str, message: &str) {
    let errors = errors_of(order);
    let found: Vec<_> = errors.iter().map(|(pointer, code, message)| (pointer.as_str(), *code, message.as_str())).collect();
    assert_eq!(found, [(pointer, code, message)]);
}

#[test]
fn every_kind_of_type_is_read_as_serde_json_reads_it() {
    for order in [
        good(),
        json!({"customerId": "c", "lines": [{"itemId": "i", "count": 65535}]}),
        with("/delivery", json!("pickup")),
        with("/delivery", json!({"days": 3})),
        with("/gift", json!({"cardId": "g"})),
        with("/priority", json!(null)),
    ] {
        let ours: Order = decode(&order).unwrap();
        assert_eq!(ours, serde_json::from_value::<Order>(order).unwrap());
    }
}

#[test]
fn a_missing_member_is_named() {
    let mut order = good();
    order.as_object_mut().unwrap().remove("customerId");
    assert_refused(&order, "/customerId", "missing_member", "the member is missing");
    assert_refused(&with("/lines/0", json!({"count": 1})), "/lines/0/itemId", "missing_member", "the member is missing");
}

#[test]
fn an_unknown_member_comes_with_the_known_name_that_is_nearest() {
    let order = with("/lines/0", json!({"item_id": "i", "itemId": "i", "count": 1}));
    assert_refused(&order, "/lines/0/item_id", "unknown_member", "unknown member: did you mean `itemId`?");
    let order = with("/gift", json!({"cardId": "g", "wrapping": true}));
    assert_refused(&order, "/gift/wrapping", "unknown_member", "unknown member: known are `cardId`");
}

#[test]
fn a_wrong_json_type_is_named_with_both_types() {
    assert_refused(&with("/customerId", json!(7)), "/customerId", "wrong_type", "must be a string, not a number");
    assert_refused(&with("/customerId", json!(null)), "/customerId", "wrong_type", "must be a string, not null");
    assert_refused(&with("/paid", json!("true")), "/paid", "wrong_type", "must be a boolean, not a string");
    assert_refused(&with("/lines", json!({})), "/lines", "wrong_type", "must be an array, not an object");
    assert_refused(&with("/lines/0", json!([])), "/lines/0", "wrong_type", "must be an object, not an array");
    assert_refused(&with("/lines/0/count", json!("2")), "/lines/0/count", "wrong_type", "must be an integer, not a string");
    assert_refused(&json!(["cus-1", []]), "", "wrong_type", "must be an object, not an array");
    assert_refused(&json!(null), "", "wrong_type", "must be an object, not null");
}

#[test]
fn an_array_is_not_taken_for_a_struct() {
    let as_array = json!([{"itemId": "i", "count": 1}]);
    assert!(serde_json::from_value::<Gift>(json!(["g"])).is_ok(), "what serde_json does");
    assert!(from_value::<Gift>(&json!(["g"])).is_err());
    assert!(decode::<Order>(&as_array).is_err());
}

#[test]
fn a_number_out_of_range_comes_with_the_range() {
    for number in [json!(65536), json!(-1), json!(u64::MAX)] {
        let order = with("/lines/0/count", number);
        assert_refused(&order, "/lines/0/count", "invalid_value", "must be an integer from 0 to 65535");
    }
    assert_refused(&with("/corner/0", json!(-129)), "/corner/0", "invalid_value", "must be an integer from -128 to 127");
}

#[test]
fn a_name_that_is_not_in_a_closed_list_comes_with_the_list() {
    assert_refused(&with("/priority", json!("urgent")), "/priority", "invalid_value", "must be one of `high`, `low`");
}

#[test]
fn a_list_of_the_wrong_length_is_refused() {
    for corner in [json!([1]), json!([1, 2, 3])] {
        assert_refused(&with("/corner", corner), "/corner", "invalid_length", "must have 2 elements");
    }
}

#[test]
fn all_bad_members_are_listed_at_once() {
    let order = json!({
        "customerId": "ada@example.com",
        "lines": [{"itemId": "", "count": 70000}, {"itemID": "x", "count": true}],
        "priorty": "high"
    });
    let found: Vec<_> = errors_of(&order).into_iter().map(|(pointer, code, _)| (pointer, code)).collect();
    let expected = [
        ("/customerId", "invalid_value"),
        ("/lines/0/count", "invalid_value"),
        ("/lines/0/itemId", "invalid_value"),
        ("/lines/1/itemId", "missing_member"),
        ("/lines/1/count", "wrong_type"),
        ("/lines/1/itemID", "unknown_member"),
        ("/priorty", "unknown_member"),
    ];
    assert_eq!(found, expected.map(|(pointer, code)| (pointer.to_owned(), code)));
}

#[test]
fn thousands_of_unknown_members_give_a_short_list() {
    let members: serde_json::Map<_, _> = (0..5000).map(|n| (format!("unknown{n}"), json!(1))).collect();
    assert!(errors_of(&Value::Object(members)).len() <= 21);
}

#[test]
fn rules_across_fields_are_checked_when_the_fields_are_good() {
    assert_refused(&with("/lines", json!([])), "/lines", "no_lines", "must have at least one line");
}

#[test]
fn a_bad_variant_names_its_place() {
    assert_refused(
        &with("/delivery/post/address_id", json!("")),
        "/delivery/post/address_id",
        "invalid_value",
        "must be the id of something, not an empty string",
    );
    let errors = errors_of(&with("/delivery", json!({"drone": 1})));
    assert!(errors.iter().any(|(pointer, ..)| pointer.starts_with("/delivery")), "{errors:?}");
    let errors = errors_of(&with("/delivery", json!({"post": {}, "days": 1})));
    assert!(errors.iter().any(|(pointer, ..)| pointer.starts_with("/delivery")), "{errors:?}");
}

#[test]
fn a_bad_member_name_of_a_map_is_refused() {
    let errors = errors_of(&with("/labels", json!({"no blanks": "x"})));
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].0.as_str(), errors[0].1), ("/labels/no blanks", "invalid_value"));
}

#[test]
fn no_message_repeats_a_value() {
    let marker = "hunter2secret value";
    for pointer in [
        "/customerId",
        "/lines",
        "/lines/0",
        "/lines/0/itemId",
        "/lines/0/count",
        "/priority",
        "/gift",
        "/corner",
        "/corner/0",
        "/paid",
        "/delivery",
    ] {
        for value in [json!(marker), json!([marker]), json!(987_654_321_987_u64)] {
            let shown = format!("{:?}", errors_of(&with(pointer, value)));
            assert!(!shown.contains(marker) && !shown.contains("987654321987"), "{pointer}: {shown}");
        }
    }
}

#[test]
fn the_message_of_a_foreign_type_is_replaced_when_it_repeats_the_value() {
    #[derive(Debug, Deserialize)]
    struct Foreign {
        #[expect(dead_code, reason = "read by serde only")]
        id: Talkative,
    }
    #[derive(Debug)]
    struct Talkative;
    impl<'de> Deserialize<'de> for Talkative {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let text = String::deserialize(deserializer)?;
            Err(de::Error::custom(format!("bad value {text}")))
        }
    }
    let error = from_value::<Foreign>(&json!({"id": "hunter2"})).unwrap_err();
    assert_eq!((error.pointer.as_str(), error.message.as_str()), ("/id", "the value is not one that this member accepts"));
}

#[test]
fn null_is_not_taken_for_an_empty_map() {
    /// serde_json's map reads `null` as if it were empty.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    struct Free {
        any: serde_json::Map<String, Value>,
    }
    for other in [json!(null), json!([]), json!("{}"), json!(0)] {
        let errors = decode_value::<Free>(&json!({ "any": other })).unwrap_err();
        assert_eq!((errors[0].pointer.as_str(), errors[0].code), ("/any", "wrong_type"));
        assert!(errors[0].message.starts_with("must be an object, not "), "{}", errors[0]);
    }
    assert!(decode_value::<Free>(&json!({"any": {"free": null}})).is_ok());
}
