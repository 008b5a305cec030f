//! The characters that SQS carries.

/// The first character that SQS refuses in a message, if there is one.
///
/// SQS carries `#x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF` and answers `InvalidMessageContents` to the rest
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>). They are refused inside JSON strings too, where
/// they could be sent escaped: a value would otherwise travel in one place and not in the next.
pub(crate) fn first_not_carried(text: &str) -> Option<char> {
    text.chars().find(|&character| !is_carried(character))
}

/// Whether SQS carries a character.
pub(crate) fn is_carried(character: char) -> bool {
    matches!(character, '\u{9}' | '\u{a}' | '\u{d}' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limits_of_the_documented_ranges_are_kept() {
        for carried in ["\t\n\r", " ~", "\u{7f}\u{85}", "\u{d7ff}\u{e000}\u{fffd}", "\u{10000}\u{10ffff}", ""] {
            assert_eq!(first_not_carried(carried), None, "{carried:?}");
        }
        for refused in ['\u{0}', '\u{8}', '\u{b}', '\u{c}', '\u{e}', '\u{1f}', '\u{fffe}', '\u{ffff}'] {
            assert_eq!(first_not_carried(&format!("ab{refused}c")), Some(refused));
        }
    }
}
