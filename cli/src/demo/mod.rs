//! `cargo demo`: plays what happens to jobs on a complete AWS on this machine, and checks what came of it.
//!
//! Every promise is compared with something measured: the job's record, the proxy's journal of all calls, the provider's mailbox, the
//! dead-letter queues. From the top: [`run`] starts the environment, `scenes` and `consumers` play, `report` and `tables` tell.

mod arguments;
mod calls;
mod consumers;
mod cost;
mod findings;
mod interrupt;
mod job;
mod keep;
mod live;
mod observer;
mod operators;
pub(crate) mod prices;
mod report;
mod scene;
mod scenes;
mod stage;
mod tables;

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use arguments::Arguments;

use arguments::Section;
use consumers::Provider;
use findings::{Findings, Missed};
use interrupt::Interrupt;
use job::JobOutcome;
use keep::Staying;
use live::Live;
use observer::Observer;
use report::{JobReport, NormalJobReport, Report, SceneReport, StepReport, rounded};
use stage::{Stacks, Stage};

use crate::json_file::JsonFile;
use crate::local::checkout::Checkout;
use crate::local::engine::EngineKind;
use crate::local::environment::{LocalAws, Options};
use crate::local::process;
use crate::local::python::{self, Extras};
use crate::progress::Progress;
use crate::screen::{Format, Screen, chain};

/// Why there are no results. The message is all that the user needs.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Longest time that anything may take before it counts as never.
const PATIENCE: Duration = Duration::from_secs(60);

/// Exit code: a promise was broken, or there are no results.
const FAILED: u8 = 1;

/// Exit code: the arguments are wrong.
const WRONG_USAGE: u8 = 2;

/// Runs the demo.
pub async fn run(arguments: Arguments) -> ExitCode {
    let screen = Screen::new(Format::Text);
    let code = match arguments.json.as_deref().map(JsonFile::open).transpose() {
        Ok(file) if arguments.keep && !arguments.stay => {
            drop(file);
            keep::start(&screen, &arguments).await
        }
        Ok(file) => play_and_tell(&screen, &arguments, file).await,
        Err(error) => {
            screen.error(&error);
            Ok(WRONG_USAGE)
        }
    };
    ExitCode::from(code.unwrap_or_else(|failure| {
        screen.error(failure.as_ref());
        FAILED
    }))
}

/// Everything but `--keep`'s first process. Interrupted, it stops what was started and leaves no half results.
async fn play_and_tell(screen: &Screen, arguments: &Arguments, mut file: Option<JsonFile>) -> Result<u8, Failure> {
    let began = Instant::now();
    let mut interrupt = Interrupt::new()?;
    let staying = arguments.stay.then(Staying::begin).transpose()?;
    let played = tokio::select! {
        played = play(screen, arguments) => played,
        code = interrupt.wanted() => {
            if !arguments.stay {
                screen.note("interrupted; what was started is stopped");
            }
            // A build or an installation would otherwise go on for a while.
            process::terminate_helpers();
            return Ok(code);
        }
    };
    // The provider lives as long as the environment does.
    let (mut report, aws, _provider) = match played {
        Ok(Played { report, aws, provider }) => (report, Some(aws), provider),
        Err(failure) => (Report::of_failure(chain(failure.as_ref()), began.elapsed()), None, None),
    };
    report.elapsed_seconds = rounded(began.elapsed());
    report.judge();
    let code = if report.ok { 0 } else { FAILED };

    let aws = match (aws, &staying) {
        (Some(aws), None) => {
            stop(screen, aws).await;
            None
        }
        (aws, _) => aws,
    };
    match &report.error {
        Some(error) => screen.note(format!("error: {error}")),
        None => tables::print(screen, &report, width()),
    }
    if let Some(file) = &mut file {
        file.write(&report)?;
    }
    if report.error.is_none() {
        tables::verdict(screen, &report);
    }
    if let (Some(staying), Some(aws)) = (staying, aws) {
        staying.announce(screen, &aws)?;
        staying.keep(&mut interrupt, aws, code).await?;
    }
    Ok(code)
}

/// What is left when everything was played.
struct Played {
    report: Report,
    aws: LocalAws,
    provider: Option<Provider>,
}

async fn play(screen: &Screen, arguments: &Arguments) -> Result<Played, Failure> {
    screen.note("Ikkai: jobs go in once, are worked on once, and what fails is kept, explained and can be put back.");
    screen.note("A complete AWS starts on this machine; nothing leaves it. The first run builds for some minutes.");
    screen.note("");
    let began = Instant::now();
    let plays_consumers = arguments.sections().contains(&Section::Consumers);
    let Setting { aws, stacks, provider, python } = set_up(screen, arguments.engine, plays_consumers).await?;
    let live = Live::new(*screen);
    let stage = Stage { aws: &aws, stacks: &stacks, live, observer: Observer::default(), provider, python };
    let engine = stage.engine().await?;
    screen.note("");
    screen.note(format!("AWS  http://{} ({engine})", aws.address()));
    screen.note(format!("API  {}", aws.stack().api_address()?.plain_url()));
    screen.note("Waits, leases and deferrals are seconds here in place of minutes, by template parameters alone:");
    screen.note("the functions are the ones that would be deployed.");
    screen.note("");

    let mut report = Report { engine, set_up_seconds: rounded(began.elapsed()), log: aws.log(), ..Report::default() };
    for section in arguments.sections() {
        match section {
            Section::Main => tokio::select! {
                () = play_main(&stage, &mut report) => {}
                failure = stage.observer.run(&aws) => return Err(failure),
            },
            Section::Consumers => tokio::select! {
                () = play_consumers(&stage, &mut report) => {}
                failure = stage.observer.run(&aws) => return Err(failure),
            },
            Section::Operators => tokio::select! {
                () = play_operators(&stage, &mut report) => {}
                failure = stage.observer.run(&aws) => return Err(failure),
            },
        }
    }
    aws.proxy().clear_rules();
    let provider = stage.provider;
    Ok(Played { report, aws, provider })
}

/// What the scenes play in.
struct Setting {
    aws: LocalAws,
    stacks: Stacks,
    provider: Option<Provider>,
    python: PathBuf,
}

/// Starts the environment: the first stack, and beside it those for scenes that need workers of their own; for the consumers a payment
/// provider and a decoder of pictures.
async fn set_up(screen: &Screen, engine: EngineKind, consumers: bool) -> Result<Setting, Failure> {
    let shown = screen.progress();
    let quiet = Arc::new(AtomicBool::new(false));
    let progress = {
        let (shown, quiet) = (shown.clone(), Arc::clone(&quiet));
        Progress::new(move |event| {
            if !quiet.load(Ordering::SeqCst) {
                shown.event(event);
            }
        })
    };
    let (provider, python) = if consumers { others_parts(&progress).await? } else { (None, PathBuf::new()) };
    let options = Options::new("demo").engine(engine).progress(progress);
    let scaled = stage::scaled_parameters().into_iter();
    let payments = provider.as_ref().map(|provider| ("PaymentApiUrl".to_owned(), provider.front.url()));
    let parameters = scaled.chain(payments);
    let aws = LocalAws::start(parameters.fold(options, |options, (name, value)| options.parameter(name, value))).await?;
    let step = shown.begin("deploying three more stacks, for workers that will be killed or kept busy");
    // Their own steps would run into each other.
    quiet.store(true, Ordering::SeqCst);
    let stacks = Stacks::deploy(&aws, provider.as_ref()).await?;
    step.done();
    Ok(Setting { aws, stacks, provider, python })
}

/// What others wrote: a payment provider, and a Python with a decoder of pictures.
async fn others_parts(progress: &Progress) -> Result<(Option<Provider>, PathBuf), Failure> {
    let checkout = Checkout::find()?;
    let provider = Provider::start(&checkout.state().join("demo-payments"), progress).await?;
    let pictures = python::environment(&checkout, Extras::Pictures, progress).await?;
    Ok((Some(provider), pictures.python()))
}

/// Plays the section and fills the report.
async fn play_main(stage: &Stage<'_>, report: &mut Report) {
    let before = stage.aws.proxy().calls();
    let (outcomes, normal) = scenes::main(stage).await;
    let calls = stage.aws.proxy().calls().since(&before);
    let mut checks = Findings::default();
    match settled(stage, &outcomes, &mut checks).await {
        Ok(dead_letters) => report.dlq.extend(dead_letters),
        Err(missed) => checks.missed(&missed),
    }
    report.checks.extend(checks);
    report.calls = calls.totals.into_iter().map(|(operation, totals)| (operation, totals.into())).collect();
    report.normal_job = normal.map(NormalJobReport::from);
    report.jobs = outcomes.into_iter().map(JobReport::from).collect();
}

/// Plays the section and fills the report.
async fn play_consumers(stage: &Stage<'_>, report: &mut Report) {
    let outcomes = consumers::play(stage).await;
    let mut checks = Findings::default();
    match consumers::settled(stage, &outcomes, &mut checks).await {
        Ok(dead_letters) => report.dlq.extend(dead_letters),
        Err(missed) => checks.missed(&missed),
    }
    report.checks.extend(checks);
    report.consumers = outcomes.into_iter().map(SceneReport::from).collect();
}

/// Plays the section and fills the report.
async fn play_operators(stage: &Stage<'_>, report: &mut Report) {
    let (steps, dead_letters) = operators::play(stage).await;
    for (queue, left) in dead_letters {
        report.checks.equal(&format!("messages in {queue}"), left, 0);
        report.dlq.insert(queue, left);
    }
    report.operators = steps.into_iter().map(StepReport::from).collect();
}

/// What holds for all jobs together: nothing is left in the queues, the dead-letter queues hold what they were promised to hold, and
/// nobody got a mail that belongs to no job. Returns what is in the dead-letter queues.
async fn settled(stage: &Stage<'_>, outcomes: &[JobOutcome], checks: &mut Findings) -> Result<BTreeMap<String, usize>, Missed> {
    let unreadable =
        |error: crate::local::engine::AskError| Missed { what: "the queues can be read".into(), found: error.to_string() };
    // Where something went wrong already, nothing is waited for.
    let all_well = outcomes.iter().all(|outcome| outcome.findings.all_kept());
    let mut dead_letters = BTreeMap::new();
    for stack in stage.stacks.all() {
        let queue = stack.email_queue();
        if all_well {
            // What is left in the end is counted below.
            let empty = async || stack.queue_counts(queue).await.is_ok_and(|counts| counts.all() == 0).then_some(());
            let _ = stage.eventually("the queue is empty", empty).await;
        }
        let left = stack.queue_counts(queue).await.map_err(unreadable)?.all();
        checks.equal(&format!("messages left in {queue}"), left, 0);
        let queue = stack.email_dead_letter_queue();
        let visible = stack.queue_counts(queue).await.map_err(unreadable)?.visible;
        let promised = outcomes.iter().filter(|outcome| outcome.dead_letter_queue.as_deref() == Some(queue)).count();
        checks.equal(&format!("visible messages in {queue}"), visible, promised);
        dead_letters.insert(queue.to_owned(), visible);
    }
    let mails: u64 = outcomes.iter().map(|outcome| outcome.mails).sum();
    checks.equal("mails in all mailboxes together", stage.mailbox(None).await? as u64, mails);
    Ok(dead_letters)
}

async fn stop(screen: &Screen, aws: LocalAws) {
    screen.note("");
    let progress = screen.progress();
    let step = progress.begin("stopping everything that was started");
    aws.stop().await;
    step.done();
}

/// The terminal's width; elsewhere lines may be as long as they are.
fn width() -> Option<u16> {
    let out = std::io::stdout();
    out.is_terminal()
        .then(|| rustix::termios::tcgetwinsize(&out).ok())
        .flatten()
        .map(|size| size.ws_col)
        .filter(|columns| *columns > 0)
}
