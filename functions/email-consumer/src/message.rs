//! One mail, and the MIME message that carries it.

use std::fmt;

use mail_builder::mime::MimePart;

use crate::{address::Mailbox, header, templates::Rendered};

/// A mail ready to be sent: one sender, one recipient, a subject, and the same content as text and as HTML.
#[derive(Clone, PartialEq, Eq)]
pub struct Mail {
    /// The job it belongs to; the provider's events carry it as a tag.
    pub job_id: String,
    /// The sender.
    pub from: Mailbox,
    /// The one recipient.
    pub to: Mailbox,
    /// The content.
    pub content: Rendered,
}

/// Shows the job only: the rest is personal.
impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mail").field("job_id", &self.job_id).finish_non_exhaustive()
    }
}

impl Mail {
    /// The message in MIME form: pure ASCII, lines of at most 76 octets plus what an unbreakable address adds (always under the
    /// 998 of RFC 5322), `multipart/alternative` with the text first, as RFC 2046 orders them: the richest last.
    ///
    /// `Date` and `Message-ID` are left to SES, which sets both itself
    /// (<https://docs.aws.amazon.com/ses/latest/dg/header-fields.html>). `Auto-Submitted` keeps vacation responders from answering
    /// (RFC 3834).
    #[must_use]
    pub fn to_mime(&self) -> Vec<u8> {
        let mut head = String::with_capacity(512);
        header::push_mailbox(&mut head, "From", &self.from);
        header::push_mailbox(&mut head, "To", &self.to);
        header::push_text(&mut head, "Subject", &self.content.subject);
        head.push_str("Auto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\n");

        let text = MimePart::new("text/plain", body_text(&self.content.text));
        let html = MimePart::new("text/html", body_text(&self.content.html));
        let mut message = head.into_bytes();
        MimePart::new("multipart/alternative", vec![text, html]).write_part(&mut message);
        message
    }
}

/// Line breaks of any kind become those of a mail, and other control characters go: SMTP hosts treat a NUL or a bare CR each in their
/// own way, and none of them means anything in a mail.
fn body_text(text: &str) -> String {
    let mut body = String::with_capacity(text.len() + 64);
    for (at, line) in text.replace("\r\n", "\n").split(['\n', '\r']).enumerate() {
        if at > 0 {
            body.push_str("\r\n");
        }
        body.extend(line.chars().filter(|&character| character == '\t' || !character.is_control()));
    }
    body
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use proptest::prelude::*;

    use super::*;
    use crate::address::{DisplayName, EmailAddress};

    fn message(name: Option<&str>, subject: &str, body: &str) -> String {
        let mailbox = |name: Option<&str>| Mailbox {
            name: name.map(|name| DisplayName::parse(name).unwrap()),
            address: EmailAddress::parse("jane@example.com").unwrap(),
        };
        let content = Rendered { subject: subject.to_owned(), text: body.to_owned(), html: body.to_owned() };
        let mail = Mail { job_id: "email.send-1".to_owned(), from: mailbox(None), to: mailbox(name), content };
        String::from_utf8(mail.to_mime()).unwrap()
    }

    /// The header as the lines of its fields, unfolded.
    fn fields(message: &str) -> Vec<String> {
        let (head, _) = message.split_once("\r\n\r\n").unwrap();
        head.replace("\r\n ", " ").split("\r\n").map(str::to_owned).collect()
    }

    /// The encoded words of the header, decoded one by one.
    fn decoded_words(message: &str) -> Vec<String> {
        let (head, _) = message.split_once("\r\n\r\n").unwrap();
        let words = head.split_ascii_whitespace().filter(|word| word.starts_with("=?"));
        words
            .map(|word| {
                assert!(word.len() <= 75, "{word}");
                let payload = word.strip_prefix("=?utf-8?B?").and_then(|word| word.strip_suffix("?=")).unwrap();
                String::from_utf8(STANDARD.decode(payload).unwrap()).expect("a word holds whole characters")
            })
            .collect()
    }

    #[test]
    fn a_simple_mail_is_readable_as_it_stands() {
        let message = message(Some("Doe, Jane (Billing) \"JD\""), "Your receipt", "Hello");
        assert_eq!(
            fields(&message)[..5],
            [
                "From: <jane@example.com>",
                "To: \"Doe, Jane (Billing) \\\"JD\\\"\" <jane@example.com>",
                "Subject: Your receipt",
                "Auto-Submitted: auto-generated",
                "MIME-Version: 1.0",
            ]
        );
        assert!(fields(&message)[5].starts_with("Content-Type: multipart/alternative; boundary="));
        let text = message.find("Content-Type: text/plain; charset=\"utf-8\"").unwrap();
        let html = message.find("Content-Type: text/html; charset=\"utf-8\"").unwrap();
        assert!(text < html);
    }

    #[test]
    fn a_subject_with_a_line_break_cannot_begin_a_header() {
        let message = message(None, "Hello\r\nBcc: evil@example.com\r\n\r\n<script>", "Text");
        assert_eq!(fields(&message).len(), 6);
        assert_eq!(decoded_words(&message).concat(), "Hello  Bcc: evil@example.com    <script>");
    }

    #[test]
    fn debug_output_shows_the_job_only() {
        let content = Rendered { subject: "s3cret".into(), text: "s3cret".into(), html: "s3cret".into() };
        let mailbox = || Mailbox::parse("Jane <jane@example.com>").unwrap();
        let mail = Mail { job_id: "email.send-1".to_owned(), from: mailbox(), to: mailbox(), content };
        assert_eq!(format!("{mail:?}"), "Mail { job_id: \"email.send-1\", .. }");
    }

    proptest! {
        #[test]
        fn no_content_changes_the_structure_of_a_message(
            name in "\\PC{1,60}|[ -~]{1,60}",
            subject in "\\PC{0,200}|[ -~\r\n\0]{0,200}|[Bc: \r\n=?]{0,60}",
            body in "\\PC{0,200}|[ -~\r\n\0\t]{0,200}|(\r\n\\.|\r\n\r\nBcc: x|--|\n|\r){0,20}",
        ) {
            prop_assume!(DisplayName::parse(&name).is_ok());
            let message = message(Some(&name), &subject, &body);
            prop_assert!(message.bytes().all(|byte| byte.is_ascii_graphic() || b" \t\r\n".contains(&byte)));
            prop_assert!(message.split("\r\n").all(|line| line.len() <= 998 && !line.contains(['\r', '\n'])));
            let names: Vec<String> = fields(&message).iter().map(|field| field.split(':').next().unwrap().to_owned()).collect();
            prop_assert_eq!(names, ["From", "To", "Subject", "Auto-Submitted", "MIME-Version", "Content-Type"]);
            let words = decoded_words(&message).concat();
            prop_assert!(words.is_empty() || words.chars().all(|character| !character.is_control()));
        }
    }
}
