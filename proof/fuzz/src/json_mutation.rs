//! Changes to JSON that leave it JSON, or nearly so: of random bytes hardly any pass the parser.
//!
//! A document is changed in one to four places: values, members and names are removed, doubled, moved, replaced by others that mean something to the
//! program. A text that holds JSON itself (the body of an event, the message in SNS's envelope), be it in base64, is often changed inside. Then it is
//! written, now and then in a way that a strict reader refuses.

mod edits;
mod writing;

use fastrand::Rng;
use serde_json::Value;

/// Words that mean something to the program that reads the document.
#[derive(Debug, Clone, Copy)]
pub struct Vocabulary {
    /// Names of members.
    pub names: &'static [&'static str],
    /// Values, as JSON.
    pub values: &'static [&'static str],
}

/// Changes the document in `data[..size]`, and gives its new size, at most `max_size`. `None`: it is no JSON, or has become too long.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32, vocabulary: &Vocabulary) -> Option<usize> {
    let document = serde_json::from_slice(data.get(..size)?).ok()?;
    let text = mutated(document, u64::from(seed), vocabulary);
    let room = max_size.min(data.len());
    (text.len() <= room).then(|| {
        data[..text.len()].copy_from_slice(text.as_bytes());
        text.len()
    })
}

fn mutated(mut document: Value, seed: u64, vocabulary: &Vocabulary) -> String {
    let mut rng = Rng::with_seed(seed);
    for _ in 0..rng.usize(1..=4) {
        edits::edit(&mut document, &mut rng, vocabulary);
    }
    writing::written(&document, &mut rng)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use serde_json::json;

    use super::*;

    const WORDS: Vocabulary = Vocabulary { names: &["payload", "data"], values: &["7", "\"EUR\"", "[]"] };

    #[test]
    fn the_same_seed_makes_the_same_change_and_others_make_others() {
        let document = json!({"a": [1, {"b": "text"}], "c": null});
        let all: BTreeSet<String> = (0..200).map(|seed| mutated(document.clone(), seed, &WORDS)).collect();
        assert!(all.len() > 150, "{}", all.len());
        assert_eq!(mutated(document.clone(), 3, &WORDS), mutated(document, 3, &WORDS));
    }

    #[test]
    fn most_of_what_is_written_is_json_and_some_is_not() {
        let document = json!({"a": [1, {"b": "text"}], "c": null});
        let is_json = |seed| serde_json::from_str::<Value>(&mutated(document.clone(), seed, &WORDS)).is_ok();
        let count = (0..400).filter(|&seed| is_json(seed)).count();
        assert!((300..400).contains(&count), "{count}");
    }

    #[test]
    fn json_inside_of_a_text_is_changed_as_json() {
        for body in [json!({"payload": 1}).to_string(), STANDARD.encode(json!({"payload": 1}).to_string())] {
            let document = json!({"body": body});
            let inner = |seed| {
                let changed: Value = serde_json::from_str(&mutated(document.clone(), seed, &WORDS)).ok()?;
                let body = changed.get("body")?.as_str()?.to_owned();
                let body = STANDARD.decode(&body).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(body);
                serde_json::from_str::<Value>(&body).ok()
            };
            let inner: BTreeSet<String> = (0..200).filter_map(inner).map(|value| value.to_string()).collect();
            assert!(inner.len() > 25, "{}", inner.len());
        }
    }

    #[test]
    fn a_change_that_has_no_room_is_none() {
        let mut data = br#"{"a":"b"}"#.to_vec();
        let size = data.len();
        for seed in 0..100 {
            assert!(mutate(&mut data.clone(), size, size, seed, &WORDS).is_none_or(|new| new <= size));
        }
        assert_eq!(mutate(&mut data, size, 1, 1, &WORDS), None);
        assert_eq!(mutate(&mut b"no json".to_vec(), 7, 100, 1, &WORDS), None);
    }
}
