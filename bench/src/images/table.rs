//! The table.

use ikkai_compare::columns::aligned;
use ikkai_compare::statistics::percentile;

use super::{BYTES_PER_MB, Measured, sharp};

/// What all contenders took for one size of one photograph.
pub(crate) struct Row {
    pub(crate) photograph: &'static str,
    pub(crate) size: u32,
    contenders: Vec<(&'static str, Vec<Measured>)>,
}

impl Row {
    pub(crate) fn new(photograph: &'static str, size: u32) -> Self {
        Self { photograph, size, contenders: Vec::new() }
    }

    /// Adds a round of a contender.
    pub(crate) fn add(&mut self, name: &'static str, measured: Measured) {
        match self.contenders.iter_mut().find(|(known, _)| *known == name) {
            Some((_, rounds)) => rounds.push(measured),
            None => self.contenders.push((name, vec![measured])),
        }
    }

    fn rounds(&self, name: &str) -> &[Measured] {
        self.contenders.iter().find(|(known, _)| *known == name).map_or(&[], |(_, rounds)| rounds)
    }

    /// Pictures of a contender in a second of processor time, the median of its rounds.
    fn per_second(&self, name: &str) -> f64 {
        let micros = self.rounds(name).iter().map(|measured| (measured.cpu_ms * 1000.0) as u64);
        percentile(micros, 50).map_or(0.0, |micros| 1e6 / micros.max(1) as f64)
    }

    /// How much faster than sharp.
    pub(crate) fn ratio(&self, name: &str) -> f64 {
        self.per_second(name) / self.per_second(sharp::NAME)
    }

    /// Largest memory of a contender.
    pub(crate) fn peak(&self, name: &str) -> u64 {
        self.rounds(name).iter().map(|measured| measured.peak_bytes).max().unwrap_or(0)
    }
}

/// The rows as text.
pub(crate) fn rendered(rows: &[Row]) -> String {
    let header = ["photograph", "size", "contender", "pictures/s a core", "of sharp", "peak RSS", "output"].map(str::to_owned);
    let lines = rows.iter().flat_map(|row| {
        row.contenders.iter().map(|&(name, ref rounds)| {
            [
                row.photograph.to_owned(),
                format!("{} px", row.size),
                name.to_owned(),
                format!("{:.1}", row.per_second(name)),
                format!("{:.2}", row.ratio(name)),
                format!("{:.1} MB", row.peak(name) as f64 / BYTES_PER_MB),
                format!("{} bytes", rounds.first().map_or(0, |measured| measured.bytes)),
            ]
        })
    });
    aligned(&std::iter::once(header).chain(lines).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_the_rounds_is_compared_with_that_of_sharp() {
        let measured = |cpu_ms| Measured { cpu_ms, bytes: 7, peak_bytes: 2_000_000 };
        let mut row = Row::new("photograph", 720);
        for (sharp, ikkai) in [(20.0, 10.0), (90.0, 10.0), (10.0, 90.0)] {
            row.add(sharp::NAME, measured(sharp));
            row.add("ikkai", measured(ikkai));
        }
        assert_eq!((row.ratio("ikkai"), row.peak("ikkai")), (2.0, 2_000_000));
        assert_eq!(
            rendered(&[row]),
            "photograph  size    contender  pictures/s a core  of sharp  peak RSS  output
photograph  720 px  sharp      50.0               1.00      2.0 MB    7 bytes
photograph  720 px  ikkai      100.0              2.00      2.0 MB    7 bytes
"
        );
    }
}
