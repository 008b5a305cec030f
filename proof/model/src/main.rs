//! Checks the job protocol within bounds, and that protocols which lack a rule are found broken.
#![expect(clippy::print_stdout, reason = "a command's result goes to standard output")]

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use ikkai_model::Variant;
use ikkai_model::diagram::diagram;
use ikkai_model::moves::Protocol;
use ikkai_model::report::{Report, check_scope, check_variant};
use ikkai_model::scope::{FULL, LONG, QUICK, Scope};
use ikkai_model::why::{counterexample, page};

/// Checks the job protocol: every order of events within bounds.
#[derive(Debug, Parser)]
#[command(name = "model")]
struct Arguments {
    /// Writes the result to this file, as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Shows the shortest way in which this protocol, which lacks a rule, breaks a promise.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["json", "why"])]
    variant: Option<String>,
    /// Writes the page of rules and counterexamples.
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    why: Option<PathBuf>,
    /// Only the scopes that the tests check.
    #[arg(long, conflicts_with = "long")]
    quick: bool,
    /// The larger scope too: minutes, and gigabytes of memory.
    #[arg(long)]
    long: bool,
    /// Only this scope, and no variants.
    #[arg(long, value_name = "NAME")]
    scope: Option<String>,
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Some(name) = &arguments.variant {
        return show(name);
    }
    if let Some(file) = &arguments.why {
        std::fs::write(file, page())?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = check(&arguments);
    if let Some(file) = &arguments.json {
        std::fs::write(file, serde_json::to_string_pretty(&report)? + "\n")?;
    }
    Ok(if report.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn scopes(arguments: &Arguments) -> Vec<Scope> {
    let all: Vec<Scope> = match (arguments.quick, arguments.long) {
        (true, _) => QUICK.to_vec(),
        (_, true) => FULL.into_iter().chain(LONG).collect(),
        _ => FULL.to_vec(),
    };
    let is_wanted = |scope: &Scope| arguments.scope.as_deref().is_none_or(|name| name == scope.name);
    all.into_iter().filter(is_wanted).collect()
}

fn check(arguments: &Arguments) -> Report {
    let began = Instant::now();
    let mut report = Report { scopes: Vec::new(), variants: Vec::new(), seconds: 0.0 };
    println!("{:<16} {:>10} {:>11} {:>7} {:>9}", "scope", "states", "moves", "ends", "took");
    for scope in scopes(arguments) {
        let checked = check_scope(scope);
        println!("{}", checked.line());
        for broken in &checked.broken {
            println!("\n{}\n\n{}", broken.sentence, broken.diagram);
        }
        report.scopes.push(checked);
    }
    if arguments.scope.is_none() {
        println!("\n{:<26} {:>8} {:>5} {:>9}", "without a rule", "states", "steps", "took");
        for variant in Variant::ALL {
            let checked = check_variant(variant);
            println!("{}", checked.line());
            report.variants.push(checked);
        }
    }
    report.seconds = (began.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    println!("\n{}", report.summary());
    report
}

fn show(name: &str) -> Result<ExitCode, Box<dyn Error>> {
    let Some(variant) = Variant::named(name) else {
        let names: Vec<_> = Variant::ALL.into_iter().map(|variant| variant.flaw().name).collect();
        return Err(format!("there is no variant {name}; there are {}", names.join(", ")).into());
    };
    let flaw = variant.flaw();
    let protocol = Protocol { scope: flaw.scope, variant: Some(variant) };
    println!("without the rule: {}\n", flaw.rule);
    match counterexample(&protocol, variant) {
        Some(path) => println!("{} steps\n\n{}", path.len(), diagram(&protocol, &path, flaw.breaks)),
        None => println!("nothing is broken: the model is blind for this rule"),
    }
    // A counterexample was asked for; what is broken is broken on purpose.
    Ok(ExitCode::SUCCESS)
}
