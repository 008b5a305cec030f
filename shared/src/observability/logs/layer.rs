//! The tracing layer that turns events into lines.

use std::io::Write as _;
use std::sync::Arc;

use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::line::{Fields, Line};
use super::{LogSetup, crate_of};
use crate::clock::Clock;

/// How severe a foreign event has to be to be written.
const FOREIGN_LEVEL: Level = Level::WARN;

/// Writes events as JSON lines to `write`, which gets whole lines.
pub(super) struct JsonLines<W> {
    level: LevelFilter,
    own_crates: Vec<String>,
    clock: Arc<dyn Clock>,
    write: W,
}

impl<W: Fn(&str)> JsonLines<W> {
    pub(super) fn new(setup: LogSetup, clock: Arc<dyn Clock>, write: W) -> Self {
        Self { level: setup.level.filter(), own_crates: setup.own_crates, clock, write }
    }

    /// Judged by the module that the event is written in: a target can be anything, and an event of another crate must not pass as ours.
    fn is_own(&self, metadata: &Metadata<'_>) -> bool {
        let origin = crate_of(metadata.module_path().unwrap_or_else(|| metadata.target()));
        self.own_crates.iter().any(|own| own == origin)
    }

    fn wants(&self, metadata: &Metadata<'_>) -> bool {
        if metadata.is_span() {
            return *metadata.level() <= self.span_level() && self.is_own(metadata);
        }
        *metadata.level() <= self.level && (*metadata.level() <= FOREIGN_LEVEL || self.is_own(metadata))
    }

    /// Spans only lend their fields to events. Those of a job are needed most where only errors are written.
    fn span_level(&self) -> LevelFilter {
        self.level.max(LevelFilter::INFO)
    }
}

impl<S, W> Layer<S> for JsonLines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Fn(&str) + 'static,
{
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.wants(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>, _: Context<'_, S>) -> bool {
        self.wants(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(self.span_level())
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        // Another layer may have asked for a span that this one does not want.
        if !self.is_own(attributes.metadata()) {
            return;
        }
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().replace(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(fields) = span.extensions_mut().get_mut::<Fields>() {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let metadata = event.metadata();
        let own = self.is_own(metadata);
        let mut fields = Fields::default();
        event.record(&mut fields);
        let message = fields.take("message").unwrap_or_else(|| "\"\"".to_owned());
        if !own {
            fields.clear();
        }
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(outer) = span.extensions().get::<Fields>() {
                fields.add_missing(outer);
            }
        }
        let mut line = Line::new(self.clock.now().rfc3339(), *metadata.level(), &message);
        if !own {
            line.text("target", metadata.target());
        }
        line.fields(&fields);
        (self.write)(&line.finish());
    }
}

/// Writes a line in one piece, so that lines of several threads do not mix. A log that cannot be written has nobody left to tell.
pub(super) fn standard_output(line: &str) {
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracing::{debug, error, field, info, info_span, trace, warn};

    use super::*;
    use crate::observability::logs::LevelSetting;
    use crate::observability::logs::capture::{Captured, capture};

    /// A setup in which this crate's events count as somebody else's.
    fn foreign(level: LevelSetting) -> LogSetup {
        LogSetup { level, own_crates: vec!["somebody_else".to_owned()] }
    }

    #[test]
    fn an_event_is_one_flat_line_in_the_order_it_was_written() {
        let (lines, ()) = capture(LevelSetting::Info, || {
            info!(job_id = "email.send-1", attempt = 2_u32, ok = true, share = 0.5, delta = -3, job_type = %"email.send", "job succeeded");
        });
        assert_eq!(
            lines,
            [concat!(
                r#"{"timestamp":"1970-01-01T00:00:00.000Z","level":"INFO","message":"job succeeded","job_id":"email.send-1","#,
                r#""attempt":2,"ok":true,"share":0.5,"delta":-3,"job_type":"email.send"}"#
            )]
        );
    }

    #[test]
    fn text_is_escaped_so_that_an_event_cannot_forge_a_second_line() {
        let captured = Captured::start(LevelSetting::Info);
        info!(reason = "a\"b\\c\n{\"level\":\"ERROR\"}\u{1}\u{7f}\u{2028}日本", "line\r\nbreak");
        let lines = captured.lines();
        assert_eq!(lines.len(), 1);
        assert!(!lines[0].contains(['\n', '\r']), "{}", lines[0]);
        assert_eq!(captured.only_line()["reason"], "a\"b\\c\n{\"level\":\"ERROR\"}\u{1}\u{7f}\u{2028}日本");
        assert_eq!(captured.only_line()["message"], "line\r\nbreak");
    }

    #[test]
    fn fields_of_enclosing_spans_follow_and_the_nearest_value_wins() {
        let captured = Captured::start(LevelSetting::Info);
        info_span!("invocation", request_id = "r-1", outcome = "outer").in_scope(|| {
            let job = info_span!("job", job_id = "j-1", attempt = field::Empty);
            job.in_scope(|| {
                job.record("attempt", 1);
                job.record("attempt", 2);
                info!(outcome = "succeeded", "job succeeded");
            });
        });
        assert_eq!(
            captured.lines(),
            [concat!(
                r#"{"timestamp":"1970-01-01T00:00:00.000Z","level":"INFO","message":"job succeeded","outcome":"succeeded","#,
                r#""job_id":"j-1","attempt":2,"request_id":"r-1"}"#
            )]
        );
    }

    #[test]
    fn an_error_says_which_job_it_belongs_to_even_where_only_errors_are_written() {
        let captured = Captured::start(LevelSetting::Error);
        info_span!("job", job_id = "j-1").in_scope(|| {
            info!("job succeeded");
            error!("job dead");
        });
        let line = captured.only_line();
        assert_eq!((&line["message"], &line["job_id"]), (&json!("job dead"), &json!("j-1")));
    }

    #[test]
    fn a_key_never_appears_twice() {
        let captured = Captured::start(LevelSetting::Info);
        info!(level = "high", timestamp = 7, target = "moon", "reached");
        let line = captured.lines().remove(0);
        assert_eq!(
            line,
            concat!(
                r#"{"timestamp":"1970-01-01T00:00:00.000Z","level":"INFO","message":"reached","#,
                r#""level_":"high","timestamp_":7,"target_":"moon"}"#
            )
        );
    }

    #[test]
    fn an_error_is_written_with_its_causes() {
        #[derive(Debug, thiserror::Error)]
        #[error("table jobs is unreachable")]
        struct Outer(#[source] std::num::ParseIntError);

        let captured = Captured::start(LevelSetting::Info);
        let cause = "x".parse::<u8>().expect_err("not a number");
        let problem = Outer(cause);
        error!(error = &problem as &dyn std::error::Error, "call failed");
        assert_eq!(captured.only_line()["error"], "table jobs is unreachable: invalid digit found in string");
    }

    #[test]
    fn long_texts_are_cut_at_a_characters_border() {
        let captured = Captured::start(LevelSetting::Info);
        let long = "あ".repeat(5_000);
        info!(text = long.as_str(), debug = ?long, display = %long, "{long}");
        let line = captured.only_line();
        for key in ["text", "debug", "display", "message"] {
            let text = line[key].as_str().expect("a text");
            assert!(text.ends_with('…') && text.len() <= 1_024 + '…'.len_utf8(), "{key}: {} bytes", text.len());
        }
        assert_eq!(line["text"].as_str().map(|text| text.chars().count()), Some(1_024 / 3 + 1));
    }

    #[test]
    fn numbers_that_json_cannot_hold_are_null_and_absent_values_are_left_out() {
        let captured = Captured::start(LevelSetting::Info);
        info!(nan = f64::NAN, infinite = f64::INFINITY, some = Some(1), none = None::<u64>, "numbers");
        let line = captured.only_line();
        assert_eq!(line["nan"], json!(null));
        assert_eq!(line["infinite"], json!(null));
        assert_eq!(line["some"], 1);
        assert_eq!(line.get("none"), None);
    }

    #[test]
    fn the_level_decides_what_is_written() {
        for (level, count) in [
            (LevelSetting::Error, 1),
            (LevelSetting::Warn, 2),
            (LevelSetting::Info, 3),
            (LevelSetting::Debug, 4),
            (LevelSetting::Trace, 5),
        ] {
            let (lines, ()) = capture(level, || {
                error!("e");
                warn!("w");
                info!("i");
                debug!("d");
                trace!("t");
            });
            assert_eq!(lines.len(), count, "{level:?}");
        }
    }

    #[test]
    fn other_crates_are_held_to_warnings_without_fields_at_every_level() {
        for level in [LevelSetting::Warn, LevelSetting::Info, LevelSetting::Debug, LevelSetting::Trace] {
            let (lines, ()) = capture(foreign(level), || {
                trace!(body = "someone@example.org", "payload");
                debug!(body = "someone@example.org", "request");
                info!(body = "someone@example.org", "sent");
                warn!(target: "aws_smithy_runtime::retries", body = "someone@example.org", "not sent");
            });
            assert_eq!(
                lines,
                [concat!(
                    r#"{"timestamp":"1970-01-01T00:00:00.000Z","level":"WARN","message":"not sent","#,
                    r#""target":"aws_smithy_runtime::retries"}"#
                )],
                "{level:?}"
            );
        }
    }

    #[test]
    fn spans_of_other_crates_add_nothing() {
        let captured = Captured::start(foreign(LevelSetting::Trace));
        tracing::error_span!("send", recipient = "someone@example.org").in_scope(|| error!("failed"));
        assert_eq!(captured.only_line().get("recipient"), None);
    }

    #[test]
    fn a_target_of_ours_does_not_make_another_crates_event_ours() {
        let (lines, ()) = capture(foreign(LevelSetting::Trace), || info!(target: "somebody_else", "hello"));
        assert!(lines.is_empty(), "{lines:?}");
    }

    #[test]
    fn a_function_adds_its_own_crate_by_any_path_inside_it() {
        let setup = foreign(LevelSetting::Info).own_crate("ikkai::observability::logs");
        let (lines, ()) = capture(setup, || info!("hello"));
        assert_eq!(lines.len(), 1);
    }

    #[test]
    fn every_thread_captures_its_own_lines() {
        let captured = Captured::start(LevelSetting::Info);
        std::thread::spawn(|| {
            let inner = Captured::start(LevelSetting::Info);
            info!("in the thread");
            assert_eq!(inner.only_line()["message"], "in the thread");
        })
        .join()
        .expect("the thread's assertions hold");
        info!("outside");
        assert_eq!(captured.only_line()["message"], "outside");
    }
}
