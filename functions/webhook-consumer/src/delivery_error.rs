//! Why a delivery failed, and what that means for its job.

use std::error::Error;
use std::io;

use http::StatusCode;

use crate::resolver::ResolveError;
use crate::retry_after::RetryAfter;

/// Why a receiver did not take an event. The texts name neither host nor URL nor what the receiver said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeliveryError {
    /// 410: the receiver wants no more of these.
    #[error("the receiver answered 410: it is gone for good; give the caller's next jobs another callbackUrl")]
    Gone,
    /// 3xx. A redirect could lead anywhere, so none is followed.
    #[error("the receiver answered {0}: redirects are not followed; make callbackUrl the final URL")]
    Redirects(u16),
    /// 429.
    #[error("the receiver answered 429: it wants fewer events at a time")]
    Throttles {
        /// When to come back, if it said so.
        retry_after: Option<RetryAfter>,
    },
    /// 5xx.
    #[error("the receiver answered {status}")]
    Fails {
        /// The status.
        status: u16,
        /// When to come back, if it said so.
        retry_after: Option<RetryAfter>,
    },
    /// Any other status. Deployments and changes of a signature's check bring such answers for a while, too.
    #[error("the receiver answered {0} instead of 2xx; look into its log")]
    Refuses(u16),
    /// The URL in the record breaks the rules of today.
    #[error("the job's callbackUrl is not one that may be called")]
    UrlRefused,
    /// The name leads to an address that may not be called.
    #[error("the receiver's name leads to an address that is not public; nothing was sent")]
    AddressRefused,
    /// The name has no address.
    #[error("the receiver's name could not be resolved")]
    Unresolved,
    /// No TCP connection.
    #[error("no connection to the receiver")]
    Unreachable,
    /// No TLS connection: an old version, or a certificate that is not trusted or not for this name.
    #[error("no TLS connection to the receiver; check its certificate and its chain")]
    Tls,
    /// No answer in time.
    #[error("the receiver did not answer in time; take events in first and work on them afterwards")]
    TimedOut,
    /// The connection ended, or what came was no HTTP.
    #[error("the receiver ended the connection, or its answer could not be read")]
    ConnectionLost,
}

impl DeliveryError {
    /// Stable machine name.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Gone => "receiver_gone",
            Self::Redirects(_) => "receiver_redirects",
            Self::Throttles { .. } => "receiver_throttles",
            Self::Fails { .. } => "receiver_fails",
            Self::Refuses(_) => "receiver_refuses",
            Self::UrlRefused => "callback_url_refused",
            Self::AddressRefused => "receiver_address_refused",
            Self::Unresolved => "receiver_unresolved",
            Self::Unreachable => "receiver_unreachable",
            Self::Tls => "receiver_tls_failed",
            Self::TimedOut => "receiver_timed_out",
            Self::ConnectionLost => "receiver_connection_lost",
        }
    }

    /// Whether another try would end alike. Everything else is worth one: a receiver's deployment answers 404 or 401 for a minute.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Self::Gone | Self::UrlRefused | Self::AddressRefused)
    }

    /// When the receiver wants to be asked again.
    #[must_use]
    pub const fn retry_after(&self) -> Option<RetryAfter> {
        match self {
            Self::Throttles { retry_after } | Self::Fails { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// What a status says; `Ok` for 2xx.
    pub(crate) fn of_status(status: StatusCode, retry_after: Option<RetryAfter>) -> Result<(), Self> {
        match status.as_u16() {
            200..=299 => Ok(()),
            300..=399 => Err(Self::Redirects(status.as_u16())),
            410 => Err(Self::Gone),
            429 => Err(Self::Throttles { retry_after }),
            status @ 500.. => Err(Self::Fails { status, retry_after }),
            status => Err(Self::Refuses(status)),
        }
    }

    /// What a failed call says. Our own refusals and the operating system's reasons are somewhere in its chain of causes.
    pub(crate) fn of_call(error: &hyper_util::client::legacy::Error) -> Self {
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        let mut reason = None;
        while let Some(error) = cause {
            match error.downcast_ref::<ResolveError>() {
                Some(ResolveError::Refused) => return Self::AddressRefused,
                Some(ResolveError::NoAddress) => return Self::Unresolved,
                None => {}
            }
            reason = reason.or_else(|| error.downcast_ref::<io::Error>().map(io::Error::kind));
            cause = error.source();
        }
        match reason {
            // The TLS connector wraps whatever ends a handshake in an error of its own.
            Some(io::ErrorKind::Other) if error.is_connect() => Self::Tls,
            Some(io::ErrorKind::TimedOut) if error.is_connect() => Self::TimedOut,
            _ if error.is_connect() => Self::Unreachable,
            _ => Self::ConnectionLost,
        }
    }
}
