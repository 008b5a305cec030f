//! Whether an error's JSON pointer leads to a place of the document that it is about.

use serde_json::Value;

/// What stands in pointers for names that are not repeated as they are: hidden, unknown to the program, cut, or unprintable.
const NOT_REPEATED: [&str; 4] = ["(hidden)", "(unknown member)", "…", "\u{fffd}"];

/// Whether `pointer` leads to a value of `document`, or to a member that one of its objects lacks.
pub(crate) fn leads_into(document: &Value, pointer: &str) -> bool {
    if pointer.is_empty() {
        return true;
    }
    let Some(steps) = pointer.strip_prefix('/') else { return false };
    let steps: Vec<&str> = steps.split('/').collect();
    let mut place = document;
    for (at, step) in steps.iter().enumerate() {
        if NOT_REPEATED.iter().any(|mark| step.contains(mark)) {
            return true;
        }
        let found = match place {
            Value::Object(members) => members.get(&step.replace("~1", "/").replace("~0", "~")),
            Value::Array(elements) => step.parse().ok().and_then(|index: usize| elements.get(index)),
            _ => None,
        };
        match found {
            Some(found) => place = found,
            None => return place.is_object() && at + 1 == steps.len(),
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_leads_to_a_value_or_to_a_member_that_is_missing() {
        let document = json!({"a": {"b/c": [1, {"d": null}]}, "": 0});
        for pointer in ["", "/", "/a", "/a/b~1c/0", "/a/b~1c/1/d", "/a/missing", "/missing", "/a/(hidden)/x"] {
            assert!(leads_into(&document, pointer), "{pointer}");
        }
        for pointer in ["a", "/a/b~1c/2", "/a/b~1c/x", "/a/missing/x", "/a/b~1c/0/x", "/missing/a"] {
            assert!(!leads_into(&document, pointer), "{pointer}");
        }
    }
}
