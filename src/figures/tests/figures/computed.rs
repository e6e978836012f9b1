//! Numbers that follow from others, and those that only seem to.

use antiphon_figures::{ComputedNumber, quantities};

const SERVERS: &str = "Rome has 12 servers and Oslo has 5.";

fn found(known: &str, number: &str, sentence: &str) -> Option<(&'static str, String)> {
    let found = ComputedNumber::find(number, sentence, &quantities(known))?;
    Some((found.operation, found.operands.join(" ")))
}

#[test]
fn what_a_sentence_says_is_computed_of_what_it_names_or_of_all_that_is_known() {
    let costs = "The disk costs $10 in May and $15 in June.";
    for (known, number, sentence, operation, operands) in [
        (SERVERS, "17", "In all there are 17.", "sum", "12 servers 5"),
        (SERVERS, "17", "Both cities have 17: Rome 12, Oslo 5.", "sum", "12 servers 5"),
        (SERVERS, "7", "Rome has 7 more than Oslo.", "difference", "12 servers 5"),
        (SERVERS, "7", "Oslo has 7 fewer, 5 and not 12.", "difference", "12 servers 5"),
        (SERVERS, "2.4", "Rome has 2.4 times as many.", "ratio", "12 servers 5"),
        ("12 of 20 tests passed.", "60", "60 % passed, 12 of 20.", "ratio", "12 20"),
        (costs, "50", "The price rose by 50 % from $10 to $15.", "growth", "10 USD 15 USD"),
        (costs, "$25", "Together they cost $25.", "sum", "10 USD 15 USD"),
        ("2 kg of rice, 3 kg of salt", "5", "5 kg in total.", "sum", "2 kg 3 kg"),
        // Others are known, and the sentence says which it means.
        ("4, 8, 12, 5, 9 and 23", "17", "12 and 5 make 17 in all.", "sum", "12 5"),
    ] {
        let number = number.trim_start_matches('$');
        assert_eq!(
            found(known, number, sentence),
            Some((operation, operands.to_owned())),
            "{sentence}"
        );
    }
}

#[test]
fn no_number_is_composed_of_what_happens_to_fit() {
    for (known, number, sentence) in [
        // Nothing says that it was computed, or another thing is said.
        (SERVERS, "17", "Rome has 17 servers."),
        (SERVERS, "7", "In all there are 7."),
        (SERVERS, "17", "Rome has 17 more."),
        (SERVERS, "2.4", "Rome has 2.4 more."),
        // Invented, swapped, or rounded away.
        (SERVERS, "71", "In all there are 71."),
        (SERVERS, "18", "In all there are 18: 12 and 5."),
        (SERVERS, "17", "In all there are 17: 12 and 6."),
        (SERVERS, "51", "51 % are in Oslo."),
        // A part of what is known is no total, and of many numbers some always fit.
        ("12, 5 and 9", "17", "In all there are 17."),
        ("12, 5 and 9", "7", "Rome has 7 more than Oslo."),
        ("1, 2, 3, 4, 5", "15", "In all there are 15."),
        // One number twice is one thing, or two.
        ("There are 5 in Oslo. All 5 run.", "10", "In all there are 10."),
        ("There are 5 in Oslo, and 12 in Rome.", "22", "In all 22: 5, 5 and 12."),
        // Things of different kinds.
        ("12 users and 5 servers", "17", "In all there are 17 users."),
        ("$12 and 5 kg", "17", "In all $17."),
        ("It opened in 1999 and closed in 2021.", "22", "It was open 22 times more."),
        ("over 12 and about 5", "17", "In all there are 17."),
        ("12 and 5", "17", "In all there are more than 17."),
        // A fall is no rise.
        ("$10, then $15", "33", "It rose by 33 % from $10 to $15."),
        ("", "0", "In all there are 0."),
    ] {
        assert_eq!(found(known, number, sentence), None, "{sentence}");
    }
}
