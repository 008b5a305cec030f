//! The payload types of the jobs that Ikkai ships with, one a file.

mod amount;
mod asset_id;
mod billing_charge;
mod currency;
mod email_send;
mod image_resize;
mod money;
mod period;
mod reference_id;
mod report_generate;
mod version_id;
mod webhook_deliver;

pub use amount::{Amount, AmountError};
pub use asset_id::{AssetId, AssetIdError, MAX_ASSET_ID_BYTES};
pub use billing_charge::BillingCharge;
pub use currency::{Currency, CurrencyError};
pub use email_send::EmailSend;
pub use image_resize::{ImageFormat, ImageResize};
pub use money::{Money, MoneyError};
pub use period::{MAX_PERIOD_DAYS, Period, PeriodError};
pub use reference_id::{MAX_REFERENCE_ID_CHARS, ReferenceId, ReferenceIdError};
pub use report_generate::ReportGenerate;
pub use version_id::{MAX_VERSION_ID_BYTES, VersionId, VersionIdError};
pub use webhook_deliver::{EndStatus, WebhookDeliver};

pub(crate) use amount::AMOUNT_FORMAT;
pub(crate) use currency::CURRENCY_FORMAT;
pub(crate) use period::PERIOD_FORMAT;
pub(crate) use reference_id::REFERENCE_ID_FORMAT;
