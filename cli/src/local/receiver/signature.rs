//! The signature of an event, checked as its documentation says (`docs/webhooks.md`).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};

/// How old a signature may be.
const TOLERANCE: Duration = Duration::from_secs(300);

/// SHA-256's block.
const BLOCK: usize = 64;

/// Why a signature is not believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignatureError {
    /// It is not of the form `t=<seconds>,v1=<hex>`.
    #[error("the signature is not of the form t=<seconds>,v1=<hex>")]
    Malformed,
    /// Its time is far from now.
    #[error("the signature is too old, or from the future")]
    Stale,
    /// It belongs to another body, time or key.
    #[error("the signature does not fit the body")]
    Wrong,
}

/// The key of one caller: what the operator hands to it.
#[must_use]
pub fn caller_key(secret: &str, caller: &str) -> String {
    hex(&hmac(secret.as_bytes(), &[caller.as_bytes()]))
}

/// Checks the header field `ikkai-signature` of a delivery against its body, byte for byte as it came.
///
/// # Errors
/// It is not to be believed.
pub fn verify(signature: &str, body: &[u8], key: &str, now: SystemTime) -> Result<(), SignatureError> {
    let parts = || signature.split(',').filter_map(|part| part.trim().split_once('='));
    let time = parts().find(|(name, _)| *name == "t").map(|(_, value)| value).ok_or(SignatureError::Malformed)?;
    let seconds: u64 = time.parse().map_err(|_| SignatureError::Malformed)?;
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    if now.abs_diff(seconds) > TOLERANCE.as_secs() {
        return Err(SignatureError::Stale);
    }
    let wanted = hex(&hmac(key.as_bytes(), &[time.as_bytes(), b".", body]));
    let mut offered = parts().filter(|(name, _)| *name == "v1").map(|(_, value)| value).peekable();
    if offered.peek().is_none() {
        return Err(SignatureError::Malformed);
    }
    // All are compared to their ends, so that the time tells nothing.
    let fits = offered.fold(false, |fits, value| equal(value.as_bytes(), wanted.as_bytes()) | fits);
    if fits { Ok(()) } else { Err(SignatureError::Wrong) }
}

fn equal(one: &[u8], other: &[u8]) -> bool {
    one.len() == other.len() && one.iter().zip(other).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

/// HMAC with SHA-256 (RFC 2104) over the parts, one after the other.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut inner = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x36));
    parts.iter().for_each(|part| inner.update(part));
    let mut outer = Sha256::new_with_prefix(block.map(|byte| byte ^ 0x5c));
    outer.update(inner.finalize());
    outer.finalize().into()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_that_of_rfc_4231() {
        let digest = hmac(b"Jefe", &[b"what do ya want ", b"for nothing?"]);
        assert_eq!(hex(&digest), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let digest = hmac(&[0xaa; 131], &[b"Test Using Larger Than Block-Size Key - Hash Key First"]);
        assert_eq!(hex(&digest), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }

    fn signed(seconds: u64, body: &[u8], key: &str) -> String {
        let time = seconds.to_string();
        format!("t={time},v1={}", hex(&hmac(key.as_bytes(), &[time.as_bytes(), b".", body])))
    }

    #[test]
    fn only_the_right_key_body_and_time_are_believed() {
        let at = |seconds| UNIX_EPOCH + Duration::from_secs(seconds);
        let signature = signed(1000, b"body", "key");
        assert_eq!(verify(&signature, b"body", "key", at(1300)), Ok(()));
        assert_eq!(verify(&signature, b"body", "key", at(1301)), Err(SignatureError::Stale));
        assert_eq!(verify(&signature, b"body", "key", at(699)), Err(SignatureError::Stale));
        assert_eq!(verify(&signature, b"Body", "key", at(1000)), Err(SignatureError::Wrong));
        assert_eq!(verify(&signature, b"body", "other", at(1000)), Err(SignatureError::Wrong));
        assert_eq!(verify(&signature.replace("t=1000", "t=1001"), b"body", "key", at(1000)), Err(SignatureError::Wrong));
        for malformed in ["", "t=1000", "v1=00", "t=soon,v1=00"] {
            assert_eq!(verify(malformed, b"body", "key", at(1000)), Err(SignatureError::Malformed), "{malformed}");
        }
    }

    #[test]
    fn one_of_several_signatures_is_enough_while_a_secret_is_replaced() {
        let now = UNIX_EPOCH + Duration::from_secs(1000);
        let old = signed(1000, b"body", "old");
        let both = format!("{},{}", signed(1000, b"body", "new"), old.split_once(',').unwrap().1);
        assert_eq!((verify(&both, b"body", "old", now), verify(&both, b"body", "new", now)), (Ok(()), Ok(())));
    }
}
