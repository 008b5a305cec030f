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
