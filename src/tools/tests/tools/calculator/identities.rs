//! Laws of arithmetic that hold for all numbers, and texts that must not break the reader.

use super::{ask, text};
use proptest::prelude::*;

fn truth(expression: &str) -> bool {
    text(expression) == "true"
}

/// Fails the case with the expression that should be true.
fn holds(expression: &str) -> Result<(), TestCaseError> {
    prop_assert!(truth(expression), "{} is {}", expression, text(expression));
    Ok(())
}

fn decimal() -> impl Strategy<Value = String> {
    (any::<i64>(), 0_u32..12).prop_map(|(digits, places)| format!("({digits}e-{places})"))
}

proptest! {
    #[test]
    fn rationals_are_a_field(a in decimal(), b in decimal(), c in decimal()) {
        holds(&format!("{a} + {b} == {b} + {a}"))?;
        holds(&format!("({a} + {b}) + {c} == {a} + ({b} + {c})"))?;
        holds(&format!("({a} * {b}) * {c} == {a} * ({b} * {c})"))?;
        holds(&format!("{a} * ({b} + {c}) == {a} * {b} + {a} * {c}"))?;
        holds(&format!("{a} - {a} == 0"))?;
    }

    #[test]
    fn division_undoes_multiplication(a in decimal(), b in decimal()) {
        prop_assume!(!truth(&format!("{b} == 0")));
        holds(&format!("{a} * {b} / {b} == {a}"))?;
        holds(&format!("{a} // {b} * {b} + mod({a}, {b}) == {a}"))?;
    }

    #[test]
    fn integers_agree_with_machine_arithmetic(a in any::<i64>(), b in any::<i64>()) {
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(text(&format!("{a} + ({b})")), (wide_a + wide_b).to_string());
        prop_assert_eq!(text(&format!("{a} * ({b})")), (wide_a * wide_b).to_string());
        prop_assume!(b != 0);
        let rest = wide_a.rem_euclid(wide_b.abs());
        let rest = if b < 0 && rest != 0 { rest + wide_b } else { rest };
        prop_assert_eq!(text(&format!("mod({a}, {b})")), rest.to_string());
    }

    #[test]
    fn roots_of_squares_are_exact(a in decimal()) {
        holds(&format!("sqrt(({a})^2) == abs({a})"))?;
    }

    #[test]
    fn a_decimal_is_shown_as_it_was_written(whole in any::<u64>(), part in 1_u64..1_000_000) {
        let number = format!("{whole}.{part:06}");
        prop_assert_eq!(text(&number), number.trim_end_matches('0'));
    }

    #[test]
    fn conversions_come_back(a in decimal()) {
        holds(&format!("({a}) m == ((({a}) m to mi) to ft)"))?;
        holds(&format!("(({a}) degF to degC) == ({a}) degF"))?;
    }

    #[test]
    fn days_that_are_added_can_be_subtracted(days in -700_000_i64..700_000) {
        holds(&format!("(2000-01-01 + ({days}) days) - 2000-01-01 == ({days}) days"))?;
    }

    #[test]
    fn workdays_are_counted_one_by_one(start in 0_i64..3000, length in 0_i64..60) {
        let weekday = |day: i64| text(&format!("weekday(2000-01-01 + {day} days)"));
        let counted = (start..start + length)
            .filter(|day| !matches!(weekday(*day).as_str(), "Saturday" | "Sunday"))
            .count();
        let range = format!("2000-01-01 + {start} days, 2000-01-01 + {} days", start + length);
        prop_assert_eq!(text(&format!("workdays({range})")), counted.to_string());
    }

    #[test]
    fn no_text_breaks_the_reader(expression in "\\PC{0,60}") {
        let _ = ask(&expression);
    }

    #[test]
    fn no_sequence_of_tokens_breaks_the_reader(
        tokens in prop::collection::vec(
            prop::sample::select(vec![
                "1", "0", "2.5", "1e9", "(", ")", "[", "]", ",", "+", "-", "*", "/", "//", "^", "%",
                "!", "=", "==", "<", ";", " ", "to", "in", "of", "per", "mod", "km", "h", "degC",
                "deg", "sqrt(", "mean(", "percentile(", "date_diff(", "log(", "x", "pi", "e",
                "2024-02-29", "12:00", "Europe/Berlin", "today", "month", "²", "√", "9^99", "hex",
                "round(", "stdev(", "square", "min(", "decimals", "\n",
            ]),
            0..24,
        )
    ) {
        let _ = ask(&tokens.concat());
        let _ = ask(&tokens.join(" "));
    }
}
