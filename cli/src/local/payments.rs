//! A payment provider on this machine: localstripe, a stateful Stripe written by others, as a process of ours.
//!
//! It keeps customers, cards and payments. What it lacks is added by the script that runs it: idempotency keys, lists of a customer's
//! payments, answers that get lost.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;

use super::checkout::{Checkout, NoCheckout};
use super::loopback::{Loopback, LoopbackError};
use super::python::{self, Extras, PythonError};
use crate::progress::Progress;

/// Runs localstripe, and ends it with its starter.
const SCRIPT: &str = include_str!("payments.py");

/// The first start of a new environment compiles some megabytes of Python.
const READY_WITHIN: Duration = Duration::from_secs(60);

/// An API key that the fake takes: all that begin so are good to it.
pub const API_KEY: &str = "sk_test_ikkai";

/// Why there is no payment provider.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PaymentsError {
    /// There is no checkout to take the requirements from.
    #[error(transparent)]
    Checkout(#[from] NoCheckout),
    /// Its Python environment could not be made.
    #[error(transparent)]
    Python(#[from] PythonError),
    /// No port is free, its log cannot be written, or the process cannot be started.
    #[error("the payment provider cannot be started")]
    NotStarted(#[from] std::io::Error),
    /// It ended, or did not become ready.
    #[error("the payment provider is not ready; its last words are in `{}`", log.display())]
    NotReady {
        /// Where its log is.
        log: PathBuf,
    },
    /// It does not answer.
    #[error(transparent)]
    NoAnswer(#[from] LoopbackError),
    /// It answered with an error.
    #[error("the payment provider answered {path} with {status}")]
    Refused {
        /// What was asked.
        path: String,
        /// Its answer.
        status: u16,
    },
}

/// A running payment provider. It ends with this value, and with this process.
#[derive(Debug)]
pub struct PaymentsFake {
    address: SocketAddr,
    child: Child,
    http: Loopback,
}

impl PaymentsFake {
    /// Starts one, with a log in `folder`, and waits until it answers. Its Python environment is made on the first start.
    ///
    /// # Errors
    /// There is no suitable Python, or the process does not become ready.
    pub async fn start(checkout: &Checkout, folder: &Path, progress: &Progress) -> Result<Self, PaymentsError> {
        let environment = python::environment(checkout, Extras::Payments, progress).await?;
        std::fs::create_dir_all(folder)?;
        let log_path = folder.join("payments.log");
        let log = File::create(&log_path)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port()?));
        let child = Command::new(environment.python())
            .args(["-c", SCRIPT, &address.port().to_string()])
            .env_clear()
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            // A group of its own: Ctrl-C does not reach it before its starter is done with it.
            .process_group(0)
            .spawn()?;
        let mut fake = Self { address, child, http: Loopback::new(Duration::from_secs(10)) };
        fake.wait_until_ready(log_path).await?;
        Ok(fake)
    }

    async fn wait_until_ready(&mut self, log: PathBuf) -> Result<(), PaymentsError> {
        let started = Instant::now();
        loop {
            if self.http.get(self.address, "/_ikkai/ready").await.is_ok_and(|answer| answer.status().is_success()) {
                return Ok(());
            }
            if started.elapsed() > READY_WITHIN || !matches!(self.child.try_wait(), Ok(None)) {
                return Err(PaymentsError::NotReady { log });
            }
            tokio::time::sleep(Duration::from_millis(40)).await;
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL of its API.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Makes a customer whose default payment method is the card with this number, and returns the customer's id.
    ///
    /// What the numbers do: `4242424242424242` pays, `4000000000000341` is declined, `4000002500003155` wants the customer
    /// (<https://docs.stripe.com/testing>).
    ///
    /// # Errors
    /// The provider does not answer, or refuses.
    pub async fn customer(&self, card: &str) -> Result<String, PaymentsError> {
        let form = format!("type=card&card[number]={card}&card[exp_month]=12&card[exp_year]=2099&card[cvc]=123");
        let method = self.made("/v1/payment_methods", &form).await?;
        let customer = self.made("/v1/customers", "description=test").await?;
        self.post(&format!("/v1/payment_methods/{method}/attach"), &format!("customer={customer}")).await?;
        self.post(&format!("/v1/customers/{customer}"), &format!("invoice_settings[default_payment_method]={method}")).await?;
        Ok(customer)
    }

    /// All payments, the newest first.
    ///
    /// # Errors
    /// The provider does not answer, or refuses.
    pub async fn payments(&self) -> Result<Vec<Value>, PaymentsError> {
        let mut payments: Vec<Value> = Vec::new();
        loop {
            let after = payments.last().and_then(|last| last["id"].as_str());
            let after = after.map_or_else(String::new, |id| format!("&starting_after={id}"));
            let page = self.ask(Method::GET, &format!("/v1/payment_intents?limit=1000{after}"), "").await?;
            payments.extend(page["data"].as_array().cloned().unwrap_or_default());
            if page["has_more"] != true {
                return Ok(payments);
            }
        }
    }

    /// From now on no idempotency key is known.
    ///
    /// # Errors
    /// The provider does not answer.
    pub async fn forget_keys(&self) -> Result<(), PaymentsError> {
        self.post("/_ikkai/forget-keys", "").await.map(drop)
    }

    /// The next `count` requests to charge are carried out, and their answers are lost.
    ///
    /// # Errors
    /// The provider does not answer.
    pub async fn lose_answers(&self, count: u32) -> Result<(), PaymentsError> {
        self.post(&format!("/_ikkai/lose-answers/{count}"), "").await.map(drop)
    }

    async fn made(&self, path: &str, form: &str) -> Result<String, PaymentsError> {
        let made = self.post(path, form).await?;
        Ok(made["id"].as_str().unwrap_or_default().to_owned())
    }

    async fn post(&self, path: &str, form: &str) -> Result<Value, PaymentsError> {
        self.ask(Method::POST, path, form).await
    }

    async fn ask(&self, method: Method, path: &str, form: &str) -> Result<Value, PaymentsError> {
        let mut request = Request::new(Bytes::copy_from_slice(form.as_bytes()));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap_or_default();
        let fields = request.headers_mut();
        let bearer = format!("Bearer {API_KEY}");
        fields.extend(http::HeaderValue::from_str(&bearer).map(|value| (http::header::AUTHORIZATION, value)));
        fields.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static("application/x-www-form-urlencoded"));
        let answer = self.http.send(self.address, request).await?;
        if !answer.status().is_success() {
            return Err(PaymentsError::Refused { path: path.to_owned(), status: answer.status().as_u16() });
        }
        Ok(serde_json::from_slice(answer.body()).unwrap_or_default())
    }
}

impl Drop for PaymentsFake {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> std::io::Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr().map(|address| address.port())
}
