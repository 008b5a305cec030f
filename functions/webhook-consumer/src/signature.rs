//! What proves to a receiver who sent an event, and when.

use hmac::{Hmac, KeyInit as _, Mac as _};
use ikkai::clock::EpochSeconds;
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use crate::secret::SigningSecret;

/// The header that carries the signature.
pub const SIGNATURE_HEADER: &str = "ikkai-signature";

/// The key of one caller: HMAC-SHA256 of its name under the secret, as 64 hexadecimal digits. Each caller has another one, so none of them can
/// sign what another one would believe.
#[must_use]
pub fn caller_key(secret: &SecretString, caller: &str) -> SecretString {
    SecretString::from(hmac_hex(secret.expose_secret(), &[caller.as_bytes()]))
}

/// The header's value, `t=<seconds>,v1=<hex>`: HMAC-SHA256 over `<seconds>.<body>` under the caller's key, taken as text. While a secret is being
/// exchanged there are two `v1`, the first by the current one.
#[must_use]
pub fn signature(secret: &SigningSecret, caller: &str, at: EpochSeconds, body: &[u8]) -> String {
    let prefix = format!("{at}.");
    let mut value = format!("t={at}");
    for secret in secret.all() {
        let key = caller_key(secret, caller);
        value.push_str(",v1=");
        value.push_str(&hmac_hex(key.expose_secret(), &[prefix.as_bytes(), body]));
    }
    value
}

fn hmac_hex(key: &str, parts: &[&[u8]]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes a key of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 2.
    #[test]
    fn the_digest_is_the_standard_s() {
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hmac_hex("Jefe", &[b"what do ya want ", b"for nothing?"]), expected);
    }

    #[test]
    fn each_caller_has_a_key_of_its_own() {
        let secret = SecretString::from("a secret of some length");
        let (ann, bob) = (caller_key(&secret, "ann"), caller_key(&secret, "bob"));
        assert_ne!(ann.expose_secret(), bob.expose_secret());
        assert_eq!(ann.expose_secret().len(), 64);
    }
}
