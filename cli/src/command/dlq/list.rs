//! `ikkai dlq list`.

use std::collections::BTreeMap;

use clap::Args;
use dlq_redrive::protocol::{self, Answer, DeadGroup, ListAnswer, Request, SeenMessage};

use super::ages::ago;
use super::command_line;
use super::filter::FilterOptions;
use super::tell::{ask, tell};
use super::words::{messages, plan, reason};
use crate::command::Failure;
use crate::command::ending::Ending;
use crate::operator::Desk;
use crate::screen::{Screen, table_lines};

/// Options of `list`.
#[derive(Debug, Args)]
pub(super) struct List {
    /// A queue's name in this stack, such as `email`, or `all`.
    #[arg(default_value = "all")]
    queue: String,
    #[command(flatten)]
    filter: FilterOptions,
    /// Most messages that are looked at, in each queue.
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max: u32,
    /// Lists each message too.
    #[arg(long)]
    messages: bool,
}

impl List {
    pub(super) fn request(&self) -> Request {
        Request::List(protocol::List {
            queue: self.queue.clone(),
            filter: self.filter.filter(),
            max: self.max,
            messages: self.messages,
        })
    }

    pub(super) async fn run(self, desk: &dyn Desk, site: &[String], screen: &Screen) -> Result<Ending, Failure> {
        let reply = ask(desk, &self.request()).await?;
        Ok(tell(screen, &reply, |answer| {
            if let Answer::List(list) = answer {
                lines(list, site).iter().for_each(|line| screen.line(line));
                counts(list).iter().for_each(|line| screen.note(line));
            }
        }))
    }
}

/// Groups, what to do about them, and messages.
fn lines(list: &ListAnswer, site: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    if !list.groups.is_empty() {
        lines.extend(table_lines(
            &["queue", "type", "reason", "count", "oldest", "a redrive would"],
            &[3],
            list.groups.iter().map(group),
        ));
        lines.extend(advice(&list.groups, site));
    }
    let each = list.messages.iter().flatten();
    if list.messages.as_ref().is_some_and(|each| !each.is_empty()) {
        lines.push(String::new());
        let header = ["queue", "message", "sent", "received", "bytes", "job", "reason", "a redrive would"];
        lines.extend(table_lines(&header, &[3, 4], each.map(message)));
    }
    lines
}

fn group(group: &DeadGroup) -> Vec<String> {
    vec![
        group.queue.clone(),
        group.job_type.clone().unwrap_or_else(|| "–".to_owned()),
        reason_of(group),
        group.count.to_string(),
        group.oldest_at.as_deref().map_or_else(|| "–".to_owned(), ago),
        plan(group.verdict),
    ]
}

fn reason_of(group: &DeadGroup) -> String {
    reason(group.error_code.as_deref(), group.error_class.as_deref(), &group.status)
}

/// What to do, once for all groups that are told the same, with a job to look at.
fn advice(groups: &[DeadGroup], site: &[String]) -> Vec<String> {
    let mut by_advice: BTreeMap<&str, Vec<&DeadGroup>> = BTreeMap::new();
    let mut order = Vec::new();
    for group in groups {
        let told = by_advice.entry(&group.advice).or_default();
        if told.is_empty() {
            order.push(group.advice.as_str());
        }
        told.push(group);
    }
    let mut lines = Vec::new();
    for advice in order {
        let told = &by_advice[advice];
        let mut reasons: Vec<_> = told.iter().map(|group| reason_of(group)).collect();
        reasons.dedup();
        lines.push(String::new());
        lines.push(format!("{}: {advice}", reasons.join(", ")));
        if let Some(job) = told.iter().find_map(|group| group.examples.first()) {
            lines.push(format!("  {}", command_line("show", site, vec![job.clone()])));
        }
    }
    lines
}

fn message(message: &SeenMessage) -> Vec<String> {
    let record = message.records.first();
    vec![
        message.queue.clone(),
        message.message_id.clone(),
        message.sent_at.as_deref().map_or_else(|| "–".to_owned(), ago),
        message.receive_count.to_string(),
        message.bytes.to_string(),
        match message.job_ids.as_slice() {
            [] => "–".to_owned(),
            [job] => job.clone(),
            [job, rest @ ..] => format!("{job} and {} more", rest.len()),
        },
        record.map_or_else(
            || "no record".to_owned(),
            |record| reason(record.error_code.as_deref(), record.error_class.as_deref(), &record.status),
        ),
        plan(message.verdict),
    ]
}

fn counts(list: &ListAnswer) -> Vec<String> {
    let mut lines = vec![format!("looked at {}, {} of them meant", messages(list.seen), list.matched)];
    if list.more {
        lines.push("there may be more; a larger `--max` looks further".to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::command::dlq::tests::{command, request_of};
    use crate::operator::scripted::ScriptedDesk;
    use crate::screen::Format;

    pub(in crate::command) fn listed() -> Value {
        let group = |code: &str, count: u64, verdict: &str, advice: &str| {
            json!({"queue": "email", "jobType": "email.send", "status": "dead", "errorClass": "permanent", "errorCode": code,
                "count": count, "examples": [format!("email.send-{code}")], "verdict": verdict, "advice": advice})
        };
        json!({"version": 1, "action": "list", "ok": true, "seen": 9, "matched": 8, "more": true, "groups": [
            group("unknown_user", 5, "redriven", "Put them back once the contacts are there."),
            group("bad_template", 2, "redriven", "Put them back once the contacts are there."),
            {"queue": "billing", "status": "none", "count": 1, "examples": [], "verdict": "no_source",
                "advice": "Nobody knows where it came from."},
        ]})
    }

    #[test]
    fn options_become_the_request() {
        assert_eq!(request_of(&["list"]), json!({"action": "list", "queue": "all", "filter": {}, "max": 100, "messages": false}));
        let all = [
            "list",
            "email",
            "--messages",
            "--max",
            "7",
            "--job-id",
            "a,b",
            "--job-id",
            "c",
            "--type",
            "email.send",
            "--class",
            "crash",
            "--code",
            "oops",
            "--min-age",
            "10m",
            "--max-age",
            "7d",
            "--source",
            "none",
        ];
        let filter = json!({"jobIds": ["a", "b", "c"], "types": ["email.send"], "classes": ["crash"], "codes": ["oops"],
            "minAgeSeconds": 600, "maxAgeSeconds": 604_800, "sources": ["none"]});
        let expected = json!({"action": "list", "queue": "email", "filter": filter, "max": 7, "messages": true});
        assert_eq!(request_of(&all), expected);
    }

    #[tokio::test]
    async fn groups_are_a_table_and_the_same_advice_is_given_once() {
        let (ending, memory, _) = command(&["list"], ScriptedDesk::says([listed()]), Format::Text).await;
        assert_eq!(ending, Ending::Done);
        let show = command_line("show", &[], vec!["email.send-unknown_user".to_owned()]);
        let expected = " queue    type        reason                    count  oldest  a redrive would
 email    email.send  unknown_user (permanent)      5  –       put it back
 email    email.send  bad_template (permanent)      2  –       put it back
 billing  –           none record                   1  –       leave it (no_source)

unknown_user (permanent), bad_template (permanent): Put them back once the contacts are there.
  {show}

none record: Nobody knows where it came from.";
        assert_eq!(memory.result(), expected.replace("{show}", &show));
        assert!(memory.notes().contains("looked at 9 messages, 8 of them meant\nthere may be more"), "{}", memory.notes());
    }

    #[test]
    fn a_command_that_is_advised_names_the_stack() {
        let list: ListAnswer = serde_json::from_value(listed()).unwrap();
        let lines = advice(&list.groups, &["--stack".to_owned(), "shop".to_owned()]);
        assert!(lines.iter().any(|line| line.ends_with("ikkai dlq show email.send-unknown_user --stack shop")), "{lines:?}");
    }

    #[tokio::test]
    async fn each_message_is_listed_where_that_was_asked_for() {
        let message = json!({"queue": "email", "messageId": "m-1", "jobIds": ["j-1", "j-2"], "bytes": 812, "sentAt": "later",
            "receiveCount": 11, "records": [], "verdict": "running"});
        let answer = json!({"version": 1, "action": "list", "ok": true, "seen": 1, "matched": 1, "more": false, "groups": [],
            "messages": [message]});
        let (_, memory, _) = command(&["list", "--messages"], ScriptedDesk::says([answer]), Format::Text).await;
        let row = memory.result().lines().last().unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(row, "email m-1 later 11 812 j-1 and 1 more no record leave it (running)");
    }

    #[tokio::test]
    async fn programs_get_the_answer_as_it_came() {
        let (_, memory, _) = command(&["list"], ScriptedDesk::says([listed()]), Format::Json).await;
        assert_eq!(serde_json::from_str::<Value>(&memory.result()).unwrap(), listed());
    }

    #[tokio::test]
    async fn an_empty_queue_ends_with_nothing_and_says_what_was_looked_at() {
        let empty = json!({"version": 1, "action": "list", "ok": true, "seen": 0, "matched": 0, "more": false, "groups": []});
        let (ending, memory, _) = command(&["list"], ScriptedDesk::says([empty]), Format::Text).await;
        assert_eq!((ending, memory.result().as_str()), (Ending::Nothing, ""));
        assert!(memory.notes().contains("looked at 0 messages"));
    }
}
