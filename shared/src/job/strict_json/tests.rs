use serde_json::json;

use super::*;

fn refused(text: &str) -> StrictJsonError {
    parse(text).expect_err("refused")
}

#[track_caller]
fn assert_refused(text: &str, rule: StrictJsonRule, pointer: &str) {
    let error = refused(text);
    assert_eq!((error.rule, error.pointer.as_str()), (rule, pointer), "{text:?}: {error}");
}

#[test]
fn ordinary_json_arrives_as_it_is() {
    let text = " {\"a\":[1,-2,null,true,\"x\"],\"b\":{\"c\":{}},\"é\":\"\\u00e9\\n😀\"}\r\n";
    assert_eq!(parse(text).unwrap(), json!({"a": [1, -2, null, true, "x"], "b": {"c": {}}, "é": "é\n😀"}));
    assert_eq!(parse("7").unwrap(), json!(7));
}

#[test]
fn one_byte_order_mark_is_accepted_and_a_second_one_is_not() {
    assert_eq!(parse("\u{feff}{}").unwrap(), json!({}));
    assert_eq!(parse_bytes(b"\xef\xbb\xbf{\"a\":1}").unwrap(), json!({"a": 1}));
    assert_refused("\u{feff}\u{feff}{}", StrictJsonRule::Syntax, "");
    assert_refused("\u{feff}", StrictJsonRule::Empty, "");
}

#[test]
fn every_integer_of_64_bits_arrives_digit_for_digit() {
    for text in ["0", "9007199254740993", "18446744073709551615", "-9223372036854775808", "-1"] {
        assert_eq!(parse(text).unwrap().to_string(), text);
    }
}

#[test]
fn what_would_not_arrive_digit_for_digit_is_refused_naming_the_field() {
    for number in ["100.0", "1e3", "1E3", "0.1", "-0", "-0.0", "18446744073709551616", "-9223372036854775809", "1e999", "1e-999"]
    {
        assert_refused(&format!("{{\"payload\":{{\"list\":[0,{number}]}}}}"), StrictJsonRule::Number, "/payload/list/1");
    }
    let error = refused("{\"amount\":100.0}");
    assert_eq!(
        error.to_string(),
        "/amount: numbers must be integers of at most 64 bits, without fraction, exponent or minus zero: write decimals as strings"
    );
    let huge = format!("{{\"n\":{}}}", "9".repeat(100_000));
    assert_refused(&huge, StrictJsonRule::Number, "/n");
}

#[test]
fn a_duplicate_member_is_refused_at_any_depth() {
    assert_refused("{\"a\":1,\"a\":1}", StrictJsonRule::DuplicateMember, "/a");
    assert_refused("{\"a\":1,\"\\u0061\":2}", StrictJsonRule::DuplicateMember, "/a");
    assert_refused("{\"x\":[{},{\"y\":{\"k/1\":1,\"b\":2,\"k/1\":3}}]}", StrictJsonRule::DuplicateMember, "/x/1/y/k~11");
    assert!(parse("{\"a\":{\"a\":{\"a\":1}},\"A\":1}").is_ok(), "the same name in different objects");
}

#[test]
fn nesting_is_accepted_to_the_limit_and_refused_beyond_it() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(&nested(MAX_DEPTH)).is_ok());
    assert_refused(&nested(MAX_DEPTH + 1), StrictJsonRule::TooDeep, &"/0".repeat(MAX_DEPTH));
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert!(parse(&objects(MAX_DEPTH)).is_ok());
    assert_refused(&objects(MAX_DEPTH + 1), StrictJsonRule::TooDeep, &"/a".repeat(MAX_DEPTH));
}

#[test]
fn ten_thousand_nested_arrays_are_refused_on_a_small_stack() {
    let text = format!("{{\"metadata\":{}", "[".repeat(10_000));
    let small_stack = std::thread::Builder::new().stack_size(256 * 1024);
    let error = small_stack.spawn(move || refused(&text)).unwrap().join().expect("no crash");
    assert_eq!(error.rule, StrictJsonRule::TooDeep);
    assert!(error.pointer.starts_with("/metadata/0/0"));
    assert_refused(&"{\"a\":[".repeat(10_000), StrictJsonRule::TooDeep, &"/a/0".repeat(MAX_DEPTH / 2));
}

#[test]
fn characters_that_sqs_does_not_carry_are_refused_in_values_and_names() {
    for escape in ["\\u0000", "\\u0008", "\\u001f", "\\b", "\\f", "\\uffff", "\\ufffe", "\u{ffff}"] {
        assert_refused(&format!("{{\"a\":[\"x{escape}\"]}}"), StrictJsonRule::Character, "/a/0");
        assert_refused(&format!("{{\"a\":{{\"x{escape}\":1}}}}"), StrictJsonRule::Character, "/a");
    }
    assert!(parse("\"\\t\\n\\r\\u007f\\ud83d\\ude00\"").is_ok());
    assert_eq!(refused("\"\\u0000\"").message, "the string has the character U+0000, which SQS does not carry: remove it");
}

#[test]
fn what_is_not_json_is_refused_with_its_place() {
    for text in ["{\"a\":1,}", "{'a':1}", "[1 2]", "nul", "{} {}", "{}x", "NaN", "01", "+1", "{\"a\" 1}", "// x\n{}", "\"\n\""] {
        let error = refused(text);
        assert!(matches!(error.rule, StrictJsonRule::Syntax | StrictJsonRule::Incomplete), "{text:?}: {error}");
        assert!(error.message.contains("line "), "{text:?}: {error}");
    }
    for text in ["{\"a\":[1,", "{\"type\":\"email\",\"to\":", "\"abc", "{"] {
        assert_eq!(refused(text).rule, StrictJsonRule::Incomplete, "{text:?}");
    }
    assert_refused("{\"a\":{\"b\":tru}}", StrictJsonRule::Syntax, "/a/b");
}

#[test]
fn lone_surrogates_are_refused() {
    for text in ["\"\\ud800\"", "\"\\udc00\"", "\"\\ud800x\"", "\"\\ud800\\u0041\"", "{\"\\ud800\":1}"] {
        assert!(matches!(refused(text).rule, StrictJsonRule::Syntax | StrictJsonRule::Incomplete), "{text}");
    }
}

#[test]
fn nothing_and_bytes_that_are_not_text_are_refused() {
    for text in ["", " ", "\n\t\r "] {
        assert_refused(text, StrictJsonRule::Empty, "");
    }
    let error = parse_bytes(b"{\"a\":\"\xff\"}").unwrap_err();
    assert_eq!((error.rule, error.message.as_str()), (StrictJsonRule::Encoding, "not UTF-8: byte 7 cannot stand there"));
    assert_eq!(parse_bytes(b"{\"a\":\"\xed\xa0\x80\"}").unwrap_err().rule, StrictJsonRule::Encoding, "a surrogate in UTF-8");
}

#[test]
fn errors_never_repeat_a_value() {
    let marker = "hunter2secret";
    for text in [
        format!("{{\"a\":\"{marker}\",\"a\":1}}"),
        format!("{{\"a\":\"{marker}\\u0000\"}}"),
        format!("{{\"a\":\"{marker}\" {marker}}}"),
        format!("{{\"a\":{marker}}}"),
        format!("{{\"a\":\"{marker}\\ud800\"}}"),
        format!("{{\"a\":\"{marker}"),
    ] {
        let error = refused(&text);
        assert!(!format!("{error} {error:?}").contains(marker), "{error:?}");
    }
    let error = refused("{\"AKIAIOSFODNN7EXAMPLE\":1.5}");
    assert_eq!(error.pointer, "/(hidden)");
}

#[test]
fn an_error_is_a_field_error_too() {
    let error: FieldError = refused("{\"a\":[1.5]}").into();
    assert_eq!((error.pointer.as_str(), error.code), ("/a/0", "number_not_integer"));
}
