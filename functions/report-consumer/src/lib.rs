//! The report consumer: each `report.generate` job becomes a CSV file and a page with charts in S3.
//!
//! It is the kit's example of a job that is longer than an invocation. The [`ReportHandler`] reads the account's jobs page by page, keeps its
//! draft in S3 and where it is in the job's progress, and gives the job back before its time is over; the next invocation goes on from there.

mod chart;
mod checkpoint;
mod checksum;
mod draft;
mod handler;
mod history;
mod latency;
mod page;
mod report;
mod settings;
mod store;
mod summary;
mod table;
mod timetable;

pub use self::{
    handler::ReportHandler,
    history::{DynamoDbHistory, HistoryError, HistoryPage, JobHistory, JobRow, MemoryHistory, Position, Scope},
    settings::ReportSettings,
    store::{MemoryReportStore, Object, ObjectKind, ReportStore, ReportStoreError, S3ReportStore, StoreCall, UploadedPart},
};
