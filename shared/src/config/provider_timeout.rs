//! The one setting that many consumers share: how long their provider may take.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::Reader;

/// What a job needs besides its provider's answers: its claim, what is looked up before, the announcement of its effect. Some ten milliseconds
/// each, and more with a cold connection.
const TIME_BESIDES: Duration = Duration::from_millis(500);

/// What a function's own timeout may be, in seconds; anything else is a problem of that setting and reported there.
const FUNCTION_TIMEOUTS: RangeInclusive<u64> = 1..=5_400;

impl Reader {
    /// `IKKAI_PROVIDER_TIMEOUT_MS` in whole milliseconds inside `range`, or `default` milliseconds: how long one call of the provider may take.
    ///
    /// A timeout that does not fit into the function's own is a problem: a job without time for its calls would come back for ever without a
    /// try. The kit keeps at most a quarter of an invocation for settling, so the calls have the other three quarters, less half a second;
    /// `longest` says how long a timeout may be so that all calls of a job fit into that time.
    pub fn provider_timeout(
        &mut self,
        default: u64,
        range: RangeInclusive<u64>,
        longest: impl FnOnce(Duration) -> Duration,
    ) -> Duration {
        const NAME: &str = "IKKAI_PROVIDER_TIMEOUT_MS";
        let timeout = self.millis(NAME, default, range);
        // Required of every consumer and checked there; a problem is not to be reported twice.
        let function_timeout = self.optional_text("IKKAI_FUNCTION_TIMEOUT_SECONDS").and_then(|text| text.parse().ok());
        if let Some(seconds) = function_timeout.filter(|seconds| FUNCTION_TIMEOUTS.contains(seconds)) {
            let limit = longest(Duration::from_secs(seconds) * 3 / 4 - TIME_BESIDES);
            if timeout > limit {
                self.problem(
                    NAME,
                    format!(
                        "is {} ms, which leaves a job too little time in a function that may run for {seconds} s; \
                         set it to {} ms at most, or give the function more time",
                        timeout.as_millis(),
                        limit.as_millis(),
                    ),
                );
            }
        }
        timeout
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(function_seconds: &str, timeout_ms: &str, calls: u32) -> Result<Duration, Vec<String>> {
        let pairs = [("IKKAI_FUNCTION_TIMEOUT_SECONDS", function_seconds), ("IKKAI_PROVIDER_TIMEOUT_MS", timeout_ms)];
        let mut reader = Reader::from_pairs(pairs);
        let timeout = reader.provider_timeout(5_000, 100..=60_000, |time| time / calls);
        reader.finish(timeout).map_err(|error| error.problems().iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_timeout_fits_into_three_quarters_of_the_function_s_less_half_a_second() {
        for (seconds, longest, calls) in [("30", 22_000, 1), ("30", 11_000, 2), ("3", 1_750, 1), ("1", 250, 1)] {
            assert_eq!(read(seconds, &longest.to_string(), calls), Ok(Duration::from_millis(longest)));
            let problems = read(seconds, &(longest + 1).to_string(), calls).unwrap_err();
            let expected = format!(
                "IKKAI_PROVIDER_TIMEOUT_MS: is {} ms, which leaves a job too little time in a function that may run for {seconds} s; \
                 set it to {longest} ms at most, or give the function more time",
                longest + 1,
            );
            assert_eq!(problems, [expected]);
        }
    }

    #[test]
    fn the_default_has_to_fit_too() {
        assert_eq!(read("30", "", 1), Ok(Duration::from_secs(5)));
        assert_eq!(read("5", "", 1).unwrap_err().len(), 1);
    }

    #[test]
    fn a_number_out_of_range_is_one_problem() {
        let [problem] = &read("30", "60001", 1).unwrap_err()[..] else { panic!("one problem") };
        assert!(problem.ends_with("set it to a whole number from 100 to 60000"), "{problem}");
    }

    #[test]
    fn a_wrong_function_timeout_is_left_to_whoever_requires_it() {
        for seconds in ["", "soon", "0", "-1", "5401", "99999999999999999999"] {
            assert!(read(seconds, "60000", 1).is_ok(), "{seconds}");
        }
    }
}
