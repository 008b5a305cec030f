//! A document as text, now and then in an unusual way: a member twice, numbers in another form, escapes, blanks, a byte order mark, an end that is missing.

use fastrand::Rng;
use serde_json::Value;

/// The document as text.
pub(super) fn written(document: &Value, rng: &mut Rng) -> String {
    if rng.u8(..8) > 0 {
        return document.to_string();
    }
    let mut text = String::new();
    if rng.u8(..8) == 0 {
        text.push('\u{feff}');
    }
    write(document, rng, &mut text);
    if rng.u8(..8) == 0 {
        let end = rng.usize(..=text.chars().count());
        text = text.chars().take(end).collect();
    }
    text
}

fn write(value: &Value, rng: &mut Rng, text: &mut String) {
    text.push_str(rng.choice(["", "", "", " ", "\n\t"]).unwrap_or_default());
    match value {
        Value::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(element, rng, text);
            }
            text.push(']');
        }
        Value::Object(members) => {
            text.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write_member(name, member, rng, text);
                if rng.u8(..16) == 0 {
                    text.push(',');
                    write_member(name, member, rng, text);
                }
            }
            text.push('}');
        }
        Value::String(string) => write_string(string, rng, text),
        Value::Number(number) => {
            text.push_str(rng.choice(["", "", "", "-"]).unwrap_or_default());
            text.push_str(&number.to_string());
            text.push_str(rng.choice(["", "", "", ".0", "e0", "0"]).unwrap_or_default());
        }
        other => text.push_str(&other.to_string()),
    }
}

fn write_member(name: &str, member: &Value, rng: &mut Rng, text: &mut String) {
    write_string(name, rng, text);
    text.push(':');
    write(member, rng, text);
}

fn write_string(string: &str, rng: &mut Rng, text: &mut String) {
    if rng.u8(..4) > 0 {
        text.push_str(&Value::from(string).to_string());
        return;
    }
    text.push('"');
    for unit in string.encode_utf16() {
        text.push_str(&format!("\\u{unit:04X}"));
    }
    text.push('"');
}
