//! Calling work on a picture off.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use crate::picture_error::PictureError;

/// A flag that work on a thread looks at between its steps: a thread cannot be stopped from outside.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Calls the work off.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Goes on, unless the work was called off.
    ///
    /// # Errors
    /// [`PictureError::Cancelled`] when it was.
    pub fn check(&self) -> Result<(), PictureError> {
        if self.0.load(Ordering::Acquire) { Err(PictureError::Cancelled) } else { Ok(()) }
    }

    /// Calls the work off when the guard is dropped: a handler that is dropped leaves nothing behind that goes on.
    #[must_use]
    pub fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// See [`Cancel::on_drop`].
#[derive(Debug)]
pub struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}
