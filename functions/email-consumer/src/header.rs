//! Header fields of a message, encoded so that every mail reader shows what was meant.
//!
//! A value goes out as plain text only where plain text is unambiguous and fits on one line; else as RFC 2047 encoded words. The
//! MIME crate's own header writer is less strict: it leaves text that only looks like an encoded word (`=?utf-8?Q?x?=`) as it
//! is, and readers then show something else than was written.

use base64::{Engine as _, engine::general_purpose::STANDARD};

use crate::address::Mailbox;

/// Preferred line length without its CRLF (RFC 5322, 2.1.1).
const MAX_PLAIN_LINE: usize = 78;
/// Longest line that holds an encoded word (RFC 2047, 2).
const MAX_ENCODED_LINE: usize = 76;
const WORD_START: &str = "=?utf-8?B?";
const WORD_END: &str = "?=";

/// Appends `name: value` for free text such as a subject.
///
/// Characters that would break the line are written as a space: callers hand over single lines, and even if one did not, no second
/// header could begin here.
pub(crate) fn push_text(message: &mut String, name: &str, value: &str) {
    let value: String = value.chars().map(|c| if crate::address::is_line_breaking(c) { ' ' } else { c }).collect();
    message.push_str(name);
    message.push_str(": ");
    if is_plain(&value) && name.len() + 2 + value.len() <= MAX_PLAIN_LINE {
        message.push_str(&value);
    } else {
        push_encoded_words(message, &value, name.len() + 2);
    }
    message.push_str("\r\n");
}

/// Appends `name: mailbox` for one address with or without a display name.
pub(crate) fn push_mailbox(message: &mut String, name: &str, mailbox: &Mailbox) {
    message.push_str(name);
    message.push_str(": ");
    let mut column = name.len() + 2;
    if let Some(display) = &mailbox.name {
        let display = display.as_str();
        let quoted = format!("\"{}\"", display.replace('\\', "\\\\").replace('"', "\\\""));
        if is_plain(display) && column + quoted.len() <= MAX_PLAIN_LINE {
            message.push_str(&quoted);
            column += quoted.len();
        } else {
            column = push_encoded_words(message, display, column);
        }
        // A line with an encoded word has the stricter limit; using it always costs nothing.
        message.push_str(if column + 3 + mailbox.address.as_str().len() <= MAX_ENCODED_LINE { " " } else { "\r\n " });
    }
    message.push('<');
    message.push_str(mailbox.address.as_str());
    message.push_str(">\r\n");
}

/// Whether readers agree on the text as it stands: printable ASCII, single inner spaces, nothing that looks like an encoded word.
fn is_plain(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic())
        && !text.contains("=?")
        && !text.contains("  ")
        && !text.starts_with(' ')
        && !text.ends_with(' ')
}

/// Appends the text as encoded words, one a line, each within 75 characters and holding whole characters only (RFC 2047, 2 and 5).
/// Returns the column after the last one.
fn push_encoded_words(message: &mut String, text: &str, column: usize) -> usize {
    let mut column = column;
    let mut rest = text;
    while !rest.is_empty() {
        let room = MAX_ENCODED_LINE.saturating_sub(column + WORD_START.len() + WORD_END.len()) / 4 * 3;
        // At least one character: a field name that leaves no room for four octets does not exist here.
        let end = rest.floor_char_boundary(room).max(rest.chars().next().map_or(0, char::len_utf8));
        let (word, tail) = rest.split_at(end);
        let before = message.len();
        message.push_str(WORD_START);
        STANDARD.encode_string(word, message);
        message.push_str(WORD_END);
        column += message.len() - before;
        rest = tail;
        if !rest.is_empty() {
            message.push_str("\r\n ");
            column = 1;
        }
    }
    column
}
