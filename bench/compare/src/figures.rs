//! What was measured, as medians over all rounds: the content of the JSON file.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::contender::Contender;
use crate::rounds::{DELAYS_MS, Effort, Seen};
use crate::rows::Row;
use crate::scenario::Scenario;
use crate::setup::Field;
use crate::sitting::Series;
use crate::statistics::percentile;

/// A comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// The day, in UTC.
    pub(crate) date: String,
    pub(crate) machine: Machine,
    pub(crate) profile: String,
    pub(crate) rounds: u32,
    pub(crate) batches: usize,
    /// Versions of what is not built here.
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) contenders: BTreeMap<Contender, Contended>,
}

/// Where it was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) architecture: String,
    pub(crate) cores: usize,
    /// Load average of a minute before the first round; 0 is an idle machine.
    pub(crate) load_before: f64,
}

/// What a contender showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contended {
    /// From the start of the process to its first call for an event, without a network.
    pub(crate) init_ms: f64,
    /// Resident memory then.
    pub(crate) init_bytes: u64,
    /// Most resident memory of a process that did every scenario.
    pub(crate) peak_bytes: u64,
    /// Connections that were opened after init, by any process, at most.
    pub(crate) connections: u64,
    pub(crate) series: Vec<Measured>,
}

/// What a contender showed in a scenario.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) scenario: Scenario,
    pub(crate) delay_ms: u64,
    /// Processor time of the function's process a batch.
    pub(crate) cpu_ms: f64,
    pub(crate) batches_per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// Share of the time in which this program's only thread was busy.
    pub(crate) harness_busy: f64,
    /// Calls a message by operation.
    pub(crate) calls: BTreeMap<String, f64>,
    /// Bytes of requests' and answers' bodies, a message.
    pub(crate) body_bytes: f64,
    /// Bytes of log, a message.
    pub(crate) log_bytes: f64,
}

impl Figures {
    /// The medians of what was seen. A contender that showed nothing is left out, and every row about it is missed.
    pub(crate) fn new(seen: &BTreeMap<Contender, Seen>, field: &Field, effort: Effort, load_before: f64) -> Self {
        let contended = |(contender, seen): (&Contender, &Seen)| Some((*contender, Contended::new(seen)?));
        Self {
            date: jiff::Timestamp::now().strftime("%Y-%m-%d").to_string(),
            machine: Machine {
                architecture: std::env::consts::ARCH.to_owned(),
                cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
                load_before,
            },
            profile: field.profile.clone(),
            rounds: effort.rounds,
            batches: effort.batches,
            versions: field.versions.clone(),
            contenders: seen.iter().filter_map(contended).collect(),
        }
    }

    /// Those of a file.
    pub(crate) fn read(json: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(json)
    }

    /// The file, with the rows that follow from the figures.
    pub(crate) fn with_rows(&self, rows: &[Row]) -> Result<String, serde_json::Error> {
        #[derive(Serialize)]
        struct File<'a> {
            #[serde(flatten)]
            figures: &'a Figures,
            rows: &'a [Row],
        }
        serde_json::to_string_pretty(&File { figures: self, rows }).map(|json| json + "\n")
    }

    /// What a contender showed.
    pub(crate) fn of(&self, contender: Contender) -> Option<&Contended> {
        self.contenders.get(&contender)
    }

    /// What a contender showed in a scenario.
    pub(crate) fn in_scenario(&self, contender: Contender, scenario: Scenario, delay_ms: u64) -> Option<&Measured> {
        let series = &self.of(contender)?.series;
        series.iter().find(|measured| measured.scenario == scenario && measured.delay_ms == delay_ms)
    }
}

impl Machine {
    /// The load average of the last minute.
    pub(crate) fn load() -> f64 {
        let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        text.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(0.0)
    }
}

impl Contended {
    fn new(seen: &Seen) -> Option<Self> {
        let mut series = Vec::new();
        for delay_ms in DELAYS_MS {
            for scenario in Scenario::ALL {
                let sittings = seen.sittings.iter().filter(|sitting| sitting.delay_ms == delay_ms);
                let rounds: Vec<_> =
                    sittings.flat_map(|sitting| &sitting.series).filter(|series| series.scenario == scenario).collect();
                series.extend(Measured::new(scenario, delay_ms, &rounds));
            }
        }
        Some(Self {
            init_ms: milliseconds(percentile(seen.starts.iter().map(|start| start.init), 50)?),
            init_bytes: percentile(seen.starts.iter().map(|start| start.resident_bytes), 50)?,
            peak_bytes: percentile(seen.sittings.iter().map(|sitting| sitting.peak_bytes), 50)?,
            connections: seen.sittings.iter().map(|sitting| sitting.connections).max()?,
            series,
        })
    }
}

impl Measured {
    fn new(scenario: Scenario, delay_ms: u64, rounds: &[&Series]) -> Option<Self> {
        let median = |of: fn(&Series) -> f64| percentile(rounds.iter().map(|series| of(series)), 50);
        let batches = || rounds.iter().flat_map(|series| series.batches.iter().copied());
        let mut calls: BTreeMap<String, f64> = BTreeMap::new();
        let records: usize = rounds.iter().map(|series| series.records()).sum();
        for series in rounds {
            for (operation, tally) in series.counts.iter() {
                *calls.entry(operation.to_owned()).or_default() += tally.calls as f64;
            }
        }
        calls.values_mut().for_each(|calls| *calls /= records as f64);
        let bytes = |series: &Series| series.counts.iter().map(|(_, tally)| tally.bytes).sum::<u64>() as f64;
        Some(Self {
            scenario,
            delay_ms,
            cpu_ms: median(|series| milliseconds(series.cpu) / series.batches.len() as f64)?,
            batches_per_second: median(|series| series.batches.len() as f64 / series.wall.as_secs_f64())?,
            p50_ms: milliseconds(percentile(batches(), 50)?),
            p99_ms: milliseconds(percentile(batches(), 99)?),
            harness_busy: median(|series| series.harness_cpu.as_secs_f64() / series.wall.as_secs_f64())?,
            calls,
            body_bytes: rounds.iter().map(|series| bytes(series)).sum::<f64>() / records as f64,
            log_bytes: rounds.iter().map(|series| series.log_bytes as f64).sum::<f64>() / records as f64,
        })
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::measure::Start;
    use crate::sitting::Sitting;
    use crate::stub::Counts;

    fn series(scenario: Scenario, cpu_ms: u64) -> Series {
        let mut counts = Counts::default();
        (0..40).for_each(|_| counts.add("UpdateItem", 100));
        Series {
            scenario,
            batches: vec![Duration::from_millis(4), Duration::from_millis(6)],
            wall: Duration::from_millis(10),
            cpu: Duration::from_millis(cpu_ms),
            harness_cpu: Duration::from_millis(5),
            counts,
            log_bytes: 6_000,
        }
    }

    #[test]
    fn figures_are_medians_over_rounds_a_batch_or_a_message() {
        let sitting = |cpu_ms| Sitting {
            delay_ms: 0,
            peak_bytes: cpu_ms,
            connections: cpu_ms,
            series: vec![series(Scenario::New, cpu_ms)],
        };
        let start = |init_ms| Start { init: Duration::from_millis(init_ms), resident_bytes: 9, connections: 0 };
        let seen = Seen { starts: [3, 1, 2].map(start).to_vec(), sittings: [2, 40, 4].map(sitting).to_vec() };
        let contended = Contended::new(&seen).expect("figures");
        assert_eq!((contended.init_ms, contended.peak_bytes, contended.connections), (2.0, 4, 40));
        let [measured] = contended.series.as_slice() else { panic!("one scenario was seen") };
        assert_eq!((measured.scenario, measured.delay_ms), (Scenario::New, 0));
        assert_eq!((measured.cpu_ms, measured.batches_per_second, measured.harness_busy), (2.0, 200.0, 0.5));
        assert_eq!((measured.p50_ms, measured.p99_ms), (4.0, 6.0));
        assert_eq!(measured.calls, BTreeMap::from([("UpdateItem".to_owned(), 2.0)]));
        assert_eq!((measured.body_bytes, measured.log_bytes), (200.0, 300.0));
    }

    #[test]
    fn nothing_seen_is_no_figure() {
        assert_eq!(Contended::new(&Seen::default()), None);
    }
}
