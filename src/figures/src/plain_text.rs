//! A text with the digits of every script as ASCII digits, and nothing invisible between them.

/// The zeros of the scripts that have digits of their own.
const ZEROS: [u32; 37] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50,
    0x1bb0, 0x1c40, 0x1c50, 0xa620, 0xa8d0, 0xa900, 0xa9d0, 0xa9f0, 0xaa50, 0xabf0, 0xff10,
    0x104a0,
];
/// Digits in bold and other letters for mathematics, in five rows.
const MATHEMATICAL: std::ops::RangeInclusive<u32> = 0x1d7ce..=0x1d7ff;

/// The text as it reads, with ASCII digits and nothing invisible; all that is compared is read in
/// this form.
///
/// ```
/// assert_eq!(antiphon_figures::plain("１\u{200b}8th"), "18th");
/// ```
pub fn plain(text: &str) -> String {
    text.chars().filter(|sign| !is_invisible(*sign)).map(ascii_digit).collect()
}

/// A digit or number sign that is no ASCII digit: `²`, `½`, `Ⅷ`.
pub(super) fn is_number_sign(sign: char) -> bool {
    sign.is_numeric() && !sign.is_ascii_digit()
}

fn ascii_digit(sign: char) -> char {
    let code = u32::from(sign);
    let digit = if MATHEMATICAL.contains(&code) {
        Some((code - MATHEMATICAL.start()) % 10)
    } else {
        ZEROS.iter().filter_map(|zero| code.checked_sub(*zero)).find(|digit| *digit < 10)
    };
    match sign {
        // Arabic and full-width marks go with the digits of their scripts.
        '٫' | '．' => '.',
        '٬' | '，' => ',',
        '％' | '٪' => '%',
        _ => digit.and_then(|digit| char::from_digit(digit, 10)).unwrap_or(sign),
    }
}

const fn is_invisible(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e01ef}'
    )
}
