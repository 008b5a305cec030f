//! The rules.
//!
//! A rule takes a [`Stack`] and returns what violates it, one line each, naming the resource; an empty list means that it holds. That makes
//! each rule testable on a stack that was broken on purpose. Rules find their resources by type and by reference, never by name, so a new
//! consumer is covered as soon as it is in the template.

pub mod api;
pub mod buckets;
pub mod cargo_lambda;
pub mod doctor;
mod environment;
pub mod functions;
pub mod keys;
pub mod mappings;
pub mod operators;
pub mod permissions;
pub mod queues;
pub mod roles;
pub mod secrets;
pub mod settings;
pub mod tables;
pub mod tags;
pub mod topics;

use super::stack::Stack;

/// What violates a rule, one line each.
pub type Rule = fn(&Stack) -> Vec<String>;

/// Every rule that a stack of any parameters has to keep. (That tables refuse deletion is asked of stacks of one stage alone.)
pub const ALL: &[Rule] = &[
    api::every_door_asks_who_is_calling,
    api::permissions_name_their_holders,
    api::function_urls_can_be_called,
    api::calls_are_bounded_and_logged,
    buckets::buckets_are_private,
    buckets::buckets_demand_tls,
    buckets::buckets_outlive_their_stack,
    buckets::leftovers_are_removed,
    buckets::notifications_can_be_delivered,
    buckets::uploads_make_jobs,
    buckets::outputs_never_notify,
    doctor::questions_are_about_what_the_roles_allow,
    functions::functions_are_native,
    functions::every_function_is_deployed,
    functions::logs_are_kept_for_a_time,
    functions::environments_are_what_the_code_reads,
    functions::functions_know_their_timeout,
    functions::provider_calls_fit_into_an_invocation,
    functions::renewal_is_not_taken_for_a_loop,
    keys::everything_is_under_the_key,
    mappings::every_queue_has_its_consumer,
    mappings::ended_jobs_are_told,
    mappings::failures_are_reported_by_item,
    mappings::concurrency_is_bounded_at_the_mapping,
    mappings::batches_are_as_lambda_wants_them,
    operators::operators_know_every_queue,
    operators::operators_only_put_back,
    operators::operators_reach_their_tables_and_their_archive,
    operators::failed_calls_are_not_repeated,
    operators::put_backs_have_one_limit,
    operators::the_archive_keeps_what_it_is_given,
    permissions::actions_are_those_that_the_code_uses,
    queues::visibility_covers_the_function,
    queues::receive_limits_agree,
    queues::dead_letter_queues_suit_their_sources,
    queues::records_outlive_messages,
    queues::queues_are_encrypted,
    queues::queues_demand_tls,
    queues::services_act_for_this_account,
    queues::fifo_queues_keep_order_by_group,
    queues::messages_outlive_a_change_of_queues,
    roles::roles_have_no_wildcards,
    roles::roles_are_not_shared,
    roles::consumers_reach_only_their_own,
    roles::functions_write_their_own_logs,
    roles::traces_are_written_where_they_are_asked_for,
    roles::mail_is_sent_as_the_sender,
    secrets::values_stay_out_of_the_template,
    secrets::functions_read_their_own,
    settings::functions_start,
    tables::items_expire_by_the_attribute_of_the_code,
    tables::tables_are_encrypted_and_backed_up,
    tables::tables_have_the_keys_of_the_code,
    tables::indexes_hold_keys_that_never_change,
    tables::indexes_keep_up_with_their_table,
    tags::everything_has_its_tags,
    topics::topics_are_closed,
    topics::failures_are_kept,
];
