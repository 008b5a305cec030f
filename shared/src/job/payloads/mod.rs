//! The payload types of the jobs that Ikkai ships with, one a file.

mod billing_charge;
mod email_send;
mod image_resize;
mod period;
mod reference_id;
mod report_generate;
mod webhook_deliver;

pub use billing_charge::BillingCharge;
pub use email_send::EmailSend;
pub use image_resize::{ImageFormat, ImageResize};
pub use period::{MAX_PERIOD_DAYS, Period, PeriodError};
pub use reference_id::{MAX_REFERENCE_ID_CHARS, ReferenceId, ReferenceIdError};
pub use report_generate::ReportGenerate;
pub use webhook_deliver::{EndStatus, WebhookDeliver};

pub(crate) use period::PERIOD_FORMAT;
pub(crate) use reference_id::REFERENCE_ID_FORMAT;
