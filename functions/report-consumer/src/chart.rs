//! Geometry of the charts. The template draws what stands here and computes nothing.

use serde::Serialize;

use crate::summary::DayCount;

/// Size of the drawing and of its margins, in its own units.
const WIDTH: u64 = 720;
const HEIGHT: u64 = 220;
const LEFT: u64 = 48;
const RIGHT: u64 = 8;
const TOP: u64 = 12;
const BOTTOM: u64 = 24;

/// A column for each day, its parts upon each other.
#[derive(Debug, Serialize)]
pub(crate) struct DayChart {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) left: u64,
    pub(crate) right: u64,
    pub(crate) columns: Vec<Column>,
    /// Lines to read the height by, from the bottom.
    pub(crate) lines: Vec<Line>,
    /// Dates below.
    pub(crate) dates: Vec<Date>,
}

/// One day.
#[derive(Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) label: String,
    pub(crate) parts: Vec<Part>,
}

/// One part of a column.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Part {
    pub(crate) class: &'static str,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) width: String,
    pub(crate) height: String,
}

/// A horizontal line and its number.
#[derive(Debug, Serialize)]
pub(crate) struct Line {
    pub(crate) y: String,
    pub(crate) number: u64,
}

/// A date below the columns.
#[derive(Debug, Serialize)]
pub(crate) struct Date {
    pub(crate) x: String,
    pub(crate) text: String,
    pub(crate) anchor: &'static str,
}

impl DayChart {
    pub(crate) fn new(days: &[DayCount], date: impl Fn(usize) -> String) -> Self {
        let most = days.iter().map(|day| day.total()).max().unwrap_or(0);
        let top = round_up(most);
        let (plot_width, plot_height) = ((WIDTH - LEFT - RIGHT) as f64, (HEIGHT - TOP - BOTTOM) as f64);
        let step = plot_width / days.len().max(1) as f64;
        let x = |day: usize| LEFT as f64 + step * day as f64;
        let height = |count: u64| plot_height * count as f64 / top as f64;
        let y = |count: u64| TOP as f64 + plot_height - height(count);
        let columns = days.iter().enumerate().filter(|(_, day)| day.total() > 0).map(|(index, day)| {
            let mut below = 0;
            let parts = [("succeeded", day.succeeded), ("failed", day.failed), ("other", day.other)];
            let parts = parts.into_iter().filter(|(_, count)| *count > 0).map(|(class, count)| {
                below += count;
                Part {
                    class,
                    x: units(x(index) + step * 0.1),
                    y: units(y(below)),
                    width: units(step * 0.8),
                    height: units(height(count)),
                }
            });
            let parts = parts.collect();
            Column {
                label: format!("{}: {} succeeded, {} failed, {} other", date(index), day.succeeded, day.failed, day.other),
                parts,
            }
        });
        let lines = [0, top / 2, top].into_iter().filter(|number| *number == 0 || top > 1 || *number == top);
        let mut lines: Vec<Line> = lines.map(|number| Line { y: units(y(number)), number }).collect();
        lines.dedup_by(|a, b| a.number == b.number);
        Self {
            width: WIDTH,
            height: HEIGHT,
            left: LEFT,
            right: WIDTH - RIGHT,
            columns: columns.collect(),
            lines,
            dates: dates(days.len(), step, date),
        }
    }
}

/// The first and the last date, and the one in the middle where there is room.
fn dates(days: usize, step: f64, date: impl Fn(usize) -> String) -> Vec<Date> {
    let middle_of = |day: usize| LEFT as f64 + step * (day as f64 + 0.5);
    match days {
        0 => Vec::new(),
        1 => vec![Date { x: units(middle_of(0)), text: date(0), anchor: "middle" }],
        _ => {
            let last = days - 1;
            let mut dates = vec![Date { x: LEFT.to_string(), text: date(0), anchor: "start" }];
            if days > 2 {
                dates.push(Date { x: units(middle_of(last / 2)), text: date(last / 2), anchor: "middle" });
            }
            dates.push(Date { x: (WIDTH - RIGHT).to_string(), text: date(last), anchor: "end" });
            dates
        }
    }
}

/// The next number that is easily halved and read: 2, 4, 10, 20, 40, 100, …
fn round_up(most: u64) -> u64 {
    let mut unit: u64 = 1;
    loop {
        for step in [2, 4, 10] {
            let number = unit.saturating_mul(step);
            if number >= most {
                return number;
            }
        }
        unit = unit.saturating_mul(10);
    }
}

/// A length with two decimals at most.
fn units(length: f64) -> String {
    let text = format!("{length:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A bar's length in percent of the longest one; what is there is seen.
pub(crate) fn percent(count: u64, most: u64) -> u64 {
    match (count, most) {
        (0, _) | (_, 0) => 0,
        _ => (count.saturating_mul(100) / most).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> f64 {
        text.parse().unwrap()
    }

    #[test]
    fn scales_end_on_numbers_that_are_easily_read() {
        for (most, top) in [(0, 2), (2, 2), (3, 4), (5, 10), (11, 20), (399, 400), (100_000, 100_000)] {
            assert_eq!(round_up(most), top, "{most}");
        }
        assert_eq!(round_up(u64::MAX), u64::MAX);
    }

    #[test]
    fn columns_stand_on_the_ground_and_their_parts_on_each_other() {
        let days = [
            DayCount { succeeded: 6, failed: 3, other: 1 },
            DayCount::default(),
            DayCount { succeeded: 5, ..DayCount::default() },
        ];
        let chart = DayChart::new(&days, |day| format!("2026-01-0{}", day + 1));
        assert_eq!(chart.columns.len(), 2, "a day without jobs has no column");
        assert_eq!(chart.columns[0].label, "2026-01-01: 6 succeeded, 3 failed, 1 other");
        let ground = (HEIGHT - BOTTOM) as f64;
        let mut top = ground;
        for part in &chart.columns[0].parts {
            assert!((number(&part.y) + number(&part.height) - top).abs() < 0.02, "{part:?}");
            top = number(&part.y);
        }
        assert!((top - TOP as f64).abs() < 0.02, "ten is the top of the scale");
        assert_eq!(chart.lines.iter().map(|line| line.number).collect::<Vec<_>>(), [0, 5, 10]);
        assert_eq!(chart.dates.len(), 3);
    }

    #[test]
    fn every_length_of_a_year_stays_inside_the_drawing() {
        for days in [1, 2, 28, 366] {
            let counts = vec![DayCount { succeeded: 1, failed: 1, other: 1 }; days];
            let chart = DayChart::new(&counts, |day| day.to_string());
            for part in chart.columns.iter().flat_map(|column| &column.parts) {
                assert!(number(&part.x) >= LEFT as f64 && number(&part.x) + number(&part.width) <= (WIDTH - RIGHT) as f64 + 0.02);
                assert!(number(&part.y) >= TOP as f64 - 0.02);
            }
        }
    }

    #[test]
    fn bars_are_percents_of_the_longest_and_what_is_there_is_seen() {
        for (count, most, bar) in [(0, 10, 0), (10, 10, 100), (1, 1_000, 1), (5, 10, 50), (0, 0, 0)] {
            assert_eq!(percent(count, most), bar);
        }
    }
}
