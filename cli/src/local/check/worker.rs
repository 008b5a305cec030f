//! The function of a check, its role, and its mappings.

use std::io::{Cursor, Read};
use std::time::Duration;

use aws_sdk_lambda::error::SdkError;
use aws_sdk_lambda::primitives::Blob;
use aws_sdk_lambda::types::{Architecture, FunctionCode, FunctionResponseType, Runtime, ScalingConfig, State};
use bytes::Bytes;
use check_probe::{Instruction, Report, Wish};

use super::lab::Lab;
use super::ledger::Made;
use super::messages::Queue;
use super::trouble::{Doing, Trouble, part};

/// The function's timeout. A batch that is not answered comes back when the visibility timeout ends, which may not be shorter.
pub(super) const TIMEOUT_SECONDS: i32 = 4;

/// The visibility timeout of queues with a mapping.
pub(super) const VISIBILITY_SECONDS: u32 = 5;

/// How long IAM may take until Lambda may assume a new role.
const ROLE_TRIES: u32 = 15;

/// The role of the function, allowed to use the queues of this check alone, and one that is allowed hardly anything.
const ROLES: &str = include_str!("roles.json");

/// The packed function is not usable.
#[derive(Debug, thiserror::Error)]
#[error("`{file}` is no zip with a Linux program named `bootstrap` in it: {why}")]
pub struct CodeError {
    file: String,
    why: String,
}

/// The packed function.
#[derive(Debug, Clone)]
pub struct Code {
    zip: Bytes,
    architecture: Architecture,
}

impl Code {
    /// Reads a zip, which holds one program named `bootstrap`. Its architecture is what the program says.
    ///
    /// # Errors
    /// It is no such zip.
    pub fn of_zip(file: &str, zip: Bytes) -> Result<Self, CodeError> {
        let failed = |why: String| CodeError { file: file.to_owned(), why };
        let mut archive = zip::ZipArchive::new(Cursor::new(&zip)).map_err(|error| failed(error.to_string()))?;
        let mut program = archive.by_name("bootstrap").map_err(|error| failed(error.to_string()))?;
        // The field e_machine of an ELF header (https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html).
        let mut header = [0; 20];
        program.read_exact(&mut header).map_err(|error| failed(error.to_string()))?;
        let architecture = match (header.starts_with(b"\x7fELF"), u16::from_le_bytes([header[18], header[19]])) {
            (true, 62) => Architecture::X8664,
            (true, 183) => Architecture::Arm64,
            (true, machine) => return Err(failed(format!("it is for the machine {machine}; Lambda has x86-64 and arm64"))),
            (false, _) => return Err(failed("its program is no ELF file".to_owned())),
        };
        drop(program);
        Ok(Self { zip, architecture })
    }
}

/// The deployed function.
#[derive(Debug, Clone)]
pub(super) struct Worker {
    pub(super) name: String,
    pub(super) arn: String,
    /// A role that may read one attribute of the queues of this check, and nothing else.
    pub(super) narrow_role: String,
}

/// How a mapping is to be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mapping {
    pub(super) batch_size: i32,
    pub(super) window_seconds: i32,
    pub(super) maximum_concurrency: Option<i32>,
}

impl Default for Mapping {
    fn default() -> Self {
        Self { batch_size: 10, window_seconds: 0, maximum_concurrency: None }
    }
}

impl Lab {
    /// The function; the first probe that needs it deploys it.
    pub(super) async fn worker(&self) -> Result<&Worker, Trouble> {
        self.worker.get_or_try_init(|| self.deploy()).await
    }

    async fn deploy(&self) -> Result<Worker, Trouble> {
        let template = ROLES.replace("{prefix}", &self.prefix());
        let outputs = self.stack("roles", &template).await?;
        let mut outputs = outputs.map_err(|told| Trouble::Call {
            call: "CreateStack".to_owned(),
            code: None,
            status: None,
            told: format!("the roles were not made: {told}"),
        })?;
        let role = part(outputs.remove("Worker"), "CreateStack", "role of the function")?;
        let narrow_role = part(outputs.remove("Narrow"), "CreateStack", "narrow role")?;
        let name = self.name("worker");
        self.note(Made::Function(name.clone()));
        let arn = self.create_function(&name, &role).await?;
        self.eventually("an active function", async || {
            let function = self.clients.lambda.get_function_configuration().function_name(&name).send().await;
            let state = function.doing("GetFunctionConfiguration")?.state;
            Ok((state.is_none() || state == Some(State::Active)).then_some(()))
        })
        .await?;
        Ok(Worker { name, arn, narrow_role })
    }

    async fn create_function(&self, name: &str, role: &str) -> Result<String, Trouble> {
        let package = part(self.code.as_ref(), "CreateFunction", "code")?;
        let mut tries = ROLE_TRIES;
        loop {
            let call = self.clients.lambda.create_function().function_name(name).role(role);
            let call = call.runtime(Runtime::Providedal2023).handler("bootstrap").timeout(TIMEOUT_SECONDS).memory_size(128);
            let code = FunctionCode::builder().zip_file(Blob::new(package.zip.as_ref())).build();
            let made = call.architectures(package.architecture.clone()).code(code).send().await;
            // A new role is not known everywhere at once.
            let too_early =
                matches!(&made, Err(SdkError::ServiceError(error)) if error.err().is_invalid_parameter_value_exception());
            if too_early && tries > 0 {
                tries -= 1;
                tokio::time::sleep(self.place.pause()).await;
                continue;
            }
            return part(made.doing("CreateFunction")?.function_arn, "CreateFunction", "ARN");
        }
    }

    /// Connects a queue with the function, and waits until the mapping is enabled.
    pub(super) async fn map(&self, queue: &Queue, mapping: Mapping) -> Result<(), Trouble> {
        let worker = self.worker().await?;
        let call = self.clients.lambda.create_event_source_mapping().function_name(&worker.name).event_source_arn(&queue.arn);
        let call = call.batch_size(mapping.batch_size).maximum_batching_window_in_seconds(mapping.window_seconds);
        let call = call.function_response_types(FunctionResponseType::ReportBatchItemFailures);
        let scaling = mapping.maximum_concurrency.map(|most| ScalingConfig::builder().maximum_concurrency(most).build());
        let made = call.set_scaling_config(scaling).send().await.doing("CreateEventSourceMapping")?;
        let uuid = part(made.uuid, "CreateEventSourceMapping", "UUID")?;
        self.eventually("an enabled mapping", async || {
            let found = self.clients.lambda.get_event_source_mapping().uuid(&uuid).send().await.doing("GetEventSourceMapping")?;
            Ok((found.state.as_deref() == Some("Enabled")).then_some(()))
        })
        .await
    }

    /// The body of a message that asks for an answer.
    pub(super) fn instruction(&self, tag: impl Into<String>, reports: &Queue, wish: Wish) -> String {
        let instruction = Instruction { tag: tag.into(), reports: reports.url.clone(), wish, message_id: String::new() };
        serde_json::to_string(&instruction).unwrap_or_default()
    }

    /// Collects what the function tells until it has told of `messages` messages.
    pub(super) async fn reports(&self, queue: &Queue, messages: usize) -> Result<Vec<Report>, Trouble> {
        let started = std::time::Instant::now();
        let mut reports: Vec<Report> = Vec::new();
        loop {
            let taken = self.take(queue, usize::MAX, Duration::from_millis(200)).await?;
            let read = taken.iter().filter_map(|message| serde_json::from_str(message.body.as_deref()?).ok());
            reports.extend(read);
            let tags: std::collections::BTreeSet<_> = reports.iter().flat_map(|report| &report.tags).collect();
            if tags.len() >= messages {
                return Ok(reports);
            }
            if started.elapsed() > self.place.patience() {
                let what = format!("the function to be given {messages} messages; it was given {}", tags.len());
                return Err(Trouble::TimedOut { what, seconds: self.place.patience().as_secs() });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn zip_of(name: &str, content: &[u8]) -> Bytes {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
        writer.finish().unwrap().into_inner().into()
    }

    fn program(machine: u16) -> Vec<u8> {
        let mut content = b"\x7fELF".to_vec();
        content.resize(18, 0);
        content.extend(machine.to_le_bytes());
        content
    }

    #[test]
    fn a_programs_architecture_is_read_from_its_header() {
        for (machine, architecture) in [(62, Architecture::X8664), (183, Architecture::Arm64)] {
            let code = Code::of_zip("probe.zip", zip_of("bootstrap", &program(machine))).unwrap();
            assert_eq!(code.architecture, architecture);
        }
    }

    #[test]
    fn what_lambda_could_not_run_is_refused_by_name() {
        for (zip, why) in [
            (zip_of("bootstrap", &program(8)), "machine 8"),
            (zip_of("bootstrap", b"#!/bin/sh and some more text"), "no ELF"),
            (zip_of("main", &program(62)), "specified file"),
            (Bytes::from_static(b"no zip"), "`probe.zip`"),
        ] {
            let error = Code::of_zip("probe.zip", zip).unwrap_err().to_string();
            assert!(error.contains("`probe.zip`") && error.contains(why), "{error}");
        }
    }

    #[test]
    fn the_roles_are_json_and_reach_no_further_than_the_check() {
        let template: serde_json::Value = serde_json::from_str(&ROLES.replace("{prefix}", "ikkai-check-1")).unwrap();
        let text = template.to_string();
        assert!(!text.contains("{prefix}") && !text.contains(r#""Resource":"*""#), "{text}");
    }
}
