//! The consumer as its queue and its receivers see it.

mod addresses;
mod answers;
mod delivering;
mod documentation;
mod receiver;
mod records;
mod scene;
mod signing;
