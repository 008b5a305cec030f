//! One text for equal JSON values, and the digest of it.

use serde_json::Value;

use super::digest;

/// The value as JSON text with members sorted by name (by Unicode code point) and without blanks, so that requests that differ in layout
/// and member order only are equal.
///
/// It is what Python makes with `json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)`.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_value(value, &mut text);
    text
}

/// `sha256:` and the first 32 hexadecimal digits of the SHA-256 of the [`canonical`] payload.
///
/// The record keeps it to notice a message that comes with another content under the same job id. Half a digest keeps the item small; to find a
/// second payload for a given one takes 2^128 tries.
#[must_use]
pub fn payload_digest(payload: &Value) -> String {
    format!("sha256:{}", digest::hex(&digest::of_text(&canonical(payload))))
}

fn write_value(value: &Value, text: &mut String) {
    match value {
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_value(element, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            // serde_json's map is sorted by itself unless a crate anywhere in the build switches `preserve_order` on: do not rely on it.
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (index, (name, member)) in sorted.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(name, text);
                text.push(':');
                write_value(member, text);
            }
            text.push('}');
        }
        Value::String(string) => write_string(string, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => text.push_str(&value.to_string()),
    }
}

/// A JSON string with the escapes that JSON asks for and no others.
pub(crate) fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            '\u{0}'..='\u{1f}' => text.push_str(&format!("\\u{:04x}", u32::from(character))),
            character => text.push(character),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_sorted_at_every_depth_and_blanks_are_gone() {
        let value: Value =
            serde_json::from_str("{ \"b\" : [ { \"z\":1, \"a\":2 } ],\n \"B\":null, \"a\":true, \"é\":0, \"\":\"x\" }").unwrap();
        assert_eq!(canonical(&value), r#"{"":"x","B":null,"a":true,"b":[{"a":2,"z":1}],"é":0}"#);
    }

    #[test]
    fn only_the_escapes_that_json_asks_for_are_used() {
        let value = json!("\" \\ / \n \r \t \u{8} \u{c} \u{1} \u{7f} é 山 😀");
        assert_eq!(canonical(&value), "\"\\\" \\\\ / \\n \\r \\t \\b \\f \\u0001 \u{7f} é 山 😀\"");
    }

    #[test]
    fn numbers_keep_every_digit() {
        let value = json!([9_007_199_254_740_993_u64, u64::MAX, i64::MIN, 0]);
        assert_eq!(canonical(&value), "[9007199254740993,18446744073709551615,-9223372036854775808,0]");
    }

    #[test]
    fn empty_containers_stay_what_they_are() {
        assert_eq!(canonical(&json!({"a": {}, "b": [], "c": ""})), r#"{"a":{},"b":[],"c":""}"#);
    }

    #[test]
    fn a_number_and_its_text_have_different_digests() {
        assert_ne!(payload_digest(&json!({"a": 1})), payload_digest(&json!({"a": "1"})));
        assert_eq!(payload_digest(&json!({})).len(), "sha256:".len() + 32);
    }
}
