//! The function from outside: events as SES publishes them, tables in memory, and the calls that DynamoDB gets.

mod dynamodb;
mod events;
mod memory;
// The stand-in for AWS that the e-mail consumer is tested with, too.
#[path = "../../../email-consumer/tests/stub/mod.rs"]
mod stub;
