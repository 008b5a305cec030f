//! The binary of the operators' function.

use ikkai::consumer::StartupError;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StartupError> {
    dlq_redrive::serve().await
}
