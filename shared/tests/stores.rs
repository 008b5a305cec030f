//! The in-memory store passes the conformance suite of stores.

use std::sync::Arc;

use ikkai::testing::{MemoryStore, conformance};

#[tokio::test]
async fn the_memory_store_conforms() {
    conformance::suite(Arc::new(MemoryStore::new()), "memory").await;
}
