//! Starts a function and looks at it.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use ikkai_tests::runtime_api::FunctionProcess;

use crate::functions::Function;
use crate::silence::Silence;

/// One start of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Start {
    /// From the start of the process to its first call for an event.
    pub(crate) init: Duration,
    /// Resident memory when init was over.
    pub(crate) resident_bytes: u64,
    /// Network connections that it opened in init, besides that to the runtime API.
    pub(crate) connections: u32,
}

/// Starts the function `count` times, one after the other. An extra first start, which brings the binary into the page cache, is not counted.
pub(crate) async fn starts(binary: &Path, function: &Function, count: u32) -> Result<Vec<Start>, Box<dyn Error>> {
    start(binary, function).await?;
    let mut starts = Vec::new();
    for _ in 0..count {
        starts.push(start(binary, function).await?);
    }
    Ok(starts)
}

async fn start(binary: &Path, function: &Function) -> Result<Start, Box<dyn Error>> {
    let aws = Silence::listen().await?;
    let variables = function.variables.iter().copied().chain([("AWS_ENDPOINT_URL", aws.url())]);
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
        let binary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/src/runtime_api/children/function.py");
        let function = Function { name: "function", variables: &[] };
        let starts = starts(&binary, &function, 2).await.expect("it starts");
        assert_eq!(starts.len(), 2);
        for start in starts {
            assert!(start.init > Duration::from_millis(1) && start.resident_bytes > 1_000_000, "{start:?}");
            assert_eq!(start.connections, 0);
        }
    }
}
