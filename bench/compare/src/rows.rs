//! What is to be reached: one row a target, each a ratio or a count. Absolute times are shown elsewhere; they are the machine's.

use serde::Serialize;

use crate::contender::Contender::{self, Echo, Email, Floor, Ikkai, Python, SameCalls, TypeScript};
use crate::figures::{Contended, Figures, Measured};
use crate::scenario::Scenario::{self, Duplicates, Failing, New};

/// A target.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
    /// Shown for comparison.
    None,
}

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    Ratio,
    Count,
    Bytes,
}

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    /// What was measured; nothing where nothing was.
    pub(crate) value: Option<f64>,
    pub(crate) unit: Unit,
    pub(crate) target: Target,
    pub(crate) met: bool,
}

impl Row {
    fn new(what: impl Into<String>, unit: Unit, value: Option<f64>, target: Target) -> Self {
        // What is no number, such as a ratio to nothing, was not measured.
        let value = value.filter(|value| value.is_finite());
        let met = match (target, value) {
            (Target::None, _) => true,
            (_, None) => false,
            (Target::AtMost(limit), Some(value)) => value <= limit,
            (Target::AtLeast(limit), Some(value)) => value >= limit,
        };
        Self { what: what.into(), value, unit, target, met }
    }

    /// Whether the target is met. One that nothing was measured for is not.
    pub(crate) const fn is_met(&self) -> bool {
        self.met
    }
}

/// All rows.
pub(crate) fn rows(figures: &Figures) -> Vec<Row> {
    let all = Rows(figures);
    [all.processor(), all.throughput(), all.process(), all.calls(), all.harness()].concat()
}

struct Rows<'a>(&'a Figures);

impl Rows<'_> {
    fn processor(&self) -> Vec<Row> {
        let cpu = |of: Contender, against: Contender, scenario| {
            self.ratio((of, scenario, 0), (against, scenario, 0), |measured| measured.cpu_ms)
        };
        let mut rows = Vec::new();
        for scenario in Scenario::ALL {
            let what = format!("CPU a batch, {}: Ikkai / raw SDK with the same calls and log", scenario.name());
            rows.push(Row::new(what, Unit::Ratio, cpu(Ikkai, SameCalls, scenario), Target::AtMost(1.15)));
        }
        for scenario in Scenario::ALL {
            let what = format!("CPU a batch, {}: Ikkai / barest raw SDK", scenario.name());
            rows.push(Row::new(what, Unit::Ratio, cpu(Ikkai, Floor, scenario), Target::None));
        }
        for (other, target) in [(Python, 10.0), (TypeScript, 6.0)] {
            for scenario in Scenario::ALL {
                let what = format!("CPU a batch, {}: {} / Ikkai", scenario.name(), other.name());
                rows.push(Row::new(what, Unit::Ratio, cpu(other, Ikkai, scenario), Target::AtLeast(target)));
            }
        }
        rows
    }

    fn throughput(&self) -> Vec<Row> {
        let against_floor =
            |scenario| self.ratio((Ikkai, scenario, 5), (Floor, scenario, 5), |measured| measured.batches_per_second);
        // Messages that failed get their delay in a call of its own, behind the writes: a third round trip that the floor does without.
        let targets = [(New, Target::AtLeast(0.95)), (Duplicates, Target::AtLeast(0.95)), (Failing, Target::None)];
        let row = |(scenario, target): (Scenario, Target)| {
            let what = format!("batches a second with 5 ms a call, {}: Ikkai / raw SDK", scenario.name());
            Row::new(what, Unit::Ratio, against_floor(scenario), target)
        };
        targets.map(row).to_vec()
    }

    fn process(&self) -> Vec<Row> {
        let against_floor = |of, what: fn(&Contended) -> f64| Some(what(self.0.of(of)?) / what(self.0.of(Floor)?));
        let init = |contended: &Contended| contended.init_ms;
        let peak = |contended: &Contended| contended.peak_bytes as f64;
        let handshakes = |of| self.0.of(of).map(|contended| contended.connections as f64);
        vec![
            Row::new(
                "init to the first event, no network: Ikkai / raw SDK",
                Unit::Ratio,
                against_floor(Ikkai, init),
                Target::AtMost(2.0),
            ),
            Row::new("peak memory: Ikkai / raw SDK", Unit::Ratio, against_floor(Ikkai, peak), Target::AtMost(1.5)),
            Row::new("peak memory: e-mail consumer / raw SDK", Unit::Ratio, against_floor(Email, peak), Target::AtMost(2.0)),
            Row::new("connections opened after init: Ikkai", Unit::Count, handshakes(Ikkai), Target::AtMost(0.0)),
            Row::new("connections opened after init: e-mail consumer", Unit::Count, handshakes(Email), Target::AtMost(0.0)),
        ]
    }

    fn calls(&self) -> Vec<Row> {
        let writes = |of, scenario| Some(calls(self.0.in_scenario(of, scenario, 0)?, "UpdateItem"));
        let visibility = |scenario| Some(calls(self.0.in_scenario(Ikkai, scenario, 0)?, "ChangeMessageVisibilityBatch"));
        let backoff = visibility(Failing).zip(visibility(New)).map(|(failing, new)| failing - new);
        let log = |of| self.0.in_scenario(of, New, 0).map(|measured| measured.log_bytes);
        vec![
            Row::new("writes a job that succeeds", Unit::Count, writes(Ikkai, New), Target::AtMost(2.0)),
            Row::new(
                "writes a job that announces its effect: e-mail consumer",
                Unit::Count,
                writes(Email, New),
                Target::AtMost(3.0),
            ),
            Row::new("writes a duplicate", Unit::Count, writes(Ikkai, Duplicates), Target::AtMost(1.0)),
            Row::new("writes an attempt, 2 of 10 fail", Unit::Count, writes(Ikkai, Failing), Target::AtMost(2.0)),
            Row::new("calls for the lease of 10 messages", Unit::Count, visibility(New).map(ten), Target::AtMost(1.0)),
            Row::new("calls for the backoff of 10 messages", Unit::Count, backoff.map(ten), Target::AtMost(1.0)),
            Row::new("bytes of log, a job that succeeds: Ikkai", Unit::Bytes, log(Ikkai), Target::AtMost(400.0)),
            Row::new("bytes of log, a job that succeeds: e-mail consumer", Unit::Bytes, log(Email), Target::AtMost(400.0)),
        ]
    }

    /// That the comparison is one: the floor does what Ikkai does, and neither waits for this program.
    fn harness(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        for scenario in Scenario::ALL {
            let same = |what: fn(&Measured) -> f64| self.ratio((SameCalls, scenario, 0), (Ikkai, scenario, 0), what);
            let apart = |ratio: Option<f64>| ratio.map(|ratio| (ratio - 1.0).abs());
            let [calls, bodies, log] = [same(all_calls), same(|of| of.body_bytes), same(|of| of.log_bytes)].map(apart);
            let worst = calls.zip(bodies).zip(log).map(|((calls, bodies), log)| calls.max(bodies).max(log));
            let what = format!("calls, bytes and log that the raw SDK's differ from Ikkai's, {}", scenario.name());
            rows.push(Row::new(what, Unit::Ratio, worst, Target::AtMost(0.03)));
        }
        let echo = self.ratio((Echo, New, 0), (Floor, New, 0), |measured| measured.batches_per_second);
        rows.push(Row::new("batches a second without a call: echo / raw SDK", Unit::Ratio, echo, Target::AtLeast(3.0)));
        let busy = self.0.in_scenario(Floor, New, 5).map(|measured| measured.harness_busy);
        rows.push(Row::new(
            "share of its time that the harness works, raw SDK with 5 ms a call",
            Unit::Ratio,
            busy,
            Target::AtMost(0.5),
        ));
        rows
    }

    fn ratio(
        &self,
        (of, scenario, delay_ms): (Contender, Scenario, u64),
        (against, other, other_delay): (Contender, Scenario, u64),
        what: impl Fn(&Measured) -> f64,
    ) -> Option<f64> {
        let value = what(self.0.in_scenario(of, scenario, delay_ms)?);
        Some(value / what(self.0.in_scenario(against, other, other_delay)?))
    }
}

fn all_calls(measured: &Measured) -> f64 {
    measured.calls.values().sum()
}

fn ten(a_message: f64) -> f64 {
    a_message * 10.0
}

fn calls(measured: &Measured, operation: &str) -> f64 {
    measured.calls.get(operation).copied().unwrap_or(0.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::figures::Machine;

    fn measured(scenario: Scenario, delay_ms: u64, cpu_ms: f64) -> Measured {
        let visibility = if scenario == Failing { 0.2 } else { 0.1 };
        let writes = if scenario == Duplicates { 1.0 } else { 2.0 };
        Measured {
            scenario,
            delay_ms,
            cpu_ms,
            batches_per_second: 80.0,
            p50_ms: 12.0,
            p99_ms: 13.0,
            harness_busy: 0.1,
            calls: [("UpdateItem", writes), ("ChangeMessageVisibilityBatch", visibility)]
                .map(|(operation, calls)| (operation.to_owned(), calls))
                .into(),
            body_bytes: 900.0,
            log_bytes: 350.0,
        }
    }

    fn contended(cpu_ms: f64) -> Contended {
        let series = [0, 5].into_iter().flat_map(|delay| Scenario::ALL.map(|scenario| measured(scenario, delay, cpu_ms)));
        Contended { init_ms: 5.0, init_bytes: 9_000_000, peak_bytes: 10_000_000, connections: 0, series: series.collect() }
    }

    /// Figures that meet every target.
    pub(crate) fn good() -> Figures {
        let cpu = [(Floor, 1.0), (SameCalls, 2.0), (Ikkai, 2.3), (Email, 4.0), (Python, 24.0), (TypeScript, 14.4)];
        let mut contenders: BTreeMap<_, _> = cpu.map(|(contender, cpu_ms)| (contender, contended(cpu_ms))).into();
        let mut echo = contended(0.1);
        echo.series.iter_mut().for_each(|measured| measured.batches_per_second = 4_000.0);
        contenders.insert(Echo, echo);
        Figures {
            date: "2026-11-30".to_owned(),
            machine: Machine { architecture: "x86_64".to_owned(), cores: 2, load_before: 0.0 },
            profile: "release".to_owned(),
            rounds: 5,
            batches: 100,
            versions: BTreeMap::new(),
            contenders,
        }
    }

    fn missed(figures: &Figures) -> Vec<String> {
        rows(figures).into_iter().filter(|row| !row.is_met()).map(|row| row.what).collect()
    }

    #[test]
    fn good_figures_meet_every_target() {
        assert_eq!(missed(&good()), [""; 0]);
    }

    #[test]
    fn each_figure_that_is_worse_misses_its_own_target() {
        type Worsen = fn(&mut Measured);
        let cases: [(Contender, Scenario, u64, Worsen, &str); 9] = [
            (Ikkai, New, 0, |of| of.cpu_ms = 2.31, "CPU a batch, new jobs: Ikkai / raw SDK with the same calls and log"),
            (Python, New, 0, |of| of.cpu_ms = 22.9, "CPU a batch, new jobs: Powertools Python / Ikkai"),
            (TypeScript, Failing, 0, |of| of.cpu_ms = 13.7, "CPU a batch, 2 of 10 fail: Powertools TypeScript / Ikkai"),
            (
                Ikkai,
                Duplicates,
                5,
                |of| of.batches_per_second = 75.9,
                "batches a second with 5 ms a call, duplicates: Ikkai / raw SDK",
            ),
            (
                Email,
                New,
                0,
                |of| *of.calls.get_mut("UpdateItem").expect("writes") = 3.1,
                "writes a job that announces its effect: e-mail consumer",
            ),
            (Email, New, 0, |of| of.log_bytes = 401.0, "bytes of log, a job that succeeds: e-mail consumer"),
            (
                SameCalls,
                New,
                0,
                |of| of.body_bytes = 930.0,
                "calls, bytes and log that the raw SDK's differ from Ikkai's, new jobs",
            ),
            (Echo, New, 0, |of| of.batches_per_second = 200.0, "batches a second without a call: echo / raw SDK"),
            (Floor, New, 5, |of| of.harness_busy = 0.6, "share of its time that the harness works, raw SDK with 5 ms a call"),
        ];
        for (contender, scenario, delay_ms, worsen, what) in cases {
            let mut figures = good();
            let series = &mut figures.contenders.get_mut(&contender).expect("a contender").series;
            series.iter_mut().filter(|of| of.scenario == scenario && of.delay_ms == delay_ms).for_each(worsen);
            assert_eq!(missed(&figures), [what]);
        }
        for (worsen, what) in [
            ((|of| of.init_ms = 10.1) as fn(&mut Contended), "init to the first event, no network: Ikkai / raw SDK"),
            (|of| of.peak_bytes = 15_100_000, "peak memory: Ikkai / raw SDK"),
            (|of| of.connections = 1, "connections opened after init: Ikkai"),
        ] {
            let mut figures = good();
            worsen(figures.contenders.get_mut(&Ikkai).expect("a contender"));
            assert_eq!(missed(&figures), [what]);
        }
    }

    /// A harness that measures nothing must not report success.
    #[test]
    fn a_row_that_nothing_was_measured_for_is_missed() {
        let mut figures = good();
        figures.contenders.clear();
        let rows = rows(&figures);
        assert!(rows.iter().all(|row| row.value.is_none() && row.is_met() == (row.target == Target::None)), "{rows:#?}");
        let mut figures = good();
        figures.contenders.get_mut(&Floor).expect("a contender").init_ms = 0.0;
        assert_eq!(missed(&figures), ["init to the first event, no network: Ikkai / raw SDK"], "a ratio to nothing is none");
    }
}
