//! The protocol as a model of `stateright`, which looks at every state and judges the properties of states.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Property as Judged};

use crate::moves::{Move, Protocol};
use crate::property::{Property, beginning};
use crate::world::World;

impl Model for Protocol {
    type State = World;
    type Action = Move;

    fn init_states(&self) -> Vec<World> {
        vec![beginning(self)]
    }

    fn actions(&self, state: &World, actions: &mut Vec<Move>) {
        actions.extend(self.moves(state));
    }

    fn next_state(&self, _: &World, action: Move) -> Option<World> {
        Some(action.next)
    }

    fn properties(&self) -> Vec<Judged<Self>> {
        macro_rules! always {
            ($($property:ident),+) => {
                vec![$(Judged::always(Property::$property.name(), |protocol, world| {
                    Property::$property.holds(protocol, world)
                })),+]
            };
        }
        always![
            OneEffect,
            StrangersChangeNothing,
            StaleWishesChangeNothing,
            HandlersOwnTheirJob,
            DeadStayDead,
            SettlementsAreRecognised,
            NothingUntriedIsDeadLettered,
            AttemptsAreBounded,
            NothingDisappears,
            DataStay,
            PutBackRuns,
            RedriveEnds
        ]
    }
}

/// What `stateright` found.
#[derive(Debug, Clone)]
pub struct Verdict {
    /// Different states.
    pub states: usize,
    /// Moves between them.
    pub moves: usize,
    /// Length of the longest shortest path to a state.
    pub depth: usize,
    /// Properties that do not hold.
    pub broken: Vec<Property>,
    /// How long it took.
    pub took: Duration,
}

/// Whether `stateright` finds the property broken.
pub fn find(protocol: Protocol, property: Property) -> bool {
    let wanted = HasDiscoveries::AnyOf(BTreeSet::from([property.name()]));
    let checker = protocol.checker().finish_when(wanted).spawn_bfs().join();
    checker.discoveries().contains_key(property.name())
}

/// Looks at all states of the protocol within its bounds.
pub fn check(protocol: Protocol, threads: usize) -> Verdict {
    let began = Instant::now();
    let checker = protocol.checker().threads(threads).spawn_bfs().join();
    let found = checker.discoveries();
    let broken = Property::ALL.into_iter().filter(|property| found.contains_key(property.name())).collect();
    Verdict {
        states: checker.unique_state_count(),
        moves: checker.state_count(),
        depth: checker.max_depth(),
        broken,
        took: began.elapsed(),
    }
}
