//! A search that keeps the graph, for the one property that is none of a state: from every state an end can be reached (AG EF).
//!
//! `stateright`'s `eventually` speaks of every path, faulty ones and endless ones too. Here every state is visited breadth first, every move
//! without a fault is noted, and from the states that are an end the search goes back along those moves. A state that is not met on the way back is one
//! from which nothing ends any more, whatever operators do. The first one that was visited is the nearest.
//!
//! The search judges the properties of states too: it finds shortest paths to what is broken, and must see the same states as `stateright`.

use std::time::{Duration, Instant};

use crate::moves::{Kind, Move, Protocol};
use crate::property::{Property, beginning, has_ended};
use crate::quick::{QuickMap, quick_hash};
use crate::world::World;

/// What the search found.
#[derive(Debug, Clone)]
pub struct Found {
    /// Different states.
    pub states: usize,
    /// Moves between them.
    pub moves: usize,
    /// States that are an end.
    pub ends: usize,
    /// Properties that do not hold, each with a shortest path to a state in which it does not.
    pub broken: Vec<(Property, Path)>,
    /// How long it took.
    pub took: Duration,
}

/// Moves from the beginning.
pub type Path = Vec<Move>;

struct Graph {
    /// The state from which each was met first, and which of its moves that was.
    parents: Vec<(u32, u16)>,
    /// Moves without a fault, as pairs of states.
    by_itself: Vec<(u32, u32)>,
    ends: Vec<u32>,
    moves: usize,
    broken: Vec<(Property, u32)>,
}

/// Searches all states, or no further than to the first in which the property `until` does not hold.
pub fn search(protocol: &Protocol, until: Option<Property>) -> Found {
    let began = Instant::now();
    let graph = explore(protocol, until);
    let mut broken = graph.broken.clone();
    if !graph.has_found(until)
        && let Some(state) = graph.hopeless()
    {
        broken.push((Property::EndIsReachable, state));
    }
    let paths = broken.into_iter().map(|(property, state)| (property, graph.path(protocol, state))).collect();
    Found { states: graph.parents.len(), moves: graph.moves, ends: graph.ends.len(), broken: paths, took: began.elapsed() }
}

fn explore(protocol: &Protocol, until: Option<Property>) -> Graph {
    let first = beginning(protocol);
    // By fingerprint, as in `stateright`, which makes its own: that both count the same states is checked.
    let mut known: QuickMap<u64, u32> = QuickMap::from_iter([(quick_hash(&first), 0)]);
    let mut graph = Graph { parents: vec![(0, 0)], by_itself: Vec::new(), ends: Vec::new(), moves: 1, broken: Vec::new() };
    let mut level = vec![(0, first)];
    while !level.is_empty() && !graph.has_found(until) {
        let mut next_level = Vec::new();
        for (number, world) in level {
            graph.judge(protocol, number, &world);
            for (place, step) in protocol.moves(&world).into_iter().enumerate() {
                graph.moves += 1;
                let met = u32::try_from(graph.parents.len()).expect("fewer states than that");
                let at = *known.entry(quick_hash(&step.next)).or_insert(met);
                if at == met {
                    graph.parents.push((number, u16::try_from(place).expect("few moves a state")));
                    next_level.push((at, step.next));
                }
                if step.kind == Kind::Normal {
                    graph.by_itself.push((at, number));
                }
            }
        }
        level = next_level;
    }
    graph
}

impl Graph {
    fn has_found(&self, wanted: Option<Property>) -> bool {
        self.broken.iter().any(|(property, _)| Some(*property) == wanted)
    }

    fn judge(&mut self, protocol: &Protocol, number: u32, world: &World) {
        for property in Property::ALL {
            if !property.holds(protocol, world) && self.broken.iter().all(|(known, _)| *known != property) {
                self.broken.push((property, number));
            }
        }
        // What is broken is judged; that nothing follows it is no dead end.
        if has_ended(protocol, world) || world.memory.breach.is_some() {
            self.ends.push(number);
        }
    }

    /// The nearest state from which no end can be reached without a fault.
    fn hopeless(&self) -> Option<u32> {
        let mut edges = self.by_itself.clone();
        edges.sort_unstable();
        let mut reaches = vec![false; self.parents.len()];
        let mut open = self.ends.clone();
        self.ends.iter().for_each(|end| reaches[*end as usize] = true);
        while let Some(state) = open.pop() {
            let from = edges.partition_point(|(to, _)| *to < state);
            for (_, before) in edges[from..].iter().take_while(|(to, _)| *to == state) {
                if !std::mem::replace(&mut reaches[*before as usize], true) {
                    open.push(*before);
                }
            }
        }
        reaches.iter().position(|reaches| !reaches).and_then(|state| u32::try_from(state).ok())
    }

    /// The moves by which a state was met first, made again.
    fn path(&self, protocol: &Protocol, state: u32) -> Path {
        let mut places = Vec::new();
        let mut at = state;
        while at != 0 {
            let (before, place) = self.parents[at as usize];
            places.push(place);
            at = before;
        }
        let mut world = beginning(protocol);
        let mut path = Path::with_capacity(places.len());
        for place in places.into_iter().rev() {
            let step = protocol.moves(&world)[usize::from(place)];
            world = step.next;
            path.push(step);
        }
        path
    }
}
