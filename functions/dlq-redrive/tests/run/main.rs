//! Runs on queues, records and a journal in memory.

mod consumer;
mod plain;
mod scene;
