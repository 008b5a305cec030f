//! `ikkai local check`: what an engine does as AWS does.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::Failure;
use super::guard::Guard;
use crate::command::ending::Ending;
use crate::command::target;
use crate::local::build;
use crate::local::check::{
    Clients, Code, Ended, FUNCTION, FreshEngine, Lab, Needs, Place, Probe, Record, all, keep, lines, local_config, run,
};
use crate::local::checkout::Checkout;
use crate::local::engine::EngineKind;
use crate::screen::{Format, Screen};

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Measured {
    /// MiniStack.
    Ministack,
    /// LocalStack.
    Localstack,
    /// An AWS account.
    Aws,
}

impl Measured {
    /// The local engine; none is an account.
    fn local(self) -> Option<EngineKind> {
        match self {
            Self::Ministack => Some(EngineKind::Ministack),
            Self::Localstack => Some(EngineKind::Localstack),
            Self::Aws => None,
        }
    }
}

/// Options of `check`.
#[derive(Debug, Args)]
pub(in crate::command) struct Check {
    /// What plays AWS. Without it, the local environment of this checkout where one runs; else MiniStack is started.
    #[arg(long, value_enum, conflicts_with = "endpoint")]
    engine: Option<Measured>,
    /// An engine that runs already, such as http://127.0.0.1:4566.
    #[arg(long, value_name = "URL")]
    endpoint: Option<String>,
    #[command(flatten)]
    guard: Guard,
    /// These probes only.
    #[arg(long, value_name = "PROBE", value_delimiter = ',', value_parser = PossibleValuesParser::new(all().into_iter().map(|probe| probe.id)), hide_possible_values = true)]
    only: Vec<String>,
    /// The packed probe function, a zip; without it the function is built.
    #[arg(long, value_name = "ZIP")]
    function: Option<PathBuf>,
    /// Keeps what was measured in docs/measured/engines/ and makes docs/engines-measured.md anew.
    #[arg(long, conflicts_with = "only")]
    record: bool,
}

/// What is measured, and what has to be kept until it is.
struct Aim {
    place: Place,
    clients: Clients,
    _engine: Option<FreshEngine>,
}

impl Check {
    pub(super) async fn run(self, screen: &Screen) -> Result<ExitCode, Failure> {
        let probes: Vec<Probe> = all().into_iter().filter(|probe| self.is_wanted(probe)).collect();
        let aim = match self.aim(screen).await? {
            Ok(aim) => aim,
            Err(ending) => return Ok(ending.into()),
        };
        let code = match probes.iter().any(|probe| probe.needs == Needs::Function) {
            true => Some(self.code(screen).await?),
            false => None,
        };
        let lab = Lab::new(aim.clients, aim.place, code);
        let ended = run(&lab, &probes, &screen.progress()).await;
        self.show(screen, &ended)?;
        Ok(ending(&ended).into())
    }

    fn is_wanted(&self, probe: &Probe) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == probe.id)
    }

    async fn aim(&self, screen: &Screen) -> Result<Result<Aim, Ending>, Failure> {
        let at = async |url: &str, engine| {
            Ok::<_, Failure>(Aim {
                place: Place::engine_at(url).await?,
                clients: Clients::new(&local_config(url)),
                _engine: engine,
            })
        };
        if self.engine == Some(Measured::Aws) {
            let admitted = self.guard.admit(screen).await?;
            return Ok(admitted.map(|(place, config)| Aim { place, clients: Clients::new(&config), _engine: None }));
        }
        self.guard.refuse_without_aws()?;
        if let Some(url) = &self.endpoint {
            return Ok(Ok(at(url, None).await?));
        }
        let wanted = self.engine.and_then(Measured::local);
        let running = target::running().ok().filter(|running| wanted.is_none_or(|kind| kind == running.engine_kind));
        if let Some(running) = running {
            return Ok(Ok(at(&format!("http://{}", running.engine), None).await?));
        }
        let engine = FreshEngine::start(wanted.unwrap_or_default(), &Checkout::find()?, &screen.progress()).await?;
        let url = engine.endpoint();
        Ok(Ok(at(&url, Some(engine)).await?))
    }

    async fn code(&self, screen: &Screen) -> Result<Code, Failure> {
        let (name, zip) = match &self.function {
            Some(path) => {
                let name = path.display().to_string();
                let read = std::fs::read(path).map_err(|error| format!("cannot read the function `{name}`: {error}"))?;
                (name, read.into())
            }
            None => (FUNCTION.to_owned(), build::package(&Checkout::find()?, FUNCTION, &screen.progress()).await?.zip),
        };
        Ok(Code::of_zip(&name, zip)?)
    }

    fn show(&self, screen: &Screen, ended: &Ended) -> Result<(), Failure> {
        match screen.format() {
            Format::Json => screen.json(&Shown { record: &ended.record, left: &ended.left, interrupted: ended.interrupted }),
            Format::Text => lines(&ended.record, screen).iter().for_each(|line| screen.line(line)),
        }
        for left in &ended.left {
            screen.note(format!("not removed: {left}"));
        }
        if ended.interrupted {
            screen.note("interrupted; what the check had made was removed");
        }
        if self.record {
            let measured_all = !ended.interrupted && ended.record.not_measured().next().is_none();
            if !measured_all {
                return Err("nothing was recorded: not every feature could be measured".into());
            }
            for file in keep(&Checkout::find()?, &ended.record)? {
                screen.note(format!("written: {}", file.display()));
            }
        }
        Ok(())
    }
}

fn ending(ended: &Ended) -> Ending {
    match (ended.interrupted, ended.record.not_measured().next().is_none() && ended.left.is_empty()) {
        (true, _) => Ending::Interrupted,
        (false, true) => Ending::Done,
        (false, false) => Ending::Failed,
    }
}

/// The result for programs.
#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    record: &'a Record,
    left: &'a [String],
    interrupted: bool,
}
