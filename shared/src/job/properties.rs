//! Properties that hold for whatever is generated.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::strict_json::{self, StrictJsonRule};
use super::{
    Envelope, EnvelopeError, Fingerprint, IdempotencyKey, JobId, JobType, Parsed, canonical, find, payload_digest, privacy,
};

fn job_type() -> impl Strategy<Value = JobType> {
    let word = "[a-z]([a-z0-9_]{0,6}[a-z0-9])?";
    let name = proptest::string::string_regex(&format!("{word}(\\.{word}){{1,3}}")).expect("a regular expression");
    name.prop_map(|text| JobType::parse(&text).expect("the pattern makes job types"))
}

fn key() -> impl Strategy<Value = IdempotencyKey> {
    "[!-~]([ -~]{0,60}[!-~])?".prop_map(|text| IdempotencyKey::parse(&text).expect("the pattern makes keys"))
}

/// Text with everything that JSON has to escape, and nothing that SQS does not carry.
fn text() -> impl Strategy<Value = String> {
    "[\\x09\\x0a\\x0d -~\u{7f}-\u{ff}\u{3040}-\u{30ff}\u{ff21}\u{1f600}-\u{1f64f}\"\\\\/]{0,12}"
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(text(), inner, 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The value as JSON text with members in another order, blanks in between, and characters escaped, as `seed` decides.
fn in_another_layout(value: &Value, seed: &mut u64) -> String {
    let mut next = move |below: u64| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    };
    let blank = [" ", "", "\n", "\t ", "\r\n"][next(5) as usize];
    let text = match value {
        Value::Array(elements) => {
            let mut inner = next(u64::MAX);
            let elements: Vec<_> = elements.iter().map(|element| in_another_layout(element, &mut inner)).collect();
            format!("[{}]", elements.join(","))
        }
        Value::Object(members) => {
            let mut inner = next(u64::MAX);
            let mut members: Vec<_> = members
                .iter()
                .map(|(name, member)| {
                    let name = in_another_layout(&Value::from(name.as_str()), &mut inner);
                    format!("{name}:{}", in_another_layout(member, &mut inner))
                })
                .collect();
            let turn = next(members.len().max(1) as u64) as usize;
            members.rotate_left(turn);
            if next(2) == 0 {
                members.reverse();
            }
            format!("{{{}}}", members.join(","))
        }
        Value::String(text) => {
            let escaped: String = text
                .chars()
                .map(|character| match (next(2), character) {
                    (0, _) => {
                        let mut units = [0; 2];
                        character.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04X}")).collect()
                    }
                    (_, '"' | '\\' | '\u{0}'..='\u{1f}') => format!("\\u{:04x}", u32::from(character)),
                    _ => character.to_string(),
                })
                .collect();
            format!("\"{escaped}\"")
        }
        other => other.to_string(),
    };
    format!("{blank}{text}{blank}")
}

/// Pieces of JSON, put together at random: nearer to the grammar than random bytes.
fn json_like() -> impl Strategy<Value = String> {
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"a\"",
        "\"b\"",
        "\"\\u0061\"",
        "\"",
        "\\",
        "\\ud800",
        "1",
        "-",
        "0",
        ".5",
        "e9",
        "-0",
        "true",
        "null",
        " ",
        "\u{feff}",
        "18446744073709551615",
        "18446744073709551616",
        "{\"a\":",
        "{\"a\":1,\"a\":1}",
        "[[[[[[[[",
    ];
    vec(proptest::sample::select(pieces.to_vec()), 0..24).prop_map(|pieces| pieces.concat())
}

/// What must hold for whatever the strict parser is given.
fn check_verdict(input: &str) -> Result<(), TestCaseError> {
    let plain = serde_json::from_str::<Value>(input.strip_prefix('\u{feff}').unwrap_or(input));
    match strict_json::parse(input) {
        Ok(value) => {
            // Nothing is accepted that is not JSON, nothing is changed, and there was no second member to lose.
            prop_assert_eq!(&value, &plain.expect("strict JSON is JSON"));
            let names = |text: &str| text.replace(' ', "").matches("\":").count();
            prop_assert_eq!(names(&canonical(&value)), names(input));
        }
        Err(error) => prop_assert!(error.rule.is_json() || plain.is_err(), "{}", error),
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_strict_parser_never_panics_on_bytes(bytes in vec(any::<u8>(), 0..200)) {
        _ = strict_json::parse_bytes(&bytes);
    }

    #[test]
    fn the_strict_parser_accepts_a_part_of_json_and_changes_nothing(input in json_like()) {
        check_verdict(&input)?;
    }

    #[test]
    fn the_strict_parser_accepts_what_it_should(value in json_value(), mut seed in any::<u64>()) {
        prop_assert_eq!(strict_json::parse(&in_another_layout(&value, &mut seed)), Ok(value));
    }

    #[test]
    fn the_strict_parser_never_accepts_a_duplicate(
        name in text(), first in json_value(), second in json_value(), others in btree_map(text(), json_value(), 0..3), depth in 0_usize..20,
    ) {
        let name = Value::from(name);
        let mut object = format!("{{{name}:{first}");
        for (other, member) in &others {
            if name != other.as_str() {
                object.push_str(&format!(",{}:{member}", Value::from(other.as_str())));
            }
        }
        object.push_str(&format!(",{name}:{second}}}"));
        let text = format!("{}{object}{}", "[0,".repeat(depth), "]".repeat(depth));
        let error = strict_json::parse(&text).expect_err("a duplicate");
        prop_assert_eq!(error.rule, StrictJsonRule::DuplicateMember);
        prop_assert!(error.pointer.starts_with(&"/1".repeat(depth)));
    }

    #[test]
    fn canonical_text_does_not_depend_on_layout(value in json_value(), mut seed in any::<u64>()) {
        let text = canonical(&value);
        let reread = strict_json::parse(&in_another_layout(&value, &mut seed)).expect("JSON");
        prop_assert_eq!(&canonical(&reread), &text);
        prop_assert_eq!(payload_digest(&reread), payload_digest(&value));
        prop_assert_eq!(canonical(&strict_json::parse(&text).expect("JSON")), text);
    }

    #[test]
    fn different_values_have_different_canonical_texts(one in json_value(), two in json_value()) {
        prop_assert_eq!(one == two, canonical(&one) == canonical(&two));
    }

    #[test]
    fn a_fingerprint_matches_its_own_content_only(payload in json_value(), other in json_value(), data in proptest::option::of(json_value())) {
        let job_type = JobType::parse("email.send").expect("a job type");
        let made = Fingerprint::random(&job_type, &payload, data.as_ref(), &[]);
        prop_assert!(made.matches(&job_type, &payload, data.as_ref(), &[]));
        prop_assert_eq!(made.matches(&job_type, &other, data.as_ref(), &[]), payload == other);
    }

    #[test]
    fn job_ids_are_deterministic_and_read_back(caller in ".{0,40}", job_type in job_type(), key in key()) {
        let id = JobId::derive(&caller, &job_type, &key);
        prop_assert_eq!(&id, &JobId::derive(&caller, &job_type, &key));
        prop_assert_eq!(JobId::parse(id.as_str(), &job_type), Ok(id.clone()));
        prop_assert_eq!(JobId::parse_stored(id.as_str()), Ok(id.clone()));
        prop_assert_eq!(id.job_type(), job_type);
    }

    #[test]
    fn job_ids_do_not_meet_where_a_boundary_is_shifted(text in "[a-z0-9:,]{2,40}", one in 0_usize..40, two in 0_usize..40) {
        let job_type = JobType::parse("email.send").expect("a job type");
        let (one, two) = (one % text.len(), two % text.len());
        let id = |cut: usize| JobId::derive(&text[..cut], &job_type, &IdempotencyKey::parse(&text[cut..]).expect("a key"));
        prop_assert_eq!(one == two, id(one) == id(two));
    }

    #[test]
    fn any_message_id_makes_a_record_key(job_type in job_type(), message_id in ".{0,150}") {
        let id = JobId::for_message(&job_type, &message_id);
        prop_assert!(id.as_str().len() <= 200 && id.is_for_message());
        prop_assert_eq!(JobId::parse_stored(id.as_str()), Ok(id.clone()));
        prop_assert!(JobId::parse(id.as_str(), &job_type).is_err());
    }

    #[test]
    fn what_the_producer_may_send_every_consumer_reads_unchanged(
        ids in vec("[A-Za-z0-9][A-Za-z0-9._:/-]{0,30}", 3), caller in ".{0,10}", key in key(), business_id in proptest::option::of(text()),
        with_id in any::<bool>(), extra in proptest::option::of((text(), json_value())), mut seed in any::<u64>(),
    ) {
        let kind = find("email.send").expect("registered");
        let mut payload = json!({"deliveryId": ids[0], "templateId": ids[1], "userId": ids[2]});
        if let Some((name, value)) = extra {
            payload[name] = value;
        }
        let envelope = Envelope {
            job_id: with_id.then(|| JobId::derive(&caller, &kind.job_type(), &key)),
            job_type: kind.job_type(),
            schema_version: 1,
            business_id,
            idempotency_key: key,
            payload,
        };
        let body = envelope.to_body();
        match envelope.check(kind) {
            Ok(()) => {
                prop_assert_eq!(Envelope::parse(&body, kind), Ok(Parsed::Job(envelope.clone())));
                let value: Value = serde_json::from_str(&body).expect("JSON");
                prop_assert_eq!(Envelope::parse(&in_another_layout(&value, &mut seed), kind), Ok(Parsed::Job(envelope)));
            }
            Err(error) => {
                // The same but for the names in pointers, which a consumer does not repeat.
                let rules = |error: &EnvelopeError| {
                    error.fields().into_iter().map(|field| (field.code, field.message)).collect::<Vec<_>>()
                };
                let refused = Envelope::parse(&body, kind).expect_err("refused as well");
                prop_assert_eq!((refused.code(), rules(&refused)), (error.code(), rules(&error)));
            }
        }
    }

    #[test]
    fn no_body_makes_the_envelope_panic(body in json_like(), members in btree_map("jobId|type|schemaVersion|businessId|idempotencyKey|payload|x", json_value(), 0..7)) {
        let kind = find("email.send").expect("registered");
        _ = Envelope::parse(&body, kind);
        let mut members: Map<String, Value> = members.into_iter().collect();
        members.insert("type".into(), "email.send".into());
        _ = Envelope::parse(&Value::Object(members).to_string(), kind);
    }

    #[test]
    fn the_privacy_rules_never_panic_and_never_repeat_a_text(value in json_value(), text in "[ -~４＠]{8,60}") {
        _ = privacy::check(&value, "");
        for error in privacy::check(&json!({"note": text}), "/payload") {
            prop_assert!(!error.to_string().contains(&text));
        }
    }

    #[test]
    fn a_bad_payload_is_refused_without_its_values(marker in "[QXZ]{12}", member in "deliveryId|templateId|userId|other") {
        let kind = find("email.send").expect("registered");
        let mut payload = json!({"deliveryId": "d", "templateId": "t", "userId": "u"});
        payload[member.as_str()] = json!({ "deep": [marker.clone()] });
        let errors = (kind.validate)(&payload).expect_err("refused");
        let (shown, pointer) = (format!("{errors:?}"), format!("/{member}"));
        prop_assert!(!shown.contains(&marker));
        prop_assert!(errors.iter().any(|error| error.pointer == pointer));
    }
}
