//! Who asks: a name that is the same for every retry of one caller and for nobody else.
//!
//! The name is part of the job id, so two callers' keys never meet, and a caller reads its own jobs only. It comes from the door's
//! authorizer. There is no fallback: without an authorizer's word the answer is 401.

use std::fmt;

#[cfg(feature = "local-identity")]
use crate::event::Headers;
use crate::event::Identity;

/// Longest name. Issuers and subjects are short; a record must stay small.
const MAX_CALLER_BYTES: usize = 512;

/// The caller's name:
///
/// - `arn:aws:iam::123456789012:user/name`: an IAM user;
/// - `arn:aws:sts::123456789012:assumed-role/role`: a role, without the session name, which differs between the hosts of one service;
/// - the same followed by `#cognito:<identity id>`: one of the many users who share an identity pool's role;
/// - `jwt:<issuer>#<claim>`: the holder of a token;
/// - `local:<access key id>`: only in builds for local engines (feature `local-identity`).
///
/// It can tell a person, so it does not show in `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Caller(String);

/// Why nobody is known. Names what is missing, for the 401's `detail`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unidentified {
    #[error("the request carries no identity; sign it with SigV4, or send a bearer token that the API's authorizer accepts")]
    Nobody,
    #[error("the token has no text claim `{0}`, by which this API tells callers apart")]
    ClaimMissing(String),
    #[error("the identity that the authorizer reports cannot be used as a caller's name")]
    Unusable,
}

impl Caller {
    /// The caller that the authorizer names. `jwt_claim` is the claim that tells a token's holders apart.
    pub(crate) fn identify(identity: &Identity, jwt_claim: &str) -> Result<Self, Unidentified> {
        let name = match &identity.user_arn {
            Some(arn) => of_arn(arn, identity.cognito_identity.as_deref())?,
            None => of_claims(identity, jwt_claim)?,
        };
        let printable = name.chars().all(|character| !character.is_control());
        if name.len() <= MAX_CALLER_BYTES && printable { Ok(Self(name)) } else { Err(Unidentified::Unusable) }
    }

    /// The caller that a local engine's request claims to be: such engines check no signature and pass on no identity.
    #[cfg(feature = "local-identity")]
    pub(crate) fn identify_locally(headers: &Headers) -> Option<Self> {
        let credential = headers.first("authorization")?.strip_prefix("AWS4-HMAC-SHA256 ")?.split(',').map(str::trim);
        let scope = credential.into_iter().find_map(|part| part.strip_prefix("Credential="))?;
        let key_id = scope.split('/').next().filter(|id| !id.is_empty() && id.len() <= 128)?;
        let plain = key_id.chars().all(|character| character.is_ascii_alphanumeric() || "-_.".contains(character));
        plain.then(|| Self(format!("local:{key_id}")))
    }

    /// The name as text: for the record and the digest, not for logs.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Caller(..)")
    }
}

/// ARNs of principals: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html#identifiers-arns>.
fn of_arn(arn: &str, cognito_identity: Option<&str>) -> Result<String, Unidentified> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    let ["arn", partition, service, "", account, resource] = parts[..] else { return Err(Unidentified::Unusable) };
    let numbered = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    if !numbered || partition.is_empty() || resource.contains(char::is_whitespace) {
        return Err(Unidentified::Unusable);
    }
    let principal = match (service, resource.split_once('/')) {
        ("sts", Some(("assumed-role", role_and_session))) => {
            let role = role_and_session.split('/').next().filter(|role| !role.is_empty()).ok_or(Unidentified::Unusable)?;
            format!("assumed-role/{role}")
        }
        ("iam", Some(("user" | "role", name))) | ("sts", Some(("federated-user", name))) if !name.is_empty() => {
            resource.to_owned()
        }
        ("iam", None) if resource == "root" => resource.to_owned(),
        _ => return Err(Unidentified::Unusable),
    };
    let user = cognito_identity.map(|id| format!("#cognito:{id}")).unwrap_or_default();
    Ok(format!("arn:{partition}:{service}::{account}:{principal}{user}"))
}

fn of_claims(identity: &Identity, jwt_claim: &str) -> Result<String, Unidentified> {
    // Whatever a door without an authorizer sends, it sends no claims.
    if identity.claims.is_empty() {
        return Err(Unidentified::Nobody);
    }
    let claim = |name: &str| {
        identity
            .claims
            .get(name)
            .filter(|value| !value.trim().is_empty())
            .ok_or_else(|| Unidentified::ClaimMissing(name.to_owned()))
    };
    let (issuer, holder) = (claim("iss")?, claim(jwt_claim)?);
    // Otherwise one issuer's name could run into another one's holder.
    if issuer.contains('#') {
        return Err(Unidentified::Unusable);
    }
    Ok(format!("jwt:{issuer}#{holder}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signed_by(arn: &str) -> Result<String, Unidentified> {
        let identity = Identity { user_arn: Some(arn.to_owned()), ..Identity::default() };
        Caller::identify(&identity, "sub").map(|caller| caller.0)
    }

    fn with_claims(claims: &[(&str, &str)]) -> Result<String, Unidentified> {
        let claims = claims.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Caller::identify(&Identity { claims, ..Identity::default() }, "sub").map(|caller| caller.0)
    }

    #[test]
    fn a_role_is_the_same_caller_whatever_its_session_is_called() {
        let one = signed_by("arn:aws:sts::123456789012:assumed-role/order-service/host-1").unwrap();
        assert_eq!(one, "arn:aws:sts::123456789012:assumed-role/order-service");
        assert_eq!(signed_by("arn:aws:sts::123456789012:assumed-role/order-service/host-2"), Ok(one.clone()));
        assert_ne!(signed_by("arn:aws:sts::210987654321:assumed-role/order-service/host-1"), Ok(one.clone()));
        assert_ne!(signed_by("arn:aws:sts::123456789012:assumed-role/order-service2/host-1"), Ok(one));
    }

    #[test]
    fn users_roots_and_other_partitions_are_callers() {
        for arn in [
            "arn:aws:iam::123456789012:user/path/ann",
            "arn:aws:iam::123456789012:root",
            "arn:aws-cn:iam::123456789012:user/ann",
            "arn:aws:sts::123456789012:federated-user/ann",
        ] {
            assert_eq!(signed_by(arn).as_deref(), Ok(arn));
        }
    }

    #[test]
    fn what_is_no_principal_is_no_caller() {
        for arn in [
            "arn",
            "arn:aws:iam::12:user/a",
            "arn:aws:iam::123456789012:user/",
            "arn:aws:sts::123456789012:assumed-role//s",
            "arn:aws:s3:::123456789012:user/a",
            "arn:aws:iam::123456789012:group/a",
            "arn:aws:iam::123456789012:user/a b",
            &format!("arn:aws:iam::123456789012:user/{}", "a".repeat(512)),
        ] {
            assert_eq!(signed_by(arn), Err(Unidentified::Unusable), "{arn}");
        }
    }

    #[test]
    fn users_of_an_identity_pool_are_told_apart_although_they_share_a_role() {
        let of = |id: &str| {
            let identity = Identity {
                user_arn: Some("arn:aws:sts::123456789012:assumed-role/app/CognitoIdentityCredentials".to_owned()),
                cognito_identity: Some(id.to_owned()),
                ..Identity::default()
            };
            Caller::identify(&identity, "sub").unwrap().0
        };
        assert_eq!(of("eu-west-1:a"), "arn:aws:sts::123456789012:assumed-role/app#cognito:eu-west-1:a");
        assert_ne!(of("eu-west-1:a"), of("eu-west-1:b"));
    }

    #[test]
    fn a_token_names_its_holder_by_issuer_and_claim() {
        assert_eq!(with_claims(&[("iss", "https://id.example"), ("sub", "u#1")]).as_deref(), Ok("jwt:https://id.example#u#1"));
        assert_eq!(with_claims(&[("iss", "https://id.example")]), Err(Unidentified::ClaimMissing("sub".to_owned())));
        assert_eq!(
            with_claims(&[("iss", "https://id.example"), ("sub", " ")]),
            Err(Unidentified::ClaimMissing("sub".to_owned()))
        );
        assert_eq!(with_claims(&[("sub", "u")]), Err(Unidentified::ClaimMissing("iss".to_owned())));
        assert_eq!(with_claims(&[("iss", "https://id.example#u"), ("sub", "1")]), Err(Unidentified::Unusable));
    }

    #[test]
    fn nobody_is_known_without_an_authorizer() {
        assert_eq!(with_claims(&[]), Err(Unidentified::Nobody));
    }

    #[test]
    fn debug_does_not_show_the_caller() {
        assert_eq!(format!("{:?}", Caller("jwt:i#ann".to_owned())), "Caller(..)");
    }

    #[cfg(feature = "local-identity")]
    #[test]
    fn a_local_engine_s_caller_is_the_access_key_id_of_its_signature() {
        use crate::event::Request;
        let of = |authorization: &str| {
            let event = serde_json::json!({"httpMethod": "GET", "headers": {"Authorization": authorization}});
            Caller::identify_locally(&Request::from_event(&event).unwrap().headers).map(|caller| caller.0)
        };
        let signature = "AWS4-HMAC-SHA256 Credential=ann/20260101/us-east-1/lambda/aws4_request, SignedHeaders=host, Signature=0";
        assert_eq!(of(signature).as_deref(), Some("local:ann"));
        assert_eq!(of(&signature.replace(", ", ",")).as_deref(), Some("local:ann"));
        for bad in [
            "",
            "Bearer x",
            "AWS4-HMAC-SHA256 SignedHeaders=host",
            "AWS4-HMAC-SHA256 Credential=/x",
            "AWS4-HMAC-SHA256 Credential=a b/x",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
    }
}
