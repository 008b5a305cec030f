//! Card numbers: an issuer's prefix, the right length, the check digit.

/// Prefixes (of four digits) and lengths by issuer. Visa's old 13 digits and Maestro's 12 to 15 are left out: they would hit a tenth of
/// all timestamps and ids of that length, for cards that are hardly left.
const ISSUERS: [(std::ops::RangeInclusive<u16>, &[usize]); 18] = [
    (4000..=4999, &[16, 19]),         // Visa
    (5100..=5599, &[16]),             // Mastercard
    (2221..=2720, &[16]),             // Mastercard
    (3400..=3499, &[15]),             // American Express
    (3700..=3799, &[15]),             // American Express
    (3000..=3059, &[14, 16]),         // Diners Club
    (3095..=3095, &[14, 16]),         // Diners Club
    (3600..=3699, &[14, 16]),         // Diners Club
    (3800..=3999, &[14, 16]),         // Diners Club
    (6011..=6011, &[16, 19]),         // Discover
    (6440..=6599, &[16, 19]),         // Discover
    (3528..=3589, &[16]),             // JCB
    (6200..=6299, &[16, 17, 18, 19]), // UnionPay
    (8100..=8171, &[16, 17, 18, 19]), // UnionPay
    (6304..=6304, &[16, 17, 18, 19]), // Maestro
    (6759..=6763, &[16, 17, 18, 19]), // Maestro
    (2200..=2204, &[16, 17, 18, 19]), // Mir
    (5080..=5089, &[16]),             // RuPay
];

/// How people write the digits in groups.
const GROUPINGS: [&[usize]; 5] = [&[4, 4, 4, 4], &[4, 4, 4, 4, 3], &[4, 6, 5], &[4, 6, 4], &[8, 8]];

const FEWEST_DIGITS: usize = 14;
const MOST_DIGITS: usize = 19;

/// Whether a card number stands in the text, in one piece or in groups with blanks or dashes. Full-width digits count as digits.
///
/// Digits inside a longer word (`pi_3N4111…`) or behind a decimal point are none. An ordinary number of 16 digits is hit about once in fifty.
pub(super) fn contains_card_number(text: &str) -> bool {
    if text.chars().filter(|&character| digit(character).is_some()).take(FEWEST_DIGITS).count() < FEWEST_DIGITS {
        return false;
    }
    let characters: Vec<char> = text.chars().collect();
    let mut position = 0;
    while position < characters.len() {
        let (run, end) = digit_groups(&characters, position);
        if run.is_empty() {
            position += 1;
            continue;
        }
        let glued = touches_a_word(&characters, position, end);
        let fraction = position >= 2 && ".,".contains(characters[position - 1]) && digit(characters[position - 2]).is_some();
        if !glued && !fraction && has_card(&run) {
            return true;
        }
        position = end;
    }
    false
}

/// Groups of digits from a position on, with one and the same separator between all of them, and where they end.
fn digit_groups(characters: &[char], start: usize) -> (Vec<Vec<u8>>, usize) {
    let mut groups: Vec<Vec<u8>> = Vec::new();
    let mut between: Option<char> = None;
    let mut position = start;
    loop {
        let group: Vec<u8> = characters[position..].iter().map_while(|&character| digit(character)).collect();
        if group.is_empty() {
            break;
        }
        position += group.len();
        groups.push(group);
        let Some(next) = characters.get(position).and_then(|&character| separator(character)) else { break };
        let digit_follows = characters.get(position + 1).is_some_and(|&character| digit(character).is_some());
        if !digit_follows || between.is_some_and(|between| between != next) {
            break;
        }
        between = Some(next);
        position += 1;
    }
    (groups, position)
}

fn touches_a_word(characters: &[char], start: usize, end: usize) -> bool {
    let is_word = |character: &char| character.is_ascii_alphanumeric() || *character == '_';
    let before = start.checked_sub(1).and_then(|before| characters.get(before)).is_some_and(is_word);
    before || characters.get(end).is_some_and(is_word)
}

fn has_card(groups: &[Vec<u8>]) -> bool {
    let in_one_piece = groups.iter().any(|group| is_card(group));
    let in_groups = || {
        GROUPINGS.iter().any(|grouping| {
            groups
                .windows(grouping.len())
                .any(|window| window.iter().map(Vec::len).eq(grouping.iter().copied()) && is_card(&window.concat()))
        })
    };
    in_one_piece || in_groups()
}

fn is_card(digits: &[u8]) -> bool {
    if !(FEWEST_DIGITS..=MOST_DIGITS).contains(&digits.len()) {
        return false;
    }
    let prefix = digits[..4].iter().fold(0, |prefix, &digit| prefix * 10 + u16::from(digit));
    ISSUERS.iter().any(|(prefixes, lengths)| prefixes.contains(&prefix) && lengths.contains(&digits.len())) && luhn(digits)
}

fn luhn(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(place, &digit)| match (place % 2, u32::from(digit) * 2) {
            (0, _) => u32::from(digit),
            (_, doubled) if doubled > 9 => doubled - 9,
            (_, doubled) => doubled,
        })
        .sum();
    sum.is_multiple_of(10)
}

fn digit(character: char) -> Option<u8> {
    match character {
        '0'..='9' => Some(character as u8 - b'0'),
        '０'..='９' => u8::try_from(u32::from(character) - u32::from('０')).ok(),
        _ => None,
    }
}

fn separator(character: char) -> Option<char> {
    match character {
        ' ' | '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{3000}' => Some(' '),
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{ff0d}' => Some('-'),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Published test numbers of the card networks.
    const CARDS: [&str; 10] = [
        "4111111111111111",
        "4242424242424242",
        "5555555555554444",
        "2223003122003222",
        "378282246310005",
        "30569309025904",
        "6011111111111117",
        "3566002020360505",
        "6205500000000000004",
        "36227206271667",
    ];

    #[test]
    fn test_numbers_of_all_networks_are_found() {
        for card in CARDS {
            assert!(contains_card_number(card), "{card}");
            assert!(contains_card_number(&format!("card {card}, thanks")), "{card}");
        }
    }

    #[test]
    fn groups_with_blanks_dashes_and_full_width_digits_are_found() {
        for text in [
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "4111\u{a0}1111\u{a0}1111\u{a0}1111",
            "3782 822463 10005",
            "3056 930902 5904",
            "no. 4111 1111 1111 1111 12 28",
            "12 4111 1111 1111 1111",
            "４１１１１１１１１１１１１１１１",
            "カード４１１１　１１１１　１１１１　１１１１です",
            "41111111 11111111",
        ] {
            assert!(contains_card_number(text), "{text}");
        }
    }

    #[test]
    fn a_wrong_check_digit_length_or_prefix_is_no_card() {
        for text in ["4111111111111112", "411111111111111", "41111111111111111", "1111111111111117", "0000000000000000"] {
            assert!(!contains_card_number(text), "{text}");
        }
    }

    #[test]
    fn ordinary_ids_and_times_are_left_alone() {
        for text in [
            "1700000000000",
            "1754006400123456",
            "1754006400123456789",
            "2026-08-01T12:30:00.123456Z",
            "20260801123000",
            "8e03978e-40d5-43e8-bc93-6894a57f9324",
            "pi_34111111111111111",
            "a4111111111111111",
            "0.4111111111111111",
            "+81 90 1234 5678",
            "123456789012",
            "4111-1111-1111 1111",
            "order-1001",
            "",
        ] {
            assert!(!contains_card_number(text), "{text}");
        }
    }

    #[test]
    fn consecutive_numbers_of_16_digits_are_rarely_hit() {
        let hits =
            (1_754_006_400_000_000_u64..).step_by(7_919).take(10_000).filter(|id| contains_card_number(&id.to_string())).count();
        assert_eq!(hits, 0, "microseconds since 1970");
        let spread = (0..10_000_u64).map(|n| 1_000_000_000_000_000 + n * 899_999_999_999);
        let hits = spread.filter(|id| contains_card_number(&id.to_string())).count();
        assert!(hits < 400, "{hits} of 10,000 numbers of 16 digits");
    }
}
