//! JSON pointers (RFC 6901) into what a sender wrote: one form to show to that sender, one for logs and records.

use std::collections::BTreeSet;

use super::privacy;

/// Longest member name that a pointer repeats, in characters. A sender may choose a name of a megabyte.
const MAX_NAME_CHARS: usize = 64;

/// The pointer of a member of the object at `parent`.
///
/// Names are the sender's text: a long one is cut, and one that looks like a secret itself is not repeated.
pub(crate) fn member(parent: &str, name: &str) -> String {
    format!("{parent}/{}", printable(name))
}

/// The pointer of an element of the array at `parent`.
pub(crate) fn element(parent: &str, index: usize) -> String {
    format!("{parent}/{index}")
}

/// What stands in the place of a name that nobody but the sender knows.
const UNKNOWN: &str = "(unknown member)";
/// Longest array index that is told apart from a name made of digits, which may be anybody's telephone number.
const MAX_INDEX_DIGITS: usize = 4;

/// The pointer without names of the sender's invention, which may be people's: for everything that is kept or logged. `known` are the
/// member names of the program.
pub(crate) fn with_known_names(pointer: &str, known: &BTreeSet<String>) -> String {
    let is_index = |step: &str| step.len() <= MAX_INDEX_DIGITS && step.bytes().all(|byte| byte.is_ascii_digit());
    let mut steps = pointer.split('/');
    // Before the first slash there is nothing.
    let mut shown = steps.next().unwrap_or_default().to_owned();
    for step in steps {
        shown.push('/');
        shown.push_str(if known.contains(step) || is_index(step) { step } else { UNKNOWN });
    }
    shown
}

fn printable(name: &str) -> String {
    if privacy::reveals_secret(name) {
        return "(hidden)".to_owned();
    }
    let mut text = String::with_capacity(name.len().min(MAX_NAME_CHARS));
    for (position, character) in name.chars().enumerate() {
        if position == MAX_NAME_CHARS {
            text.push('…');
            break;
        }
        match character {
            '~' => text.push_str("~0"),
            '/' => text.push_str("~1"),
            character if character.is_control() => text.push('\u{fffd}'),
            character => text.push(character),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_as_rfc_6901_says() {
        assert_eq!(member("/payload", "a/b~c"), "/payload/a~1b~0c");
        assert_eq!(member("", ""), "/");
        assert_eq!(element("/list", 3), "/list/3");
    }

    #[test]
    fn long_and_unprintable_names_do_not_reach_a_log() {
        assert_eq!(member("", &"n".repeat(1_000_000)), format!("/{}…", "n".repeat(64)));
        assert_eq!(member("", "a\nb\u{0}"), "/a\u{fffd}b\u{fffd}");
    }

    #[test]
    fn only_names_of_the_program_and_indexes_are_kept() {
        let known = BTreeSet::from(["payload".to_owned(), "ids".to_owned()]);
        for (pointer, shown) in [
            ("", ""),
            ("/", "/"),
            ("/payload/ids/12", "/payload/ids/12"),
            ("/payload/Jane Doe/ids", "/payload/(unknown member)/ids"),
            ("/payload/a~1b", "/payload/(unknown member)"),
            ("/payload/01234", "/payload/(unknown member)"),
            ("/Payload", "/(unknown member)"),
        ] {
            assert_eq!(with_known_names(pointer, &known), shown);
        }
    }

    #[test]
    fn a_name_that_is_a_secret_is_not_repeated() {
        assert_eq!(member("/payload", "AKIAIOSFODNN7EXAMPLE"), "/payload/(hidden)");
    }
}
