//! What a new consumer changes in a checkout, file by file.

use super::changes::{ChangeError, Changes};
use super::effect::Effect;
use super::insertion::{above_anchor, at_end_of_section, below_last, into_braces};
use super::mirror;
use super::names::Names;
use super::rendering::{ENGINE_TEST, FILES, render};

/// The application's template.
const TEMPLATE: &str = "infra/template.yaml";

/// The alarms' template.
const MONITORING: &str = "infra/monitoring.yaml";

/// The page that lists parameters and outputs.
const DEPLOYMENT: &str = "docs/deploy.md";

/// Adds everything that makes a consumer.
pub(super) fn add_consumer(changes: &mut Changes, names: &Names, effect: Effect) -> Result<(), ChangeError> {
    for file in FILES.iter().chain([&ENGINE_TEST]) {
        let (path, text) = file.rendered(names, effect);
        changes.create(&path, text)?;
    }
    let with_names = |text: &str| render(text, names, effect);
    join_the_workspace(changes, &with_names)?;
    register_the_payload(changes, names, &with_names)?;
    join_the_local_stack(changes, &with_names)?;
    join_the_tests(changes, &with_names)?;
    join_the_templates(changes, names)?;
    join_the_pages(changes, names, &with_names)
}

fn join_the_workspace(changes: &mut Changes, with_names: &impl Fn(&str) -> String) -> Result<(), ChangeError> {
    changes.edit("Cargo.toml", |text| {
        let text = below_last(text, &["    \"functions/", "-consumer\","], &with_names("    \"functions/@name@-consumer\","))?;
        let dependency = with_names("@name@-consumer = { path = \"functions/@name@-consumer\" }");
        below_last(&text, &["-consumer = { path = \"functions/"], &dependency)
    })
}

fn register_the_payload(changes: &mut Changes, names: &Names, with_names: &impl Fn(&str) -> String) -> Result<(), ChangeError> {
    changes.edit("shared/src/job/payloads/mod.rs", |text| {
        let text = below_last(text, &["mod ", ";"], &with_names("mod @payload_module@;"))?;
        below_last(&text, &["pub use ", ";"], &with_names("pub use @payload_module@::@Payload@;"))
    })?;
    changes.edit("shared/src/job/mod.rs", |text| into_braces(text, "pub use payloads::{", &names.payload))?;
    changes.edit("shared/src/job/registry.rs", |text| {
        let text = into_braces(text, "use super::payloads::{", &names.payload)?;
        above_anchor(&text, "job kind", &with_names("JobKind::of::<@Payload@>(),"))
    })
}

fn join_the_local_stack(changes: &mut Changes, with_names: &impl Fn(&str) -> String) -> Result<(), ChangeError> {
    changes.edit("cli/src/local/consumers.rs", |text| {
        let text = above_anchor(text, "variant", &with_names("/// `@job_type@`\n@Prefix@,"))?;
        let text = above_anchor(&text, "all", &with_names("Self::@Prefix@,"))?;
        let text = above_anchor(&text, "prefix", &with_names("Self::@Prefix@ => \"@Prefix@\","))?;
        above_anchor(&text, "job type", &with_names("Self::@Prefix@ => \"@job_type@\","))
    })?;
    changes.edit("cli/src/local/build.rs", |text| above_anchor(text, "function", &with_names("\"@name@-consumer\",")))?;
    changes.edit("cli/src/demo/consumers/mod.rs", |text| {
        let text = above_anchor(text, "module", &with_names("mod @name@;"))?;
        above_anchor(&text, "scene", &with_names("Box::pin(@name@::worked_on(stage)),"))
    })
}

fn join_the_tests(changes: &mut Changes, with_names: &impl Fn(&str) -> String) -> Result<(), ChangeError> {
    changes.edit("cli/tests/demo.rs", |text| above_anchor(text, "scene", &with_names("(\"@name@\", 2, \"jobs\"),")))?;
    changes.edit("tests/tests/engine/main.rs", |text| above_anchor(text, "module", &with_names("mod @name@;")))?;
    changes.edit("tests/Cargo.toml", |text| {
        below_last(text, &["-consumer.workspace = true"], &with_names("@name@-consumer.workspace = true"))
    })?;
    changes.edit("tests/src/template/rules/environment.rs", |text| {
        let variables = "\"@name@-consumer\" => &[(\"IKKAI_PROVIDER_TIMEOUT_MS\", Optional)],";
        above_anchor(text, "variables", &with_names(variables))
    })?;
    changes.edit("tests/src/template/rules/settings.rs", |text| {
        let text = below_last(text, &["use ", "_consumer::", "Settings;"], &with_names("use @crate@::@Prefix@Settings;"))?;
        let arm = "Some(\"@name@-consumer\") => {\n    of_consumer(&mut reader);\n    @Prefix@Settings::read(&mut reader);\n}";
        above_anchor(&text, "settings", &with_names(arm))
    })
}

fn join_the_templates(changes: &mut Changes, names: &Names) -> Result<(), ChangeError> {
    changes.edit(TEMPLATE, |text| mirror::with_consumer(text, names))?;
    if changes.has(MONITORING) {
        changes.edit(MONITORING, |text| mirror::with_consumer(text, names))?;
    }
    Ok(())
}

fn join_the_pages(changes: &mut Changes, names: &Names, with_names: &impl Fn(&str) -> String) -> Result<(), ChangeError> {
    let row = with_names("| [`functions/@name@-consumer/`](functions/@name@-consumer/) | works on `@job_type@` jobs |");
    changes.edit("README.md", |text| below_last(text, &["| [`functions/", "-consumer/`]"], &row))?;
    let row = with_names("| `functions/@name@-consumer/` | `@name@-consumer` | works on `@job_type@` jobs |");
    changes.edit("docs/design.md", |text| below_last(text, &["| `functions/", "-consumer/` |"], &row))?;
    let parameters = changes.text(TEMPLATE).map(|template| mirror::parameters(template, &names.prefix)).unwrap_or_default();
    changes.edit(DEPLOYMENT, |text| {
        let paragraph = format!("The consumer of `{}` has {}.", names.job_type, parameters.join(", "));
        let text = at_end_of_section(text, "## Parameters", &paragraph)?;
        let outputs = "Of `@job_type@`: `@Prefix@QueueName`, `@Prefix@DeadLetterQueueName`, `@Prefix@ConsumerFunctionName`.";
        at_end_of_section(&text, "## Outputs", &with_names(outputs))
    })
}
