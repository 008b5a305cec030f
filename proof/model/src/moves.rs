//! What can happen next: moves are collected here, each with the world that it leads to.

use crate::asking::{Policy, Rules, Sent};
use crate::canonical;
use crate::scope::Scope;
use crate::variant::Variant;
use crate::what::What;
use crate::world::{Message, World};

/// The protocol within bounds, whole or with a rule left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protocol {
    /// The bounds.
    pub scope: Scope,
    /// The rule that is left out.
    pub variant: Option<Variant>,
}

/// One step of one process, or of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Move {
    /// What happens.
    pub what: What,
    /// Whether it is part of a bad day.
    pub kind: Kind,
    /// What the world is then.
    pub next: World,
}

/// Sorts of moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Happens by itself, or by an operator who wants to get the job done.
    Normal,
    /// Goes wrong.
    Fault,
}

/// The moves that are possible in a world.
pub struct Moves<'a> {
    /// The protocol.
    pub protocol: &'a Protocol,
    /// The world.
    pub world: &'a World,
    /// What was found.
    pub found: Vec<Move>,
}

impl Protocol {
    /// The rules of the consumer's claims.
    pub fn claim_rules(&self) -> Rules {
        let max_attempts = if self.lacks(Variant::NoAttemptCheck) { u32::MAX } else { self.scope.max_attempts };
        Rules { max_attempts, ..self.rules() }
    }

    /// The rules of the consumer.
    pub fn rules(&self) -> Rules {
        Rules {
            max_attempts: self.scope.max_attempts,
            max_generations: self.scope.max_generations,
            needs_data: self.scope.requests > 0,
            policy: if self.lacks(Variant::NoWindow) { Policy::Rerun } else { self.scope.policy },
        }
    }

    /// Whether this rule is left out.
    pub fn lacks(&self, variant: Variant) -> bool {
        self.variant == Some(variant)
    }

    /// The state that stands for all that differ from it in names alone. Workers keep their numbers where paths are to be read.
    pub fn canonical(&self, world: World) -> World {
        if self.variant.is_none() { canonical::sorted(world) } else { canonical::named(world) }
    }

    /// Everything that can happen next. After a broken rule nothing does.
    pub fn moves(&self, world: &World) -> Vec<Move> {
        let mut moves = Moves { protocol: self, world, found: Vec::with_capacity(24) };
        if world.memory.breach.is_none() {
            for worker in 0..self.scope.workers {
                moves.of_worker(worker);
            }
            moves.of_requests();
            moves.of_queue();
            moves.of_time();
            moves.of_operator();
        }
        moves.found
    }
}

impl Moves<'_> {
    /// Adds something that happens by itself.
    pub fn normal(&mut self, what: What, next: World) {
        self.add(what, Kind::Normal, next);
    }

    /// Adds something that goes wrong.
    pub fn fault(&mut self, what: What, next: World) {
        self.add(what, Kind::Fault, next);
    }

    fn add(&mut self, what: What, kind: Kind, next: World) {
        let mut next = next;
        if self.protocol.lacks(Variant::TtlOnUnfinished) {
            let is_new = next.records != self.world.records;
            next.records = next.records.map(|record| record.map(|kept| if is_new { kept.ending() } else { kept }));
        }
        self.found.push(Move { what, kind, next: self.protocol.canonical(next) });
    }

    /// When the message was sent, as the claim is told.
    pub fn sent(&self, message: Option<Message>) -> Sent {
        let is_late = message.is_some_and(|message| message.is_late) || self.protocol.lacks(Variant::NoMargin);
        if is_late { Sent::AfterDeath } else { Sent::BeforeDeath }
    }

    /// The record that a new message belongs to. A variant keys records by message id.
    pub fn key_of_new(&self) -> u8 {
        u8::from(self.protocol.lacks(Variant::KeyByMessageId))
    }

    /// Puts another message into the source queue, if there is room in this scope.
    pub fn sent_to_queue(&self, world: &World, message: Message) -> Option<World> {
        let place = world.free_place(self.protocol.scope.slots)?;
        let mut next = *world;
        next.messages[usize::from(place)] = Some(message);
        Some(next)
    }
}
