//! The function from outside: events as SES publishes them, tables in memory, and the calls that DynamoDB gets.

mod dynamodb;
mod events;
mod memory;
