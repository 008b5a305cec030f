//! End to end on a local engine: the real function binaries, real queues, a real table, the engine's mailbox.
//!
//! One engine serves all tests of this binary; it ends with the process, however that ends. Times are scaled down by template
//! parameters alone: the functions are the ones that would be deployed.

mod api;
mod check;
mod doctor;
mod events;
mod failures;
mod feedback;
mod harness;
mod jobs;
mod move_tasks;
mod operator;
mod order;
mod outage;
mod payments;
mod pictures;
mod process;
mod quiet;
mod redeploy;
mod redrive;
mod redrive_contents;
mod redrive_doors;
mod redrive_faults;
mod redrive_fifo;
mod redrive_journal;
mod redrive_many;
mod redrive_mended;
mod reports;
mod store;
mod webhooks;
// ikkai new consumer: module
