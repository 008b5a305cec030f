//! The actions that change no message: one a file, each answers its request.

mod cancel;
mod history;
mod inspect;
mod list;
mod members;
mod move_task;
mod resolve;
mod status;

pub(crate) use self::cancel::cancel;
pub(crate) use self::history::history;
pub(crate) use self::inspect::inspect;
pub(crate) use self::list::list;
pub(crate) use self::move_task::move_task;
pub(crate) use self::resolve::resolve;
pub(crate) use self::status::status;
