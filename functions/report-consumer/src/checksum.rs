//! SHA-256 over bytes that come in over several invocations.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use sha2::{
    Digest as _, Sha256,
    digest::common::hazmat::{SerializableState as _, SerializedState},
};

/// A checksum in the making, which can be put down as text and taken up again. So the result is the plain SHA-256 of the whole file, and
/// `sha256sum` verifies it, however many runs wrote it.
#[derive(Debug, Clone)]
pub(crate) struct Checksum(Sha256);

impl Checksum {
    pub(crate) fn new() -> Self {
        Self(Sha256::new())
    }

    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of everything so far, in hex.
    pub(crate) fn hex(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The digest of everything so far, in base64.
    pub(crate) fn base64(&self) -> String {
        STANDARD.encode(self.0.clone().finalize())
    }

    /// Where the computation stands. Of files that are secret it would tell something; a report's bytes lie beside it.
    pub(crate) fn to_state(&self) -> String {
        STANDARD.encode(self.0.serialize())
    }

    pub(crate) fn from_state(state: &str) -> Option<Self> {
        let bytes = STANDARD.decode(state).ok()?;
        let state = SerializedState::<Sha256>::try_from(bytes.as_slice()).ok()?;
        Sha256::deserialize(&state).ok().map(Self)
    }
}

/// The digest of `bytes`, in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let mut checksum = Checksum::new();
    checksum.add(bytes);
    checksum.hex()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn it_is_the_sha256_that_everybody_knows() {
        // FIPS 180-4's example, https://csrc.nist.gov/CSRC/media/Projects/Cryptographic-Standards-and-Guidelines/documents/examples/SHA256.pdf
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn what_is_no_state_is_refused() {
        for text in ["", "AAAA", "not base64!"] {
            assert!(Checksum::from_state(text).is_none(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn put_down_and_taken_up_anywhere_it_is_the_same(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0usize..400) {
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let mut checksum = Checksum::new();
            checksum.add(first);
            let mut again = Checksum::from_state(&checksum.to_state()).expect("its own state");
            again.add(second);
            prop_assert_eq!(again.hex(), sha256_hex(&bytes));
        }
    }
}
