//! The tables.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{PointInTimeRecoveryStatus, TableDescription, TimeToLiveStatus};

use super::gap::fact;
use crate::deployment::Deployment;
use crate::doctor::facts::{Fact, Gap, TableFacts};

/// What each table is for, and the output that names it.
const TABLES: [(&str, &str); 3] = [("jobs", "JobsTableName"), ("contacts", "ContactsTableName"), ("redrive", "RedriveTableName")];

/// All tables of the stack. A table that a stack of an older template does not have is left out, with the rules about it.
pub(super) async fn all(deployment: &Deployment) -> Vec<TableFacts> {
    let client = Client::new(deployment.config());
    let mut tables = Vec::new();
    for (name, output) in TABLES {
        match deployment.output(output) {
            Some(table_name) => tables.push(table(&client, name, table_name).await),
            None if name == "redrive" => {}
            None => tables.push(missing(name)),
        }
    }
    tables
}

async fn table(client: &Client, name: &str, table_name: &str) -> TableFacts {
    let (described, expiry, backups) = tokio::join!(
        client.describe_table().table_name(table_name).send(),
        client.describe_time_to_live().table_name(table_name).send(),
        client.describe_continuous_backups().table_name(table_name).send(),
    );
    TableFacts {
        name: name.to_owned(),
        table_name: table_name.to_owned(),
        deletion_protection: fact("dynamodb:DescribeTable", described)
            .map(|answer| answer.table().and_then(TableDescription::deletion_protection_enabled).unwrap_or(false)),
        time_to_live: fact("dynamodb:DescribeTimeToLive", expiry).map(|answer| {
            let description = answer.time_to_live_description?;
            let works = matches!(description.time_to_live_status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
            description.attribute_name.filter(|_| works)
        }),
        point_in_time_recovery: fact("dynamodb:DescribeContinuousBackups", backups).map(|answer| {
            let description =
                answer.continuous_backups_description().and_then(|backups| backups.point_in_time_recovery_description());
            description.and_then(|recovery| recovery.point_in_time_recovery_status()) == Some(&PointInTimeRecoveryStatus::Enabled)
        }),
    }
}

fn missing(name: &str) -> TableFacts {
    TableFacts {
        name: name.to_owned(),
        table_name: String::new(),
        deletion_protection: Fact::Unknown(Gap::Missing),
        time_to_live: Fact::Unknown(Gap::Missing),
        point_in_time_recovery: Fact::Unknown(Gap::Missing),
    }
}
