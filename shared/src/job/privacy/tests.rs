use serde_json::json;

use super::*;

fn codes(value: &Value) -> Vec<(String, &'static str)> {
    check(value, "/payload").into_iter().map(|error| (error.pointer, error.code)).collect()
}

#[track_caller]
fn assert_refused(value: &Value, pointer: &str, code: &'static str) {
    assert_eq!(codes(value), [(pointer.to_owned(), code)], "{value}");
}

/// Put together at run time: scanners of source code would report the whole ones.
fn secrets() -> Vec<String> {
    let letters = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0fG3hJ6kL9";
    let hex = "0123456789abcdef";
    vec![
        "AKIAIOSFODNN7EXAMPLE".to_owned(),
        "ASIAIOSFODNN7EXAMPLE".to_owned(),
        format!("{}{letters}", "ghp_"),
        format!("{}{letters}", "gho_"),
        format!("{}11ABCDEFG0{letters}", "github_pat_"),
        format!("{}{}", "glpat-", &letters[..20]),
        format!("{}-123456789012-{}", "xoxb", &letters[..24]),
        format!("{}-1-A111-{}", "xapp", &letters[..12]),
        format!("https://{}T000/B000/{}", "hooks.slack.com/services/", &letters[..24]),
        format!("{}{}", "sk_live_", &letters[..24]),
        format!("{}{}", "rk_test_", &letters[..24]),
        format!("{}{}", "whsec_", &letters[..32]),
        format!("{}{}", "AIza", &letters[..35]),
        format!("{}{}", "npm_", &letters[..36]),
        format!("{}{}", "sk-proj-", &letters[..30]),
        format!("SG.{}.{}", &letters[..22], letters),
        format!("SK{hex}{hex}"),
        format!("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.{}", &letters[..30]),
        format!("eyJhbGciOiJkaXIiLCJlbmMiOiJBMTI4R0NNIn0..{}.{}.{}", &letters[..16], &letters[..20], &letters[..22]),
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE".to_owned(),
        "-----BEGIN PRIVATE KEY-----".to_owned(),
        "-----BEGIN PGP PRIVATE KEY BLOCK-----".to_owned(),
        "-----BEGIN OPENSSH PRIVATE KEY-----".to_owned(),
        format!("Bearer {}", &letters[..24]),
        format!("Authorization: bearer {}", &letters[..24]),
        "Basic YWRhOmh1bnRlcjI=".to_owned(),
        "https://ada:hunter2@example.com/x".to_owned(),
        "postgres://app:hunter2@db:5432/app".to_owned(),
        "https://b.s3.amazonaws.com/k?X-Amz-Algorithm=A&X-Amz-Signature=00ff".to_owned(),
        "https://example.com/cb?user=1&access_token=abc".to_owned(),
        "AWS_SECRET_ACCESS_KEY=abc".to_owned(),
        "Server=db;User=app;Password=hunter2".to_owned(),
    ]
}

#[test]
fn secrets_are_refused_wherever_they_stand() {
    for secret in secrets() {
        assert_refused(&json!({"note": secret}), "/payload/note", "secret_value");
        assert_refused(&json!({"a": [[], [{"b": [format!("see {secret} there")]}]]}), "/payload/a/1/0/b/0", "secret_value");
    }
}

#[test]
fn a_secret_in_a_member_name_is_refused_and_not_repeated() {
    let errors = check(&json!({"AKIAIOSFODNN7EXAMPLE": {"password": "x"}}), "/payload");
    assert_eq!(errors.len(), 1);
    assert_eq!((errors[0].pointer.as_str(), errors[0].code), ("/payload/(hidden)", "secret_value"));
    assert!(errors[0].message.starts_with("the member name looks like"));
}

#[test]
fn no_error_repeats_a_value() {
    for secret in secrets().into_iter().chain(["ada@example.com".to_owned(), "4111111111111111".to_owned()]) {
        let errors = check(&json!({"note": secret, "list": [secret], secret.clone(): 1}), "/payload");
        assert!(errors.len() >= 3);
        assert!(!format!("{errors:?}").contains(&secret), "{errors:?}");
    }
}

#[test]
fn names_of_secrets_are_refused_whatever_their_value() {
    assert_refused(&json!({"password": "x"}), "/payload/password", "secret_name");
    assert_refused(&json!({"smtp": {"Set-Cookie": "x"}}), "/payload/smtp/Set-Cookie", "secret_name");
    assert_refused(&json!({"list": [[{"apiKey": "x"}]]}), "/payload/list/0/0/apiKey", "secret_name");
    assert_refused(&json!({"credentials": {"user": "x"}}), "/payload/credentials", "secret_name");
    assert_refused(&json!({"tokens": ["x"]}), "/payload/tokens", "secret_name");
    assert_refused(&json!({"cvv": 123}), "/payload/cvv", "secret_name");
    assert_refused(&json!({"htmlBody": "<p>"}), "/payload/htmlBody", "mail_body");
}

#[test]
fn flags_counts_and_nothing_are_no_secrets() {
    assert_eq!(
        codes(&json!({"hasPassword": true, "sendToken": false, "apiKey": null, "maxTokens": 4096, "pageToken": "abc"})),
        []
    );
}

#[test]
fn card_numbers_and_addresses_are_refused() {
    assert_refused(&json!({"ref": "4111 1111 1111 1111"}), "/payload/ref", "card_number");
    assert_refused(&json!({"ref": 4_111_111_111_111_111_u64}), "/payload/ref", "card_number");
    assert_refused(&json!({"to": ["ada@example.com"]}), "/payload/to/0", "mail_address");
}

#[test]
fn json_in_a_string_is_looked_into() {
    assert_refused(&json!({"extra": "{\"user\":{\"password\":\"x\"}}"}), "/payload/extra", "secret_name");
    assert_refused(&json!({"extra": " [\"{\\\"cvv\\\":1}\"]"}), "/payload/extra", "secret_name");
    let message = &check(&json!({"extra": "{\"user\":{\"password\":\"x\"}}"}), "")[0].message;
    assert!(message.starts_with("the JSON in this string: by its name the member holds a secret"), "{message}");
    let message = &check(&json!({"extra": "{\"Jane\":{\"Doe\":\"ada@example.com\"}}"}), "")[0].message;
    assert!(!message.contains("Jane") && !message.contains("Doe"), "{message}");
    assert_eq!(codes(&json!({"filter": "{\"status\":[\"open\"]}", "odd": "{not json", "list": "[]"})), []);
}

#[test]
fn long_texts_and_large_payloads_are_refused() {
    assert_eq!(codes(&json!({"key": "k".repeat(MAX_STRING_BYTES)})), []);
    assert_refused(&json!({"text": "k".repeat(MAX_STRING_BYTES + 1)}), "/payload/text", "long_text");
    assert_refused(&json!({"text": "山".repeat(400)}), "/payload/text", "long_text");
    let ids: Vec<String> = (0..3000).map(|n| format!("user-{n}")).collect();
    assert_refused(&json!({"ids": ids}), "/payload", "payload_too_large");
}

#[test]
fn a_payload_at_the_size_limit_passes_and_one_byte_more_does_not() {
    let sized = |bytes: usize| {
        let framing = canonical(&json!({"a": vec![""; 17]})).len();
        let mut texts = vec![1000; 16];
        texts.push(bytes - framing - 16 * 1000);
        json!({"a": texts.into_iter().map(|length| "k".repeat(length)).collect::<Vec<_>>()})
    };
    assert_eq!(canonical(&sized(MAX_PAYLOAD_BYTES)).len(), MAX_PAYLOAD_BYTES);
    assert_eq!(codes(&sized(MAX_PAYLOAD_BYTES)), []);
    assert_refused(&sized(MAX_PAYLOAD_BYTES + 1), "/payload", "payload_too_large");
}

#[test]
fn the_list_of_errors_is_bounded() {
    assert_eq!(check(&json!({"to": vec!["ada@example.com"; 500]}), "").len(), MAX_ERRORS);
}

#[test]
fn ordinary_payloads_pass() {
    for value in [
        json!({"deliveryId": "mail-1001", "templateId": "welcome", "userId": "user-42"}),
        json!({"bucket": "uploads", "key": "2031/07/logo@2x.png", "versionId": "3HL4kqtJlcpXroDTDmJ+rmSpXd3dIbrHY", "size": 123_456_789_012_u64}),
        json!({"paymentMethodId": "pm_1MqLiJLkdIwHu7ixUEgbFdYF", "customerId": "cus_NffrFeUfNV2Hib", "amount": "100.00", "currency": "eur"}),
        json!({"id": "8e03978e-40d5-43e8-bc93-6894a57f9324", "at": "2026-08-01T12:30:00.123456Z", "ms": 1_754_006_400_123_u64}),
        json!({"etag": "9b2cf535f27731c974343645a3985328", "arn": "arn:aws:s3:::bucket/key", "url": "https://example.com/a?page=2&sort=id"}),
        json!({"sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "ulid": "01ARZ3NDEKTSV4RRFFQ69G5FAV"}),
        json!({"secretArn": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:smtp-AbCdEf"}),
        json!({"title": "Basic information about bearer bonds", "note": "sk-learn-some-long-name-of-a-model", "phone": "+81 90 1234 5678"}),
        json!({"task": "task-7fK2mN5pQ8sT1vW4yZ7bC0fG3", "desk": "DESK0123456789abcdef0123456789abcdef", "host": "mybucketAKIAIOSFODNN7EXAMPLE"}),
        json!({"jwks": "https://example.com/.well-known/jwks.json", "flag": null, "n": -5, "list": [[[]]], "o": {}}),
    ] {
        assert_eq!(check(&value, ""), [], "{value}");
    }
}

#[test]
fn keys_may_be_long_numbers_but_not_secrets() {
    assert_eq!(check_key("4111111111111111", "/idempotencyKey"), None);
    assert_eq!(check_key("AKIAIOSFODNN7EXAMPLE", "/k").map(|error| error.code), Some("secret_value"));
    assert_eq!(check_key("email:ada@example.com", "/k").map(|error| error.code), Some("mail_address"));
    assert_eq!(check_text("4111111111111111", "/businessId").map(|error| error.code), Some("card_number"));
}
