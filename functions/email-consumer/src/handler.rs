//! What becomes of one `email.send` job.

use std::{sync::Arc, time::Duration};

use ikkai::{
    consumer::{Done, Failure, Handler, JobContext},
    idempotency::EffectPolicy,
    job::{EmailSend, Job},
};
use serde_json::{Value, json};

use crate::{
    address::Mailbox,
    contacts::{Contact, Contacts, ContactsError, Recipient},
    job_data,
    mailer::{Mailer, SendError},
    message::Mail,
    settings::EmailSettings,
    templates::Templates,
};

/// How long to leave an account or a table alone that is not set up right: an operator has to act first.
const NOT_READY_DELAY: Duration = Duration::from_secs(15 * 60);

/// Sends the mail of an `email.send` job: looks the user up, renders the template, announces the effect, sends.
///
/// The template's variables are the contact's own, its `display_name`, and those in the job's private `data.variables`, each
/// winning over the ones before it.
pub struct EmailHandler {
    contacts: Arc<dyn Contacts>,
    mailer: Arc<dyn Mailer>,
    templates: Templates,
    from: Mailbox,
    effect_policy: EffectPolicy,
    provider_timeout: Duration,
}

impl EmailHandler {
    /// A handler for these parts; of the settings it keeps the sender, the policy and the provider's timeout.
    #[must_use]
    pub fn new(contacts: Arc<dyn Contacts>, mailer: Arc<dyn Mailer>, templates: Templates, settings: &EmailSettings) -> Self {
        Self {
            contacts,
            mailer,
            templates,
            from: settings.from.clone(),
            effect_policy: settings.effect_policy,
            provider_timeout: settings.provider_timeout,
        }
    }

    /// The user to be mailed, or `None` for one who must not be.
    async fn recipient(&self, job: &Job<EmailSend>) -> Result<Option<Recipient>, Failure> {
        match self.contacts.find(job.payload.user_id.as_str()).await {
            Ok(Some(Contact::Reachable(recipient))) => Ok(Some(recipient)),
            Ok(Some(Contact::Suppressed)) => Ok(None),
            Ok(None) => {
                let message = "userId names nobody in the contacts table: add the contact, then redrive the job";
                Err(Failure::permanent("unknown_user", message))
            }
            Err(error) => Err(contact_missing(&error, job)),
        }
    }

    fn compose(&self, job: &Job<EmailSend>, recipient: Recipient, data: Option<&Value>) -> Result<Mail, Failure> {
        let Recipient { address, display_name, locale, mut variables } = recipient;
        if let Some(name) = &display_name {
            variables.insert("display_name".to_owned(), name.as_str().to_owned());
        }
        variables.extend(job_data::variables(data).map_err(|error| Failure::permanent("job_data_malformed", error.to_string()))?);
        let content = self
            .templates
            .render(job.payload.template_id.as_str(), locale.as_deref(), &variables)
            .map_err(|error| Failure::permanent(error.code(), error.to_string()))?;
        let to = Mailbox { name: display_name, address };
        Ok(Mail { job_id: job.id.as_str().to_owned(), from: self.from.clone(), to, content })
    }

    /// The last step before the mail goes out. From here on an answer that is lost leaves the job in doubt under `hold`.
    async fn announce_effect(&self, context: &JobContext) -> Result<(), Failure> {
        if self.effect_policy == EffectPolicy::Hold {
            return context.begin_effect(self.provider_timeout).await;
        }
        // A mail that is cut off by the deadline may be sent and is sent again, so it is not begun without time for an answer.
        if context.remaining() < self.provider_timeout {
            return Err(Failure::no_time());
        }
        Ok(())
    }
}

impl Handler for EmailHandler {
    type Payload = EmailSend;

    fn effect_policy(&self) -> EffectPolicy {
        self.effect_policy
    }

    async fn handle(&self, job: &Job<EmailSend>, context: &JobContext) -> Result<Done, Failure> {
        let Some(recipient) = self.recipient(job).await? else {
            return Ok(Done::with_result(json!({"suppressed": true})));
        };
        let mail = self.compose(job, recipient, context.data())?;
        self.announce_effect(context).await?;
        let id = self.mailer.send(&mail).await.map_err(|error| failure(error, job))?;
        Ok(Done::with_result(json!({"messageId": id.as_str()})).provider_ref(id.as_str()))
    }
}

/// What a contact that could not be had means for its job. Without one no mail is tried, so nothing that passes uses an attempt.
fn contact_missing(error: &ContactsError, job: &Job<EmailSend>) -> Failure {
    let (code, message) = (error.code(), error.to_string());
    match error {
        ContactsError::Unavailable { .. } => Failure::defer(code, message, None),
        ContactsError::NotReady { .. } => {
            // As for an account that does not send: its jobs only wait, and somebody has to hear of it.
            tracing::error!(job_id = job.id.as_str(), error_code = code, error = message, "contacts table not ready");
            Failure::defer(code, message, Some(NOT_READY_DELAY))
        }
        ContactsError::Malformed { .. } => Failure::permanent(code, message),
    }
}

/// What a mail that was not accepted means for its job.
fn failure(error: SendError, job: &Job<EmailSend>) -> Failure {
    let (code, message) = (error.code(), error.to_string());
    if matches!(error, SendError::AccountNotReady { .. }) {
        // Its jobs only wait, which is no error to the kit; but nothing is sent until somebody acts.
        tracing::error!(job_id = job.id.as_str(), error_code = code, error = message, "mail account not ready");
    }
    match error {
        // A provider that says "at once" gets the configured delay: coming back at once is what it complained about.
        SendError::Throttled { retry_after, .. } => {
            Failure::defer(code, message, retry_after.filter(|delay| !delay.is_zero())).surely_not_done()
        }
        SendError::AccountNotReady { .. } => Failure::defer(code, message, Some(NOT_READY_DELAY)).surely_not_done(),
        SendError::Rejected { .. } => Failure::permanent(code, message).surely_not_done(),
        // An outage of any length is no fault of the job: it waits, and has its attempts for what comes after.
        SendError::Unreachable { .. } => Failure::defer(code, message, None).surely_not_done(),
        SendError::NotSent { .. } => Failure::retry(code, message).surely_not_done(),
        SendError::Unknown { .. } => Failure::ambiguous(code, message),
    }
}
