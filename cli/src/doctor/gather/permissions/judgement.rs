//! Reads what IAM answers to a simulation.

use aws_smithy_xml::decode::{Document, ScopedDecoder, XmlDecodeError, try_data};

/// How IAM judges an action (<https://docs.aws.amazon.com/IAM/latest/APIReference/API_EvaluationResult.html>).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Judgement {
    /// The action.
    pub(super) action: String,
    /// `allowed`, `explicitDeny` or `implicitDeny`: the strictest over all resources.
    pub(super) decision: String,
    /// The resource, where there is one.
    pub(super) resource: String,
    /// What is decided for each resource.
    pub(super) of_resources: Vec<(String, String)>,
}

/// The judgements, or nothing where the answer is not whole.
pub(super) fn judgements(body: &str) -> Result<Option<Vec<Judgement>>, XmlDecodeError> {
    let mut document = Document::new(body);
    let mut root = document.root_element()?;
    let (mut judged, mut is_whole) = (Vec::new(), false);
    while let Some(mut result) = root.next_tag() {
        if !result.start_el().matches("SimulatePrincipalPolicyResult") {
            continue;
        }
        while let Some(mut tag) = result.next_tag() {
            match tag.start_el().local() {
                "EvaluationResults" => judged = members(&mut tag, judgement)?,
                "IsTruncated" => is_whole = try_data(&mut tag)?.trim() == "false",
                _ => {}
            }
        }
    }
    Ok(is_whole.then_some(judged))
}

/// The code and the message of a refusal; empty where the answer has none
/// (<https://docs.aws.amazon.com/IAM/latest/APIReference/CommonErrors.html>).
pub(super) fn refusal(body: &str) -> Result<(String, String), XmlDecodeError> {
    let mut document = Document::new(body);
    let mut root = document.root_element()?;
    let (mut code, mut message) = (String::new(), String::new());
    while let Some(mut error) = root.next_tag() {
        while let Some(mut tag) = error.next_tag() {
            match tag.start_el().local() {
                "Code" => code = text(&mut tag)?,
                "Message" => message = text(&mut tag)?,
                _ => {}
            }
        }
    }
    Ok((code, message))
}

fn judgement(member: &mut ScopedDecoder<'_, '_>) -> Result<Judgement, XmlDecodeError> {
    let mut judged = Judgement::default();
    while let Some(mut tag) = member.next_tag() {
        match tag.start_el().local() {
            "EvalActionName" => judged.action = text(&mut tag)?,
            "EvalDecision" => judged.decision = text(&mut tag)?,
            "EvalResourceName" => judged.resource = text(&mut tag)?,
            "ResourceSpecificResults" => judged.of_resources = members(&mut tag, of_resource)?,
            _ => {}
        }
    }
    Ok(judged)
}

fn of_resource(member: &mut ScopedDecoder<'_, '_>) -> Result<(String, String), XmlDecodeError> {
    let (mut resource, mut decision) = (String::new(), String::new());
    while let Some(mut tag) = member.next_tag() {
        match tag.start_el().local() {
            "EvalResourceName" => resource = text(&mut tag)?,
            "EvalResourceDecision" => decision = text(&mut tag)?,
            _ => {}
        }
    }
    Ok((resource, decision))
}

fn members<T>(
    list: &mut ScopedDecoder<'_, '_>,
    read: fn(&mut ScopedDecoder<'_, '_>) -> Result<T, XmlDecodeError>,
) -> Result<Vec<T>, XmlDecodeError> {
    let mut all = Vec::new();
    while let Some(mut member) = list.next_tag() {
        all.push(read(&mut member)?);
    }
    Ok(all)
}

fn text(tag: &mut ScopedDecoder<'_, '_>) -> Result<String, XmlDecodeError> {
    Ok(try_data(tag)?.trim().to_owned())
}
