//! How findings are shown.

use serde::Serialize;
use serde_json::{Value, json};

use super::facts::Facts;
use super::finding::{Finding, Severity};
use crate::deployment::Place;
use crate::screen::{Screen, Tone};

/// How many findings are how bad.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// As it should be.
    pub ok: usize,
    /// Not known.
    pub unknown: usize,
    /// It works, and will hurt one day.
    pub warning: usize,
    /// Wrong.
    pub error: usize,
}

impl Counts {
    /// Counts findings.
    #[must_use]
    pub fn of(findings: &[Finding]) -> Self {
        let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
        Self {
            ok: count(Severity::Ok),
            unknown: count(Severity::Unknown),
            warning: count(Severity::Warning),
            error: count(Severity::Error),
        }
    }
}

/// The report for programs.
#[must_use]
pub fn document(facts: &Facts, findings: &[Finding]) -> Value {
    json!({
        "stack": facts.stack,
        "localEngine": facts.place == Place::LocalEngine,
        "counts": Counts::of(findings),
        "findings": findings,
    })
}

/// The report for people: what is wrong first, with its mend; then a line of counts. What is as it should be is listed where
/// `all` says so.
pub fn show(screen: &Screen, findings: &[Finding], all: bool) {
    let mut shown: Vec<Finding> =
        together(findings).into_iter().filter(|finding| all || finding.severity != Severity::Ok).collect();
    // Stable: within one severity the order of the rules stays.
    shown.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    for finding in &shown {
        lines(finding).into_iter().enumerate().for_each(|(place, line)| match place {
            0 => screen.line(format!("{} {line}", screen.paint(tone(finding.severity), sign(finding.severity)))),
            _ => screen.line(format!("    {}", screen.paint(Tone::Faint, line))),
        });
    }
    screen.line(summary(Counts::of(findings)));
}

/// Findings that differ in their subject alone, as one.
fn together(findings: &[Finding]) -> Vec<Finding> {
    let mut told: Vec<Finding> = Vec::new();
    for finding in findings {
        let same = |other: &&mut Finding| {
            Finding { subject: String::new(), ..(**other).clone() } == Finding { subject: String::new(), ..finding.clone() }
        };
        match told.iter_mut().find(same) {
            Some(other) => other.subject = format!("{}, {}", other.subject, finding.subject),
            None => told.push(finding.clone()),
        }
    }
    told
}

/// The finding in one line, then why it matters and what to do, where there is something to do.
fn lines(finding: &Finding) -> Vec<String> {
    let mut lines = vec![format!("{}  {}: {}", finding.subject, finding.rule, finding.found)];
    if matches!(finding.severity, Severity::Warning | Severity::Error) {
        lines.push(format!("why:  {} ({})", finding.why, finding.source));
    }
    lines.extend(finding.mend.as_ref().map(|mend| format!("mend: {mend}")));
    lines
}

fn summary(counts: Counts) -> String {
    let Counts { ok, unknown, warning, error } = counts;
    format!("✘ {error} wrong, ! {warning} to look at, ? {unknown} not known, ✔ {ok} as they should be")
}

const fn sign(severity: Severity) -> &'static str {
    match severity {
        Severity::Ok => "✔",
        Severity::Unknown => "?",
        Severity::Warning => "!",
        Severity::Error => "✘",
    }
}

const fn tone(severity: Severity) -> Tone {
    match severity {
        Severity::Ok => Tone::Good,
        Severity::Unknown => Tone::Faint,
        Severity::Warning => Tone::Open,
        Severity::Error => Tone::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(severity: Severity) -> Finding {
        let mend = (severity != Severity::Ok).then(|| "mend it".to_owned());
        let found = "so".to_owned();
        Finding { rule: "rule", subject: "email".to_owned(), severity, found, why: "it hurts", source: "docs", mend }
    }

    #[test]
    fn what_is_wrong_says_why_and_what_to_do() {
        assert_eq!(lines(&finding(Severity::Ok)), ["email  rule: so"]);
        assert_eq!(lines(&finding(Severity::Unknown)), ["email  rule: so", "mend: mend it"]);
        assert_eq!(lines(&finding(Severity::Error)), ["email  rule: so", "why:  it hurts (docs)", "mend: mend it"]);
    }

    #[test]
    fn the_same_at_several_subjects_is_told_once() {
        let at = |subject: &str, severity| Finding { subject: subject.to_owned(), ..finding(severity) };
        let told = together(&[at("email", Severity::Error), at("image", Severity::Ok), at("report", Severity::Error)]);
        assert_eq!(told, [at("email, report", Severity::Error), at("image", Severity::Ok)]);
    }

    #[test]
    fn every_finding_is_counted_once() {
        let findings = [Severity::Ok, Severity::Ok, Severity::Unknown, Severity::Warning, Severity::Error].map(finding);
        let counts = Counts::of(&findings);
        assert_eq!(counts, Counts { ok: 2, unknown: 1, warning: 1, error: 1 });
        assert_eq!(summary(counts), "✘ 1 wrong, ! 1 to look at, ? 1 not known, ✔ 2 as they should be");
    }
}
