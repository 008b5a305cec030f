//! Carries the plan out.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use ikkai_cli::local::process;
use ikkai_cli::local::proxy::Rule;
use tokio::time::{Instant, sleep, sleep_until};

use crate::fault::Fault;
use crate::plan::{Deed, Door, Plan, Step};
use crate::stage::{CONSUMERS, Stage};
use crate::tally::Tally;

/// How long calls may take to come before a rule that waits for them is taken away.
const RULE_LIVES: Duration = Duration::from_secs(10);

/// Whoever makes trouble.
#[derive(Debug)]
pub struct Saboteur<'a> {
    /// Where.
    pub stage: &'a Stage,
    /// Where it is counted.
    pub tally: &'a Tally,
}

impl Saboteur<'_> {
    /// Does everything in the plan, each step at its time, and waits until the last is over.
    pub async fn carry_out(&self, plan: &Plan) {
        let began = Instant::now();
        let mut steps: FuturesUnordered<_> = plan.steps.iter().map(|step| self.step(began, step)).collect();
        while steps.next().await.is_some() {}
    }

    /// Nothing goes wrong any more: every rule is away, every door open.
    pub async fn end(&self) {
        for door in [Door::Aws, Door::Payments, Door::Receiver] {
            self.stage.door(door).clear_rules();
            self.stage.door(door).accept_connections().await;
        }
    }

    async fn step(&self, began: Instant, step: &Step) {
        sleep_until(began + step.at).await;
        match step.deed {
            Deed::Kill { draw } => self.kill(draw),
            Deed::Freeze { draw, time } => self.freeze(draw, time).await,
            Deed::Calls { fault, door, operation, count, late } => self.calls(fault, door, operation, count, late).await,
            Deed::Away { fault, door, time } => self.away(fault, door, time).await,
        }
    }

    /// A worker, or the API, dies as its machine would: no signal handler runs.
    fn kill(&self, draw: u32) {
        let mut processes = self.workers();
        processes.extend(self.stage.aws.function_processes(self.stage.stack().producer()));
        if let Some(pid) = chosen(&processes, draw) {
            process::kill(pid);
            self.tally.happened(Fault::Kill);
        }
    }

    async fn freeze(&self, draw: u32, time: Duration) {
        let Some(frozen) = chosen(&self.workers(), draw).map(Frozen::new) else { return };
        self.tally.happened(Fault::Freeze);
        sleep(time).await;
        drop(frozen);
    }

    async fn calls(&self, fault: Fault, door: Door, operation: &'static str, count: u32, late: Duration) {
        let rule = self.stage.door(door).add(rule(fault, operation, late).times(count));
        self.tally.follow(fault, rule.clone());
        let _ = tokio::time::timeout(RULE_LIVES, rule.arrived_times(count)).await;
        rule.remove();
    }

    async fn away(&self, fault: Fault, door: Door, time: Duration) {
        self.stage.door(door).refuse_connections().await;
        self.tally.happened(fault);
        sleep(time).await;
        self.stage.door(door).accept_connections().await;
    }

    /// The processes of the consumers that have work here.
    fn workers(&self) -> Vec<i32> {
        let names = CONSUMERS.map(|consumer| self.stage.stack().consumer(consumer).function);
        names.iter().flat_map(|name| self.stage.aws.function_processes(name)).collect()
    }
}

/// A process that stands still for as long as this lives.
#[derive(Debug)]
struct Frozen(i32);

impl Frozen {
    fn new(pid: i32) -> Self {
        process::pause(pid);
        Self(pid)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        process::resume(self.0);
    }
}

fn chosen(processes: &[i32], draw: u32) -> Option<i32> {
    let place = usize::try_from(draw).unwrap_or(0).checked_rem(processes.len())?;
    Some(processes[place])
}

/// What the proxy is told.
fn rule(fault: Fault, operation: &str, late: Duration) -> Rule {
    let rule = Rule::on(operation);
    let is_table = operation.starts_with("dynamodb.");
    match fault {
        Fault::Throttled if is_table => rule.answer(
            400,
            "ProvisionedThroughputExceededException",
            "The level of configured provisioned throughput was exceeded.",
        ),
        Fault::Throttled => rule.answer(429, "TooManyRequestsException", "slow down"),
        Fault::ServerError if is_table => rule.answer(500, "InternalServerError", "something broke"),
        Fault::ServerError => rule.answer(500, "InternalFailure", "something broke"),
        Fault::ConnectionReset => rule.drop_connection(),
        Fault::Delayed => rule.delay(late),
        Fault::AnswerLate => rule.forward_then_delay(late),
        _ => rule.forward_then_drop(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_chosen_is_there_and_nobody_is_chosen_among_none() {
        assert_eq!((chosen(&[7, 8], 0), chosen(&[7, 8], 3), chosen(&[7, 8], u32::MAX)), (Some(7), Some(8), Some(8)));
        assert_eq!(chosen(&[], 3), None);
    }
}
