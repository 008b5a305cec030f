//! The two stacks of a deployment: the application, and what watches it.

use std::collections::BTreeSet;
use std::path::PathBuf;

use aws_config::SdkConfig;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::{Failure, Proposal};
use crate::deploying::account::Account;
use crate::deploying::artifact::{Architecture, Target};
use crate::deploying::cloudformation::{CloudStack, Found, Plan};
use crate::deploying::code_bucket::{CodeBucket, Put};
use crate::deploying::packaging::{self, Packaged};
use crate::deploying::parameters::{self, Declared, Values};
use crate::deploying::release::{self, Origin};
use crate::local::checkout::Checkout;
use crate::progress::Progress;
use crate::screen::Screen;

/// The template of the application.
const TEMPLATE: &str = "infra/template.yaml";

/// The template of what watches it.
const MONITORING: &str = "infra/monitoring.yaml";

/// The parameter that names the processor.
const ARCHITECTURE: &str = "Architecture";

/// The parameter of [`MONITORING`] that names the application's stack.
const WATCHED: &str = "Stack";

/// The parameter of [`MONITORING`] that leaves out alarms on alarms.
const COMPOSITES: &str = "CompositeAlarms";

/// Where the functions are to come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Wanted {
    /// A build for Lambda.
    Built,
    /// What such a build has left.
    Left,
    /// A build for an engine on this machine.
    Local,
    /// What was packed elsewhere, in a folder; for Lambda, or for an engine on this machine.
    Packed(PathBuf, Runs),
}

/// Where functions run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runs {
    /// On Lambda.
    OnLambda,
    /// On this machine.
    Here,
}

/// The application's stack.
pub(super) struct Application {
    template: String,
    functions: Vec<String>,
    pub(super) declared: Vec<Declared>,
    chosen: Vec<aws_sdk_cloudformation::types::Parameter>,
    packaged: String,
}

impl Application {
    pub(super) fn read(checkout: &Checkout) -> Result<Self, Failure> {
        let path = checkout.file(TEMPLATE);
        let template = std::fs::read_to_string(&path).map_err(|error| format!("cannot read `{}`: {error}", path.display()))?;
        Ok(Self {
            functions: packaging::functions(&template)?,
            declared: parameters::declared(&template),
            template,
            chosen: Vec::new(),
            packaged: String::new(),
        })
    }

    /// Chooses the parameters' values, and says what to build for them.
    pub(super) fn choose(&mut self, given: &Values, found: Option<&Found>, wanted: Wanted) -> Result<Origin, Failure> {
        let mut given = given.clone();
        if matches!(wanted, Wanted::Local | Wanted::Packed(_, Runs::Here)) {
            let here = Architecture::of_this_machine().parameter();
            given.entry(ARCHITECTURE.to_owned()).or_insert_with(|| here.to_owned());
        }
        let has: BTreeSet<String> = found.into_iter().flat_map(|found| found.parameters.keys().cloned()).collect();
        self.chosen = parameters::chosen(&self.declared, &given, &has)?;
        let value = self.value(ARCHITECTURE, &given, found);
        let architecture = Architecture::of_parameter(&value)
            .ok_or_else(|| format!("the parameter `{ARCHITECTURE}` is `{value}`; it is arm64 or x86_64"))?;
        Ok(match wanted {
            Wanted::Built => Origin::Built(architecture),
            Wanted::Left => Origin::Left(architecture),
            Wanted::Local => Origin::Local,
            Wanted::Packed(folder, Runs::OnLambda) => Origin::Packed(folder, Target::Lambda(architecture)),
            Wanted::Packed(folder, Runs::Here) => Origin::Packed(folder, Target::ThisMachine),
        })
    }

    /// The value that a parameter gets: given, else the stack's, else the template's.
    fn value(&self, name: &str, given: &Values, found: Option<&Found>) -> String {
        let default =
            || self.declared.iter().find(|declared| declared.name == name).and_then(|declared| declared.default.clone());
        let has = || found.and_then(|found| found.parameters.get(name).cloned());
        given.get(name).cloned().or_else(has).or_else(default).unwrap_or_default()
    }

    /// Gets the functions and uploads them with the template.
    pub(super) async fn upload(
        &mut self,
        checkout: &Checkout,
        origin: Origin,
        config: &SdkConfig,
        account: &Account,
        stack: &str,
        progress: &Progress,
    ) -> Result<CodeBucket, Failure> {
        let packages = release::packages(checkout, &self.functions, origin, progress).await?;
        let step = progress.begin("uploading the functions");
        let bucket = CodeBucket::ensure(config, stack, account).await?;
        let packaged = Packaged::new(&self.template, &packages, bucket.name(), "functions/")?;
        let mut new = 0;
        for upload in &packaged.uploads {
            step.detail(upload.key.clone());
            if bucket.put(&upload.key, upload.package.zip.clone()).await? == Put::Uploaded {
                new += 1;
            }
        }
        step.detail(format!("{new} of {} are new", packaged.uploads.len()));
        self.packaged = packaged.template;
        step.done();
        Ok(bucket)
    }

    pub(super) async fn propose(
        &self,
        stack: CloudStack,
        found: Option<&Found>,
        bucket: &CodeBucket,
        screen: &Screen,
    ) -> Result<Proposal, Failure> {
        let url = put_template(bucket, &self.packaged).await?;
        propose(stack, found, Plan { template_url: &url, parameters: self.chosen.clone() }, screen).await
    }
}

/// The stack that watches the application.
pub(super) struct Monitoring {
    template: String,
    pub(super) declared: Vec<Declared>,
}

impl Monitoring {
    /// `None`: this checkout has none.
    pub(super) fn read(checkout: &Checkout) -> Result<Option<Self>, Failure> {
        let path = checkout.file(MONITORING);
        match std::fs::read_to_string(&path) {
            Ok(template) => Ok(Some(Self { declared: parameters::declared(&template), template })),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot read `{}`: {error}", path.display()).into()),
        }
    }

    /// What both templates have has the application's value: the two cannot disagree about the kind of a queue, say.
    pub(super) fn values(
        &self,
        stack: &str,
        given: &Values,
        application: &Application,
        found: Option<&Found>,
        account: &Account,
    ) -> Values {
        let mut values = Values::new();
        for Declared { name, .. } in &self.declared {
            if let Some(value) = given.get(name) {
                values.insert(name.clone(), value.clone());
            } else if application.declared.iter().any(|shared| shared.name == *name) {
                values.insert(name.clone(), application.value(name, given, found));
            }
        }
        values.insert(WATCHED.to_owned(), stack.to_owned());
        // The local engines do not know the type.
        if account.is_local && self.declared.iter().any(|declared| declared.name == COMPOSITES) {
            values.entry(COMPOSITES.to_owned()).or_insert_with(|| "false".to_owned());
        }
        values
    }

    pub(super) async fn propose(
        &self,
        stack: CloudStack,
        values: Values,
        bucket: &CodeBucket,
        screen: &Screen,
    ) -> Result<Proposal, Failure> {
        let found = stack.find_ready().await?;
        let has: BTreeSet<String> = found.iter().flat_map(|found| found.parameters.keys().cloned()).collect();
        let chosen = parameters::chosen(&self.declared, &values, &has)?;
        let url = put_template(bucket, &self.template).await?;
        propose(stack, found.as_ref(), Plan { template_url: &url, parameters: chosen }, screen).await
    }
}

async fn propose(stack: CloudStack, found: Option<&Found>, plan: Plan<'_>, screen: &Screen) -> Result<Proposal, Failure> {
    let progress = screen.progress();
    let step = progress.begin(format!("working out what would change in `{}`", stack.name()));
    let change_set = stack.propose(found, plan).await?;
    step.done();
    Ok(Proposal { stack, change_set })
}

/// Templates are larger than what CloudFormation takes in a request.
async fn put_template(bucket: &CodeBucket, template: &str) -> Result<String, Failure> {
    let digest: String = Sha256::digest(template).iter().map(|byte| format!("{byte:02x}")).collect();
    let key = format!("templates/{digest}.yaml");
    bucket.put(&key, Bytes::from(template.to_owned())).await?;
    Ok(bucket.url(&key))
}

#[cfg(test)]
mod tests {
    use aws_sdk_cloudformation::types::StackStatus;

    use super::*;

    fn application() -> Application {
        let checkout = Checkout::around(env!("CARGO_MANIFEST_DIR").as_ref()).unwrap();
        Application::read(&checkout).unwrap()
    }

    fn values(pairs: &[(&str, &str)]) -> Values {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn found(pairs: &[(&str, &str)]) -> Found {
        Found { status: StackStatus::CreateComplete, parameters: values(pairs), outputs: Values::new() }
    }

    #[test]
    fn what_is_built_is_what_the_stack_runs_on() {
        let from = values(&[("EmailFrom", "mail@example.com")]);
        let choose = |given: &Values, found: Option<&Found>, wanted| application().choose(given, found, wanted).unwrap();
        assert_eq!(choose(&from, None, Wanted::Built), Origin::Built(Architecture::Arm64), "the template's default");
        let has = found(&[("Architecture", "x86_64"), ("EmailFrom", "x")]);
        assert_eq!(choose(&Values::new(), Some(&has), Wanted::Left), Origin::Left(Architecture::X86_64), "the stack's value");
        let given = values(&[("Architecture", "arm64")]);
        assert_eq!(choose(&given, Some(&has), Wanted::Built), Origin::Built(Architecture::Arm64), "the given value");
        assert_eq!(choose(&from, None, Wanted::Local), Origin::Local);
        let wrong = values(&[("EmailFrom", "x"), ("Architecture", "riscv")]);
        let error = application().choose(&wrong, None, Wanted::Built).unwrap_err().to_string();
        assert!(error.contains("`riscv`; it is arm64 or x86_64"), "{error}");
    }

    #[test]
    fn a_first_deployment_without_a_sender_is_refused_before_anything_is_built() {
        let error = application().choose(&Values::new(), None, Wanted::Built).unwrap_err().to_string();
        assert!(error.contains("--parameter EmailFrom="), "{error}");
    }

    #[test]
    fn both_stacks_have_one_value_of_what_both_know() {
        let declared = |name: &str| Declared { name: name.to_owned(), default: None };
        let names = ["Stack", "MetricsNamespace", "AlarmEmail", "CompositeAlarms"];
        let monitoring = Monitoring { template: String::new(), declared: names.map(declared).to_vec() };
        let mut account = Account { id: "1".to_owned(), region: "eu-west-1".to_owned(), is_local: false };
        let given = values(&[("AlarmEmail", "ops@example.com")]);
        let has = found(&[("MetricsNamespace", "Jobs")]);
        let chosen = monitoring.values("jobs", &given, &application(), Some(&has), &account);
        assert_eq!(chosen, values(&[("Stack", "jobs"), ("MetricsNamespace", "Jobs"), ("AlarmEmail", "ops@example.com")]));
        account.is_local = true;
        let chosen = monitoring.values("jobs", &Values::new(), &application(), None, &account);
        assert_eq!(chosen, values(&[("Stack", "jobs"), ("MetricsNamespace", "Ikkai"), ("CompositeAlarms", "false")]));
    }
}
