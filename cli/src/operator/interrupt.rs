//! Ctrl-C, heard and acted upon at the next good moment.

use tokio::sync::watch;

/// Whether the operator wants to stop. Clones hear the same.
#[derive(Debug, Clone)]
pub struct Interrupt(watch::Receiver<bool>);

impl Interrupt {
    /// From now on Ctrl-C no longer ends the process by itself: the first one is remembered and `told`, the second one ends it.
    #[must_use]
    pub fn listen(told: impl FnOnce() + Send + 'static) -> Self {
        let (wish, wanted) = watch::channel(false);
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                told();
                let _ = wish.send(true);
            }
            if tokio::signal::ctrl_c().await.is_ok() {
                // 128 and the signal's number, as shells expect.
                std::process::exit(130);
            }
        });
        Self(wanted)
    }

    /// Whether the operator has asked to stop.
    #[must_use]
    pub fn is_wanted(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the operator asks to stop.
    pub async fn wanted(&mut self) {
        if self.0.wait_for(|wanted| *wanted).await.is_err() {
            // Nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }

    /// For tests: an interrupt that is wanted when the sender says so.
    #[cfg(test)]
    pub(crate) fn scripted() -> (Self, watch::Sender<bool>) {
        let (wish, wanted) = watch::channel(false);
        (Self(wanted), wish)
    }
}
