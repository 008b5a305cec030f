//! The binary of the producer API.

use ikkai::consumer::StartupError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    producer_api::run().await
}
