//! Starts a function and looks at it.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use ikkai_runtime_api::FunctionProcess;

use crate::silence::Silence;

/// One start of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Start {
    /// From the start of the process to its first call for an event.
    pub init: Duration,
    /// Resident memory when init was over.
    pub resident_bytes: u64,
    /// Network connections that it opened in init, besides that to the runtime API.
    pub connections: u32,
}

/// Starts the function `count` times, one after the other. An extra first start, which brings the binary into the page cache, is not counted.
///
/// # Errors
/// When it does not start.
pub async fn starts(binary: &Path, variables: &[(&str, &str)], count: u32) -> Result<Vec<Start>, Box<dyn Error>> {
    start(binary, variables).await?;
    let mut starts = Vec::new();
    for _ in 0..count {
        starts.push(start(binary, variables).await?);
    }
    Ok(starts)
}

async fn start(binary: &Path, variables: &[(&str, &str)]) -> Result<Start, Box<dyn Error>> {
    let aws = Silence::listen().await?;
    let variables = variables.iter().copied().chain([("AWS_ENDPOINT_URL", aws.url())]);
    let process = FunctionProcess::start(binary, variables).await?;
    let resident_bytes = process.memory()?.resident_bytes;
    process.kill().await;
    Ok(Start { init: process.init_duration(), resident_bytes, connections: aws.calls() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_counted_start_has_its_own_figures() {
        let binary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/runtime-api/src/children/function.py");
        let starts = starts(&binary, &[], 2).await.expect("it starts");
        assert_eq!(starts.len(), 2);
        for start in starts {
            assert!(start.init > Duration::from_millis(1) && start.resident_bytes > 1_000_000, "{start:?}");
            assert_eq!(start.connections, 0);
        }
    }
}
