//! Asks IAM what a role allows (<https://docs.aws.amazon.com/IAM/latest/APIReference/API_SimulatePrincipalPolicy.html>).

use std::slice;

use aws_config::SdkConfig;
use http::header;
use url::form_urlencoded::Serializer;

use super::super::gap::of_code;
use super::judgement::{Judgement, judgements, refusal};
use crate::doctor::facts::{Fact, Gap, Refusal};
use crate::doctor::needs::{Context, ContextValue, Need};
use crate::operator::figures::{PostError, SignedPost};
use crate::screen::chain;

/// The permission that the question needs.
const ACTION: &str = "iam:SimulatePrincipalPolicy";

/// Most judgements in one answer.
const MOST: &str = "1000";

const ALLOWED: &str = "allowed";

/// IAM, which is one for all regions of a partition.
#[derive(Debug)]
pub(super) struct Simulator(SignedPost);

impl Simulator {
    /// At the endpoint of these settings, or else at IAM's own.
    pub(super) fn new(config: &SdkConfig) -> Result<Self, Gap> {
        let (region, endpoint) = home(config.region().map_or("", |region| region.as_ref()));
        SignedPost::new(config, "IAM", "iam", region.to_owned(), endpoint.to_owned())
            .map(Self)
            .map_err(|error| unanswered(&error))
    }

    /// What of a need a role does not allow.
    pub(super) async fn refusals(&self, role: &str, need: &Need) -> Fact<Vec<Refusal>> {
        let headers = [(header::CONTENT_TYPE.as_str(), "application/x-www-form-urlencoded; charset=utf-8")];
        let (status, body) = match self.0.send(&headers, question(role, need)).await {
            Ok(answered) => answered,
            Err(error) => return Fact::Unknown(unanswered(&error)),
        };
        let body = String::from_utf8_lossy(&body);
        if !status.is_success() {
            let (code, message) = refusal(&body).unwrap_or_default();
            let code = if code.is_empty() { format!("status {status}") } else { code };
            return Fact::Unknown(of_code(ACTION, &code, &message));
        }
        match judgements(&body) {
            Ok(Some(judged)) => read(role, need, &judged),
            Ok(None) => Fact::Unknown(failed("the answer is not whole".to_owned())),
            Err(error) => Fact::Unknown(failed(chain(&error))),
        }
    }
}

fn question(role: &str, need: &Need) -> String {
    let mut form = Serializer::new(String::new());
    form.append_pair("Action", "SimulatePrincipalPolicy").append_pair("Version", "2010-05-08");
    form.append_pair("PolicySourceArn", role).append_pair("MaxItems", MOST);
    for (place, action) in (1..).zip(need.actions) {
        form.append_pair(&format!("ActionNames.member.{place}"), action);
    }
    for (place, resource) in (1..).zip(&need.resources) {
        form.append_pair(&format!("ResourceArns.member.{place}"), resource);
    }
    for (place, Context { key, value }) in (1..).zip(&need.context) {
        let entry = format!("ContextEntries.member.{place}");
        let (kind, values) = match value {
            ContextValue::Text(text) => ("string", slice::from_ref(text)),
            ContextValue::List(texts) => ("stringList", texts.as_slice()),
        };
        form.append_pair(&format!("{entry}.ContextKeyName"), key).append_pair(&format!("{entry}.ContextKeyType"), kind);
        for (place, value) in (1..).zip(values) {
            form.append_pair(&format!("{entry}.ContextKeyValues.member.{place}"), value);
        }
    }
    form.finish()
}

/// An action without a judgement is not taken for allowed.
fn read(role: &str, need: &Need, judged: &[Judgement]) -> Fact<Vec<Refusal>> {
    let mut refusals = Vec::new();
    for action in need.actions {
        let of_action: Vec<_> = judged.iter().filter(|judgement| judgement.action.eq_ignore_ascii_case(action)).collect();
        if of_action.is_empty() {
            return Fact::Unknown(failed(format!("it did not judge {action}")));
        }
        let refused = of_action.into_iter().flat_map(|judgement| refused_resources(need, judgement));
        refusals.extend(refused.map(|resource| Refusal { role: role.to_owned(), action: (*action).to_owned(), resource }));
    }
    Fact::Known(refusals)
}

fn refused_resources(need: &Need, judgement: &Judgement) -> Vec<String> {
    let of_resources = judgement.of_resources.iter().filter(|(_, decision)| decision != ALLOWED);
    let refused: Vec<_> = of_resources.map(|(resource, _)| resource.clone()).collect();
    if !refused.is_empty() || judgement.decision == ALLOWED {
        return refused;
    }
    // It says that it refuses, and not what.
    if need.resources.contains(&judgement.resource) { vec![judgement.resource.clone()] } else { need.resources.clone() }
}

fn unanswered(error: &PostError) -> Gap {
    failed(chain(error))
}

fn failed(reason: String) -> Gap {
    Gap::Failed { action: ACTION.to_owned(), reason }
}

/// The region that a question to IAM is signed for, and where IAM is
/// (<https://docs.aws.amazon.com/general/latest/gr/iam-service.html>).
fn home(region: &str) -> (&'static str, &'static str) {
    if region.starts_with("cn-") {
        ("cn-north-1", "https://iam.cn-north-1.amazonaws.com.cn")
    } else if region.starts_with("us-gov-") {
        ("us-gov-west-1", "https://iam.us-gov.amazonaws.com")
    } else {
        ("us-east-1", "https://iam.amazonaws.com")
    }
}

#[cfg(test)]
mod tests;
