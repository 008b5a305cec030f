//! Which web pages may call the API, and the headers that tell browsers.
//!
//! A door may answer preflight requests itself (an HTTP API with a CORS configuration does, and replaces these headers). Every answer carries
//! them, errors too: without them a page cannot even read why it was refused.

use ikkai::config::Reader;

use crate::event::Headers;
use crate::response::Response;

const SETTING: &str = "IKKAI_CORS_ALLOW_ORIGINS";
const ALLOW_METHODS: &str = "POST, GET, DELETE";
const ALLOW_HEADERS: &str =
    "content-type, idempotency-key, authorization, x-amz-date, x-amz-security-token, x-amz-content-sha256, x-amzn-trace-id";
const EXPOSE_HEADERS: &str = "location, retry-after, idempotent-replayed";
const PREFLIGHT_SECONDS: &str = "600";

/// The allowed origins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cors {
    origins: Vec<String>,
}

impl Cors {
    /// Reads `IKKAI_CORS_ALLOW_ORIGINS`: `*`, or origins (`https://app.example.com`) separated by commas. Unset: no other origin.
    pub(crate) fn read(reader: &mut Reader) -> Self {
        let text = reader.optional_text(SETTING).unwrap_or_default();
        let origins: Vec<String> =
            text.split(',').map(|origin| origin.trim().to_owned()).filter(|origin| !origin.is_empty()).collect();
        if origins.iter().any(|origin| origin != "*" && !is_origin(origin)) {
            reader.problem(
                SETTING,
                "has an entry that is no origin; write each as scheme://host or scheme://host:port, in lower case",
            );
        }
        Self { origins }
    }

    /// Adds the headers for the origin that asks.
    pub(crate) fn decorate(&self, headers: &Headers, answer: Response) -> Response {
        if self.origins.is_empty() {
            return answer;
        }
        let answer = answer.header("vary", "Origin");
        match headers.first("origin").filter(|origin| self.allows(origin)) {
            Some(origin) => {
                answer.header("access-control-allow-origin", origin).header("access-control-expose-headers", EXPOSE_HEADERS)
            }
            None => answer,
        }
    }

    /// Answers `OPTIONS`: a browser's preflight request, which carries no identity, or anybody's question what a path takes.
    pub(crate) fn options(&self, headers: &Headers, allow: &str) -> Response {
        let answer = Response::empty(204).header("allow", allow);
        let is_preflight = headers.first("access-control-request-method").is_some();
        if !is_preflight || !headers.first("origin").is_some_and(|origin| self.allows(origin)) {
            return answer;
        }
        answer
            .header("access-control-allow-methods", ALLOW_METHODS)
            .header("access-control-allow-headers", ALLOW_HEADERS)
            .header("access-control-max-age", PREFLIGHT_SECONDS)
    }

    fn allows(&self, origin: &str) -> bool {
        self.origins.iter().any(|allowed| allowed == "*" || allowed == origin)
    }
}

fn is_origin(text: &str) -> bool {
    let Some((scheme, host)) = text.split_once("://") else { return false };
    let plain = |part: &str, others: &str| {
        !part.is_empty()
            && part
                .chars()
                .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit() || others.contains(character))
    };
    plain(scheme, "+-.") && plain(host, "-.:[]")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> usize {
        let mut reader = Reader::from_pairs([(SETTING, text)]);
        Cors::read(&mut reader);
        reader.finish(()).map_or_else(|error| error.problems().len(), |()| 0)
    }

    #[test]
    fn origins_are_scheme_host_and_port_and_nothing_else() {
        for good in ["", "*", "https://app.example.com", "http://localhost:3000, https://a.b"] {
            assert_eq!(problems(good), 0, "{good}");
        }
        for bad in ["app.example.com", "https://app.example.com/", "https://App.example.com", "https://", "https://*.example.com"]
        {
            assert_eq!(problems(bad), 1, "{bad}");
        }
    }
}
