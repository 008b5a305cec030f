//! Member names that say that their value must not be here.

/// What a name says about its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameRule {
    /// A secret that is text.
    Secret,
    /// A secret or a piece of card data that may be written as a number.
    SecretNumber,
    /// The text of a mail.
    MailBody,
}

/// Names that end in one of these, in whatever spelling. Each is long enough not to be the end of an innocent word.
const ENDINGS: [(&str, NameRule); 33] = [
    ("password", NameRule::SecretNumber),
    ("passwd", NameRule::SecretNumber),
    ("passphrase", NameRule::Secret),
    ("passcode", NameRule::SecretNumber),
    ("passwordhash", NameRule::Secret),
    ("secret", NameRule::Secret),
    ("secretkey", NameRule::Secret),
    ("secretvalue", NameRule::Secret),
    ("credential", NameRule::Secret),
    ("authorization", NameRule::Secret),
    ("setcookie", NameRule::Secret),
    ("sessioncookie", NameRule::Secret),
    ("apikey", NameRule::Secret),
    ("apitoken", NameRule::Secret),
    ("accesskey", NameRule::Secret),
    ("privatekey", NameRule::Secret),
    ("signingkey", NameRule::Secret),
    ("encryptionkey", NameRule::Secret),
    ("accesstoken", NameRule::Secret),
    ("refreshtoken", NameRule::Secret),
    ("authtoken", NameRule::Secret),
    ("bearertoken", NameRule::Secret),
    ("sessiontoken", NameRule::Secret),
    ("securitytoken", NameRule::Secret),
    ("connectionstring", NameRule::Secret),
    ("cardnumber", NameRule::SecretNumber),
    ("creditcard", NameRule::SecretNumber),
    ("securitycode", NameRule::SecretNumber),
    ("パスワード", NameRule::SecretNumber),
    ("暗証番号", NameRule::SecretNumber),
    ("カード番号", NameRule::SecretNumber),
    ("セキュリティコード", NameRule::SecretNumber),
    ("秘密鍵", NameRule::Secret),
];

/// Names whose last word is one of these (`paymentToken`, `card_cvv`); inside longer words they mean nothing.
const LAST_WORDS: [(&str, NameRule); 17] = [
    ("token", NameRule::Secret),
    ("jwt", NameRule::Secret),
    ("bearer", NameRule::Secret),
    ("cookie", NameRule::Secret),
    ("pwd", NameRule::SecretNumber),
    ("passwd", NameRule::SecretNumber),
    ("otp", NameRule::SecretNumber),
    ("totp", NameRule::SecretNumber),
    ("cvv", NameRule::SecretNumber),
    ("cvv2", NameRule::SecretNumber),
    ("cvc", NameRule::SecretNumber),
    ("cvc2", NameRule::SecretNumber),
    ("cvn", NameRule::SecretNumber),
    ("iban", NameRule::Secret),
    ("ssn", NameRule::SecretNumber),
    ("htpasswd", NameRule::Secret),
    ("netrc", NameRule::Secret),
];

/// Names that are exactly this.
const WHOLE_NAMES: [(&str, NameRule); 14] = [
    ("pin", NameRule::SecretNumber),
    ("cardpin", NameRule::SecretNumber),
    ("pan", NameRule::SecretNumber),
    ("cardpan", NameRule::SecretNumber),
    ("ccnumber", NameRule::SecretNumber),
    ("auth", NameRule::Secret),
    ("mailbody", NameRule::MailBody),
    ("emailbody", NameRule::MailBody),
    ("messagebody", NameRule::MailBody),
    ("htmlbody", NameRule::MailBody),
    ("textbody", NameRule::MailBody),
    ("bodyhtml", NameRule::MailBody),
    ("bodytext", NameRule::MailBody),
    ("mailtext", NameRule::MailBody),
];

/// Tokens that open nothing: positions in a list and names for a request.
const HARMLESS: [&str; 6] = ["pagetoken", "nextpagetoken", "nexttoken", "continuationtoken", "clienttoken", "idempotencytoken"];

/// What the name says, if it says anything.
pub(super) fn rule(name: &str) -> Option<NameRule> {
    let folded: String = name.chars().filter(|character| character.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if HARMLESS.contains(&folded.as_str()) {
        return None;
    }
    let folded = singular(&folded);
    let last_word = last_word(name).to_lowercase();
    let last_word = singular(&last_word);
    let ending = ENDINGS.iter().find(|(ending, _)| folded.ends_with(ending));
    let word = || LAST_WORDS.iter().find(|(word, _)| *word == last_word);
    let whole = || WHOLE_NAMES.iter().find(|(whole, _)| *whole == folded);
    ending.or_else(word).or_else(whole).map(|(_, rule)| *rule)
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').unwrap_or(word)
}

/// The last word of `camelCase`, `snake_case`, `kebab-case`, `dotted.names` and `HTTPHeaders`.
fn last_word(name: &str) -> &str {
    let name = name.trim_end_matches(|character: char| !character.is_alphanumeric());
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut characters = name.char_indices().peekable();
    while let Some((position, character)) = characters.next() {
        let lower_next = characters.peek().is_some_and(|(_, next)| next.is_lowercase());
        let new_word = match before {
            None => true,
            Some(before) if !before.is_alphanumeric() => true,
            // `userToken` starts a word at T; `APIToken` too, because a lower-case letter follows; `apiTOKEN` does not start one at O.
            Some(before) => character.is_uppercase() && (!before.is_uppercase() || lower_next),
        };
        if new_word && character.is_alphanumeric() {
            start = position;
        }
        before = Some(character);
    }
    &name[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised_in_every_spelling() {
        for name in [
            "password",
            "Password",
            "user_password",
            "userpassword",
            "PASSWORD_HASH",
            "secret",
            "clientSecret",
            "client-secret",
            "token",
            "tokens",
            "accessToken",
            "x-auth-token",
            "APIToken",
            "apiKey",
            "api_key",
            "API-KEY",
            "X-Api-Key",
            "apikeys",
            "authorization",
            "Authorization",
            "set-cookie",
            "Set-Cookie",
            "cookie",
            "aws_secret_access_key",
            "privateKey",
            "credentials",
            "jwt",
            "paymentToken",
            "iban",
            "payer.iban",
            "データベースのパスワード",
        ] {
            assert!(matches!(rule(name), Some(NameRule::Secret | NameRule::SecretNumber)), "{name}");
        }
    }

    #[test]
    fn names_of_numbers_that_are_secrets_are_recognised() {
        for name in
            ["cvv", "cardCvc", "card_cvv2", "cardNumber", "card_number", "creditCard", "pin", "otp", "ssn", "securityCode"]
        {
            assert_eq!(rule(name), Some(NameRule::SecretNumber), "{name}");
        }
    }

    #[test]
    fn names_of_mail_texts_are_recognised() {
        for name in ["htmlBody", "emailBody", "mail_body", "body_text"] {
            assert_eq!(rule(name), Some(NameRule::MailBody), "{name}");
        }
    }

    #[test]
    fn references_and_ordinary_names_are_left_alone() {
        for name in [
            "userId",
            "templateId",
            "tokenId",
            "secretArn",
            "secretName",
            "passwordResetId",
            "cardId",
            "cardBrand",
            "idempotencyKey",
            "objectKey",
            "s3Key",
            "publicKey",
            "pageToken",
            "nextPageToken",
            "mapPin",
            "pinColor",
            "spanish",
            "japan",
            "tokenizer",
            "secretary",
            "body",
            "author",
            "authorId",
            "cookieBanner",
            "company",
            "",
            "_",
        ] {
            assert_eq!(rule(name), None, "{name}");
        }
    }

    #[test]
    fn the_last_word_is_found_in_every_convention() {
        for (name, word) in [
            ("accessToken", "Token"),
            ("ACCESS_TOKEN", "TOKEN"),
            ("APIToken", "Token"),
            ("x-auth-token", "token"),
            ("token", "token"),
            ("card.cvv2", "cvv2"),
            ("token_", "token"),
            ("", ""),
            ("__", ""),
        ] {
            assert_eq!(last_word(name), word, "{name}");
        }
    }
}
