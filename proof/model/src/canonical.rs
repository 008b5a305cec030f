//! States that differ in names alone are one: tokens that nobody holds, numbers of writes, the order of alike workers and messages.

use ikkai::clock::EpochMillis;

use crate::book::{Kept, Names};
use crate::quick::quick_hash;
use crate::scope::{MOST_MESSAGES, MOST_REQUESTS, MOST_WORKERS};
use crate::token::Token;
use crate::world::{Message, NOWHERE, Operator, Request, Seen, Step, World};

/// Records, and copies of them that somebody holds.
const MOST_VIEWS: usize = 2 + MOST_WORKERS + MOST_REQUESTS + 1;

/// Whose number is which, after the sorting.
type Order = [u8; MOST_WORKERS];

const UNSORTED: Order = [0, 1, 2];

/// The state under names by order of appearance.
pub(crate) fn named(world: World) -> World {
    renamed(world, UNSORTED)
}

/// The same, with alike workers and messages sorted. Which of two alike workers does a thing makes no difference, so that one of both states is
/// enough; in the paths through such states a worker's number may change.
pub(crate) fn sorted(world: World) -> World {
    let (world, order) = with_sorted_workers(world);
    renamed(with_sorted_messages(world), order)
}

fn with_sorted_workers(world: World) -> (World, Order) {
    let key = |number: u8| {
        let worker = world.workers[usize::from(number)];
        let message =
            world.message(worker.message).map(|message| (Message { holder: None, ..message }, message.holder == Some(number)));
        let owns = world.records.map(|kept| kept.is_some_and(|kept| kept.owner() == Some(Token::Worker(number))));
        quick_hash(&(worker.step, message.filter(|_| worker.step != Step::Idle), owns))
    };
    let mut places = UNSORTED;
    let keys = UNSORTED.map(key);
    places.sort_by_key(|number| (world.workers[usize::from(*number)].step == Step::Idle, keys[usize::from(*number)]));
    if places == UNSORTED {
        return (world, UNSORTED);
    }
    let mut next = world;
    let mut order = UNSORTED;
    for (to, from) in (0..).zip(places) {
        next.workers[usize::from(to)] = world.workers[usize::from(from)];
        order[usize::from(from)] = to;
    }
    for message in next.messages.iter_mut().flatten() {
        message.holder = message.holder.map(|holder| order[usize::from(holder)]);
    }
    (next, order)
}

fn with_sorted_messages(world: World) -> World {
    let key = |place: u8| {
        let at_work = world.workers.map(|worker| worker.step != Step::Idle && worker.message == place);
        let in_hands = operators_place(&world.operator) == Some(place);
        (world.message(place).is_none(), quick_hash(&(world.message(place), at_work, in_hands)))
    };
    let mut places: [u8; MOST_MESSAGES] = [0, 1, 2];
    let keys = places.map(key);
    places.sort_by_key(|place| keys[usize::from(*place)]);
    if places == [0, 1, 2] {
        return world;
    }
    let mut next = world;
    let mut order = [NOWHERE; MOST_MESSAGES + 1];
    for (to, from) in (0..).zip(places) {
        next.messages[usize::from(to)] = world.messages[usize::from(from)];
        order[usize::from(from)] = to;
    }
    for worker in next.workers.iter_mut().filter(|worker| worker.step != Step::Idle) {
        worker.message = order[usize::from(worker.message)];
    }
    match &mut next.operator {
        Operator::Resetting { message: Some(place), .. }
        | Operator::Sending { message: Some(place), .. }
        | Operator::Deleting { message: place, .. } => *place = order[usize::from(*place)],
        _ => {}
    }
    next
}

fn operators_place(operator: &Operator) -> Option<u8> {
    match operator {
        Operator::Resetting { message, .. } | Operator::Sending { message, .. } => *message,
        Operator::Deleting { message, .. } => Some(*message),
        Operator::Idle => None,
    }
}

fn renamed(mut world: World, order: Order) -> World {
    let mut seen = views(&world);
    let mut gone: Appeared<Token> = Appeared::default();
    let mut versions: Appeared<EpochMillis> = Appeared::default();
    let mut changed = false;
    for slot in &mut seen {
        let Some(kept) = *slot else { continue };
        let mut name = |token: Token| {
            let token = if let Token::Worker(number) = token { Token::Worker(order[usize::from(number)]) } else { token };
            if world.is_held(token) { token } else { Token::Gone(gone.place(token)) }
        };
        let names = Names {
            owner: kept.owner().map(&mut name),
            sender: kept.sender().map(&mut name),
            version: versions.place(kept.record().updated_at),
        };
        if names != kept.names() {
            *slot = Some(kept.renamed(names));
            changed = true;
        }
    }
    if changed {
        put_views(&mut world, &seen);
    }
    world
}

/// Numbers by order of appearance.
struct Appeared<T> {
    known: [Option<T>; MOST_VIEWS * 2],
}

impl<T> Default for Appeared<T> {
    fn default() -> Self {
        Self { known: std::array::from_fn(|_| None) }
    }
}

impl<T: PartialEq> Appeared<T> {
    fn place(&mut self, value: T) -> u8 {
        for (number, slot) in (0..).zip(&mut self.known) {
            match slot {
                Some(known) if *known == value => return number,
                Some(_) => {}
                None => {
                    *slot = Some(value);
                    return number;
                }
            }
        }
        unreachable!("each record has at most two owners")
    }
}

/// The stored records, and every copy of one that somebody has read.
fn views(world: &World) -> [Option<Kept>; MOST_VIEWS] {
    let taking = |worker: usize| if let Step::Taking(view, _) = world.workers[worker].step { view } else { None };
    let taking_over = |request: usize| {
        if let Request::TakingOver(Seen(view)) = world.requests[request] { Some(view) } else { None }
    };
    let resetting = if let Operator::Resetting { view, .. } = world.operator { Some(view) } else { None };
    let [first, second] = world.records;
    [first, second, taking(0), taking(1), taking(2), taking_over(0), taking_over(1), resetting]
}

fn put_views(world: &mut World, seen: &[Option<Kept>; MOST_VIEWS]) {
    let [first, second, workers @ .., request_1, request_2, resetting] = *seen;
    world.records = [first, second];
    for (worker, view) in world.workers.iter_mut().zip(workers) {
        if let Step::Taking(taking, _) = &mut worker.step {
            *taking = view;
        }
    }
    for (request, view) in world.requests.iter_mut().zip([request_1, request_2]) {
        if let (Request::TakingOver(seen), Some(view)) = (request, view) {
            *seen = Seen(view);
        }
    }
    if let (Operator::Resetting { view, .. }, Some(renamed)) = (&mut world.operator, resetting) {
        *view = renamed;
    }
}
