//! Whether an answer repeats what it was given: the same input again, with every value replaced by one that occurs nowhere else.

use serde_json::{Map, Value};

/// In all values of a masked document, and in nothing that a program says.
const MARK: &str = "qzxv";

/// Whether a text shows a masked value.
pub(crate) fn shows(text: &str) -> bool {
    text.contains(MARK)
}

/// The document with another text in the place of each of its texts. Members called one of `kept` keep theirs: what they say decides how the rest is
/// read. Names of members stay.
pub(crate) fn values(document: &Value, kept: &[&str]) -> Value {
    let mut masks = 0;
    masked(document, kept, &|name| name.to_owned(), &mut masks)
}

/// The same, and names that are none of `known` are replaced too.
pub(crate) fn values_and_names(document: &Value, kept: &[&str], known: &dyn Fn(&str) -> bool) -> Value {
    let mut masks = 0;
    let renamed = |name: &str| if known(name) { name.to_owned() } else { format!("{MARK}-{name}") };
    masked(document, kept, &renamed, &mut masks)
}

fn masked(value: &Value, kept: &[&str], rename: &dyn Fn(&str) -> String, masks: &mut usize) -> Value {
    match value {
        Value::String(_) => {
            *masks += 1;
            Value::String(format!("{MARK}{masks}"))
        }
        Value::Array(elements) => elements.iter().map(|element| masked(element, kept, rename, masks)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, member)| {
                let keeps = member.is_string() && kept.contains(&name.as_str());
                (rename(name), if keeps { member.clone() } else { masked(member, kept, rename, masks) })
            });
            Value::Object(members.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_is_replaced_but_those_that_are_kept() {
        let document = json!({"type": "a.b", "n": 1, "list": ["x", {"note": "y"}], "odd": {"type": {"z": "z"}}});
        assert_eq!(
            values_and_names(&document, &["type"], &|name| name != "odd"),
            json!({"type": "a.b", "n": 1, "list": ["qzxv1", {"note": "qzxv2"}], "qzxv-odd": {"type": {"z": "qzxv3"}}})
        );
        assert!(shows(&values(&json!(["x"]), &[]).to_string()) && !shows(&document.to_string()));
    }
}
