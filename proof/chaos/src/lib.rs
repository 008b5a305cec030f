//! A soak of Ikkai: the deployed functions, as processes on a local engine, while they are killed, frozen and cut off.
//!
//! ```text
//! clients ─▶ producer API ─▶ queues ─▶ consumers ─▶ mails, payments, webhooks
//!                  ▲                      ▲  ▲              ▲
//!                  └──────── kill, freeze ┘  └── doors ─────┘   what calls pass; they refuse, delay, lose answers
//! ```
//!
//! From the top: [`run`] sets the [`stage`], lets [`clients`] feed jobs in while a [`sabotage`] carries out its [`plan`], then, with nothing going
//! wrong any more, lets an [`operator`] put back what has died, counts the [`evidence`] and holds the promises against it in [`verdict`].

pub mod arguments;
pub mod book;
pub mod clients;
pub mod evidence;
pub mod fault;
pub mod live;
pub mod operator;
pub mod plan;
pub mod report;
pub mod sabotage;
pub mod stage;
pub mod tally;
pub mod timeline;
pub mod verdict;
pub mod watch;

use std::collections::BTreeMap;
use std::pin::pin;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use ikkai_cli::json_file::JsonFile;
use ikkai_cli::local::stack::Consumer;
use ikkai_cli::operator::Interrupt;
use ikkai_cli::screen::Screen;

pub use arguments::Arguments;

use book::Book;
use clients::{Bounds, Clients};
use evidence::Item;
use live::Live;
use operator::Operator;
use plan::{Door, Plan};
use report::{Effects, Report, Seconds};
use sabotage::Saboteur;
use stage::{Stage, most_attempts};
use tally::Tally;
use timeline::Timelines;
use verdict::{Evidence, Limits, Verdict};
use watch::Watch;

/// Why there is no result. The message is all that the user needs.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Exit code: a promise was broken, or there is no result.
const FAILED: u8 = 1;

/// Exit code: the arguments are wrong.
const WRONG_USAGE: u8 = 2;

/// Exit code: interrupted.
const INTERRUPTED: u8 = 130;

/// How many jobs that broke promises get their timelines told.
const TIMELINES: usize = 50;

/// Runs the soak.
pub async fn run(screen: &Screen, arguments: &Arguments) -> ExitCode {
    let seed = arguments.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let plan = Plan::draw(seed, arguments.minutes, &arguments.kinds());
    if arguments.plan {
        plan.steps.iter().for_each(|step| screen.line(step));
        return ExitCode::SUCCESS;
    }
    let mut file = match arguments.json.as_deref().map(JsonFile::open).transpose() {
        Ok(file) => file,
        Err(error) => {
            screen.error(&error);
            return ExitCode::from(WRONG_USAGE);
        }
    };
    let note = *screen;
    let interrupt = Interrupt::listen(move || note.note("interrupted; what was started is stopped"));
    let mut stop = interrupt.clone();
    let played = tokio::select! {
        played = play(screen, arguments, &plan, interrupt) => played,
        () = stop.wanted() => return ExitCode::from(INTERRUPTED),
    };
    let told = played.and_then(|report| {
        report.print(screen);
        if let Some(file) = &mut file {
            file.write(&report)?;
        }
        Ok(report.ok)
    });
    match told {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(FAILED),
        Err(failure) => {
            screen.error(failure.as_ref());
            ExitCode::from(FAILED)
        }
    }
}

async fn play(screen: &Screen, arguments: &Arguments, plan: &Plan, interrupt: Interrupt) -> Result<Report, Failure> {
    let began = Instant::now();
    let stage = Stage::set(arguments, &screen.progress()).await?;
    let set_up = began.elapsed();
    tell_plan(screen, plan, &stage).await?;

    let (book, tally) = (Book::default(), Tally::new(arguments.kinds()));
    let first_job = SystemTime::now();
    let trouble = trouble(screen, arguments, plan, &stage, &book, &tally).await?;
    let calm = Instant::now();
    let mut put_back = calm_down(screen, &stage, &book, &tally, &interrupt).await?;
    let mut counted = Counted::of(&stage, &book, &tally).await?;
    let in_doubt = verdict::doubts(&counted.evidence);
    if arguments.resolve && !in_doubt.is_empty() {
        Operator { stage: &stage, book: &book }.resolve(&in_doubt).await?;
        put_back += calm_down(screen, &stage, &book, &tally, &interrupt).await?;
        counted = Counted::of(&stage, &book, &tally).await?;
    }
    let settling = calm.elapsed();

    let Counted { items, evidence } = counted;
    let verdict = verdict::judge(&evidence, limits());
    let verdict = if arguments.resolve { verdict.without_doubt() } else { verdict };
    let timelines = timelines(&stage, &verdict, &items, first_job).await?;
    let report = Report {
        ok: verdict.is_well(),
        seed: plan.seed,
        engine: stage.engine().await?,
        seconds: Seconds { set_up: rounded(set_up), trouble: rounded(trouble), settling: rounded(settling) },
        jobs: book.standing(),
        effects: Effects { mails: evidence.mails, payments: evidence.payments, told: stage.told().len() as u64 },
        repeated: evidence.repeated(),
        crashed: evidence.crashes(),
        put_back,
        calls: calls(&stage),
        faults: Report::named(&evidence.faults),
        violations: verdict.violations,
        in_doubt,
        timelines,
        log: stage.aws.log(),
    };
    stage.aws.stop().await;
    Ok(report)
}

/// What was counted, and the records that it was read from.
struct Counted {
    items: BTreeMap<String, Item>,
    evidence: Evidence,
}

impl Counted {
    async fn of(stage: &Stage, book: &Book, tally: &Tally) -> Result<Self, Failure> {
        let items = evidence::items(stage).await?;
        let evidence = evidence::gather(stage, book, tally, &items).await?;
        Ok(Self { items, evidence })
    }
}

async fn tell_plan(screen: &Screen, plan: &Plan, stage: &Stage) -> Result<(), Failure> {
    screen.note("");
    screen.note(format!("AWS    http://{} ({})", stage.aws.address(), stage.engine().await?));
    let counts: Vec<_> = plan.counts().iter().map(|(fault, count)| format!("{count} × {}", fault.name())).collect();
    screen.note(format!("seed   {}", plan.seed));
    screen.note(format!("plan   {}; `--plan --seed {}` prints every step", counts.join(", "), plan.seed));
    screen.note("");
    Ok(())
}

/// Jobs go in and things go wrong, at the same time. Returns for how long.
async fn trouble(
    screen: &Screen,
    arguments: &Arguments,
    plan: &Plan,
    stage: &Stage,
    book: &Book,
    tally: &Tally,
) -> Result<Duration, Failure> {
    let began = Instant::now();
    let bounds = Bounds { until: began + arguments.minutes, jobs: arguments.jobs, in_flight: arguments.in_flight };
    let clients = Clients { stage, book, tally, seed: plan.seed };
    let saboteur = Saboteur { stage, tally };
    let both = async {
        let (mut feeding, mut sabotage) = (pin!(clients.feed(bounds)), pin!(saboteur.carry_out(plan)));
        tokio::select! {
            () = &mut sabotage => feeding.await,
            fed = &mut feeding => {
                // Where the jobs are used up before the time is, nothing is left to make trouble for.
                tokio::select! {
                    () = &mut sabotage => {}
                    () = all_has_been(book, tally) => {}
                }
                fed
            }
        }
    };
    let (watch, live) = (Watch::new(stage, book), Live::new(*screen, book, tally));
    tokio::select! {
        fed = both => fed?,
        failure = watch.run() => return Err(failure),
        () = live.tell("jobs go in, things go wrong") => {}
    }
    Ok(began.elapsed())
}

/// Waits until every job has ended and every kind of fault has happened.
async fn all_has_been(book: &Book, tally: &Tally) {
    while !book.open().is_empty() || tally.counts().values().any(|count| *count == 0) {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Nothing goes wrong any more; an operator puts back what has died, until all has ended.
async fn calm_down(screen: &Screen, stage: &Stage, book: &Book, tally: &Tally, interrupt: &Interrupt) -> Result<u64, Failure> {
    let mut interrupt = interrupt.clone();
    Saboteur { stage, tally }.end().await;
    let (watch, live) = (Watch::new(stage, book), Live::new(*screen, book, tally));
    let operator = Operator { stage, book };
    let put_back = tokio::select! {
        settled = operator.settle(&mut interrupt) => settled?,
        failure = watch.run() => return Err(failure),
        () = live.tell("nothing goes wrong any more") => 0,
    };
    watch.look().await?;
    Ok(put_back)
}

fn limits() -> Limits {
    let [mail, charge, delivery] = [Consumer::Email, Consumer::Billing, Consumer::Webhook].map(most_attempts);
    Limits { mail, charge, delivery }
}

async fn timelines(
    stage: &Stage,
    verdict: &Verdict,
    items: &BTreeMap<String, Item>,
    began: SystemTime,
) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut jobs: Vec<&str> = verdict.violations.iter().filter_map(|violation| violation.job.as_deref()).collect();
    jobs.dedup();
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let timelines = Timelines::of(stage, began).await?;
    let told = jobs.into_iter().take(TIMELINES).map(|job| (job.to_owned(), timelines.about(job, items.get(job))));
    Ok(told.collect())
}

/// Calls through all doors, by operation.
fn calls(stage: &Stage) -> BTreeMap<String, u64> {
    let totals = [Door::Aws, Door::Payments, Door::Receiver].map(|door| stage.door(door).calls().totals);
    totals.into_iter().flatten().map(|(operation, totals)| (operation, totals.calls)).collect()
}

fn rounded(time: Duration) -> f64 {
    (time.as_secs_f64() * 10.0).round() / 10.0
}
