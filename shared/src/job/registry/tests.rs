use std::path::PathBuf;

use serde_json::json;

use super::*;

/// Set to write the schema files anew instead of comparing them.
const UPDATE_VARIABLE: &str = "IKKAI_UPDATE_SCHEMAS";

fn schema_directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas")
}

fn schema_text(kind: &JobKind) -> String {
    let mut text = serde_json::to_string_pretty(&(kind.schema)()).expect("a schema is JSON");
    text.push('\n');
    text
}

#[test]
fn the_schema_files_are_the_ones_that_the_payload_types_make() {
    let update = std::env::var_os(UPDATE_VARIABLE).is_some();
    for kind in registry() {
        let path = schema_directory().join(kind.schema_file_name());
        if update {
            std::fs::write(&path, schema_text(kind)).expect("the schema file is writable");
        }
        let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            checked_in,
            schema_text(kind),
            "shared/schemas/{} is not what the payload type says now.\nIf the change is meant: raise SCHEMA_VERSION when old programs cannot read the \
             new payload, then run\n    {UPDATE_VARIABLE}=1 cargo test schema_files",
            kind.schema_file_name()
        );
    }
}

#[test]
fn every_kind_has_a_name_of_its_own_and_is_found_by_it() {
    let mut seen = std::collections::BTreeSet::new();
    for kind in registry() {
        assert!(seen.insert(kind.job_type), "{} is registered twice", kind.job_type);
        assert_eq!(kind.job_type().as_str(), kind.job_type);
        assert_eq!(find(kind.job_type).map(|found| found.job_type), Some(kind.job_type));
    }
    assert_eq!(names().collect::<Vec<_>>(), registry().iter().map(|kind| kind.job_type).collect::<Vec<_>>());
    assert!(find("no.such").is_none());
}

fn email() -> &'static JobKind {
    find("email.send").expect("registered")
}

fn good_email() -> Value {
    json!({"deliveryId": "mail-1001", "templateId": "welcome", "userId": "user-42"})
}

/// Values to put in the place of a member, good and bad ones.
fn samples() -> Vec<Value> {
    let long = |length: usize| json!("a".repeat(length));
    let mut samples = vec![json!(null), json!(true), json!(0), json!(-7), json!([]), json!(["a"]), json!({}), json!({"a": "b"})];
    samples.extend(
        ["", "a", "A9", "user-42", "order:2031/7", "-a", ".a", "a b", "a\n", "\na", "ada@example.com", "é", "ユ", "a#"]
            .map(|text| json!(text)),
    );
    samples.extend([long(128), long(129), long(5000)]);
    samples
}

#[test]
fn schema_and_validate_agree_on_every_member_with_every_sample() {
    let validator = jsonschema::validator_for(&(email().schema)()).expect("a valid schema");
    let mut verdicts = [0, 0];
    let mut compare = |payload: &Value| {
        let by_schema = validator.is_valid(payload);
        let by_type = (email().validate)(payload);
        assert_eq!(by_schema, by_type.is_ok(), "{payload}: {by_type:?}");
        verdicts[usize::from(by_schema)] += 1;
    };
    compare(&good_email());
    for sample in samples() {
        compare(&sample);
        for member in ["deliveryId", "templateId", "userId", "unknown"] {
            let mut payload = good_email();
            payload[member] = sample.clone();
            compare(&payload);
        }
    }
    for member in ["deliveryId", "templateId", "userId"] {
        let mut payload = good_email();
        payload.as_object_mut().unwrap().remove(member);
        compare(&payload);
    }
    assert!(verdicts[0] > 50 && verdicts[1] > 10, "both verdicts occur: {verdicts:?}");
}

#[test]
fn a_payload_is_decoded_into_its_type_and_back() {
    let email: crate::job::EmailSend = decode(&good_email()).unwrap();
    assert_eq!(
        (email.delivery_id.as_str(), email.template_id.as_str(), email.user_id.as_str()),
        ("mail-1001", "welcome", "user-42")
    );
    assert_eq!(serde_json::to_value(&email).unwrap(), good_email());
}

#[test]
fn a_payload_type_with_a_bad_name_or_version_makes_no_kind() {
    macro_rules! payload {
        ($name:ident, $job_type:literal, $version:literal) => {
            #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
            struct $name {}
            impl JobPayload for $name {
                const TYPE: &'static str = $job_type;
                const SCHEMA_VERSION: u32 = $version;
            }
        };
    }
    payload!(Good, "shop.order", 1);
    payload!(BadName, "shop-order", 1);
    payload!(BadVersion, "shop.order", 0);
    assert_eq!(JobKind::of::<Good>().schema_file_name(), "shop.order.v1.json");
    assert!(std::panic::catch_unwind(JobKind::of::<BadName>).is_err());
    assert!(std::panic::catch_unwind(JobKind::of::<BadVersion>).is_err());
}
