//! The calls that AWS gets, and what its answers mean.

mod archive;
mod journal;
mod move_tasks;
mod stub;
mod stuck;
