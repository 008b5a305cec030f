//! One change to a document.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::Vocabulary;

/// Deepest nesting that is made: past every limit of the program's.
const DEEPEST: usize = 40;

/// Texts and characters that have meant trouble to somebody.
const TEXTS: [&str; 20] = [
    "",
    " ",
    "\u{0}",
    "\u{b}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{fffe}",
    "\r\n",
    "é",
    "😀",
    "<b>'\"&</b>",
    "{{ x }}",
    "../",
    "%2B+%ff",
    "a@b.example",
    "4111 1111 1111 1111",
    "Bearer eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl",
    "https://[::1]:8080/?a=b#c",
];

/// Changes one place of a document.
pub(super) fn edit(document: &mut Value, rng: &mut Rng, words: &Vocabulary) {
    let others: Vec<Value> = places(document).into_iter().cloned().collect();
    let place = rng.usize(..others.len());
    let spare = others[rng.usize(..others.len())].clone();
    let Some(value) = nth(document, &mut { place }) else { return };
    if rng.u8(..) < 160 && edit_inside(value, rng, words) {
        return;
    }
    match rng.u8(..12) {
        0 => *value = scalar(rng),
        1 => *value = word(rng, words).unwrap_or(Value::Null),
        2 => *value = spare,
        3 => *value = nested(std::mem::take(value), rng),
        _ => match value {
            Value::Object(members) => edit_members(members, rng, words),
            Value::Array(elements) => edit_elements(elements, spare, rng),
            Value::String(text) => edit_text(text, rng),
            other => *other = scalar(rng),
        },
    }
}

/// Every value of the document, itself first.
fn places(value: &Value) -> Vec<&Value> {
    let inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(elements) => Box::new(elements.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    };
    std::iter::once(value).chain(inner.flat_map(places)).collect()
}

/// The value at a place, in the order of [`places`].
fn nth<'v>(value: &'v mut Value, place: &mut usize) -> Option<&'v mut Value> {
    if *place == 0 {
        return Some(value);
    }
    *place -= 1;
    match value {
        Value::Array(elements) => elements.iter_mut().find_map(|element| nth(element, place)),
        Value::Object(members) => members.values_mut().find_map(|member| nth(member, place)),
        _ => None,
    }
}

/// Changes the document that a text holds, if it holds one.
fn edit_inside(value: &mut Value, rng: &mut Rng, words: &Vocabulary) -> bool {
    let Value::String(text) = value else { return false };
    let document = |text: &str| serde_json::from_str(text).ok().filter(|inner: &Value| inner.is_object() || inner.is_array());
    if let Some(mut inner) = document(text) {
        edit(&mut inner, rng, words);
        *text = super::writing::written(&inner, rng);
        return true;
    }
    let decoded = STANDARD.decode(&*text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if let Some(mut inner) = decoded.as_deref().and_then(document) {
        edit(&mut inner, rng, words);
        *text = STANDARD.encode(super::writing::written(&inner, rng));
        return true;
    }
    false
}

fn scalar(rng: &mut Rng) -> Value {
    match rng.u8(..9) {
        0 => Value::Null,
        1 => json!(rng.bool()),
        2 => json!(rng.u8(..3)),
        3 => json!(-1),
        4 => json!([u64::from(u32::MAX), u64::from(u32::MAX) + 1, u64::MAX, 1 << 53][rng.usize(..4)]),
        5 => json!([i64::MIN, i64::from(i32::MIN)][rng.usize(..2)]),
        6 => json!(1.5),
        7 => [json!([]), json!({})][rng.usize(..2)].clone(),
        _ => json!(TEXTS[rng.usize(..TEXTS.len())]),
    }
}

fn word(rng: &mut Rng, words: &Vocabulary) -> Option<Value> {
    serde_json::from_str(rng.choice(words.values)?).ok()
}

/// The value inside of others.
fn nested(value: Value, rng: &mut Rng) -> Value {
    let depth = if rng.u8(..4) == 0 { rng.usize(1..DEEPEST) } else { 1 };
    (0..depth).fold(value, |value, _| if rng.bool() { json!([value]) } else { json!({"a": value}) })
}

fn edit_members(members: &mut Map<String, Value>, rng: &mut Rng, words: &Vocabulary) {
    let name = rng.choice(members.keys()).cloned();
    let known = rng.choice(words.names).map_or_else(|| "x".to_owned(), |&name| name.to_owned());
    match (rng.u8(..6), name) {
        (0, Some(name)) => drop(members.remove(&name)),
        (1, Some(name)) => {
            let value = members.remove(&name).unwrap_or_default();
            members.insert(known, value);
        }
        (2, Some(name)) => {
            let value = members.remove(&name).unwrap_or_default();
            let mut name = name;
            edit_text(&mut name, rng);
            members.insert(name, value);
        }
        (3, Some(name)) => {
            let value = members[&name].clone();
            members.insert(known, value);
        }
        (4, _) => drop(members.insert(known, scalar(rng))),
        _ => drop(members.insert(known, word(rng, words).unwrap_or_default())),
    }
}

fn edit_elements(elements: &mut Vec<Value>, spare: Value, rng: &mut Rng) {
    let place = rng.usize(..=elements.len());
    match rng.u8(..5) {
        0 if place < elements.len() => drop(elements.remove(place)),
        1 if place < elements.len() => elements.insert(place, elements[place].clone()),
        2 => elements.extend(vec![elements.last().cloned().unwrap_or_default(); rng.usize(1..120)]),
        3 => elements.truncate(place),
        _ => elements.insert(place, spare),
    }
}

fn edit_text(text: &mut String, rng: &mut Rng) {
    let mut characters: Vec<char> = text.chars().collect();
    let place = rng.usize(..=characters.len());
    let inserted = TEXTS[rng.usize(..TEXTS.len())].chars();
    match rng.u8(..8) {
        0 => characters.truncate(place),
        1 if place < characters.len() => drop(characters.remove(place)),
        2 => drop(characters.splice(place..place, inserted)),
        3 => characters.extend(inserted),
        4 => characters = characters.repeat(rng.usize(2..40)),
        5 => characters.iter_mut().for_each(|character| *character = character.to_ascii_uppercase()),
        6 => characters.insert(place, char::from(rng.u8(0x20..0x7f))),
        _ => {
            if let Some(character) = characters.get_mut(place) {
                *character = char::from(rng.u8(0x20..0x7f));
            }
        }
    }
    *text = characters.into_iter().collect();
}
