//! The binary of the bounce and complaint reader.

use ikkai::consumer::StartupError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    ses_feedback::run().await
}
