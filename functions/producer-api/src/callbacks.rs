//! Whom to tell of a job's end.

use ikkai::callback::CallbackUrl;
use ikkai::job::FieldError;

use crate::problem::{Code, Problem};
use crate::settings::CALLBACK_REACH;

const AT: &str = "/callbackUrl";

/// Reads the member `callbackUrl`.
pub(crate) fn read(text: &str, switched_on: bool) -> Result<CallbackUrl, Problem> {
    let refused = |code, message: String| Problem::of_fields(Code::CallbackRefused, vec![FieldError::new(AT, code, message)]);
    if !switched_on {
        let message = "must be left out: this API sends no callbacks (IKKAI_CALLBACKS); ask for the job's state instead";
        return Err(refused("callbacks_off", message.to_owned()));
    }
    CallbackUrl::parse(text, CALLBACK_REACH).map_err(|error| refused(error.code(), error.to_string()))
}
