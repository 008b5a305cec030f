//! What must hold between the application's stack and the stack that watches it: everything is watched, and everything that is looked at
//! exists.
//!
//! The checks find what has to be watched in the application's stack, so that a new consumer without alarms violates them.

mod alarm;
mod coverage;
mod dashboard;
mod hygiene;
mod sources;
mod words;

pub use alarm::{Alarm, Series, alarms};
pub use coverage::{
    customer_impact_covers_every_consumer, dead_letter_queues_are_watched, every_consumer_has_every_alarm, functions_are_watched,
    silence_is_watched_where_it_is_asked_for, tables_are_watched, thresholds_follow_the_application,
};
pub use dashboard::{dashboard, the_dashboard_shows_every_consumer, the_dashboard_shows_what_exists};
pub use hygiene::alarms_are_kept_well;
pub use sources::alarms_look_at_what_exists;
pub use words::{alarms_are_explained, alarms_are_listed, anchors};
