//! Markdown tables.

/// A table of texts.
pub(super) fn markdown<const COLUMNS: usize>(
    header: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&header.map(str::to_owned)) + &format!("|{}\n", "---|".repeat(COLUMNS));
    rows.into_iter().for_each(|row| text += &line(&row));
    text
}

/// Dollars, to the cent; to the tenth of one where that is all there is.
pub(super) fn dollars(amount: f64) -> String {
    if amount != 0.0 && amount < 1.0 { format!("{amount:.3}") } else { format!("{amount:.2}") }
}

/// A number of units, without trailing zeros.
pub(super) fn units(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
