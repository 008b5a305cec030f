//! The CSV: one line a job.

use ikkai::clock::EpochMillis;

use crate::history::JobRow;

/// The columns, as the header names them. New ones come at the end.
const COLUMNS: [&str; 9] =
    ["job_id", "type", "status", "attempts", "created_at", "ended_at", "error_class", "error_code", "business_id"];

/// The header line.
pub(crate) fn header() -> Vec<u8> {
    lines([COLUMNS.map(str::to_owned)])
}

/// A line for each job. RFC 4180 (<https://www.rfc-editor.org/rfc/rfc4180>): CRLF, quotes where they are needed. Times are RFC 3339 in UTC.
pub(crate) fn rows(rows: &[JobRow]) -> Vec<u8> {
    lines(rows.iter().map(|row| {
        let time = |at: EpochMillis| at.rfc3339().to_string();
        [
            cell(&row.job_id),
            cell(&row.job_type),
            cell(&row.status),
            row.attempts.to_string(),
            time(row.created_at),
            row.ended_at.map(time).unwrap_or_default(),
            cell(row.error_class.as_deref().unwrap_or_default()),
            cell(row.error_code.as_deref().unwrap_or_default()),
            cell(row.business_id.as_deref().unwrap_or_default()),
        ]
    }))
}

/// A text that no spreadsheet takes for a formula: what begins like one gets an apostrophe in front, which spreadsheets show as text
/// (<https://owasp.org/www-community/attacks/CSV_Injection>). The wide forms of the signs are read as the signs by spreadsheets in some languages.
fn cell(text: &str) -> String {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']) {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn lines(lines: impl IntoIterator<Item = [String; COLUMNS.len()]>) -> Vec<u8> {
    let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for line in lines {
        writer.write_record(line).expect("a line in memory, as long as the others");
    }
    writer.into_inner().expect("a buffer in memory takes everything")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(business_id: &str) -> JobRow {
        JobRow {
            job_id: "email.send-1".to_owned(),
            job_type: "email.send".to_owned(),
            status: "succeeded".to_owned(),
            attempts: 1,
            created_at: EpochMillis::from_i64(1_767_225_600_000),
            ended_at: Some(EpochMillis::from_i64(1_767_225_600_042)),
            error_class: None,
            error_code: None,
            business_id: Some(business_id.to_owned()),
        }
    }

    fn text(business_id: &str) -> String {
        String::from_utf8(rows(&[row(business_id)])).unwrap()
    }

    #[test]
    fn a_job_is_a_line() {
        assert_eq!(
            String::from_utf8(header()).unwrap(),
            "job_id,type,status,attempts,created_at,ended_at,error_class,error_code,business_id\r\n"
        );
        assert_eq!(
            text("order-1001"),
            "email.send-1,email.send,succeeded,1,2026-01-01T00:00:00.000Z,2026-01-01T00:00:00.042Z,,,order-1001\r\n"
        );
    }

    #[test]
    fn no_cell_is_a_formula() {
        for formula in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠SUM(A1)"] {
            let line = text(formula);
            let cell = line.splitn(9, ',').last().unwrap();
            assert!(cell.starts_with('\'') || cell.starts_with("\"'"), "{cell:?}");
        }
    }

    #[test]
    fn commas_quotes_and_line_breaks_stay_inside_their_cell() {
        assert!(text("a,b").ends_with(",\"a,b\"\r\n"));
        assert!(text("a\"b").ends_with(",\"a\"\"b\"\r\n"));
        assert!(text("a\r\nb").ends_with(",\"a\r\nb\"\r\n"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(business_ids in proptest::collection::vec("[\\PC,\"=\r\n\t]{0,20}", 0..5)) {
            let rows_in: Vec<_> = business_ids.iter().map(|id| row(id)).collect();
            let bytes = [header(), rows(&rows_in)].concat();
            let mut reader = csv::Reader::from_reader(bytes.as_slice());
            let read: Vec<_> = reader.records().map(|record| record.unwrap()[8].to_owned()).collect();
            prop_assert_eq!(read, business_ids.iter().map(|id| cell(id)).collect::<Vec<_>>());
        }
    }
}
