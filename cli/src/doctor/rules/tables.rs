//! Rules about the tables.

use super::source::{TABLE_PROTECTION, TABLE_RECOVERY, TABLE_TTL};
use crate::doctor::facts::{Fact, Gap, TableFacts};
use crate::doctor::finding::{Judged, Rule};

/// The attribute by which items expire.
const EXPIRES_AT: &str = "expires_at";

const EXISTS: Rule = Rule {
    name: "table",
    why: "without its tables the stack remembers nothing: every job would run again",
    source: "docs/design.md",
};

const TTL: Rule = Rule {
    name: "time-to-live",
    why: "without it what is over stays for ever, and the table grows without an end",
    source: TABLE_TTL,
};

const RECOVERY: Rule = Rule {
    name: "point-in-time-recovery",
    why: "the table is the only record of what was done: without it a mistaken write cannot be taken back",
    source: TABLE_RECOVERY,
};

const PROTECTION: Rule = Rule {
    name: "deletion-protection",
    why: "a table that is deleted takes the memory of all jobs with it, and their messages run again",
    source: TABLE_PROTECTION,
};

fn subject(table: &TableFacts) -> String {
    format!("{} table", table.name)
}

/// It is there.
pub(super) fn exists(table: &TableFacts) -> Judged {
    let subject = subject(table);
    match &table.deletion_protection {
        Fact::Unknown(Gap::Missing) => {
            let found = if table.table_name.is_empty() {
                "the stack's outputs name none".to_owned()
            } else {
                format!("there is no {}", table.table_name)
            };
            EXISTS.error(&subject, found, "deploy the present template")
        }
        fact => {
            EXISTS.known(&subject, fact)?;
            EXISTS.ok(&subject, &table.table_name)
        }
    }
}

/// What is over goes.
pub(super) fn time_to_live(table: &TableFacts) -> Judged {
    let subject = subject(table);
    let mend = || {
        format!(
            "`aws dynamodb update-time-to-live --table-name {} --time-to-live-specification \
             Enabled=true,AttributeName={EXPIRES_AT}`",
            table.table_name
        )
    };
    match TTL.known(&subject, &table.time_to_live)?.as_deref() {
        Some(EXPIRES_AT) => TTL.ok(&subject, format!("on {EXPIRES_AT}")),
        Some(other) => TTL.error(&subject, format!("on {other} instead of {EXPIRES_AT}"), mend()),
        None => TTL.error(&subject, "off", mend()),
    }
}

/// Mistakes can be taken back.
pub(super) fn recovery(table: &TableFacts) -> Judged {
    let subject = subject(table);
    if *RECOVERY.known(&subject, &table.point_in_time_recovery)? {
        return RECOVERY.ok(&subject, "on");
    }
    let mend = format!(
        "`aws dynamodb update-continuous-backups --table-name {} --point-in-time-recovery-specification \
         PointInTimeRecoveryEnabled=true`",
        table.table_name
    );
    RECOVERY.warning(&subject, "off", mend)
}

/// It is not deleted by mistake.
pub(super) fn protection(table: &TableFacts) -> Judged {
    let subject = subject(table);
    if *PROTECTION.known(&subject, &table.deletion_protection)? {
        return PROTECTION.ok(&subject, "on");
    }
    PROTECTION.warning(&subject, "off", "parameter Stage=prod")
}
