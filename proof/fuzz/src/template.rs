//! What a mail is made of: `{"templateId": …, "locale": …, "name": …, "variables": {…}}`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use email_consumer::{BUILT_IN, DisplayName, EmailAddress, Mail, Mailbox, Rendered, TemplateError, Templates};
use serde_json::Value;

use crate::json_mutation::Vocabulary;
use crate::masking;

static TEMPLATES: LazyLock<Templates> = LazyLock::new(|| Templates::built_in().expect("they are tested"));

/// Longest that one character of a variable becomes in HTML: `&quot;`.
const LONGEST_ESCAPE: usize = 6;

/// Longest line of a mail, in octets (RFC 5322, 2.1.1).
const LONGEST_LINE: usize = 998;

/// Words of orders.
pub const WORDS: Vocabulary = Vocabulary {
    names: &[
        "templateId",
        "locale",
        "name",
        "variables",
        "display_name",
        "start_url",
        "order_number",
        "total",
        "receipt_url",
        "security_url",
    ],
    values: &[
        "\"welcome\"",
        "\"receipt\"",
        "\"password-changed\"",
        "\"en\"",
        "\"de-AT\"",
        "\"https://shop.example/r/1?a=1&b='2'\"",
        "\"http://[::1]:80/\"",
        "\"javascript:alert(1)\"",
        "\"{{ total }}\"",
    ],
};

/// What has to hold for any variables.
///
/// # Panics
/// When it does not.
pub fn check(input: &[u8]) {
    let Ok(document) = serde_json::from_slice::<Value>(input) else { return };
    let Some(order) = Order::read(&document) else { return };
    match order.render() {
        Ok(rendered) => {
            check_size(&order, &rendered);
            check_subject(&rendered.subject);
            check_structure(&order, &rendered);
            check_mail(&order, rendered);
        }
        Err(error) => assert!(!error.code().is_empty()),
    }
    check_nothing_repeated(&document);
}

/// What is to be rendered.
#[derive(Clone)]
struct Order {
    template: String,
    locale: Option<String>,
    name: Option<String>,
    variables: BTreeMap<String, String>,
}

impl Order {
    fn read(document: &Value) -> Option<Self> {
        let text = |name: &str| document.get(name).and_then(Value::as_str).map(str::to_owned);
        let variables = document.get("variables").and_then(Value::as_object).into_iter().flatten();
        let variables = variables.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
        Some(Self { template: text("templateId")?, locale: text("locale"), name: text("name"), variables: variables.collect() })
    }

    fn render(&self) -> Result<Rendered, TemplateError> {
        TEMPLATES.render(&self.template, self.locale.as_deref(), &self.variables)
    }
}

/// No part grows by more than its variables, each as often as it stands there.
fn check_size(order: &Order, rendered: &Rendered) {
    let longest = order.variables.values().map(String::len).max().unwrap_or(0);
    let sources = || BUILT_IN.iter().filter(|source| source.id == order.template);
    let most = |part: fn(&email_consumer::TemplateSource) -> &'static str| {
        sources().map(|source| part(source).len() + part(source).matches("{{").count() * longest * LONGEST_ESCAPE).max()
    };
    for (text, most) in [
        (&rendered.subject, most(|source| source.subject)),
        (&rendered.text, most(|source| source.text)),
        (&rendered.html, most(|source| source.html)),
    ] {
        assert!(text.len() <= most.expect("a template of that id"), "{} bytes", text.len());
    }
}

fn check_subject(subject: &str) {
    assert!(!subject.trim().is_empty(), "a mail has a subject");
    assert!(!subject.chars().any(|character| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')));
}

/// Variables are text: the same mail with harmless ones has the same tags and attributes, and what a reader sees is what was given.
fn check_structure(order: &Order, rendered: &Rendered) {
    let mut plain = order.clone();
    // Blank counts as missing. A link is as good as any text.
    plain
        .variables
        .values_mut()
        .filter(|value| !value.trim().is_empty())
        .for_each(|value| "https://example.com".clone_into(value));
    let plain = plain.render().expect("harmless variables render where others do");
    for character in ['<', '>', '"', '\''] {
        let count = |html: &str| html.matches(character).count();
        assert_eq!(count(&rendered.html), count(&plain.html), "a variable has added {character}");
    }
    let visible = unescaped(&rendered.html);
    let shown = |name: &str| {
        let place = format!("{{{{ {name} ");
        let mut sources = BUILT_IN.iter().filter(|source| source.id == order.template);
        sources.all(|source| source.text.contains(&place) && source.html.contains(&place))
    };
    for (name, value) in order.variables.iter().filter(|(name, value)| !value.trim().is_empty() && shown(name.as_str())) {
        assert!(rendered.text.contains(value.as_str()) && visible.contains(value.as_str()), "{name} is not what was given");
    }
}

fn unescaped(html: &str) -> String {
    let pairs = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    pairs.into_iter().fold(html.to_owned(), |text, (escaped, character)| text.replace(escaped, character))
}

/// Whatever the content, a message has its six header fields, and lines that every host passes on.
fn check_mail(order: &Order, content: Rendered) {
    let mailbox = |name: Option<&String>| Mailbox {
        name: name.and_then(|name| DisplayName::parse(name).ok()),
        address: EmailAddress::parse("jane@example.com").expect("an address"),
    };
    let mail = Mail { job_id: "email.send-1".to_owned(), from: mailbox(None), to: mailbox(order.name.as_ref()), content };
    let message = String::from_utf8(mail.to_mime()).expect("a message is ASCII");
    assert!(message.bytes().all(|byte| byte.is_ascii_graphic() || b" \t\r\n".contains(&byte)));
    assert!(message.split("\r\n").all(|line| line.len() <= LONGEST_LINE && !line.contains(['\r', '\n'])));
    let (head, _) = message.split_once("\r\n\r\n").expect("a head");
    let fields: Vec<&str> = head.split("\r\n").filter(|line| !line.starts_with([' ', '\t'])).collect();
    let names: Vec<&str> = fields.iter().map(|field| field.split(':').next().unwrap_or_default()).collect();
    assert_eq!(names, ["From", "To", "Subject", "Auto-Submitted", "MIME-Version", "Content-Type"]);
}

/// No error repeats a variable.
fn check_nothing_repeated(document: &Value) {
    let Some(order) = Order::read(&masking::values(document, &["templateId", "locale"])) else { return };
    if let Err(error) = order.render() {
        assert!(!masking::shows(&format!("{error} {error:?}")), "{error}");
    }
}
