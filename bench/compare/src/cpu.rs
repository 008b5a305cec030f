//! The processor time of one process.

use std::collections::HashMap;
use std::time::Duration;
use std::{fs, io};

/// Nanoseconds that each thread of a process has run. `/proc/PID/stat` counts in hundredths of a second, which is longer than a batch takes.
#[derive(Debug, Clone)]
pub(crate) struct CpuTime(HashMap<String, u64>);

impl CpuTime {
    /// What the process has used so far.
    pub(crate) fn of(pid: u32) -> io::Result<Self> {
        let mut threads = HashMap::new();
        for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
            let thread = thread?;
            // A thread may end while this is read.
            let Ok(line) = fs::read_to_string(thread.path().join("schedstat")) else { continue };
            let ran = line.split(' ').next().and_then(|nanos| nanos.parse().ok());
            let ran = ran.ok_or_else(|| io::Error::other("the kernel keeps no schedstat"))?;
            threads.insert(thread.file_name().to_string_lossy().into_owned(), ran);
        }
        if threads.is_empty() { Err(io::Error::other("no thread is left: has the process ended?")) } else { Ok(Self(threads)) }
    }

    /// What was used since `earlier`. Of a thread that has ended meanwhile nobody knows what it had done last; pools end those that are idle.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let ran = |(thread, now): (&String, &u64)| now.saturating_sub(earlier.0.get(thread).copied().unwrap_or(0));
        Duration::from_nanos(self.0.iter().map(ran).sum())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    fn this() -> CpuTime {
        CpuTime::of(std::process::id()).expect("this process lives")
    }

    fn spin(time: Duration) {
        let began = this();
        while this().since(&began) < time {
            std::hint::black_box(0);
        }
    }

    #[test]
    fn work_counts_on_whatever_thread_and_sleep_does_not() {
        let began = this();
        let wall = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        spin(Duration::from_millis(5));
        let used = this().since(&began);
        assert!(used >= Duration::from_millis(5), "{used:?}");
        // Other tests of this process run meanwhile, on their own threads; sleeping alone adds nothing.
        assert!(wall.elapsed() >= Duration::from_millis(55));
    }

    #[test]
    fn a_thread_that_came_later_counts_from_its_beginning() {
        let before = CpuTime(HashMap::from([("1".to_owned(), 5), ("2".to_owned(), 7)]));
        let now = CpuTime(HashMap::from([("1".to_owned(), 8), ("3".to_owned(), 100)]));
        assert_eq!(now.since(&before), Duration::from_nanos(103));
    }

    #[test]
    fn a_process_that_is_not_there_has_none() {
        assert!(CpuTime::of(u32::MAX).is_err());
    }
}
