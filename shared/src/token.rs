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

/// A new name that sorts behind all that this process has made before, also in the same millisecond. `now` counts where tests have seeded
/// the names; else it is the system's time.
#[must_use]
pub fn unique_in_order(now: EpochMillis) -> Uuid {
    #[cfg(feature = "testing")]
    if let Some(random) = seeded::bytes_in_order() {
        return uuid::Builder::from_unix_timestamp_millis(u64::try_from(now.as_i64()).unwrap_or(0), &random).into_uuid();
    }
    let _ = now;
    Uuid::now_v7()
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
    use std::cell::{Cell, RefCell};

    thread_local! {
        static DICE: RefCell<Option<fastrand::Rng>> = const { RefCell::new(None) };
        static MADE: Cell<u16> = const { Cell::new(0) };
    }

    pub(crate) fn set(seed: Option<u64>) {
        DICE.with_borrow_mut(|dice| *dice = seed.map(fastrand::Rng::with_seed));
        MADE.set(0);
    }

    /// The first twelve bits behind the time count, for names of the same millisecond.
    pub(super) fn bytes_in_order() -> Option<[u8; 10]> {
        let [_, _, _, _, _, _, mut random @ ..] = bytes()?;
        MADE.set(MADE.get().wrapping_add(1));
        random[..2].copy_from_slice(&MADE.get().to_be_bytes());
        Some(random)
    }

    pub(super) fn bytes() -> Option<[u8; 16]> {
        DICE.with_borrow_mut(|dice| dice.as_mut().map(|dice| dice.u128(..).to_le_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: EpochMillis = EpochMillis::from_i64(1_800_000_000_000);

    #[track_caller]
    fn assert_in_order() {
        let names: Vec<_> = (0..100).map(|_| unique_in_order(NOW)).collect();
        assert!(names.is_sorted_by(|one, next| one.to_string() < next.to_string()), "{names:?}");
        assert_eq!(names[0].get_version_num(), 7);
    }

    #[test]
    fn names_are_new_and_later_ones_sort_behind_also_in_one_millisecond() {
        assert_ne!(unique(), unique());
        assert_eq!(unique().get_version_num(), 4);
        assert_in_order();
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

    #[cfg(feature = "testing")]
    #[test]
    fn names_out_of_a_seed_are_in_order_too() {
        seeded::set(Some(7));
        assert_in_order();
        assert!(unique_in_order(NOW).to_string() < unique_in_order(NOW + std::time::Duration::from_millis(1)).to_string());
        seeded::set(None);
    }
}
