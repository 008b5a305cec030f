//! E-mail addresses and display names that are safe to put into a header and onto a provider's wire.
//!
//! A value of these types is valid by construction: one address, no line break that could start a header of its own, no second
//! recipient behind a comma. None of them prints itself: `Debug` is redacted, there is no `Display`, and errors name the rule and
//! never the value, so an address cannot reach a log by accident.

use std::fmt;

/// Longest local part in octets (RFC 5321, 4.5.3.1.1).
const MAX_LOCAL_OCTETS: usize = 64;
/// Longest address in octets: a path of 256 octets less its angle brackets (RFC 5321, 4.5.3.1.3).
const MAX_ADDRESS_OCTETS: usize = 254;
/// Longest display name in characters.
const MAX_NAME_CHARS: usize = 128;

/// One e-mail address: a plain local part in ASCII and a domain, written in its ASCII form.
///
/// ```
/// let address = email_consumer::EmailAddress::parse("Anna@Bücher.example")?;
/// assert_eq!(address.as_str(), "Anna@xn--bcher-kva.example");
/// # Ok::<(), email_consumer::AddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Parses exactly one address.
    ///
    /// An international domain is turned into its ASCII form (IDNA, UTS 46). The local part keeps its case, since only the
    /// receiving host may interpret it; a non-ASCII one is refused because SES does not take it
    /// (<https://docs.aws.amazon.com/ses/latest/APIReference-V2/API_Destination.html>).
    ///
    /// # Errors
    /// The first rule that the text breaks. The error does not hold the text.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        // First, because these are what an injected header or a hidden second recipient needs, wherever they stand.
        if text.chars().any(is_line_breaking) {
            return Err(AddressError::ControlCharacter);
        }
        if text.chars().any(char::is_whitespace) {
            return Err(AddressError::Whitespace);
        }
        if text.contains([',', ';', '<', '>']) {
            return Err(AddressError::NotOneAddress);
        }
        let (local, domain) = text.rsplit_once('@').ok_or(AddressError::NoAtSign)?;
        check_local_part(local)?;
        let domain = ascii_domain(domain)?;
        let address = format!("{local}@{domain}");
        if address.len() > MAX_ADDRESS_OCTETS {
            return Err(AddressError::TooLong);
        }
        Ok(Self(address))
    }

    /// The address in ASCII, for the provider and the header. Not for logs.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for EmailAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EmailAddress(redacted)")
    }
}

/// Why a text is not an address that can be mailed to. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// A line break or another control character.
    #[error("the address holds a line break or control character: remove it")]
    ControlCharacter,
    /// A space.
    #[error("the address holds a space: remove it")]
    Whitespace,
    /// A comma, semicolon or angle bracket: a list, or an address with a name.
    #[error("the text is not one bare address: give one address without a display name")]
    NotOneAddress,
    /// No `@`.
    #[error("the address has no @")]
    NoAtSign,
    /// Nothing before the `@`.
    #[error("the address has nothing before the @")]
    EmptyLocalPart,
    /// More than 64 octets before the `@`.
    #[error("the part before the @ is longer than {MAX_LOCAL_OCTETS} octets")]
    LocalPartTooLong,
    /// Non-ASCII characters before the `@`.
    #[error("the part before the @ is not ASCII: Amazon SES does not deliver to such addresses")]
    LocalPartNotAscii,
    /// A quoted local part, a misplaced dot, a second `@` or another character outside RFC 5322's dot-atom.
    #[error("the part before the @ is not a plain local part: use letters, digits, single dots and !#$%&'*+-/=?^_`{{|}}~")]
    LocalPartInvalid,
    /// Not a public domain name, also after its conversion to ASCII.
    #[error("the part after the @ is not a full domain name such as example.com")]
    DomainInvalid,
    /// More than 254 octets in all.
    #[error("the address is longer than {MAX_ADDRESS_OCTETS} octets in its ASCII form")]
    TooLong,
}

fn check_local_part(local: &str) -> Result<(), AddressError> {
    if local.is_empty() {
        return Err(AddressError::EmptyLocalPart);
    }
    if !local.is_ascii() {
        return Err(AddressError::LocalPartNotAscii);
    }
    if local.len() > MAX_LOCAL_OCTETS {
        return Err(AddressError::LocalPartTooLong);
    }
    // RFC 5322's dot-atom. Quoted local parts are legal but nobody's mailbox, and a rich source of parser disagreements.
    let atom = |part: &str| !part.is_empty() && part.bytes().all(is_atom_byte);
    if local.split('.').all(atom) { Ok(()) } else { Err(AddressError::LocalPartInvalid) }
}

fn is_atom_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&byte)
}

fn ascii_domain(domain: &str) -> Result<String, AddressError> {
    // Strict: letters, digits and hyphens alone (no address literals, no trailing dot), labels of at most 63 and names of at most 253 octets.
    let ascii = idna::domain_to_ascii_strict(domain).map_err(|_| AddressError::DomainInvalid)?;
    // One label is a host of the local network, and a numeric last label an IP address: neither is deliverable from SES.
    let (_, top) = ascii.rsplit_once('.').ok_or(AddressError::DomainInvalid)?;
    if top.bytes().any(|byte| byte.is_ascii_alphabetic()) { Ok(ascii) } else { Err(AddressError::DomainInvalid) }
}

/// The name shown beside an address: any Unicode text on one line, at most 128 characters.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct DisplayName(String);

impl DisplayName {
    /// Takes the text as it is, apart from white space around it; runs of spaces become one, as mail readers show them.
    ///
    /// # Errors
    /// When it is empty, too long, or holds a line break or control character. The error does not hold the text.
    pub fn parse(text: &str) -> Result<Self, DisplayNameError> {
        let text = text.trim_matches(' ');
        if text.chars().any(is_line_breaking) {
            return Err(DisplayNameError::ControlCharacter);
        }
        let text = text.trim().split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        if text.is_empty() {
            return Err(DisplayNameError::Empty);
        }
        if text.chars().count() > MAX_NAME_CHARS {
            return Err(DisplayNameError::TooLong);
        }
        Ok(Self(text))
    }

    /// The name. Not for logs.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for DisplayName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DisplayName(redacted)")
    }
}

/// Why a text is not a display name. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DisplayNameError {
    /// A line break or another control character.
    #[error("the display name holds a line break or control character: remove it")]
    ControlCharacter,
    /// Nothing but white space.
    #[error("the display name is empty: leave it out instead")]
    Empty,
    /// More than 128 characters.
    #[error("the display name is longer than {MAX_NAME_CHARS} characters")]
    TooLong,
}

/// Control characters, and the two Unicode separators that some programs take for line breaks.
pub(crate) fn is_line_breaking(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

/// An address with the name shown beside it, if there is one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mailbox {
    /// The name shown.
    pub name: Option<DisplayName>,
    /// Where the mail goes.
    pub address: EmailAddress,
}

impl Mailbox {
    /// Parses `user@example.com` or `Some Name <user@example.com>`, the form of the sender in the settings. The name may stand in
    /// double quotes.
    ///
    /// # Errors
    /// When the address or the name breaks a rule of its type.
    pub fn parse(text: &str) -> Result<Self, MailboxError> {
        let text = text.trim_matches(' ');
        let Some((name, address)) = text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) else {
            return Ok(Self { name: None, address: EmailAddress::parse(text)? });
        };
        let address = EmailAddress::parse(address)?;
        let name = name.trim_matches(' ');
        let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
        let name = if name.is_empty() { None } else { Some(DisplayName::parse(name)?) };
        Ok(Self { name, address })
    }
}

/// Why a text is not a mailbox. Never holds the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MailboxError {
    /// The address.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The name before it.
    #[error(transparent)]
    Name(#[from] DisplayNameError),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<String, AddressError> {
        EmailAddress::parse(text).map(|address| address.as_str().to_owned())
    }

    #[test]
    fn plain_addresses_stay_as_they_are() {
        for address in
            ["a@example.com", "first.last+tag@sub.example.co.uk", "o'brien@example.org", "UPPER@example.com", "a_b-c@x.io"]
        {
            assert_eq!(parsed(address).as_deref(), Ok(address));
        }
    }

    #[test]
    fn international_domains_become_punycode_and_domains_lose_their_case() {
        assert_eq!(parsed("info@bücher.example").as_deref(), Ok("info@xn--bcher-kva.example"));
        assert_eq!(parsed("info@例え.テスト").as_deref(), Ok("info@xn--r8jz45g.xn--zckzah"));
        assert_eq!(parsed("Info@EXAMPLE.Com").as_deref(), Ok("Info@example.com"));
        // Full-width characters are the same domain in another dress, and must not be a way around a comparison.
        assert_eq!(parsed("info@ｅｘａｍｐｌｅ．ｃｏｍ").as_deref(), Ok("info@example.com"));
    }

    #[test]
    fn each_broken_rule_has_its_own_error() {
        use AddressError as E;
        let cases = [
            ("", E::NoAtSign),
            ("plain", E::NoAtSign),
            ("@example.com", E::EmptyLocalPart),
            ("a@", E::DomainInvalid),
            ("bad@@example.com", E::LocalPartInvalid),
            ("a@b@example.com", E::LocalPartInvalid),
            (".a@example.com", E::LocalPartInvalid),
            ("a.@example.com", E::LocalPartInvalid),
            ("a..b@example.com", E::LocalPartInvalid),
            ("\"a\"@example.com", E::LocalPartInvalid),
            ("a(comment)@example.com", E::LocalPartInvalid),
            ("józef@example.com", E::LocalPartNotAscii),
            ("a@localhost", E::DomainInvalid),
            ("a@127.0.0.1", E::DomainInvalid),
            ("a@[127.0.0.1]", E::DomainInvalid),
            ("a@example.com.", E::DomainInvalid),
            ("a@-example.com", E::DomainInvalid),
            ("a@exa_mple.com", E::DomainInvalid),
            ("a@example..com", E::DomainInvalid),
            ("a@example.com,b@example.com", E::NotOneAddress),
            ("a@example.com;b@example.com", E::NotOneAddress),
            ("Jane<a@example.com>", E::NotOneAddress),
            ("a@example.com ", E::Whitespace),
            ("a b@example.com", E::Whitespace),
            ("a\u{a0}@example.com", E::Whitespace),
            ("a@example.com\r\nBcc: b@example.com", E::ControlCharacter),
            ("a@example.com\n", E::ControlCharacter),
            ("a\0@example.com", E::ControlCharacter),
            ("a@exam\u{2028}ple.com", E::ControlCharacter),
        ];
        for (text, expected) in cases {
            assert_eq!(parsed(text), Err(expected), "{text:?}");
        }
    }

    #[test]
    fn length_limits_are_the_ones_of_smtp() {
        let local = "l".repeat(64);
        assert!(parsed(&format!("{local}@example.com")).is_ok());
        assert_eq!(parsed(&format!("{local}l@example.com")), Err(AddressError::LocalPartTooLong));
        let label = "d".repeat(59);
        let domain = format!("{label}.{label}.{label}.example");
        assert_eq!(domain.len(), 187);
        assert!(parsed(&format!("{local}@{domain}")).is_ok());
        assert_eq!(parsed(&format!("{local}@dd.{domain}")).map(|text| text.len()), Err(AddressError::TooLong));
        assert_eq!(parsed(&format!("a@{}.com", "d".repeat(64))), Err(AddressError::DomainInvalid));
    }

    #[test]
    fn debug_output_shows_neither_address_nor_name() {
        let mailbox = Mailbox::parse("Jane Doe <jane@example.com>").unwrap();
        let shown = format!("{mailbox:?} {mailbox:#?}");
        assert!(!shown.contains("ane"), "{shown}");
    }

    #[test]
    fn display_names_take_any_text_on_one_line() {
        for name in ["Doe, Jane (Billing) \"JD\"", "Łódź Café ☕", "=?utf-8?Q?x?=", &"名".repeat(128)] {
            assert_eq!(DisplayName::parse(name).unwrap().as_str(), name);
        }
        assert_eq!(DisplayName::parse("  Jane   Doe ").unwrap().as_str(), "Jane Doe");
        assert_eq!(DisplayName::parse("   "), Err(DisplayNameError::Empty));
        assert_eq!(DisplayName::parse(&"n".repeat(129)), Err(DisplayNameError::TooLong));
        for name in ["a\r\nBcc: b@example.com", "a\nb", "a\tb", "a\u{7f}", "a\u{85}b", "a\u{2029}b", "Jane\n"] {
            assert_eq!(DisplayName::parse(name), Err(DisplayNameError::ControlCharacter), "{name:?}");
        }
    }

    #[test]
    fn a_mailbox_is_an_address_with_or_without_a_name() {
        let parse = |text| Mailbox::parse(text).map(|mailbox| (mailbox.name.map(|name| name.0), mailbox.address.0));
        let address = || "a@example.com".to_owned();
        assert_eq!(parse("a@example.com"), Ok((None, address())));
        assert_eq!(parse("<a@example.com>"), Ok((None, address())));
        assert_eq!(parse("Shop <a@example.com>"), Ok((Some("Shop".to_owned()), address())));
        assert_eq!(parse("\"Shop, Inc.\" <a@example.com>"), Ok((Some("Shop, Inc.".to_owned()), address())));
        assert_eq!(parse("Shop <a@example.com> x"), Err(AddressError::Whitespace.into()));
        assert_eq!(parse("Shop\r\nBcc: x <a@example.com>"), Err(DisplayNameError::ControlCharacter.into()));
    }

    proptest! {
        #[test]
        fn whatever_parses_is_one_printable_ascii_address(text in "\\PC{0,40}@\\PC{0,40}|[a-z.@, \r\n<>]{0,40}|[a-z]{1,9}@[a-zäß名]{1,9}\\.com") {
            if let Ok(address) = EmailAddress::parse(&text) {
                let address = address.as_str();
                prop_assert!(address.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert_eq!(address.matches('@').count(), 1);
                prop_assert!(!address.contains([',', ';', '<', '>', '"', '(', ')', '\\', ':']));
                prop_assert!(address.len() <= 254);
                // Parsing is stable: what was stored once reads back as itself.
                let again = EmailAddress::parse(address).unwrap();
                prop_assert_eq!(again.as_str(), address);
            }
        }
    }
}
