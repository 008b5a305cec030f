//! The table.

use std::time::Duration;

use ikkai_compare::columns::aligned;
use ikkai_compare::measure::Start;
use ikkai_compare::statistics::percentile;

/// What the project promises: the median of init, and memory when it is over.
const INIT_TARGET: Duration = Duration::from_millis(20);
const MEMORY_TARGET_MB: u64 = 30;
const BYTES_PER_MB: u64 = 1_000_000;

/// A function's figures.
#[derive(Debug)]
pub(crate) struct Row {
    name: &'static str,
    starts: usize,
    init_median: Duration,
    init_p95: Duration,
    resident_bytes: u64,
    connections: u32,
}

impl Row {
    /// Sums up what was measured. `None` when nothing was.
    pub(crate) fn new(name: &'static str, starts: &[Start]) -> Option<Self> {
        Some(Self {
            name,
            starts: starts.len(),
            init_median: percentile(starts.iter().map(|start| start.init), 50)?,
            init_p95: percentile(starts.iter().map(|start| start.init), 95)?,
            resident_bytes: starts.iter().map(|start| start.resident_bytes).max()?,
            connections: starts.iter().map(|start| start.connections).max()?,
        })
    }

    /// Whether every target is met.
    pub(crate) fn is_met(&self) -> bool {
        self.missed().is_empty()
    }

    fn missed(&self) -> Vec<&'static str> {
        let checks = [
            (self.init_median < INIT_TARGET, "init"),
            (self.resident_bytes < MEMORY_TARGET_MB * BYTES_PER_MB, "memory"),
            (self.connections == 0, "network in init"),
        ];
        checks.iter().filter(|(met, _)| !met).map(|(_, what)| *what).collect()
    }

    fn verdict(&self) -> String {
        if self.is_met() { "ok".to_owned() } else { format!("missed: {}", self.missed().join(", ")) }
    }
}

/// The rows as a table, targets last.
pub(crate) fn table(rows: &[Row]) -> String {
    let header = ["function", "starts", "init median", "init p95", "RSS after init", "connections", "verdict"].map(str::to_owned);
    let body = rows.iter().map(|row| {
        let memory = row.resident_bytes.div_ceil(BYTES_PER_MB / 10);
        [
            row.name.to_owned(),
            row.starts.to_string(),
            milliseconds(row.init_median),
            milliseconds(row.init_p95),
            format!("{}.{} MB", memory / 10, memory % 10),
            row.connections.to_string(),
            row.verdict(),
        ]
    });
    let targets = [
        "target".to_owned(),
        String::new(),
        format!("< {}", milliseconds(INIT_TARGET)),
        String::new(),
        format!("< {MEMORY_TARGET_MB}.0 MB"),
        "0".to_owned(),
        String::new(),
    ];
    aligned(&std::iter::once(header).chain(body).chain([targets]).collect::<Vec<_>>())
}

fn milliseconds(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1_000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(init_ms: u64, resident_mb: u64, connections: u32) -> Start {
        Start { init: Duration::from_millis(init_ms), resident_bytes: resident_mb * BYTES_PER_MB, connections }
    }

    #[test]
    fn the_table_shows_figures_targets_and_verdict() {
        let row = Row::new("email-consumer", &[start(9, 10, 0), start(11, 12, 0), start(31, 11, 0)]).expect("measured");
        assert!(row.is_met());
        assert_eq!(
            table(&[row]),
            "function        starts  init median  init p95  RSS after init  connections  verdict
email-consumer  3       11.0 ms      31.0 ms   12.0 MB         0            ok
target                  < 20.0 ms              < 30.0 MB       0
"
        );
    }

    #[test]
    fn a_missed_target_is_named() {
        let row = Row::new("f", &[start(20, 30, 1)]).expect("measured");
        assert!(!row.is_met());
        assert_eq!(row.verdict(), "missed: init, memory, network in init");
    }

    #[test]
    fn nothing_measured_is_no_row() {
        assert!(Row::new("f", &[]).is_none());
    }
}
