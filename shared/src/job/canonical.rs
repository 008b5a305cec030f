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
