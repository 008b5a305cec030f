//! A report in the making.

use ikkai::job::Period;

use crate::{
    checksum::Checksum,
    history::{HistoryPage, Position},
    store::UploadedPart,
    summary::Summary,
    table,
};

/// Everything that is known of a report so far. In memory it holds the bytes of the CSV that are not uploaded yet, never more than a part and a page.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// The upload of the CSV, once it is larger than a part.
    pub(crate) upload: Option<Upload>,
    /// Bytes of the CSV that are not uploaded.
    pub(crate) pending: Vec<u8>,
    /// All bytes of the CSV so far.
    pub(crate) bytes: u64,
    /// Over all of them.
    pub(crate) checksum: Checksum,
    pub(crate) summary: Summary,
    pub(crate) reading: Reading,
}

/// An upload that is open.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Upload {
    pub(crate) name: String,
    pub(crate) parts: Vec<UploadedPart>,
}

impl Upload {
    /// The number of the part that comes next. S3 takes ten thousand, which is fifty gigabytes.
    pub(crate) fn next_number(&self) -> i32 {
        i32::try_from(self.parts.len()).unwrap_or(i32::MAX).saturating_add(1)
    }
}

/// How far the history was read.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reading {
    /// Not at all.
    Unread,
    /// Up to this job.
    UpTo(Position),
    /// To its end.
    Done,
}

impl Draft {
    /// The header and nothing else.
    pub(crate) fn new(period: &Period) -> Self {
        let mut draft = Self {
            upload: None,
            pending: Vec::new(),
            bytes: 0,
            checksum: Checksum::new(),
            summary: Summary::new(period),
            reading: Reading::Unread,
        };
        draft.write(&table::header());
        draft
    }

    /// Where the next page begins.
    pub(crate) const fn position(&self) -> Option<&Position> {
        match &self.reading {
            Reading::UpTo(position) => Some(position),
            Reading::Unread | Reading::Done => None,
        }
    }

    pub(crate) fn add(&mut self, page: HistoryPage, period: &Period) {
        self.write(&table::rows(&page.rows));
        page.rows.iter().for_each(|row| self.summary.add(row, period));
        self.reading = page.next.map_or(Reading::Done, Reading::UpTo);
    }

    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.checksum.add(bytes);
        self.pending.extend_from_slice(bytes);
    }
}
