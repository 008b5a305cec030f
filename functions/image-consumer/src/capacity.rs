//! What the function has: processors, and memory for pictures.
//!
//! Memory is given out before it is taken. Originals and pictures have a pool each: a job holds its original while it waits for room for its
//! pictures, and whoever works on pictures never waits for an original, so nobody waits in a circle.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory that gives one whole processor: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>.
const MEMORY_MB_PER_CPU: u64 = 1769;
/// Memory that is not for pictures: the program, its connections, a batch of messages, and what the allocator keeps back.
const BASE_MB: u64 = 80;
/// Least memory for pictures, so that a function of the smallest size works on small ones.
const LEAST_MB: u64 = 32;
const MB: u64 = 1024 * 1024;

/// What one sandbox can work with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Pictures that are worked on at a time.
    pub cpus: usize,
    /// Bytes for originals as they are stored.
    pub originals_bytes: u64,
    /// Bytes for pixels, decoders, encoders and outputs.
    pub pictures_bytes: u64,
}

impl Capacity {
    /// Of a function with this memory setting on a machine with so many processors.
    #[must_use]
    pub fn of_function(memory_mb: u64, machine_cpus: usize) -> Self {
        let usable = memory_mb.saturating_sub(BASE_MB).max(LEAST_MB) * MB;
        let cpus = usize::try_from((memory_mb + MEMORY_MB_PER_CPU / 2) / MEMORY_MB_PER_CPU).unwrap_or(1);
        Self { cpus: cpus.clamp(1, machine_cpus.max(1)), originals_bytes: usable / 4, pictures_bytes: usable / 4 * 3 }
    }
}

/// Gives memory out.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    free: Arc<Semaphore>,
    total_units: u32,
}

/// A semaphore counts in `u32`: in units of a kibibyte that is enough for any function.
const UNIT_BYTES: u64 = 1024;

impl Room {
    pub(crate) fn new(bytes: u64) -> Self {
        let total_units = units(bytes);
        Self { free: Arc::new(Semaphore::new(total_units as usize)), total_units }
    }

    /// Whether so much could be given out if nobody else had any.
    pub(crate) fn could_hold(&self, bytes: u64) -> bool {
        units(bytes) <= self.total_units
    }

    pub(crate) fn total_bytes(&self) -> u64 {
        u64::from(self.total_units) * UNIT_BYTES
    }

    /// What is free now, or nothing.
    pub(crate) fn try_take(&self, bytes: u64) -> Option<Taken> {
        Arc::clone(&self.free).try_acquire_many_owned(units(bytes)).ok().map(Taken)
    }

    /// Waits until there is room; first come, first served. More than there is in all is never given: ask [`Self::could_hold`] before.
    pub(crate) async fn take(&self, bytes: u64) -> Option<Taken> {
        if !self.could_hold(bytes) {
            return None;
        }
        Arc::clone(&self.free).acquire_many_owned(units(bytes)).await.ok().map(Taken)
    }
}

fn units(bytes: u64) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX)
}

/// Memory that was given out; it goes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Taken(OwnedSemaphorePermit);

impl Taken {
    /// Gives back all but so much.
    pub(crate) fn shrink_to(&mut self, bytes: u64) {
        let spare = self.0.num_permits().saturating_sub(units(bytes) as usize);
        drop(self.0.split(spare));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_for_each_1769_mb_and_at_least_one() {
        for (memory_mb, machine, cpus) in
            [(128, 2, 1), (1769, 2, 1), (2653, 2, 1), (2654, 2, 2), (3538, 6, 2), (10_240, 6, 6), (10_240, 2, 2), (512, 0, 1)]
        {
            assert_eq!(Capacity::of_function(memory_mb, machine).cpus, cpus, "{memory_mb} MB, {machine} processors");
        }
    }

    #[test]
    fn pictures_and_originals_never_take_more_than_the_function_has() {
        for memory_mb in [128, 256, 512, 1024, 1769, 10_240] {
            let capacity = Capacity::of_function(memory_mb, 6);
            assert!(capacity.originals_bytes + capacity.pictures_bytes + BASE_MB * MB <= memory_mb * MB);
        }
    }

    #[tokio::test]
    async fn room_goes_back_when_it_is_dropped_or_shrunk() {
        let room = Room::new(10 * UNIT_BYTES);
        let mut most = room.take(8 * UNIT_BYTES).await.unwrap();
        assert!(room.try_take(3 * UNIT_BYTES).is_none());
        most.shrink_to(4 * UNIT_BYTES);
        let rest = room.try_take(6 * UNIT_BYTES).unwrap();
        assert!(room.try_take(1).is_none());
        drop((most, rest));
        assert!(room.try_take(10 * UNIT_BYTES).is_some());
    }

    #[tokio::test]
    async fn what_can_never_fit_is_not_waited_for() {
        let room = Room::new(UNIT_BYTES);
        assert!(room.take(UNIT_BYTES + 1).await.is_none());
        assert!(room.take(u64::MAX).await.is_none());
        assert!(room.take(UNIT_BYTES).await.is_some());
    }
}
