//! Names that nobody else has: of leases, acceptances, runs.
//!
//! They come from the operating system's generator. A simulation that has to repeat itself takes them from a seed instead, see
//! `testing::seed_tokens`; that is not compiled into functions.

use uuid::Uuid;

use crate::clock::EpochMillis;

/// A new name: 122 random bits.
#[must_use]
pub fn unique() -> Uuid {
    uuid::Builder::from_random_bytes(random_bytes()).into_uuid()
}

/// A new name that sorts behind the names of earlier moments.
#[must_use]
pub fn unique_in_order(now: EpochMillis) -> Uuid {
    let [_, _, _, _, _, _, random @ ..] = random_bytes();
    uuid::Builder::from_unix_timestamp_millis(u64::try_from(now.as_i64()).unwrap_or(0), &random).into_uuid()
}

#[cfg(not(feature = "testing"))]
fn random_bytes() -> [u8; 16] {
    *Uuid::new_v4().as_bytes()
}

#[cfg(feature = "testing")]
fn random_bytes() -> [u8; 16] {
    seeded::bytes().unwrap_or_else(|| *Uuid::new_v4().as_bytes())
}

/// Names out of a seed, a thread at a time.
#[cfg(feature = "testing")]
pub(crate) mod seeded {
    use std::cell::RefCell;

    thread_local! {
        static DICE: RefCell<Option<fastrand::Rng>> = const { RefCell::new(None) };
    }

    pub(crate) fn set(seed: Option<u64>) {
        DICE.with_borrow_mut(|dice| *dice = seed.map(fastrand::Rng::with_seed));
    }

    pub(super) fn bytes() -> Option<[u8; 16]> {
        DICE.with_borrow_mut(|dice| dice.as_mut().map(|dice| dice.u128(..).to_le_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_new_and_those_of_later_moments_sort_behind() {
        assert_ne!(unique(), unique());
        assert_eq!(unique().get_version_num(), 4);
        let (early, late) = (EpochMillis::from_i64(1_800_000_000_000), EpochMillis::from_i64(1_800_000_000_001));
        assert!(unique_in_order(early).to_string() < unique_in_order(late).to_string());
        assert_eq!(unique_in_order(early).get_version_num(), 7);
    }

    #[cfg(feature = "testing")]
    #[test]
    fn the_same_seed_gives_the_same_names_on_its_thread() {
        let three = |seed| {
            seeded::set(seed);
            let names = [unique(), unique(), unique()];
            seeded::set(None);
            names
        };
        assert_eq!(three(Some(7)), three(Some(7)));
        assert_ne!(three(Some(7)), three(Some(8)));
        assert_ne!(three(None), three(None));
    }
}
