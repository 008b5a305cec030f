//! The probes, one file for what belongs together.

mod access;
mod answers;
mod conditions;
mod dead_letters;
mod fifo;
mod mapping;
mod messages;
mod objects;
mod services;
mod visibility;

use super::probe::Probe;

/// All of them, in the order of the table.
pub(super) const GROUPS: [&[Probe]; 10] = [
    &answers::PROBES,
    &mapping::PROBES,
    &messages::PROBES,
    &visibility::PROBES,
    &dead_letters::PROBES,
    &fifo::PROBES,
    &conditions::PROBES,
    &objects::PROBES,
    &access::PROBES,
    &services::PROBES,
];
