//! What an independent parser, Python's `email` with its default policy, reads from our messages must be exactly what was meant.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use email_consumer::{DisplayName, EmailAddress, Mail, Mailbox, Rendered};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};

fn mail(name: Option<&str>, address: &str, subject: &str, text: &str, html: &str) -> Mail {
    let mailbox = |name: Option<&str>, address: &str| Mailbox {
        name: name.map(|name| DisplayName::parse(name).unwrap()),
        address: EmailAddress::parse(address).unwrap(),
    };
    Mail {
        job_id: "email.send-1".to_owned(),
        from: mailbox(Some("Shop, Inc. \"Łódź\""), "shop@example.com"),
        to: mailbox(name, address),
        content: Rendered { subject: subject.to_owned(), text: text.to_owned(), html: html.to_owned() },
    }
}

/// Hands all messages to one Python process.
fn read_with_python(mails: &[Mail]) -> Vec<Value> {
    let messages: Vec<String> = mails.iter().map(|mail| String::from_utf8(mail.to_mime()).expect("a message is ASCII")).collect();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/read_mail.py");
    let mut python = Command::new("python3")
        .args(["-I", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test needs `python3` on the PATH (3.10 or newer, as the local tooling does): install it");
    python.stdin.take().unwrap().write_all(&serde_json::to_vec(&messages).unwrap()).unwrap();
    let output = python.wait_with_output().unwrap();
    assert!(output.status.success(), "python3 could not read a message: see its traceback above");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn assert_reads_back(mails: &[Mail]) {
    for (mail, read) in mails.iter().zip(read_with_python(mails)) {
        let expected = json!({
            "headers": ["From", "To", "Subject", "Auto-Submitted", "MIME-Version", "Content-Type"],
            "from": mailbox(&mail.from, &read["from"]),
            "to": mailbox(&mail.to, &read["to"]),
            "subject": mail.content.subject,
            "text": mail.content.text,
            "html": mail.content.html,
            "parts": ["multipart/alternative", "text/plain", "text/html"],
            "defects": [],
        });
        assert_eq!(read, expected, "\n{}", String::from_utf8_lossy(&mail.to_mime()));
    }
}

/// What should have been read for one mailbox. The reader's own spaces between the encoded words of a long name are let pass.
fn mailbox(mailbox: &Mailbox, read: &Value) -> Value {
    let name = mailbox.name.as_ref().map_or("", DisplayName::as_str);
    let without_spaces = |text: &str| text.replace(' ', "");
    let shown = match read["name"].as_str() {
        Some(shown) if name.len() > ONE_WORD_OCTETS && without_spaces(shown) == without_spaces(name) => shown,
        _ => name,
    };
    json!({"name": shown, "joined": name, "address": mailbox.address.as_str()})
}

/// What one encoded word beside a `From: ` or `To: ` holds at least.
const ONE_WORD_OCTETS: usize = 42;

#[test]
fn awkward_names_subjects_and_bodies_read_back_exactly() {
    let cjk_and_emoji: String = "請求書のお知らせ☕👩‍👩‍👧‍👦🇯🇵領収書é".chars().cycle().take(180).collect();
    let names = [
        "Doe, Jane (Billing) \"JD\"",
        "Łódź Café ☕",
        "Jane",
        "O'Brien \\ Söhne <x@example.com>",
        "=?utf-8?Q?not_encoded?=",
        "two  spaces and\u{3000} a wide one",
        "名".repeat(128).leak(),
        "n".repeat(128).leak(),
        "word ".repeat(25).trim().to_owned().leak(),
        "undisclosed-recipients:;",
        "a@example.com",
        "☕",
        "\"",
    ];
    let subjects = [
        cjk_and_emoji.as_str(),
        "Plain",
        "ends with a quote\"",
        "=?utf-8?B?eA==?= is not encoded",
        "two  spaces, and a colon: here",
        "x".repeat(180).leak(),
        "word ".repeat(60).trim().to_owned().leak(),
        "e\u{301}".repeat(90).leak(),
        "Re: \u{a0}non-breaking\u{3000}ideographic",
    ];
    let long_address = format!("{}@{}.example", "l".repeat(64), ["d".repeat(59), "d".repeat(59), "d".repeat(59)].join("."));
    let bodies = [
        ("Hello", "<p>Hello</p>"),
        ("Grüße, 世界 ☕\n.\n..dots\nFrom here\n\n", "<p title=\"=3D\">Gr&uuml;ße</p>"),
        ("--boundary\ntrailing space \n\ttab", "<p>\n</p>"),
        ("x".repeat(3000).leak(), "あ".repeat(3000).leak()),
    ];
    let mut mails = Vec::new();
    for name in names {
        for subject in subjects {
            mails.push(mail(Some(name), "jane@example.com", subject, "Text", "<p>Text</p>"));
        }
        mails.push(mail(Some(name), &long_address, "Subject", "Text", "<p>Text</p>"));
    }
    for (text, html) in bodies {
        mails.push(mail(None, "info@bücher.example", "Subject", text, html));
        mails.push(mail(None, &long_address, "Subject", text, html));
    }
    assert_reads_back(&mails);
}

#[test]
fn any_name_subject_and_body_reads_back_exactly() {
    let text = "\\PC{0,200}|[ -~\n\t]{0,300}|[é☕ =?_\n]{0,120}";
    let strategy = (
        "\\PC{1,60}|[ -~]{1,60}|[é☕ =?_\",()<>@]{1,60}".prop_filter("a valid name", |name| DisplayName::parse(name).is_ok()),
        "\\PC{1,200}|[ -~]{1,300}|[é☕ =?_]{1,120}"
            .prop_map(|subject| subject.trim().to_owned())
            .prop_filter("not empty", |s| !s.is_empty()),
        text,
        text,
    );
    let mut runner = TestRunner::deterministic();
    let mails: Vec<Mail> = (0..400)
        .map(|_| {
            let (name, subject, text, html) = strategy.new_tree(&mut runner).unwrap().current();
            mail(Some(&name), "jane@example.com", &subject, &text, &html)
        })
        .collect();
    assert_reads_back(&mails);
}
