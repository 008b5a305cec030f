//! Everything together: from nothing to a stack that takes jobs.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use aws_config::SdkConfig;

use super::build::{self, BuildError, Package};
use super::checkout::{Checkout, NoCheckout};
use super::deploy::{self, DeployError};
use super::engine::{AskError, Authorization, Engine, EngineAddress, EngineError, EngineKind, PrepareError, Prepared};
use super::instance::{Instance, InstanceError};
use super::mailbox::{self, ReceivedMail};
use super::payments::{self, PaymentsError, PaymentsFake};
use super::process;
use super::proxy::{Proxy, ProxyError};
use super::seed::{self, SeedError};
use super::stack::{MissingOutput, Stack};
use super::{api::ApiError, aws};
use crate::progress::Progress;

/// The name of the first stack.
pub const MAIN_STACK: &str = "ikkai";

/// Whom mails come from.
pub const SENDER: &str = "ikkai@example.com";

/// The sender's domain, which the engine's SES is told to accept.
const SENDER_DOMAIN: &str = "example.com";

/// What each local caller may post: everything. Deployed stacks get their own policy.
const CALLER_POLICY: &str = r#"[{"callers":["local:*"],"types":["*"],"accounts":["*"]}]"#;

/// Why there is no local environment.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "each variant is the error of the step that it is named after")]
pub enum LocalError {
    #[error(transparent)]
    Checkout(#[from] NoCheckout),
    #[error(transparent)]
    Instance(#[from] InstanceError),
    #[error(transparent)]
    Prepare(#[from] PrepareError),
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    #[error(transparent)]
    Engine(#[from] EngineError),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Deploy(#[from] DeployError),
    #[error(transparent)]
    Output(#[from] MissingOutput),
    #[error(transparent)]
    Api(#[from] ApiError),
    #[error(transparent)]
    Seed(#[from] SeedError),
    #[error(transparent)]
    Payments(#[from] PaymentsError),
}

/// How to start a local environment.
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    instance: String,
    engine: EngineKind,
    port: Option<u16>,
    parameters: BTreeMap<String, String>,
    packages: Option<Vec<Package>>,
    authorization: Authorization,
    payments: bool,
    progress: Progress,
}

impl Options {
    /// An environment whose folder is `.ikkai/<instance>`, with defaults for everything.
    pub fn new(instance: impl Into<String>) -> Self {
        Self {
            instance: instance.into(),
            engine: EngineKind::default(),
            port: None,
            parameters: BTreeMap::new(),
            packages: None,
            authorization: Authorization::Ignored,
            payments: false,
            progress: Progress::silent(),
        }
    }

    /// What plays AWS.
    pub fn engine(mut self, engine: EngineKind) -> Self {
        self.engine = engine;
        self
    }

    /// The engine's port; without it a free one is chosen.
    pub fn port(mut self, port: Option<u16>) -> Self {
        self.port = port;
        self
    }

    /// A parameter of the template.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.parameters.insert(name.into(), value.into());
        self
    }

    /// Functions that were built elsewhere; without them they are built.
    pub fn packages(mut self, packages: Vec<Package>) -> Self {
        self.packages = Some(packages);
        self
    }

    /// Whether the engine asks who calls; without it it does not.
    pub fn authorization(mut self, authorization: Authorization) -> Self {
        self.authorization = authorization;
        self
    }

    /// With a payment provider on this machine, which takes the charges. Without it they go where the parameter `PaymentApiUrl` leads.
    pub fn payments(mut self) -> Self {
        self.payments = true;
        self
    }

    /// Where to tell what is going on.
    pub fn progress(mut self, progress: Progress) -> Self {
        self.progress = progress;
        self
    }
}

/// A running local AWS with a stack on it. It ends with this value; if its process dies, it ends too.
#[derive(Debug)]
pub struct LocalAws {
    // Dropped in this order: no function process may outlive the proxy, and the folder is the last to be given up.
    engine: Engine,
    proxy: Proxy,
    payments: Option<PaymentsFake>,
    instance: Instance,
    checkout: Checkout,
    packages: Vec<Package>,
    progress: Progress,
    stack: Stack,
}

impl LocalAws {
    /// Makes the Python environment, starts engine and proxy, builds and deploys the functions, and seeds the tables.
    ///
    /// # Errors
    /// A step failed; whatever was started is stopped again. The message says what to do about it.
    pub async fn start(options: Options) -> Result<Self, LocalError> {
        let checkout = Checkout::find()?;
        let progress = options.progress;
        let instance = Instance::claim(&checkout, &options.instance)?;
        let prepared = Prepared::of(options.engine, &checkout, &progress).await?;

        // The longest step comes before anything runs that would have to be stopped again.
        let packages = match options.packages {
            Some(packages) => packages,
            None => build::functions(&checkout, &progress).await?,
        };

        let step = progress.begin("starting the engine");
        // The proxy comes first: its address is what the engine hands to the functions.
        let proxy = Proxy::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await?;
        let engine = Engine::start(&prepared, instance.folder(), options.port, &proxy.url(), options.authorization).await?;
        proxy.set_upstream(engine.address().socket);
        step.done();

        let mut parameters = options.parameters;
        let payments = match options.payments {
            true => Some(PaymentsFake::start(&checkout, instance.folder(), &progress).await?),
            false => None,
        };
        if let Some(payments) = &payments {
            parameters.insert("PaymentApiUrl".to_owned(), payments.url());
        }

        seed::verify_sender(engine.address().socket, SENDER_DOMAIN).await?;
        let stack = deploy_stack(&checkout, &engine, &packages, MAIN_STACK, &parameters, &progress).await?;
        Ok(Self { engine, proxy, payments, instance, checkout, packages, progress, stack })
    }

    /// Deploys one more stack beside the first, for other parameters; it has tables, queues and functions of its own.
    ///
    /// # Errors
    /// The stack could not be deployed or seeded.
    pub async fn deploy(&self, name: &str, parameters: &BTreeMap<String, String>) -> Result<Stack, LocalError> {
        deploy_stack(&self.checkout, &self.engine, &self.packages, name, parameters, &self.progress).await
    }

    /// The stack that was deployed at the start.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The fault proxy between the functions and the engine.
    #[must_use]
    pub fn proxy(&self) -> &Proxy {
        &self.proxy
    }

    /// The payment provider on this machine, if there is one.
    #[must_use]
    pub fn payments(&self) -> Option<&PaymentsFake> {
        self.payments.as_ref()
    }

    /// Where the engine listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.engine.address().socket
    }

    /// Which engine it is, and where it listens.
    #[must_use]
    pub fn engine_address(&self) -> EngineAddress {
        self.engine.address()
    }

    /// The engine's process id.
    #[must_use]
    pub fn engine_pid(&self) -> i32 {
        self.engine.pid()
    }

    /// Whether the engine still runs.
    ///
    /// # Errors
    /// It has ended; the error holds its last lines.
    pub fn check(&self) -> Result<(), EngineError> {
        self.engine.check()
    }

    /// The folder of logs and scratch files.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.instance.folder()
    }

    /// The engine's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.engine.log().to_owned()
    }

    /// The SDK's settings for clients that go to the engine directly, past the proxy and its counts.
    #[must_use]
    pub fn sdk_config(&self) -> SdkConfig {
        aws::sdk_config(self.address())
    }

    /// All mails that the engine has taken, oldest first.
    ///
    /// # Errors
    /// The engine cannot be reached.
    pub async fn mails(&self) -> Result<Vec<ReceivedMail>, AskError> {
        mailbox::mails(self.engine.address()).await
    }

    /// The processes that run a function now, by the function's full name.
    #[must_use]
    pub fn function_processes(&self, function: &str) -> Vec<i32> {
        let processes = self.engine.function_processes().into_iter().map(|process| process.pid);
        processes.filter(|pid| process::variable(*pid, "AWS_LAMBDA_FUNCTION_NAME").as_deref() == Some(function)).collect()
    }

    /// Kills every process of a function, as a crash of its machine would, and waits (some milliseconds) until they are gone: the engine
    /// would give a dying process one more event. Returns how many there were.
    #[must_use]
    pub fn kill_function(&self, function: &str) -> usize {
        let processes = self.function_processes(function);
        processes.iter().for_each(|pid| process::kill(*pid));
        while processes.iter().any(|pid| process::find(*pid).is_some_and(|found| !found.is_zombie())) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        processes.len()
    }

    /// Ends everything that was started, and waits for it.
    pub async fn stop(self) {
        // Waits for processes to end.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }
}

async fn deploy_stack(
    checkout: &Checkout,
    engine: &Engine,
    packages: &[Package],
    name: &str,
    wanted: &BTreeMap<String, String>,
    progress: &Progress,
) -> Result<Stack, LocalError> {
    let address = engine.address();
    let config = aws::sdk_config(address.socket);
    let mut parameters = local_parameters();
    parameters.extend(wanted.clone());
    let plan = deploy::Stack { name, packages, parameters: &parameters };
    let deployed = deploy::deploy(checkout, address.socket, &config, &plan, progress).await;
    // A dead engine explains more than a refused connection.
    engine.check()?;
    let stack = Stack::new(name, address, deployed?)?;
    let step = progress.begin("writing contacts and the payment key");
    seed::write_contacts(&config, stack.contacts_table(), &seed::contacts_of(checkout)?).await?;
    seed::put_secret(address.socket, stack.payment_secret(), payments::API_KEY).await?;
    step.done();
    Ok(stack)
}

/// What the template must know on this machine.
fn local_parameters() -> BTreeMap<String, String> {
    let architecture = if std::env::consts::ARCH == "x86_64" { "x86_64" } else { "arm64" };
    let parameters = [("Architecture", architecture), ("CallerPolicy", CALLER_POLICY), ("Stage", "dev"), ("EmailFrom", SENDER)];
    parameters.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}
