//! Text in columns.

use std::fmt::Write as _;

/// Columns as wide as their widest cell.
#[must_use]
pub fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:<width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_as_wide_as_its_widest_cell() {
        let rows = [["what", "µs", ""], ["a", "1000", "met"]].map(|row| row.map(str::to_owned));
        assert_eq!(aligned(&rows), "what  µs\na     1000  met\n");
    }
}
