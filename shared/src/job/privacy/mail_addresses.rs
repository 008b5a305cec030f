//! Mail addresses in any text.

/// Endings that are files and not domains: `logo@2x.png` is an object key.
const FILE_ENDINGS: [&str; 24] = [
    "avif", "bmp", "css", "csv", "docx", "gif", "gz", "heic", "html", "ico", "jpeg", "jpg", "js", "json", "mp4", "pdf", "png",
    "svg", "tar", "tiff", "txt", "webp", "xlsx", "xml",
];

/// Whether a mail address stands in the text. `%40` and the full-width `＠` count as `@`.
pub(super) fn contains_mail_address(text: &str) -> bool {
    let text = text.replace("%40", "@").replace('＠', "@");
    text.match_indices('@').any(|(at, _)| ends_like_a_mailbox(&text[..at]) && starts_like_a_domain(&text[at + 1..]))
}

fn ends_like_a_mailbox(text: &str) -> bool {
    text.chars().next_back().is_some_and(|character| character.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~\"".contains(character))
}

fn starts_like_a_domain(text: &str) -> bool {
    let end = text.find(|character: char| !character.is_alphanumeric() && !".-".contains(character)).unwrap_or(text.len());
    let domain = text[..end].trim_end_matches(['.', '-']);
    let Some((name, top)) = domain.rsplit_once('.') else { return false };
    let is_top_level = top.starts_with("xn--") || (top.chars().count() >= 2 && top.chars().all(char::is_alphabetic));
    !name.is_empty() && is_top_level && !FILE_ENDINGS.contains(&top.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_wherever_they_stand() {
        for text in [
            "ada@example.com",
            "email:welcome:ada@example.com",
            "Ada Lovelace <ada.lovelace+x@mail.example.co.jp>",
            "https://example.com/?u=ada%40example.com",
            "山田＠例え.jp",
            "山田@例え.テスト",
            "ada@xn--r8jz45g.xn--zckzah",
            "write to ada@example.com.",
            "\"ada\"@example.com",
        ] {
            assert!(contains_mail_address(text), "{text}");
        }
    }

    #[test]
    fn other_uses_of_the_sign_are_left_alone() {
        for text in [
            "@ada",
            "user@host",
            "uploads/logo@2x.png",
            "uploads/photo@large.JPG",
            "left-pad@1.3.0",
            "@scope/package",
            "5 @ 3.50",
            "a@.com",
            "a@b.c",
            "@",
            "",
        ] {
            assert!(!contains_mail_address(text), "{text}");
        }
    }
}
