//! One process of a contender, from its start to its end, and the batches in between.

use std::error::Error;
use std::time::{Duration, Instant};

use ikkai_runtime_api::{Deadline, Event, FunctionProcess, Outcome};
use serde_json::{Value, json};

use crate::contender::Contender;
use crate::cpu::CpuTime;
use crate::scenario::{BATCH, Scenario};
use crate::setup::Launch;
use crate::stub::{Counts, Stub};

/// Batches that are not counted: connections open, code and caches get warm, just-in-time compilers do their work.
const WARM_UP: usize = 20;
const TIMEOUT: Duration = Duration::from_secs(30);

/// What a process showed.
#[derive(Debug, Clone)]
pub(crate) struct Sitting {
    pub(crate) delay_ms: u64,
    pub(crate) peak_bytes: u64,
    /// Connections that it opened after init.
    pub(crate) connections: u64,
    pub(crate) series: Vec<Series>,
}

/// Batches of one scenario, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) scenario: Scenario,
    /// Of each batch, from the hand-over of its event to its answer.
    pub(crate) batches: Vec<Duration>,
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The processor time of this program meanwhile: runtime API and stub, on one thread.
    pub(crate) harness_cpu: Duration,
    pub(crate) counts: Counts,
    pub(crate) log_bytes: u64,
}

impl Series {
    pub(crate) fn records(&self) -> usize {
        self.batches.len() * BATCH
    }
}

/// Starts a contender's process, gives it `batches` of each of its scenarios, and ends it.
pub(crate) async fn sitting(
    contender: Contender,
    launch: &Launch,
    stub: &Stub,
    delay_ms: u64,
    batches: usize,
) -> Result<Sitting, Box<dyn Error>> {
    prepare(stub)?;
    stub.set_delay(delay_ms);
    let variables = launch.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let process = FunctionProcess::start(&launch.binary, variables.chain([("AWS_ENDPOINT_URL", stub.url())])).await?;
    let connections = stub.connections();
    let table = Bench { contender, process: &process, stub };
    for event in events(Scenario::New, "warm", WARM_UP) {
        table.work(Scenario::New, event).await?;
    }
    let mut series = Vec::new();
    for scenario in contender.scenarios() {
        series.push(table.series(*scenario, batches).await?);
    }
    let sitting = Sitting {
        delay_ms,
        peak_bytes: process.memory()?.peak_resident_bytes,
        connections: stub.connections() - connections,
        series,
    };
    process.kill().await;
    Ok(sitting)
}

/// Empty tables, but for the one contact that all mails go to.
fn prepare(stub: &Stub) -> Result<(), String> {
    stub.clear();
    let contact = json!({
        "user_id": {"S": "user-42"}, "email": {"S": "arthur@example.com"}, "display_name": {"S": "Arthur"}, "locale": {"S": "en"},
        "variables": {"M": {"order_number": {"S": "1001"}}},
    });
    stub.prepare("PutItem", &json!({"TableName": "contacts", "Item": contact})).map(drop)
}

fn events(scenario: Scenario, name: &str, batches: usize) -> Vec<String> {
    (0..batches).map(|number| scenario.event(name, number)).collect()
}

/// A process at work.
struct Bench<'a> {
    contender: Contender,
    process: &'a FunctionProcess,
    stub: &'a Stub,
}

impl Bench<'_> {
    async fn series(&self, scenario: Scenario, batches: usize) -> Result<Series, Box<dyn Error>> {
        let events = events(scenario, "run", batches);
        self.process.idle().await;
        let (counts, cpu, harness_cpu) = (self.stub.counts(), self.cpu()?, harness()?);
        let began = Instant::now();
        let (mut took, mut log_bytes) = (Vec::with_capacity(batches), 0);
        for event in events {
            let (duration, bytes) = self.work(scenario, event).await?;
            took.push(duration);
            log_bytes += bytes;
        }
        self.process.idle().await;
        Ok(Series {
            scenario,
            batches: took,
            wall: began.elapsed(),
            cpu: self.cpu()?.since(&cpu),
            harness_cpu: harness()?.since(&harness_cpu),
            counts: self.stub.counts().since(&counts),
            log_bytes,
        })
    }

    /// One batch: how long it took, and how much was logged. Its answer has to be right.
    async fn work(&self, scenario: Scenario, event: String) -> Result<(Duration, u64), Box<dyn Error>> {
        let invocation = self.process.invoke_event(Event::new(event, Deadline::In(TIMEOUT))).await;
        let failed = match &invocation.outcome {
            Outcome::Response(answer) => failures(answer),
            _ => None,
        };
        if failed != Some(if self.contender.works() { scenario.failures() } else { 0 }) {
            let name = self.contender.name();
            let what = format!("{name} did not do {}: {:?}", scenario.name(), invocation.outcome);
            return Err(format!("{what}\n{}\n{}", invocation.log_lines.join("\n"), self.process.stderr()).into());
        }
        let log_bytes = invocation.log_lines.iter().map(|line| line.len() as u64 + 1).sum();
        Ok((invocation.duration, log_bytes))
    }

    fn cpu(&self) -> std::io::Result<CpuTime> {
        CpuTime::of(self.process.pid())
    }
}

fn harness() -> std::io::Result<CpuTime> {
    CpuTime::of(std::process::id())
}

/// How many messages an answer wants back.
fn failures(answer: &[u8]) -> Option<usize> {
    let answer: Value = serde_json::from_slice(answer).ok()?;
    answer["batchItemFailures"].as_array().map(Vec::len)
}
