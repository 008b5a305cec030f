//! A check as people read it.

use super::finding::Verdict;
use super::record::{Measured, Record};
use crate::screen::{Screen, Tone};

/// Columns of text. A terminal of 120 columns shows them beside the names.
const WIDTH: usize = 116;

/// The lines of a record: probe by probe, with what AWS does where the engine does not.
#[must_use]
pub fn lines(record: &Record, screen: &Screen) -> Vec<String> {
    let mut lines = Vec::new();
    let mut group = "";
    let longest = record.probes.iter().map(|measured| measured.probe.len()).max().unwrap_or(0);
    for measured in &record.probes {
        if measured.group != group {
            group = &measured.group;
            lines.push(String::new());
            lines.push(screen.paint(Tone::Faint, group));
        }
        let (tone, word) = word(measured);
        // The colour's codes count as width: the word is brought to its width before it is painted.
        let mark = screen.paint(tone, format!("{word:<12}"));
        let name = format!("{:<longest$}", measured.probe);
        let mut text = wrapped(&measured.seen, WIDTH.saturating_sub(longest + 18)).into_iter();
        lines.push(format!("  {mark}  {name}  {}", text.next().unwrap_or_default()).trim_end().to_owned());
        let indent = " ".repeat(longest + 18);
        lines.extend(text.map(|rest| format!("{indent}{rest}")));
        if measured.verdict != Some(Verdict::AsAws) {
            let aws = wrapped(&format!("AWS: {}", measured.aws), WIDTH.saturating_sub(longest + 18));
            lines.extend(aws.into_iter().map(|line| format!("{indent}{}", screen.paint(Tone::Faint, line))));
        }
    }
    lines.push(String::new());
    lines.push(summary(record));
    lines
}

fn word(measured: &Measured) -> (Tone, &'static str) {
    match measured.verdict {
        Some(Verdict::AsAws) => (Tone::Good, Verdict::AsAws.word()),
        Some(Verdict::Differs) => (Tone::Open, Verdict::Differs.word()),
        Some(Verdict::Absent) => (Tone::Open, Verdict::Absent.word()),
        None => (Tone::Bad, "not measured"),
    }
}

fn summary(record: &Record) -> String {
    let counted = [Verdict::AsAws, Verdict::Differs, Verdict::Absent]
        .map(|verdict| format!("{} {}", record.count(verdict), verdict.word()));
    let calls: u64 = record.calls.values().sum();
    let mut text = format!(
        "{} {} on {}: {} of {} features {} ({} calls, {:.0} s)",
        record.engine,
        record.version,
        record.day(),
        counted[0].split(' ').next().unwrap_or_default(),
        record.probes.len(),
        [Verdict::AsAws.word(), &counted[1], &counted[2]].join(", "),
        calls,
        record.took_ms as f64 / 1_000.0
    );
    let failed = record.not_measured().count();
    if failed > 0 {
        text.push_str(&format!("; {failed} could not be measured"));
    }
    text
}

/// Breaks a text between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].chars().count() + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            let gap = if lines[last].is_empty() { "" } else { " " };
            lines[last].push_str(&format!("{gap}{word}"));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screen::Format;

    fn measured(probe: &str, verdict: Option<Verdict>, seen: &str) -> Measured {
        Measured {
            probe: probe.into(),
            group: "group".into(),
            feature: "feature".into(),
            aws: "AWS does it.".into(),
            source: "https://docs.aws.amazon.com/x".into(),
            verdict,
            seen: seen.into(),
            took_ms: 1,
        }
    }

    #[test]
    fn what_aws_does_is_said_where_the_engine_does_not() {
        let record = Record {
            engine: "ministack".into(),
            version: "1".into(),
            ikkai: "0".into(),
            began_at: "2026-11-30T10:00:00.000Z".into(),
            took_ms: 61_000,
            probes: vec![
                measured("one", Some(Verdict::AsAws), "fine"),
                measured("two", Some(Verdict::Differs), "odd"),
                measured("three", None, "no answer"),
            ],
            made: [].into(),
            calls: [("SQS".to_owned(), 40), ("Lambda".to_owned(), 2)].into(),
        };
        let (screen, _) = Screen::remembering(Format::Text);
        let text = lines(&record, &screen).join("\n");
        assert_eq!(text.matches("AWS: AWS does it.").count(), 2, "{text}");
        assert!(text.contains("  as AWS        one    fine\n"), "{text}");
        let end =
            "ministack 1 on 2026-11-30: 1 of 3 features as AWS, 1 differs, 0 absent (42 calls, 61 s); 1 could not be measured";
        assert!(text.ends_with(end), "{text}");
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("incomprehensibilities", 4), ["incomprehensibilities"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
