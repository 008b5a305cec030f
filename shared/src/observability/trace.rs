//! The X-Ray trace header that ties a job to the request that posted it.
//!
//! SQS carries it as the message's system attribute `AWSTraceHeader`, which counts neither towards the message's size nor towards its attributes
//! (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html>). Format:
//! <https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader>.

use std::fmt;

/// Longer headers are not from X-Ray; tracing is not worth carrying them along.
const MAX_BYTES: usize = 512;

/// A trace header as it was received, known to be well formed: printable ASCII with a valid `Root`, and valid `Parent` and `Sampled` where they
/// are present. Parts that are not known here (`Lineage`, `Self`) are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHeader {
    text: String,
    root: String,
    sampled: Option<bool>,
}

impl TraceHeader {
    /// Reads a header whose parts may come in any order. `None` when it is malformed: a broken trace must never break a job.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let printable = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
        if text.len() > MAX_BYTES || !printable {
            return None;
        }
        let (mut root, mut parent, mut sampled) = (None, None, None);
        for part in text.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=')?;
            let known = match key {
                "Root" => &mut root,
                "Parent" => &mut parent,
                "Sampled" => &mut sampled,
                _ => continue,
            };
            if known.replace(value).is_some() {
                return None;
            }
        }
        let root = root.filter(|root| is_trace_id(root))?;
        if parent.is_some_and(|parent| !is_hex(parent, 16)) {
            return None;
        }
        let sampled = match sampled {
            Some("1") => Some(true),
            Some("0") => Some(false),
            // The question mark asks whoever comes next to decide.
            Some("?") | None => None,
            Some(_) => return None,
        };
        Some(Self { text: text.to_owned(), root: root.to_owned(), sampled })
    }

    /// The whole header, as it goes into `AWSTraceHeader` or `X-Amzn-Trace-Id`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The trace id, such as `1-5759e988-bd862e3fe1be46a994272793`.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Whether the trace is recorded; `None` when that is left to the receiver.
    #[must_use]
    pub const fn sampled(&self) -> Option<bool> {
        self.sampled
    }
}

impl fmt::Display for TraceHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Version 1, then the start of the trace in seconds as 8 hexadecimal digits, then 24 random ones.
fn is_trace_id(text: &str) -> bool {
    let mut parts = text.split('-');
    parts.next() == Some("1")
        && parts.next().is_some_and(|time| is_hex(time, 8))
        && parts.next().is_some_and(|random| is_hex(random, 24))
        && parts.next().is_none()
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: &str = "1-5759e988-bd862e3fe1be46a994272793";

    #[test]
    fn a_header_is_kept_as_it_came() {
        let text = format!("Root={ROOT};Parent=53995c3f42cd8ad8;Sampled=1;Lineage=a87bd80c:0|68fd508a:5");
        let header = TraceHeader::parse(&format!(" {text} ")).expect("well formed");
        assert_eq!(header.as_str(), text);
        assert_eq!(header.to_string(), text);
        assert_eq!(header.root(), ROOT);
        assert_eq!(header.sampled(), Some(true));
    }

    #[test]
    fn parts_may_come_in_any_order_and_be_left_out() {
        for (text, sampled) in [
            (format!("Root={ROOT}"), None),
            (format!("Sampled=0;Root={ROOT}"), Some(false)),
            (format!("Sampled=?; Parent=53995c3f42cd8ad8; Root={ROOT};"), None),
            (format!("Self=1-67891234-12456789abcdef012345678;Root={ROOT};Sampled=1"), Some(true)),
        ] {
            let header = TraceHeader::parse(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((header.root(), header.sampled()), (ROOT, sampled), "{text}");
        }
    }

    #[test]
    fn the_root_is_not_looked_for_inside_another_part() {
        let text = format!("XRoot=no;Root={ROOT}");
        assert_eq!(TraceHeader::parse(&text).expect("well formed").root(), ROOT);
    }

    #[test]
    fn garbage_is_no_header() {
        let long = format!("Root={ROOT};Lineage={}", "x".repeat(512));
        let twice = format!("Root={ROOT};Root={ROOT}");
        let line_break = format!("Root={ROOT}\r\nX-Evil: 1");
        let not_ascii = format!("Root={ROOT};Note=é");
        let bad_parent = format!("Root={ROOT};Parent=xyz");
        let bad_sampled = format!("Root={ROOT};Sampled=yes");
        for text in [
            "",
            ";",
            "Root",
            "Root=",
            "Sampled=1",
            "Root=2-5759e988-bd862e3fe1be46a994272793",
            "Root=1-5759e988-bd862e3fe1be46a99427279",
            "Root=1-5759e98g-bd862e3fe1be46a994272793",
            "Root=1-5759e988-bd862e3fe1be46a994272793-0",
            "root=1-5759e988-bd862e3fe1be46a994272793",
            &long,
            &twice,
            &line_break,
            &not_ascii,
            &bad_parent,
            &bad_sampled,
        ] {
            assert_eq!(TraceHeader::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in any::<String>()) {
            let _ = TraceHeader::parse(&text);
        }

        #[test]
        fn what_was_parsed_parses_again(lineage in "[a-z0-9:|]{0,40}", sampled in "[01?]") {
            let header = TraceHeader::parse(&format!("Lineage={lineage};Sampled={sampled};Root={ROOT}")).expect("well formed");
            prop_assert_eq!(TraceHeader::parse(header.as_str()), Some(header));
        }
    }
}
