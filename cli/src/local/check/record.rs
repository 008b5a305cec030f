//! The record of a check: what was measured where, when, and with how many calls.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use ikkai::clock::EpochMillis;
use serde::{Deserialize, Serialize};

use super::finding::{Finding, Verdict};
use super::place::Place;
use super::probe::Probe;
use super::trouble::Trouble;

/// What one probe measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// The probe's name.
    pub probe: String,
    /// What it belongs to.
    pub group: String,
    /// The feature.
    pub feature: String,
    /// What AWS does.
    pub aws: String,
    /// Who says so.
    pub source: String,
    /// Whether the engine does it; nothing where it could not be measured.
    pub verdict: Option<Verdict>,
    /// What was seen, or why it could not be measured.
    pub seen: String,
    /// How long it took, milliseconds.
    pub took_ms: u64,
}

impl Measured {
    pub(super) fn new(probe: &Probe, outcome: Result<Finding, Trouble>, took: Duration) -> Self {
        let (verdict, seen) = match outcome {
            Ok(finding) => (Some(finding.verdict), finding.seen),
            Err(trouble) if trouble.is_absent() => (Some(Verdict::Absent), trouble.to_string()),
            Err(trouble) => (None, trouble.to_string()),
        };
        Self {
            probe: probe.id.to_owned(),
            group: probe.group.to_owned(),
            feature: probe.feature.to_owned(),
            aws: probe.aws.to_owned(),
            source: probe.source.to_owned(),
            verdict,
            seen,
            took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// A check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// What played AWS: `ministack`, `localstack`, `aws`.
    pub engine: String,
    /// Its version; the region where it is AWS itself.
    pub version: String,
    /// The version of this program.
    pub ikkai: String,
    /// When the check began, RFC 3339.
    pub began_at: String,
    /// How long it took, milliseconds.
    pub took_ms: u64,
    /// What was measured, in the order of the table.
    pub probes: Vec<Measured>,
    /// What was made, by kind.
    pub made: BTreeMap<String, usize>,
    /// Requests that this program sent, by service.
    pub calls: BTreeMap<String, u64>,
}

impl Record {
    pub(super) fn new(place: &Place, began: SystemTime) -> Self {
        Self {
            engine: place.engine().to_owned(),
            version: place.version().to_owned(),
            ikkai: env!("CARGO_PKG_VERSION").to_owned(),
            began_at: EpochMillis::from(began).rfc3339().to_string(),
            took_ms: 0,
            probes: Vec::new(),
            made: BTreeMap::new(),
            calls: BTreeMap::new(),
        }
    }

    /// How many probes came to a verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> usize {
        self.probes.iter().filter(|measured| measured.verdict == Some(verdict)).count()
    }

    /// The probes that could not be carried out.
    pub fn not_measured(&self) -> impl Iterator<Item = &Measured> {
        self.probes.iter().filter(|measured| measured.verdict.is_none())
    }

    /// The day of the check.
    #[must_use]
    pub fn day(&self) -> &str {
        self.began_at.split('T').next().unwrap_or_default()
    }
}
