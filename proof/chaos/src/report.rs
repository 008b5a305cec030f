//! The result: for programs as JSON, for people as tables.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ikkai_cli::screen::{Screen, Tone};
use serde::Serialize;

use crate::book::Standing;
use crate::fault::Fault;
use crate::verdict::{Doubt, Violation};

/// How many violations are shown with their timelines; the file has them all.
const SHOWN: usize = 3;

/// How many jobs in doubt are shown.
const DOUBTS_SHOWN: usize = 20;

/// What came of a run.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Whether every promise was kept.
    pub ok: bool,
    /// What the plan was drawn from.
    pub seed: u64,
    /// What played AWS.
    pub engine: String,
    /// How long it took.
    pub seconds: Seconds,
    /// Where jobs stood in the end.
    pub jobs: Standing,
    /// What the providers' books hold.
    pub effects: Effects,
    /// Jobs, deliveries among them, that took more than one attempt since they were last put back.
    pub repeated: u64,
    /// Jobs, deliveries among them, whose worker died or outlived its lease since they were last put back.
    pub crashed: u64,
    /// Messages that the operator has put back.
    pub put_back: u64,
    /// Calls of the functions, by operation.
    pub calls: BTreeMap<String, u64>,
    /// How often each kind of fault has happened.
    pub faults: BTreeMap<&'static str, u64>,
    /// Promises that were broken.
    pub violations: Vec<Violation>,
    /// Jobs of which nobody knows whether their effect happened.
    pub in_doubt: Vec<Doubt>,
    /// What happened to the jobs that broke promises.
    pub timelines: BTreeMap<String, Vec<String>>,
    /// Where the engine's log is.
    pub log: PathBuf,
}

/// Durations of the parts of a run, in seconds.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Seconds {
    /// Until everything ran.
    pub set_up: f64,
    /// In which jobs went in and things went wrong.
    pub trouble: f64,
    /// In which nothing went wrong any more, until all had ended.
    pub settling: f64,
}

/// Counts of the providers' books.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Effects {
    /// Mails in the box.
    pub mails: u64,
    /// Payments that moved money.
    pub payments: u64,
    /// Events that the receiver was told, repetitions included.
    pub told: u64,
}

impl Report {
    /// The counts of faults under their names.
    #[must_use]
    pub fn named(faults: &BTreeMap<Fault, u64>) -> BTreeMap<&'static str, u64> {
        faults.iter().map(|(fault, count)| (fault.name(), *count)).collect()
    }

    /// Tells it on the screen.
    pub fn print(&self, screen: &Screen) {
        let row = |name: &str, value: String| vec![name.to_owned(), value];
        let jobs = &self.jobs;
        screen.table(
            &["", "count"],
            [
                row("jobs accepted", jobs.accepted.to_string()),
                row("clients that heard nothing", jobs.unheard.to_string()),
                row("jobs done", jobs.done.to_string()),
                row("jobs in doubt", jobs.in_doubt.to_string()),
                row("jobs dead", jobs.dead.to_string()),
                row("jobs not ended", jobs.in_flight.to_string()),
                row("jobs that took more than one attempt", self.repeated.to_string()),
                row("jobs that their worker left", self.crashed.to_string()),
                row("messages put back by the operator", self.put_back.to_string()),
                row("mails in the provider's box", self.effects.mails.to_string()),
                row("payments in the provider's books", self.effects.payments.to_string()),
                row("events that the receiver was told", self.effects.told.to_string()),
                row("calls of the functions", self.calls.values().sum::<u64>().to_string()),
            ],
        );
        screen.line("");
        screen.table(&["fault", "happened"], self.faults.iter().map(|(name, count)| row(name, count.to_string())));
        self.print_doubts(screen);
        self.print_violations(screen);
        screen.line("");
        let (tone, word) =
            if self.ok { (Tone::Good, "every promise was kept") } else { (Tone::Bad, "NOT every promise was kept") };
        let times = &self.seconds;
        screen.line(format!(
            "{}: seed {}, {:.0} s of trouble, {:.0} s until all had ended, on {}",
            screen.paint(tone, word),
            self.seed,
            times.trouble,
            times.settling,
            self.engine
        ));
    }

    fn print_doubts(&self, screen: &Screen) {
        if self.in_doubt.is_empty() {
            return;
        }
        screen.line("");
        screen.line(format!("Jobs that were in doubt, for an operator to look at ({}):", self.in_doubt.len()));
        let rows = self.in_doubt.iter().take(DOUBTS_SHOWN).map(|doubt| {
            let reason = doubt.reason.clone().unwrap_or_default();
            vec![doubt.job.clone(), reason, doubt.effects.to_string()]
        });
        screen.table(&["job", "reason", "effects at the provider"], rows);
        if self.in_doubt.len() > DOUBTS_SHOWN {
            screen.line(format!("… and {} more; --json has them all", self.in_doubt.len() - DOUBTS_SHOWN));
        }
    }

    fn print_violations(&self, screen: &Screen) {
        if self.violations.is_empty() {
            return;
        }
        screen.line("");
        screen.line(format!("Broken promises ({}):", self.violations.len()));
        let rows = self.violations.iter().map(|violation| {
            vec![format!("{:?}", violation.broken), violation.job.clone().unwrap_or_default(), violation.found.clone()]
        });
        screen.table(&["promise", "job", "found"], rows);
        for (job, lines) in self.timelines.iter().take(SHOWN) {
            screen.line("");
            screen.line(job);
            lines.iter().for_each(|line| screen.line(format!("  {line}")));
        }
        screen.line("");
        screen.line(format!("again: cargo chaos -- --seed {}; the engine's log is {}", self.seed, self.log.display()));
    }
}
