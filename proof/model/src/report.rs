//! The result of a whole check: scopes in which everything holds, and variants that are found broken.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::checker;
use crate::diagram::diagram;
use crate::moves::Protocol;
use crate::property::Property;
use crate::scope::Scope;
use crate::search::search;
use crate::variant::Variant;

/// Everything that was checked.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The whole protocol.
    pub scopes: Vec<ScopeReport>,
    /// Protocols that lack a rule.
    pub variants: Vec<VariantReport>,
    /// How long it took.
    pub seconds: f64,
}

/// One scope.
#[derive(Debug, Serialize)]
pub struct ScopeReport {
    /// Its name.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Different states.
    pub states: usize,
    /// Moves between them.
    pub moves: usize,
    /// States that are an end.
    pub ends: usize,
    /// Whether `stateright` saw as many states as the search that keeps the graph.
    pub explorers_agree: bool,
    /// What does not hold, with a diagram of the way to it.
    pub broken: Vec<Broken>,
    /// How long it took.
    pub seconds: f64,
}

/// One thing that does not hold.
#[derive(Debug, Serialize)]
pub struct Broken {
    /// The property.
    pub property: &'static str,
    /// Its sentence.
    pub sentence: &'static str,
    /// A shortest way to it.
    pub diagram: String,
}

/// One protocol that lacks a rule.
#[derive(Debug, Serialize)]
pub struct VariantReport {
    /// Its name.
    pub name: &'static str,
    /// The rule that it lacks.
    pub rule: &'static str,
    /// What it is known to break.
    pub breaks: &'static str,
    /// Whether that was found, and only without the rule.
    pub is_caught: bool,
    /// Steps of the shortest way.
    pub steps: usize,
    /// Different states.
    pub states: usize,
    /// How long it took.
    pub seconds: f64,
}

/// Checks one scope: `stateright` and the search side by side, a thread each.
///
/// # Panics
/// When the checker does.
pub fn check_scope(scope: Scope) -> ScopeReport {
    let began = Instant::now();
    let protocol = Protocol { scope, variant: None };
    let (verdict, found) = std::thread::scope(|threads| {
        let checked = threads.spawn(|| checker::check(protocol, 1));
        let found = search(&protocol, None);
        (checked.join().expect("the checker does not panic"), found)
    });
    let judged: Vec<Property> =
        found.broken.iter().map(|(property, _)| *property).filter(|property| *property != Property::EndIsReachable).collect();
    let agree_on_broken = verdict.broken.len() == judged.len() && verdict.broken.iter().all(|property| judged.contains(property));
    let broken = found.broken.iter().map(|(property, path)| Broken {
        property: property.name(),
        sentence: property.sentence(),
        diagram: diagram(&protocol, path, *property),
    });
    ScopeReport {
        name: scope.name,
        about: scope.about,
        states: found.states,
        moves: found.moves,
        ends: found.ends,
        explorers_agree: verdict.states == found.states && agree_on_broken,
        broken: broken.collect(),
        seconds: seconds(began.elapsed()),
    }
}

/// Checks one variant: it breaks what it is known to break, and the whole protocol does not, within the same bounds.
pub fn check_variant(variant: Variant) -> VariantReport {
    let began = Instant::now();
    let flaw = variant.flaw();
    let without = Protocol { scope: flaw.scope, variant: Some(variant) };
    let found = search(&without, Some(flaw.breaks));
    let way = found.broken.iter().find(|(property, _)| *property == flaw.breaks);
    let is_seen_by_checker = match flaw.breaks {
        Property::EndIsReachable => true,
        property => checker::find(without, property),
    };
    let is_sound_with_rule = search(&Protocol { scope: flaw.scope, variant: None }, None).broken.is_empty();
    VariantReport {
        name: flaw.name,
        rule: flaw.rule,
        breaks: flaw.breaks.sentence(),
        is_caught: way.is_some() && is_seen_by_checker && is_sound_with_rule,
        steps: way.map_or(0, |(_, path)| path.len()),
        states: found.states,
        seconds: seconds(began.elapsed()),
    }
}

fn seconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 100.0).round() / 100.0
}

impl ScopeReport {
    /// Whether everything holds, by both explorers.
    pub fn is_good(&self) -> bool {
        self.broken.is_empty() && self.explorers_agree
    }

    /// A line of the table.
    pub fn line(&self) -> String {
        let verdict = match (self.explorers_agree, self.broken.len()) {
            (true, 0) => "holds".to_owned(),
            (false, _) => "EXPLORERS DIFFER".to_owned(),
            (true, broken) => format!("{broken} BROKEN"),
        };
        format!(
            "{:<16} {:>10} {:>11} {:>7} {:>7.1} s  {verdict}",
            self.name,
            grouped(self.states),
            grouped(self.moves),
            grouped(self.ends),
            self.seconds
        )
    }
}

impl VariantReport {
    /// A line of the table.
    pub fn line(&self) -> String {
        let verdict = if self.is_caught { "caught" } else { "NOT CAUGHT" };
        format!(
            "{:<26} {:>8} {:>5} {:>7.1} s  {verdict}: {}",
            self.name,
            grouped(self.states),
            self.steps,
            self.seconds,
            self.breaks
        )
    }
}

impl Report {
    /// Whether everything is as it should be.
    pub fn is_good(&self) -> bool {
        self.scopes.iter().all(ScopeReport::is_good) && self.variants.iter().all(|variant| variant.is_caught)
    }

    /// The last line.
    pub fn summary(&self) -> String {
        let states: usize = self.scopes.iter().map(|scope| scope.states).sum();
        let good = self.scopes.iter().filter(|scope| scope.is_good()).count();
        let caught = self.variants.iter().filter(|variant| variant.is_caught).count();
        let mut text = format!("{} states in {:.1} s", grouped(states), self.seconds);
        let _ =
            write!(text, ": {good} of {} scopes hold, {caught} of {} variants caught", self.scopes.len(), self.variants.len());
        text
    }
}

fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
