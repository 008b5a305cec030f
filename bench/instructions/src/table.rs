//! The table.

use std::fmt::Write as _;

use clap::ValueEnum;

use crate::cases::Case;
use crate::comparison::{Comparison, Row, TOLERANCE_PERCENT, Verdict};
use crate::counts::{Count, Counts};

/// What the project promises of the work that a record takes beside its calls.
const TARGET_MICROSECONDS: u32 = 10;

/// Counts that are compared with kept ones.
pub(crate) fn compared(comparison: &Comparison, kept: &Counts, now: &Counts) -> String {
    let header = ["case", "kept", "now", "change", "a record", "time (shown only)", ""].map(str::to_owned);
    let rows = in_order(comparison).map(|row| {
        let count = now.cases.get(&row.case);
        let number = |count: Option<u64>| count.map(grouped).unwrap_or_default();
        [
            title(&row.case),
            number(row.kept),
            number(row.now),
            row.kept.zip(row.now).map(|(kept, now)| change(kept, now)).unwrap_or_default(),
            count.map(a_record).unwrap_or_default(),
            count.map(|count| time(count.nanoseconds)).unwrap_or_default(),
            told(row.verdict),
        ]
    });
    let mut text = aligned(&std::iter::once(header).chain(rows).collect::<Vec<_>>());
    let (then, today) = (&kept.circumstances, &now.circumstances);
    let _ = write!(text, "\nkept {} with {} and {}", then.counted, then.rustc, then.valgrind);
    if (&then.rustc, &then.valgrind) != (&today.rustc, &today.valgrind) {
        let _ = write!(text, "; now {} and {}: a difference may be theirs", today.rustc, today.valgrind);
    }
    text.push('\n');
    text + &own_work(now)
}

/// Counts by themselves.
pub(crate) fn counted(now: &Counts) -> String {
    let header = ["case", "instructions", "a record", "time (shown only)"].map(str::to_owned);
    let rows = Case::value_variants().iter().filter_map(|case| {
        let count = now.cases.get(&case.name())?;
        Some([case.title().to_owned(), grouped(count.instructions), a_record(count), time(count.nanoseconds)])
    });
    aligned(&std::iter::once(header).chain(rows).collect::<Vec<_>>()) + "\n" + &own_work(now)
}

/// As the cases stand in the program; what is gone comes last.
fn in_order(comparison: &Comparison) -> impl Iterator<Item = &Row> {
    let place = |row: &&Row| Case::from_str(&row.case, false).map_or(usize::MAX, |case| case as usize);
    let mut rows: Vec<_> = comparison.rows.iter().collect();
    rows.sort_by_key(place);
    rows.into_iter()
}

fn own_work(now: &Counts) -> String {
    let Some(count) = now.cases.get(&Case::BatchNew.name()) else { return String::new() };
    let records = u64::from(count.records.max(1));
    format!(
        "a new job without its calls: {} instructions, {} on this machine (target: at most {TARGET_MICROSECONDS} µs; times are not held)\n",
        grouped(count.instructions / records),
        time(count.nanoseconds / records),
    )
}

fn title(case: &str) -> String {
    Case::from_str(case, false).map_or_else(|_| case.to_owned(), |case| case.title().to_owned())
}

fn a_record(count: &Count) -> String {
    if count.records > 1 { grouped(count.instructions / u64::from(count.records)) } else { String::new() }
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn change(kept: u64, now: u64) -> String {
    format!("{:+.1} %", (now as f64 / kept as f64 - 1.0) * 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "times are far below 2^52 ns")]
fn time(nanoseconds: u64) -> String {
    format!("{:.2} µs", nanoseconds as f64 / 1_000.0)
}

fn told(verdict: Verdict) -> String {
    match verdict {
        Verdict::AsKept => "ok".to_owned(),
        Verdict::Grown => format!("grown by more than {TOLERANCE_PERCENT} %"),
        Verdict::Fallen => format!("fallen by more than {TOLERANCE_PERCENT} %: keep it with --record"),
        Verdict::NotKept => "not kept: keep it with --record".to_owned(),
        Verdict::Gone => "no longer counted: --record".to_owned(),
    }
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Columns as wide as their widest cell, numbers to the right; the first and the last column hold words.
fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |text: &String| text.chars().count();
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0));
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let is_words = column == 0 || column + 1 == COLUMNS && cell.starts_with(|c: char| c.is_alphabetic());
            let _ = if is_words { write!(line, "{cell:<width$}  ") } else { write!(line, "{cell:>width$}  ") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn a_change_has_its_sign() {
        assert_eq!([change(1_000, 1_062), change(1_000, 940), change(7, 7)], ["+6.2 %", "-6.0 %", "+0.0 %"]);
    }

    #[test]
    fn numbers_stand_to_the_right_of_their_column() {
        let rows = [["case", "now", "time"], ["a", "1,234", "0.10 µs"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "case    now  time\na     1,234  0.10 µs\n");
    }
}
