//! Lanes of a batch: records of one lane run one after the other, lanes run side by side.

use super::received::Received;

/// On a standard queue each record has a lane of its own; on a FIFO queue each message group has one.
pub(super) struct Lane {
    pub(super) records: Vec<usize>,
    /// The first record that is not through.
    pub(super) next: usize,
}

impl Lane {
    fn of(records: Vec<usize>) -> Self {
        Self { records, next: 0 }
    }
}

/// Deals the records of a batch out, keeping the order within each lane.
pub(super) fn lanes(received: &[Received], is_fifo: bool) -> Vec<Lane> {
    if !is_fifo {
        return (0..received.len()).map(|index| Lane::of(vec![index])).collect();
    }
    let mut groups: Vec<(Option<&str>, Vec<usize>)> = Vec::new();
    for (index, record) in received.iter().enumerate() {
        let group = record.group_id.as_deref();
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, records)) => records.push(index),
            None => groups.push((group, vec![index])),
        }
    }
    groups.into_iter().map(|(_, records)| Lane::of(records)).collect()
}
