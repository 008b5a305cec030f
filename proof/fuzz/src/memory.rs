//! How much memory was taken at most. What C libraries take is not counted.

use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The result of `work`, and the most bytes that it held at a time beside what was held before. Other threads count too.
pub(crate) fn peak_of<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = work();
    (result, ALLOCATOR.peak_usage().saturating_sub(before) as u64)
}
