//! Going through dead-letter queues, and what becomes of a message by the records of its jobs.

mod letters;
mod plan;
mod sweep;

use ikkai::clock::EpochMillis;

const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);
