//! A log line as people read it.

use ikkai::clock::EpochMillis;
use serde_json::{Map, Value};

use crate::local::logs::LogLine;
use crate::screen::{Screen, Tone, one_line};

/// Members that stand in a place of their own, or that say what the line says already.
const PLACED: [&str; 7] = ["timestamp", "level", "message", "job_id", "job_type", "request_id", "message_id"];

/// Colours of the 256 that can be read on light and dark grounds.
const SHADES: [u8; 14] = [32, 36, 64, 70, 97, 99, 130, 133, 136, 162, 166, 168, 172, 177];

/// Lines of Lambda itself, which stand around those of every invocation.
const FRAMES: [&str; 5] = ["START RequestId:", "END RequestId:", "REPORT RequestId:", "INIT_START", "EXTENSION"];

/// Between the lines of one entry.
const CONTINUED: &str = "\n  | ";

/// What a line says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Line {
    /// An event of a function of this kit.
    Event(Map<String, Value>),
    /// Metrics, or what Lambda says about an invocation: nothing that happened to a job.
    Frame,
    /// Anything else, as it was written.
    Text(String),
}

impl Line {
    pub(super) fn of(message: &str) -> Self {
        let text = message.trim_end();
        match serde_json::from_str(text) {
            Ok(Value::Object(members)) if members.contains_key("_aws") => Self::Frame,
            Ok(Value::Object(members)) if members.get("message").is_some_and(Value::is_string) => Self::Event(members),
            _ if FRAMES.iter().any(|frame| text.starts_with(frame)) => Self::Frame,
            _ => Self::Text(text.to_owned()),
        }
    }

    /// The job that it is about, if it says so.
    pub(super) fn job_id(&self) -> Option<&str> {
        match self {
            Self::Event(members) => members.get("job_id").and_then(Value::as_str),
            Self::Frame | Self::Text(_) => None,
        }
    }

    /// The line in one colour a job. Nothing for a frame.
    pub(super) fn shown(&self, screen: &Screen, function: &str, line: &LogLine) -> Option<String> {
        let function = screen.paint(Tone::Faint, format!("{function:<16}"));
        match self {
            Self::Frame => None,
            Self::Text(text) => {
                let time = EpochMillis::from_i64(line.timestamp).rfc3339().to_string();
                // What goes on in another line must not look like a line of another function.
                let text = text.replace('\n', CONTINUED);
                Some(format!("{} {function}        {text}", clock(&time)))
            }
            Self::Event(members) => {
                let time = members.get("timestamp").and_then(Value::as_str).map(str::to_owned);
                let time = time.unwrap_or_else(|| EpochMillis::from_i64(line.timestamp).rfc3339().to_string());
                let level = members.get("level").and_then(Value::as_str).unwrap_or("INFO");
                let event = members.get("message").and_then(Value::as_str).unwrap_or_default();
                let (event, time) = (one_line(event), one_line(clock(&time)));
                let mut text = format!("{time} {function} {} {event}", level_word(screen, &one_line(level)));
                if let Some(job_id) = self.job_id() {
                    text.push_str(&format!("  {}", screen.shade(shade_of(job_id), one_line(job_id))));
                }
                let rest = details(members);
                if !rest.is_empty() {
                    text.push_str(&format!("  {}", screen.paint(Tone::Faint, rest)));
                }
                Some(text)
            }
        }
    }
}

/// The colour of a job: the same in every line and every run.
pub(super) fn shade_of(job_id: &str) -> u8 {
    // FNV-1a (http://www.isthe.com/chongo/tech/comp/fnv/): the standard library's hashes differ from version to version.
    let hash =
        job_id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    SHADES[(hash % SHADES.len() as u64) as usize]
}

/// `23:59:59.042` of an instant in RFC 3339.
fn clock(instant: &str) -> &str {
    let time = instant.split_once('T').map_or(instant, |(_, time)| time);
    time.trim_end_matches('Z')
}

fn level_word(screen: &Screen, level: &str) -> String {
    let padded = format!("{level:<5}");
    match level {
        "ERROR" => screen.paint(Tone::Bad, padded),
        "WARN" => screen.paint(Tone::Open, padded),
        _ => screen.paint(Tone::Faint, padded),
    }
}

/// The other members, as `name=value`.
fn details(members: &Map<String, Value>) -> String {
    let others = members.iter().filter(|(name, value)| !PLACED.contains(&name.as_str()) && !value.is_null());
    let pairs: Vec<_> = others
        .map(|(name, value)| match value {
            Value::String(text) if text.contains(char::is_whitespace) => format!("{name}={text:?}"),
            Value::String(text) => format!("{name}={text}"),
            other => format!("{name}={other}"),
        })
        .collect();
    one_line(&pairs.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Format;

    const SUCCEEDED: &str = r#"{"timestamp":"2026-01-31T23:59:59.042Z","level":"INFO","message":"job succeeded","duration_ms":41,"job_id":"email.send-1","job_type":"email.send","attempt":1,"message_id":"m","request_id":"r"}"#;

    fn shown(message: &str) -> Option<String> {
        let (screen, _) = Screen::remembering(Format::Text);
        Line::of(message).shown(&screen, "email-consumer", &LogLine::new("s", 1_769_903_999_042, message))
    }

    #[test]
    fn an_event_is_told_in_one_readable_line() {
        let line = shown(SUCCEEDED).unwrap();
        assert_eq!(line, "23:59:59.042 email-consumer   INFO  job succeeded  email.send-1  attempt=1 duration_ms=41");
        assert_eq!(Line::of(SUCCEEDED).job_id(), Some("email.send-1"));
    }

    #[test]
    fn a_reason_with_blanks_stays_one_value() {
        let line =
            shown(r#"{"level":"ERROR","message":"job dead","job_id":"j","error":"no such user","error_code":"unknown_user"}"#)
                .unwrap();
        assert!(line.ends_with(r#"ERROR job dead  j  error="no such user" error_code=unknown_user"#), "{line}");
    }

    #[test]
    fn metrics_and_lambdas_own_lines_are_left_out() {
        assert_eq!(shown(r#"{"_aws":{"Timestamp":1},"JobsSucceeded":1}"#), None);
        assert_eq!(shown("START RequestId: 1 Version: $LATEST"), None);
        assert_eq!(shown("REPORT RequestId: 1 Duration: 3 ms"), None);
    }

    #[test]
    fn what_is_no_event_is_shown_as_it_was_written() {
        assert_eq!(shown("panicked at nothing").unwrap(), "23:59:59.042 email-consumer          panicked at nothing");
        assert_eq!(Line::of(r#"["message"]"#), Line::Text(r#"["message"]"#.to_owned()));
    }

    #[test]
    fn no_entry_looks_like_two() {
        let forged = r#"{"message":"a\n23:59:59.042 billing-consumer INFO  job succeeded","job_id":"j\nk","x\ny":"z"}"#;
        let line = shown(forged).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        let line = shown("panicked\n23:59:59.042 billing-consumer INFO  job succeeded").unwrap();
        assert!(line.lines().skip(1).all(|line| line.starts_with("  | ")), "{line}");
    }

    #[test]
    fn a_job_keeps_its_colour_and_jobs_differ() {
        assert_eq!(shade_of("email.send-1"), shade_of("email.send-1"));
        let shades: std::collections::BTreeSet<_> = (0..50).map(|job| shade_of(&format!("email.send-{job}"))).collect();
        assert!(shades.len() > 8, "{shades:?}");
    }
}
