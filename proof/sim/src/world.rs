//! What everybody in a run shares: services, dice, the count of what went wrong, and what was found.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ikkai::clock::{Clock, EpochMillis};
use ikkai::job::JobId;
use ikkai::testing::{MemorySqs, TokioClock};
use tokio::sync::Notify;

use crate::fault::{Fault, Tally};
use crate::mutant::Mutant;
use crate::plan::Plan;
use crate::provider::Provider;
use crate::stage::Line;
use crate::table::Table;

/// The moment every run starts at.
pub(crate) const START: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

/// Everything that is shared in one run. Nothing in it looks at the machine: the same seed is the same run.
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) mutant: Option<Mutant>,
    pub(crate) clock: TokioClock,
    pub(crate) sqs: MemorySqs,
    pub(crate) table: Arc<Table>,
    pub(crate) mails: Provider,
    pub(crate) charges: Provider,
    dice: Mutex<fastrand::Rng>,
    is_troubled: AtomicBool,
    calls: AtomicU64,
    notes: Mutex<Notes>,
    timeline: Option<Mutex<Vec<String>>>,
    arrivals: [Notify; 2],
}

/// What is written down about a run.
#[derive(Default)]
struct Notes {
    faults: Tally,
    violations: Vec<String>,
    /// Jobs whose clients heard 202, with what their clients call them.
    accepted: BTreeMap<JobId, String>,
    /// How often an operator has said that a job shall run again.
    allowances: BTreeMap<JobId, u32>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("plan", &self.plan).finish_non_exhaustive()
    }
}

impl World {
    pub(crate) fn new(seed: u64, mutant: Option<Mutant>, with_timeline: bool) -> Arc<Self> {
        let mut dice = fastrand::Rng::with_seed(seed);
        let plan = Plan::of(&mut dice);
        let clock = TokioClock::new(START);
        let key_memory = plan.key_window + Provider::MARGIN;
        Arc::new(Self {
            mutant,
            sqs: MemorySqs::new(Arc::new(clock.clone())),
            table: Arc::new(Table::new(clock.clone(), plan.max_attempts)),
            mails: Provider::plain(),
            charges: Provider::keyed(key_memory),
            clock,
            dice: Mutex::new(dice),
            is_troubled: AtomicBool::new(true),
            calls: AtomicU64::new(0),
            notes: Mutex::default(),
            timeline: with_timeline.then(Mutex::default),
            arrivals: [Notify::new(), Notify::new()],
            plan,
        })
    }

    pub(crate) fn now(&self) -> EpochMillis {
        self.clock.now()
    }

    /// Throws dice. Whoever asks in the same order gets the same answers.
    pub(crate) fn roll<T>(&self, roll: impl FnOnce(&mut fastrand::Rng) -> T) -> T {
        roll(&mut locked(&self.dice))
    }

    /// A random time between these.
    pub(crate) fn some_time(&self, least: Duration, most: Duration) -> Duration {
        let (least, most) = (least.as_millis() as u64, most.as_millis() as u64);
        Duration::from_millis(self.roll(|dice| dice.u64(least..=most)))
    }

    /// Lets a random time between these pass, milliseconds.
    pub(crate) async fn pause(&self, least: u64, most: u64) {
        let time = self.some_time(Duration::from_millis(least), Duration::from_millis(most));
        tokio::time::sleep(time).await;
    }

    /// Whether something happens that does so many times in a hundred.
    pub(crate) fn chance(&self, percent: u32) -> bool {
        percent > 0 && self.roll(|dice| dice.u32(0..100)) < percent
    }

    /// Whether things still go wrong.
    pub(crate) fn is_troubled(&self) -> bool {
        self.is_troubled.load(Ordering::Relaxed)
    }

    /// Nothing goes wrong any more.
    pub(crate) fn calm_down(&self) {
        self.is_troubled.store(false, Ordering::Relaxed);
    }

    /// Whether this fault may happen now.
    pub(crate) fn allows(&self, fault: Fault) -> bool {
        self.is_troubled() && self.plan.allows(fault)
    }

    /// Whether it happens now, so many times in a hundred; counted if so.
    pub(crate) fn strikes(&self, fault: Fault, percent: u32) -> bool {
        let strikes = self.allows(fault) && self.chance(percent);
        if strikes {
            self.happened(fault);
        }
        strikes
    }

    /// It happened.
    pub(crate) fn happened(&self, fault: Fault) {
        self.notes().faults.count(fault);
        self.tell("fault", || fault.name().to_owned());
    }

    /// A service was called.
    pub(crate) fn called(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    pub(crate) fn faults(&self) -> Tally {
        self.notes().faults
    }

    pub(crate) fn is_mutant(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }

    /// Notes that a law was broken.
    pub(crate) fn broken(&self, law: impl Into<String>) {
        let law = law.into();
        self.tell("VIOLATION", || law.clone());
        self.notes().violations.push(law);
    }

    pub(crate) fn violations(&self) -> Vec<String> {
        self.notes().violations.clone()
    }

    pub(crate) fn is_broken(&self) -> bool {
        !self.notes().violations.is_empty()
    }

    /// A client heard 202.
    pub(crate) fn accepted(&self, job_id: JobId, name: &str) {
        self.notes().accepted.insert(job_id, name.to_owned());
    }

    pub(crate) fn all_accepted(&self) -> Vec<(JobId, String)> {
        self.notes().accepted.iter().map(|(job_id, name)| (job_id.clone(), name.clone())).collect()
    }

    /// An operator says that a job shall run again: from now on one more effect of it is what was asked for.
    pub(crate) fn allow_again(&self, job_id: &JobId) {
        *self.notes().allowances.entry(job_id.clone()).or_default() += 1;
    }

    pub(crate) fn allowance(&self, job_id: &JobId) -> u32 {
        self.notes().allowances.get(job_id).copied().unwrap_or(0)
    }

    /// The provider of a kind of jobs.
    pub(crate) fn provider(&self, line: Line) -> &Provider {
        match line {
            Line::Mail => &self.mails,
            Line::Charge => &self.charges,
        }
    }

    /// Something came into a queue, or became visible.
    pub(crate) fn arrived(&self, line: Line) {
        self.arrivals[line as usize].notify_one();
    }

    /// Ends when something comes into a queue.
    pub(crate) async fn arrival(&self, line: Line) {
        self.arrivals[line as usize].notified().await;
    }

    /// Writes a line of the timeline, if there is one.
    pub(crate) fn tell(&self, who: &str, what: impl FnOnce() -> String) {
        if let Some(timeline) = &self.timeline {
            let at = self.now().since(START);
            locked(timeline).push(format!("{:>9.3} s  {who:<14} {}", at.as_secs_f64(), what()));
        }
    }

    pub(crate) fn timeline(&self) -> Vec<String> {
        self.timeline.as_ref().map(|timeline| locked(timeline).clone()).unwrap_or_default()
    }

    fn notes(&self) -> MutexGuard<'_, Notes> {
        locked(&self.notes)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
