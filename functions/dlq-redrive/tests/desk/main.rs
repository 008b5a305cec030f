//! What operators ask about queues, jobs and runs, on doubles of everything.

mod cancelling;
mod history;
mod inspecting;
mod listing;
mod moving;
mod requests;
mod resolving;
mod scene;
mod status;
mod whole_way;
