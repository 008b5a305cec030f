//! The results on the screen.

use std::collections::BTreeSet;

use comfy_table::{CellAlignment, ContentArrangement, LineStyle, Table, TableStyle};

use super::cost::CostLine;
use super::report::{BATCH, JobReport, NormalJobReport, Report, SceneReport, StepReport};
use crate::screen::{Screen, Tone};

/// Prints everything but the verdict.
pub(super) fn print(screen: &Screen, report: &Report, width: Option<u16>) {
    if !report.jobs.is_empty() {
        screen.line("");
        jobs(screen, &report.jobs, width);
        screen.line("");
        calls(screen, report, width);
    }
    if let Some(normal) = &report.normal_job {
        screen.line("");
        price(screen, normal, width);
    }
    if !report.consumers.is_empty() {
        screen.line("");
        consumers(screen, &report.consumers, width);
    }
    if !report.operators.is_empty() {
        screen.line("");
        operators(screen, &report.operators, width);
    }
    let broken = report.broken();
    if !broken.is_empty() {
        screen.line("");
        screen.line("what was promised and not found:");
        for (job, finding) in broken {
            let promise = format!("{job}: {}", finding.promise);
            screen.line(format!("  {} {promise}; found {}", screen.paint(Tone::Bad, "✗"), finding.found));
        }
        screen.line(format!("what the functions said is in {}", report.log.display()));
    }
}

/// Prints the verdict.
pub(super) fn verdict(screen: &Screen, report: &Report) {
    let mails: u64 = report.jobs.iter().map(|job| job.effects).sum();
    let dead: usize = report.dlq.values().sum();
    let of_scenes: usize = report.consumers.iter().map(|scene| scene.jobs.len()).sum();
    let counts = [
        (!report.jobs.is_empty()).then(|| format!("{} jobs, {mails} mails", report.jobs.len())),
        (!report.consumers.is_empty()).then(|| format!("{of_scenes} jobs of all consumers")),
        (!report.operators.is_empty()).then(|| format!("{} steps of operators", report.operators.len())),
        Some(format!("{dead} messages in dead-letter queues; {} promises checked", report.checked())),
    ];
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let (tone, word) = if report.ok { (Tone::Good, "passed") } else { (Tone::Bad, "FAILED") };
    let broken = report.broken().len();
    let rest = if report.ok { "all kept".to_owned() } else { format!("{broken} broken") };
    screen.line("");
    screen.line(format!("{}: {counts}, {rest}", screen.paint(tone, word)));
    screen.line(format!("{:.0} s, of which {:.0} s to set up", report.elapsed_seconds, report.set_up_seconds));
}

fn jobs(screen: &Screen, jobs: &[JobReport], width: Option<u16>) {
    let mut table = table(&["", "job", "status", "attempts", "mails", "time", "reason"], width);
    align_right(&mut table, &[3, 4, 5]);
    // The mark stands right before its job.
    if let Some(marks) = table.column_mut(0) {
        marks.set_padding((1, 0));
    }
    for job in jobs {
        let mark = if job.ok { "✓" } else { "✗" };
        table.add_row([
            mark.to_owned(),
            job.name.to_owned(),
            job.status.to_owned(),
            job.attempts.to_string(),
            job.effects.to_string(),
            format!("{:.1} s", job.seconds),
            job.reason.clone().unwrap_or_default(),
        ]);
    }
    print_with_marks(screen, &table);
}

fn consumers(screen: &Screen, scenes: &[SceneReport], width: Option<u16>) {
    let mut table = table(&["", "consumers", "jobs", "checks", "time", "what came of it"], width);
    align_right(&mut table, &[2, 3, 4]);
    if let Some(marks) = table.column_mut(0) {
        marks.set_padding((1, 0));
    }
    for scene in scenes {
        let mark = if scene.ok { "✓" } else { "✗" };
        table.add_row([
            mark.to_owned(),
            scene.name.to_owned(),
            scene.jobs.len().to_string(),
            scene.checks.count().to_string(),
            format!("{:.1} s", scene.seconds),
            scene.story.clone(),
        ]);
    }
    print_with_marks(screen, &table);
    faint(
        screen,
        "Pictures are read by Pillow, charges counted at localstripe, the report is compared with a scan of the table,",
    );
    faint(screen, "signatures are checked by the receiver's own code.");
}

fn operators(screen: &Screen, steps: &[StepReport], width: Option<u16>) {
    let mut table = table(&["", "operators", "checks", "time", "what came of it"], width);
    align_right(&mut table, &[2, 3]);
    if let Some(marks) = table.column_mut(0) {
        marks.set_padding((1, 0));
    }
    for step in steps {
        let mark = if step.ok { "✓" } else { "✗" };
        table.add_row([
            mark.to_owned(),
            step.step.to_owned(),
            step.checks.count().to_string(),
            format!("{:.1} s", step.seconds),
            step.detail.clone(),
        ]);
    }
    print_with_marks(screen, &table);
    faint(screen, "Each answer of the redrive function is compared with the engine's queues, the jobs table and the mailbox.");
}

fn print_with_marks(screen: &Screen, table: &Table) {
    for line in table.lines() {
        // Coloured afterwards: a colour's code would count as width.
        let line = line.replace('✓', &screen.paint(Tone::Good, "✓")).replace('✗', &screen.paint(Tone::Bad, "✗"));
        screen.line(line.trim_end());
    }
}

fn calls(screen: &Screen, report: &Report, width: Option<u16>) {
    let of_normal = report.normal_job.as_ref().map(|normal| &normal.measured);
    let mut table = table(&["calls of the functions", "calls", "request bytes", "response bytes", "a normal job"], width);
    align_right(&mut table, &[1, 2, 3, 4]);
    for (operation, totals) in &report.calls {
        let normal = of_normal.and_then(|normal| normal.calls.get(operation));
        table.add_row([
            operation.clone(),
            totals.calls.to_string(),
            grouped(totals.request_bytes),
            grouped(totals.response_bytes),
            normal.map(ToString::to_string).unwrap_or_default(),
        ]);
    }
    print_plainly(screen, &table);
    faint(screen, "DescribeEndpoints, ses.GET and GetQueueUrl open a worker's connections: once a worker, not a job.");
}

fn price(screen: &Screen, normal: &NormalJobReport, width: Option<u16>) {
    let mut table = table(&["a million normal jobs", "units a job", "$ a million", "$", "price of"], width);
    align_right(&mut table, &[1, 2, 3]);
    for line in &normal.bill {
        table.add_row([
            line.price.unit.to_owned(),
            units(line),
            dollars(line.price.dollars_per_million),
            format!("{:.3}", line.dollars_per_million_jobs),
            line.price.as_of.to_owned(),
        ]);
    }
    let batches = format!("in all, in batches of {BATCH}");
    for (what, sum) in [
        ("in all, each job alone in its batch", normal.dollars_per_million_jobs),
        (&batches, normal.dollars_per_million_jobs_in_batches),
    ] {
        table.add_row([what.to_owned(), String::new(), String::new(), format!("{sum:.3}"), String::new()]);
    }
    print_plainly(screen, &table);
    let sources: BTreeSet<&str> = normal.bill.iter().map(|line| line.price.source).collect();
    let pages = Vec::from_iter(sources.into_iter().map(|source| source.trim_start_matches(AWS))).join(", ");
    faint(screen, &format!("List prices in {}, without free tiers, from {AWS}", normal.region));
    faint(screen, &format!("{{{pages}}}."));
    faint(screen, "Lambda's receiving and deleting, two of the SQS requests, is reckoned; everything else is counted.");
    faint(screen, "Lambda's time is this machine's, from first to last call. Not in it: logs, storage, idle polling.");
}

/// Where all prices are published.
const AWS: &str = "aws.amazon.com/";

fn faint(screen: &Screen, text: &str) {
    screen.line(screen.paint(Tone::Faint, text));
}

/// A line above, below, and under the header.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

fn table(header: &[&str], width: Option<u16>) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(header.to_vec());
    match width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    table
}

fn align_right(table: &mut Table, columns: &[usize]) {
    for column in columns {
        if let Some(column) = table.column_mut(*column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn print_plainly(screen: &Screen, table: &Table) {
    for line in table.lines() {
        screen.line(line.trim_end());
    }
}

/// `12 345 678`
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let (head, rest) = digits.split_at(digits.len() % 3);
    let mut groups: Vec<&str> = Some(head).filter(|head| !head.is_empty()).into_iter().collect();
    groups.extend(rest.as_bytes().chunks(3).filter_map(|group| std::str::from_utf8(group).ok()));
    groups.join(" ")
}

/// Whole units without decimals, parts of them with as many as they need.
fn units(line: &CostLine) -> String {
    let units = line.units_per_job;
    if units.fract() == 0.0 { format!("{units:.0}") } else { format!("{units:.4}") }
}

/// `0.625`, `0.40`: at least two decimals, and no more than there are.
fn dollars(price: f64) -> String {
    let exact = format!("{price:.4}");
    let short = exact.trim_end_matches('0');
    let decimals = short.len() - short.find('.').map_or(short.len(), |point| point + 1);
    format!("{price:.*}", decimals.max(2))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::cost::{Usage, bill};

    #[test]
    fn prices_show_all_their_decimals_and_at_least_cents() {
        assert_eq!(
            ["0.625", "0.40", "13.3334", "100.00"],
            [0.625, 0.4, 13.3334, 100.0].map(dollars).each_ref().map(String::as_str)
        );
    }

    #[test]
    fn long_numbers_are_grouped_by_threes() {
        assert_eq!([0, 12, 123, 1234, 1_234_567].map(grouped), ["0", "12", "123", "1 234", "1 234 567"]);
    }

    #[test]
    fn units_are_whole_where_they_can_be() {
        let bill = bill(&Usage { writes: 4, producer_ms: 5.0, memory_mb: [256, 256], ..Usage::default() }, 1);
        assert_eq!((units(&bill[0]), units(&bill[4])), ("4".to_owned(), "0.0013".to_owned()));
    }

    #[test]
    fn a_narrow_terminal_gets_a_narrower_table() {
        let mut narrow = table(&["job", "reason"], Some(30));
        narrow.add_row(["killed after its mail", "lease_ended_after_effect_began"]);
        assert!(narrow.lines().all(|line| line.chars().count() <= 30));
        let mut wide = table(&["job", "reason"], None);
        wide.add_row(["killed after its mail", "lease_ended_after_effect_began"]);
        assert!(wide.lines().any(|line| line.contains("lease_ended_after_effect_began")));
    }
}
