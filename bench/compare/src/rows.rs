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
        let against_floor = |scenario| self.ratio((Ikkai, scenario, 5), (Floor, scenario, 5), |measured| measured.batches_per_second);
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
            Row::new("init to the first event, no network: Ikkai / raw SDK", Unit::Ratio, against_floor(Ikkai, init), Target::AtMost(2.0)),
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
            Row::new("writes a job that announces its effect: e-mail consumer", Unit::Count, writes(Email, New), Target::AtMost(3.0)),
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
            let all_calls = |measured: &Measured| measured.calls.values().sum();
            let [calls, bodies, log] = [same(all_calls), same(|of| of.body_bytes), same(|of| of.log_bytes)].map(apart);
            let worst = calls.zip(bodies).zip(log).map(|((calls, bodies), log)| calls.max(bodies).max(log));
            let what = format!("calls, bytes and log that the raw SDK's differ from Ikkai's, {}", scenario.name());
            rows.push(Row::new(what, Unit::Ratio, worst, Target::AtMost(0.03)));
        }
        let echo = self.ratio((Echo, New, 0), (Floor, New, 0), |measured| measured.batches_per_second);
        rows.push(Row::new("batches a second without a call: echo / raw SDK", Unit::Ratio, echo, Target::AtLeast(3.0)));
        let busy = self.0.in_scenario(Floor, New, 5).map(|measured| measured.harness_busy);
        rows.push(Row::new("share of its time that the harness works, raw SDK with 5 ms a call", Unit::Ratio, busy, Target::AtMost(0.5)));
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

fn ten(a_message: f64) -> f64 {
    a_message * 10.0
}

fn calls(measured: &Measured, operation: &str) -> f64 {
    measured.calls.get(operation).copied().unwrap_or(0.0)
}
