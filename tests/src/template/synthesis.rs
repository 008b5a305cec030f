//! Runs the synthesizer and the linter in the private Python environment of the local tools.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use ikkai_cli::local::checkout::Checkout;
use ikkai_cli::local::python::{Extras, PythonEnvironment, environment};
use ikkai_cli::progress::Progress;
use serde_json::{Value, json};

use super::stack::Stack;

/// A template of this project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Template {
    /// What runs.
    Application,
    /// What watches it.
    Monitoring,
}

impl Template {
    const fn path(self) -> &'static str {
        match self {
            Self::Application => "infra/template.yaml",
            Self::Monitoring => "infra/monitoring.yaml",
        }
    }
}

/// One set of parameter values; what is left out has its default.
pub type Parameters = serde_json::Map<String, Value>;

/// What the synthesizer prints.
#[derive(Debug)]
pub struct Synthesis {
    /// The declared parameters.
    pub parameters: Value,
    /// The names of the declared outputs.
    pub outputs: Vec<String>,
    /// One stack a set.
    pub stacks: Vec<Stack>,
}

impl Synthesis {
    /// The values that a parameter allows.
    ///
    /// # Panics
    /// When it does not list them.
    #[must_use]
    pub fn allowed(&self, parameter: &str) -> Vec<String> {
        let values = self.parameters[parameter]["AllowedValues"].as_array();
        let values = values.unwrap_or_else(|| panic!("{parameter} lists its allowed values"));
        values.iter().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).collect()
    }
}

/// A set with the required parameters and those given.
#[must_use]
pub fn parameters(given: &[(&str, &str)]) -> Parameters {
    let required = [("EmailFrom", "mail@example.com")];
    required.iter().chain(given).map(|(name, value)| ((*name).to_owned(), json!(value))).collect()
}

/// The application's stacks of these parameter sets.
///
/// # Panics
/// When CloudFormation would refuse one of them, or there is no Python.
#[must_use]
pub fn synthesize(sets: &[Parameters]) -> Synthesis {
    synthesize_template(Template::Application, sets)
}

/// The stacks of a template and these parameter sets.
///
/// # Panics
/// When CloudFormation would refuse one of them, or there is no Python.
#[must_use]
pub fn synthesize_template(template: Template, sets: &[Parameters]) -> Synthesis {
    let printed = run(template, sets);
    let stack = |(set, printed): (&Parameters, &Value)| {
        assert_eq!(printed["refused"], Value::Null, "{set:?}");
        Stack::new(printed)
    };
    let stacks = sets.iter().zip(printed_stacks(&printed)).map(stack).collect();
    let outputs = serde_json::from_value(printed["outputs"].clone()).expect("a list of outputs");
    Synthesis { parameters: printed["parameters"].clone(), outputs, stacks }
}

/// Why each parameter set is refused, or nothing.
///
/// # Panics
/// When there is no Python.
#[must_use]
pub fn refusals(sets: &[Parameters]) -> Vec<Option<String>> {
    let printed = run(Template::Application, sets);
    printed_stacks(&printed).iter().map(|stack| stack["refused"].as_str().map(str::to_owned)).collect()
}

/// What cfn-lint says about a template: nothing when it is clean.
///
/// # Panics
/// When cfn-lint cannot be run.
#[must_use]
pub fn lint(template: Template) -> String {
    lint_files(&[checkout().file(template.path())])
}

/// What cfn-lint says about the stacks of these parameter sets: the linter of templates guesses what a parameter may be, this one sees it.
///
/// # Panics
/// When CloudFormation would refuse a set, or cfn-lint cannot be run.
#[must_use]
pub fn lint_stacks(sets: &[Parameters]) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../target/tmp/stacks");
    std::fs::create_dir_all(&folder).expect("a folder for the stacks");
    let printed = run(Template::Application, sets);
    let write = |(index, stack): (usize, &Value)| {
        assert_eq!(stack["refused"], Value::Null, "{:?}", sets[index]);
        let file = folder.join(format!("{}-{index}.json", std::process::id()));
        let template =
            json!({"AWSTemplateFormatVersion": "2010-09-09", "Resources": stack["Resources"], "Outputs": stack["Outputs"]});
        std::fs::write(&file, template.to_string()).expect("a stack is written");
        file
    };
    let files: Vec<PathBuf> = printed_stacks(&printed).iter().enumerate().map(write).collect();
    let said = lint_files(&files);
    files.iter().for_each(|file| drop(std::fs::remove_file(file)));
    said
}

fn lint_files(files: &[PathBuf]) -> String {
    let (_, python) = tools();
    let mut command = Command::new(python.program("cfn-lint"));
    // A region that has everything, so that the answer does not depend on the environment.
    command.args(["--regions", "us-east-1", "--template"]).args(files);
    let output = command.output().expect("cfn-lint runs");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success() || !said.trim().is_empty(), "cfn-lint failed without a word");
    said
}

/// Runs a Python program of this project with JSON on its standard input.
pub(super) fn run_python(arguments: &[PathBuf], input: &Value) -> Output {
    let (_, python) = tools();
    let mut process = Command::new(python.python())
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the environment's Python starts");
    let mut stdin = process.stdin.take().expect("a pipe");
    // A refusing program may close its end early; its status tells.
    drop(stdin.write_all(input.to_string().as_bytes()));
    drop(stdin);
    process.wait_with_output().expect("the environment's Python ends")
}

/// The checkout.
pub(super) fn checkout() -> &'static Checkout {
    &tools().0
}

fn run(template: Template, sets: &[Parameters]) -> Value {
    let checkout = checkout();
    let arguments = [checkout.file("localstack/synthesize.py"), checkout.file(template.path())];
    let output = run_python(&arguments, &json!(sets));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("the synthesizer prints JSON")
}

fn printed_stacks(printed: &Value) -> &[Value] {
    printed["stacks"].as_array().expect("a list of stacks")
}

/// The checkout of these tests (not the one of the current folder) and the environment, made once a process.
fn tools() -> &'static (Checkout, PythonEnvironment) {
    static TOOLS: OnceLock<(Checkout, PythonEnvironment)> = OnceLock::new();
    TOOLS.get_or_init(|| {
        let checkout = Checkout::around(env!("CARGO_MANIFEST_DIR").as_ref()).expect("the tests are in a checkout");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let python = runtime.block_on(environment(&checkout, Extras::Checks, &Progress::silent()));
        (checkout, python.unwrap_or_else(|problem| panic!("{problem}")))
    })
}
