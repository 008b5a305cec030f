//! Runs on queues, records and a journal in memory.

mod canary;
mod consumer;
mod contents;
mod discarding;
mod faults;
mod fifo;
mod identity;
mod jobs_by_name;
mod journal;
mod laws;
mod parts;
mod patching;
mod plain;
mod requests;
mod returning;
mod scene;
mod seeds;
mod statuses;
