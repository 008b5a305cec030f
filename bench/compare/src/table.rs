//! The figures and rows as tables: in columns for the console, in Markdown for pages.

use crate::columns::aligned;
use crate::contender::Contender;
use crate::figures::{Contended, Figures, Measured};
use crate::rows::{Row, Target, Unit};
use crate::scenario::Scenario;

const NOTHING: &str = "–";

/// For the console.
pub(crate) fn text(figures: &Figures, rows: &[Row]) -> String {
    let missed = rows.iter().filter(|row| !row.is_met()).count();
    let verdict = match missed {
        0 => "every target is met".to_owned(),
        _ => format!("{missed} targets are missed"),
    };
    let tables = [aligned(&contenders(figures)), aligned(&calls(figures)), aligned(&targets(rows))];
    format!("\n{}\n{}\n\n{verdict}\n", tables.join("\n"), circumstances(figures))
}

/// For pages: everything.
pub(crate) fn page(figures: &Figures, rows: &[Row]) -> String {
    let tables = [markdown(&targets(rows)), markdown(&contenders(figures)), markdown(&calls(figures))];
    format!("{}\n\n{}", circumstances(figures), tables.join("\n"))
}

/// For pages: the targets alone.
pub(crate) fn targets_page(figures: &Figures, rows: &[Row]) -> String {
    format!("{}\n\n{}", circumstances(figures), markdown(&targets(rows)))
}

fn circumstances(figures: &Figures) -> String {
    let Figures { date, machine, profile, rounds, batches, versions, .. } = figures;
    let version = |name: &str| versions.get(name).map_or(NOTHING, String::as_str);
    format!(
        "{date}, {}, {} cores, load {:.2} before; profile {profile}; medians of {rounds} rounds of {batches} batches of 10. Powertools Python {} on Python {}, Powertools TypeScript {} on Node {}.",
        machine.architecture,
        machine.cores,
        machine.load_before,
        version("powertools_python"),
        version("python"),
        version("powertools_typescript"),
        version("node"),
    )
}

fn contenders(figures: &Figures) -> Vec<[String; 10]> {
    let header = [
        "contender",
        "init",
        "RSS after init",
        "RSS peak",
        "CPU a batch: new",
        "duplicates",
        "2 of 10 fail",
        "batches/s, no delay",
        "with 5 ms a call",
        "p50, p99 with 5 ms",
    ];
    let line = |contender: Contender| {
        let of = |show: fn(&Contended) -> String| figures.of(contender).map_or_else(nothing, show);
        let measured = |scenario, delay_ms, show: fn(&Measured) -> String| {
            figures.in_scenario(contender, scenario, delay_ms).map_or_else(nothing, show)
        };
        let cpu = |scenario| measured(scenario, 0, |measured| format!("{:.2} ms", measured.cpu_ms));
        let rate = |delay_ms| measured(Scenario::New, delay_ms, |measured| format!("{:.0}", measured.batches_per_second));
        [
            contender.name().to_owned(),
            of(|contended| format!("{:.1} ms", contended.init_ms)),
            of(|contended| megabytes(contended.init_bytes)),
            of(|contended| megabytes(contended.peak_bytes)),
            cpu(Scenario::New),
            cpu(Scenario::Duplicates),
            cpu(Scenario::Failing),
            rate(0),
            rate(5),
            measured(Scenario::New, 5, |measured| format!("{:.1}, {:.1} ms", measured.p50_ms, measured.p99_ms)),
        ]
    };
    std::iter::once(header.map(str::to_owned)).chain(Contender::ALL.map(line)).collect()
}

fn calls(figures: &Figures) -> Vec<[String; 5]> {
    let header = ["calls a message", "new jobs", "duplicates", "2 of 10 fail", "log bytes, new"].map(str::to_owned);
    let line = |contender: Contender| {
        let calls = |scenario| figures.in_scenario(contender, scenario, 0).map_or_else(nothing, calls_of);
        let log = figures.in_scenario(contender, Scenario::New, 0).map_or_else(nothing, |of| format!("{:.0}", of.log_bytes));
        let [new, duplicates, failing] = Scenario::ALL.map(calls);
        [contender.name().to_owned(), new, duplicates, failing, log]
    };
    std::iter::once(header).chain(Contender::ALL.map(line)).collect()
}

fn calls_of(measured: &Measured) -> String {
    let calls: Vec<_> = measured.calls.iter().map(|(operation, calls)| format!("{} {operation}", short(*calls))).collect();
    if calls.is_empty() { "none".to_owned() } else { calls.join(", ") }
}

fn targets(rows: &[Row]) -> Vec<[String; 4]> {
    let header = ["what", "measured", "target", "verdict"].map(str::to_owned);
    let line = |row: &Row| {
        let value = row.value.map_or_else(nothing, |value| shown(value, row.unit));
        let (target, verdict) = match row.target {
            Target::AtMost(limit) => (format!("≤ {}", shown(limit, row.unit)), row.is_met()),
            Target::AtLeast(limit) => (format!("≥ {}", shown(limit, row.unit)), row.is_met()),
            Target::None => return [row.what.clone(), value, String::new(), String::new()],
        };
        [row.what.clone(), value, target, if verdict { "met" } else { "missed" }.to_owned()]
    };
    std::iter::once(header).chain(rows.iter().map(line)).collect()
}

fn shown(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Ratio => format!("{value:.2}"),
        Unit::Count => short(value),
        Unit::Bytes => format!("{value:.0} B"),
    }
}

/// Two digits behind the point, as far as they are not zero.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1_000_000.0)
}

fn nothing() -> String {
    NOTHING.to_owned()
}

fn markdown<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let line = |cells: &[String; COLUMNS]| format!("| {} |\n", cells.join(" | "));
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.insert(1.min(lines.len()), format!("|{}\n", "---|".repeat(COLUMNS)));
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::rows;
    use crate::rows::tests::good;

    #[test]
    fn what_was_not_measured_is_shown_as_missing_and_missed() {
        let mut figures = good();
        figures.contenders.remove(&Contender::Email);
        let text = text(&figures, &rows(&figures));
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
        let words = |line: &str| line.split("  ").map(str::trim).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("|");
        assert_eq!(words(&line("peak memory: e-mail")), "peak memory: e-mail consumer / raw SDK|–|≤ 2.00|missed");
        assert_eq!(words(&line("peak memory: Ikkai")), "peak memory: Ikkai / raw SDK|1.00|≤ 1.50|met");
        assert!(text.ends_with("4 targets are missed\n"), "{text}");
    }

    #[test]
    fn a_markdown_table_has_a_line_below_its_header() {
        let rows = [["what", "measured"], ["a", "1"]].map(|row| row.map(str::to_owned));
        assert_eq!(markdown(&rows), "| what | measured |\n|---|---|\n| a | 1 |\n");
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([short(2.0), short(0.1), short(0.0), short(2.104)], ["2", "0.1", "0", "2.1"]);
        assert_eq!(shown(1.149, Unit::Ratio), "1.15");
        assert_eq!(shown(349.6, Unit::Bytes), "350 B");
    }
}
