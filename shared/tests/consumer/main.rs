//! The consumer core as a black box: batches go in, and what the table, the queue, the logs and the metrics saw is compared with the
//! contract. Each file is one topic; each test is a script of events under a clock that only the test moves.

mod attempts;
mod bodies;
mod calls;
mod contents;
mod doubt;
mod effects;
mod events;
mod fifo;
mod laws;
mod leases;
mod limits;
mod lost_answers;
mod mended;
mod objects;
mod operator;
mod outcomes;
mod privacy;
mod progress;
mod put_back;
mod renewal;
mod row;
mod script;
mod several_jobs;
mod transitions;
mod visibility;
mod wrapped;
