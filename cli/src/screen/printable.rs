//! What a terminal must not be told in somebody else's words.
//!
//! Reasons, ids, log lines and mails come from whoever posted a job, from providers, and from whoever may put a message on a queue. A terminal obeys
//! what stands in them: it moves its cursor over lines that were printed before, sets its title, answers into its own input. Everything that the
//! commands print goes through here.

use std::borrow::Cow;

/// The codes that the commands paint with themselves.
const PAINT: [&str; 5] = ["0", "2", "31", "32", "33"];
const SHADE: &str = "38;5;";

/// `text` with everything that a terminal obeys written out, as JSON writes it (`\u001b`): a JSON document stays the same document. Line breaks and
/// tabs stay. `painted`: the colours of the commands stay too; that somebody else colours a word with them is the worst that can happen.
pub(super) fn printable(text: &str, painted: bool) -> Cow<'_, str> {
    if !text.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(character) = rest.chars().next() {
        let paint = if painted { paint_length(rest) } else { 0 };
        if paint > 0 {
            shown.push_str(&rest[..paint]);
            rest = &rest[paint..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        match character {
            // The line break of mails and of Windows.
            '\r' if rest.starts_with('\n') => {}
            character if is_obeyed(character) => shown.push_str(&format!("\\u{:04x}", u32::from(character))),
            character => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

/// A text that stays in its place of a table, or in its line of a log: its line breaks are written out.
pub(crate) fn one_line(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\n', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'], "\\n")
}

/// Control characters of both sets (C1 has a CSI of its own, U+009B), and what turns the direction of a text around, so that it reads as another one
/// (<https://trojansource.codes>). All of them have four hexadecimal digits.
fn is_obeyed(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        character => character.is_control(),
    }
}

/// How long the colour is that `text` begins with; nothing if it begins with none of ours.
fn paint_length(text: &str) -> usize {
    let Some((code, _)) = text.strip_prefix("\u{1b}[").and_then(|rest| rest.split_once('m')) else { return 0 };
    let is_shade = code.strip_prefix(SHADE).is_some_and(|colour| colour.parse::<u8>().is_ok());
    if PAINT.contains(&code) || is_shade { "\u{1b}[m".len() + code.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_written_out() {
        for (hostile, shown) in [
            ("\u{1b}[2J\u{1b}[1;1Hall is well", r"\u001b[2J\u001b[1;1Hall is well"),
            ("\u{1b}]0;title\u{7}", r"\u001b]0;title\u0007"),
            ("\u{9b}2J", r"\u009b2J"),
            ("dead\rdone", r"dead\u000ddone"),
            ("\u{8}\u{8}\u{7f}", r"\u0008\u0008\u007f"),
            ("\u{202e}gnp.exe\u{2066}", r"\u202egnp.exe\u2066"),
            ("\u{1b}[8mhidden", r"\u001b[8mhidden"),
            ("\u{1b}[31", r"\u001b[31"),
            ("\u{1b}[38;5;256mx", r"\u001b[38;5;256mx"),
        ] {
            assert_eq!(printable(hostile, true), shown);
        }
    }

    #[test]
    fn ordinary_texts_and_our_own_colours_stay() {
        for text in ["a\tb\nc", "写真 – é 👩‍👧", "\u{1b}[31mdead\u{1b}[0m", "\u{1b}[38;5;97mjob\u{1b}[0m"] {
            assert_eq!(printable(text, true), text);
        }
        assert_eq!(printable("a\r\nb", true), "a\nb");
        assert_eq!(printable("\u{1b}[31mdead", false), r"\u001b[31mdead", "no colours are ours where there are none");
    }

    #[test]
    fn a_document_stays_the_same_document() {
        let value = serde_json::json!({"reason\u{9b}": "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}\r\n", "n": 1});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = printable(&text, false);
        assert!(!shown.chars().any(is_obeyed), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn a_text_of_several_lines_is_one() {
        assert_eq!(one_line("no\nj-2  succeeded\r\n\u{2028}"), r"no\nj-2  succeeded\n\n");
    }
}
