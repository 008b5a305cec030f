//! Texts that look like a secret whatever they are called. Shapes after the published rules of gitleaks
//! (<https://github.com/gitleaks/gitleaks/blob/master/config/gitleaks.toml>), scanned by hand: no regular expressions in a function's cold start.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

use super::secret_names::{self, NameRule};

/// A secret that starts with a fixed mark and goes on with at least so many characters of an alphabet.
struct Marked {
    mark: &'static str,
    rest: fn(u8) -> bool,
    least: usize,
    /// Only when the rest has upper case, lower case and digits: the mark alone could start an ordinary name.
    mixed: bool,
    what: &'static str,
}

const fn marked(mark: &'static str, rest: fn(u8) -> bool, least: usize, what: &'static str) -> Marked {
    Marked { mark, rest, least, mixed: false, what }
}

const MARKED: [Marked; 43] = [
    marked("AKIA", upper_or_digit, 16, AWS_KEY),
    marked("ASIA", upper_or_digit, 16, AWS_KEY),
    marked("ABIA", upper_or_digit, 16, AWS_KEY),
    marked("ACCA", upper_or_digit, 16, AWS_KEY),
    marked("A3T", upper_or_digit, 17, AWS_KEY),
    marked("IQoJb3JpZ2lu", base64_char, 50, "an AWS session token"),
    marked("FwoGZXIvYXdz", base64_char, 50, "an AWS session token"),
    marked("ghp_", alphanumeric, 30, GITHUB),
    marked("gho_", alphanumeric, 30, GITHUB),
    marked("ghu_", alphanumeric, 30, GITHUB),
    marked("ghs_", alphanumeric, 30, GITHUB),
    marked("ghr_", alphanumeric, 30, GITHUB),
    marked("github_pat_", word, 22, GITHUB),
    marked("glpat-", word_or_hyphen, 20, "a GitLab token"),
    marked("xoxa-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xoxb-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xoxe-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xoxe.", word_or_hyphen_or_dot, 10, SLACK),
    marked("xoxo-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xoxp-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xoxr-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xoxs-", alphanumeric_or_hyphen, 10, SLACK),
    marked("xapp-", alphanumeric_or_hyphen, 10, SLACK),
    marked("hooks.slack.com/services/", |byte| byte == b'/' || alphanumeric(byte), 20, "a Slack webhook"),
    marked("sk_live_", alphanumeric, 10, STRIPE),
    marked("sk_test_", alphanumeric, 10, STRIPE),
    marked("rk_live_", alphanumeric, 10, STRIPE),
    marked("rk_test_", alphanumeric, 10, STRIPE),
    marked("whsec_", base64_char, 16, "a webhook signing secret"),
    marked("AIza", word_or_hyphen, 35, "a Google API key"),
    marked("ya29.", word_or_hyphen, 20, "a Google access token"),
    marked("GOCSPX-", word_or_hyphen, 20, "a Google client secret"),
    marked("npm_", alphanumeric, 36, "an npm token"),
    marked("pypi-AgE", word_or_hyphen, 30, "a PyPI token"),
    marked("SG.", word_or_hyphen_or_dot, 40, "a SendGrid key"),
    marked("dop_v1_", alphanumeric, 60, "a DigitalOcean token"),
    marked("shpat_", alphanumeric, 30, "a Shopify token"),
    marked("hf_", alphanumeric, 30, "a Hugging Face token"),
    marked("AGE-SECRET-KEY-1", alphanumeric, 50, "an age private key"),
    marked("-----BEGIN OPENSSH PRIVATE KEY", |_| false, 0, PRIVATE_KEY),
    marked("PuTTY-User-Key-File-", |_| false, 0, PRIVATE_KEY),
    Marked { mark: "sk-", rest: word_or_hyphen, least: 20, mixed: true, what: "an API key" },
    Marked { mark: "SK", rest: |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'), least: 32, mixed: false, what: "a Twilio key" },
];

const AWS_KEY: &str = "an AWS access key id";
const GITHUB: &str = "a GitHub token";
const SLACK: &str = "a Slack token";
const STRIPE: &str = "a Stripe secret key";
const PRIVATE_KEY: &str = "a private key";

/// Query parameters that make a link work for everybody who has it.
const SIGNED_LINK_MARKS: [&str; 4] = ["x-amz-signature=", "x-amz-security-token=", "x-goog-signature=", "&sig="];

/// What the text looks like, if it looks like a secret.
pub(super) fn find(text: &str) -> Option<&'static str> {
    by_mark(text)
        .or_else(|| is_pem_private_key(text).then_some(PRIVATE_KEY))
        .or_else(|| has_web_token(text).then_some("a JSON Web Token"))
        .or_else(|| has_authorization(text).then_some("an authorization header"))
        .or_else(|| has_link_credentials(text).then_some("a link with credentials"))
        .or_else(|| has_assignment(text).then_some("a secret with its name"))
}

/// The first kind in the list of which the text has one. Every name and text of every job is looked at, so the text is gone through once and not
/// once a mark.
fn by_mark(text: &str) -> Option<&'static str> {
    let words = (0..text.len()).filter(|&start| starts_a_word(text, start));
    let kinds = words.filter_map(|start| {
        let word = &text.as_bytes()[start..];
        MARKED.iter().position(|secret| is_marked(word, secret))
    });
    kinds.min().map(|kind| MARKED[kind].what)
}

fn is_marked(word: &[u8], secret: &Marked) -> bool {
    let Some(rest) = word.strip_prefix(secret.mark.as_bytes()) else { return false };
    let rest = &rest[..rest.iter().take_while(|&&byte| (secret.rest)(byte)).count()];
    rest.len() >= secret.least && (!secret.mixed || is_mixed(rest))
}

/// Where the mark stands. For the short texts of jobs: what `str` builds before it searches takes longer than such a search.
fn places<'t>(text: &'t str, mark: &'static str) -> impl Iterator<Item = usize> + 't {
    let (bytes, mark) = (text.as_bytes(), mark.as_bytes());
    (0..bytes.len()).filter(move |&start| bytes[start] == mark[0] && bytes[start..].starts_with(mark))
}

fn starts_a_word(text: &str, start: usize) -> bool {
    start == 0 || !text.as_bytes()[start - 1].is_ascii_alphanumeric()
}

fn is_mixed(rest: &[u8]) -> bool {
    rest.iter().any(u8::is_ascii_uppercase) && rest.iter().any(u8::is_ascii_lowercase) && rest.iter().any(u8::is_ascii_digit)
}

fn is_pem_private_key(text: &str) -> bool {
    const MARK: &str = "-----BEGIN ";
    places(text, MARK).any(|start| {
        let label = &text[start + MARK.len()..];
        label.split("-----").next().is_some_and(|label| label.contains("PRIVATE KEY"))
    })
}

/// Signed tokens have three parts, encrypted ones five; both start with the base64 of `{"`.
fn has_web_token(text: &str) -> bool {
    const LEAST_CHARS: usize = 36;
    places(text, "eyJ").any(|start| {
        let rest = &text.as_bytes()[start..];
        let token = &rest[..rest.iter().take_while(|&&byte| word_or_hyphen_or_dot(byte)).count()];
        let header = token.split(|&byte| byte == b'.').next().map_or(0, <[u8]>::len);
        let dots = token.iter().filter(|&&byte| byte == b'.').count();
        starts_a_word(text, start) && token.len() >= LEAST_CHARS && header >= 12 && dots >= 2
    })
}

fn has_authorization(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace().map(|word| word.trim_matches(['"', '\'', ',', ';'])).peekable();
    while let Some(scheme) = words.next() {
        let Some(credentials) = words.peek() else { return false };
        // A word of prose has no digit; a token of 16 characters without one is rare enough.
        let is_token = credentials.len() >= 16
            && credentials.bytes().all(|byte| base64_char(byte) || byte == b'.' || byte == b'~')
            && credentials.bytes().any(|byte| byte.is_ascii_digit());
        let scheme = scheme.rsplit(':').next().unwrap_or_default();
        if scheme.eq_ignore_ascii_case("bearer") && is_token {
            return true;
        }
        if scheme.eq_ignore_ascii_case("basic") && is_user_and_password(credentials) {
            return true;
        }
    }
    false
}

fn is_user_and_password(credentials: &str) -> bool {
    let decoded = STANDARD.decode(credentials).or_else(|_| STANDARD_NO_PAD.decode(credentials));
    decoded.is_ok_and(|bytes| bytes.contains(&b':') && bytes.iter().all(|byte| matches!(byte, 0x20..=0x7e)))
}

/// `https://user:password@host`, and links that are signed.
fn has_link_credentials(text: &str) -> bool {
    const MARK: &str = "://";
    let with_password = places(text, MARK).any(|start| {
        let authority = text[start + MARK.len()..].split(['/', '?', '#', ' ']).next().unwrap_or_default();
        authority.rsplit_once('@').is_some_and(|(user, _)| user.split_once(':').is_some_and(|(_, password)| !password.is_empty()))
    });
    // Each of the marks has the sign.
    let is_signed = || {
        let lower = text.to_ascii_lowercase();
        SIGNED_LINK_MARKS.iter().any(|mark| lower.contains(mark))
    };
    with_password || (text.contains('=') && is_signed())
}

/// `password=…`, in a query, a connection string or a line of an environment file.
fn has_assignment(text: &str) -> bool {
    if !text.contains('=') {
        return false;
    }
    text.split(|character: char| character.is_whitespace() || "?&#;,".contains(character)).any(|part| {
        let Some((name, value)) = part.split_once('=') else { return false };
        !value.is_empty() && matches!(secret_names::rule(name), Some(NameRule::Secret | NameRule::SecretNumber))
    })
}

fn alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn upper_or_digit(byte: u8) -> bool {
    byte.is_ascii_uppercase() || byte.is_ascii_digit()
}

fn word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn alphanumeric_or_hyphen(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-'
}

fn word_or_hyphen(byte: u8) -> bool {
    word(byte) || byte == b'-'
}

fn word_or_hyphen_or_dot(byte: u8) -> bool {
    word_or_hyphen(byte) || byte == b'.'
}

fn base64_char(byte: u8) -> bool {
    word_or_hyphen(byte) || matches!(byte, b'+' | b'/' | b'=')
}
