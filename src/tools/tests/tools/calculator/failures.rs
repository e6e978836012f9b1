//! Errors point at what is wrong and say what would work.

use super::{ask, check};

#[test]
fn an_error_names_the_part_of_the_expression() {
    check(&[
        ("1 / 0", "division by zero, at character 1: 1 / 0 / "),
        (
            "2 + foo * 3",
            "unknown name, at character 5: foo / name values as in x = 3; 2*x, and units as in 5 km to mi",
        ),
        (
            "sqr(4)",
            "unknown function, at character 1: sqr / functions are sqrt, log, sin, round, factorial, mean, stdev, percentile, date_diff and others",
        ),
        (
            "squareroot(4)",
            "unknown function, at character 1: squareroot / functions are sqrt, log, sin, round, factorial, mean, stdev, percentile, date_diff and others",
        ),
        (
            "medain([1, 2])",
            "unknown function, at character 1: medain / functions are sqrt, log, sin, round, factorial, mean, stdev, percentile, date_diff and others",
        ),
        ("Sqrt(4)", "unknown function, at character 1: Sqrt / did you mean sqrt(x)?"),
        (
            "mediam([1])",
            "unknown function, at character 1: mediam / did you mean median([1, 2, 3])?",
        ),
        ("2 +", "something is missing, at the end of the expression / "),
        ("(2 + 3", "the closing ) is missing for this, at character 1: ( / "),
        ("2 + 3)", "a bracket that nothing opens, at character 6: ) / "),
        (
            "2 3",
            "an operator is missing before this, at character 3: 3 / write 2 * 3, and [1, 2, 3] for a list",
        ),
        (
            "1,000 + 1",
            "a number with separators, at character 3: 000 / write 1234567.89: no separators of thousands, a point before decimals",
        ),
        (
            "max(1,000, 2)",
            "a number with separators, at character 7: 000 / write 1234567.89: no separators of thousands, a point before decimals",
        ),
        (
            "1.000.000",
            "a number with separators, at character 1: 1.000 / write 1234567.89: no separators of thousands, a point before decimals",
        ),
        (
            "$5 * 2",
            "unexpected character, at character 1: $ / leave out currency signs: 1200 * 1.08",
        ),
    ]);
}

#[test]
fn an_error_says_what_would_work() {
    check(&[
        (
            "\\frac{1}{2}",
            "unexpected character, at character 1: \\ / write plain arithmetic, not LaTeX: sqrt(2) * 3/4",
        ),
        (
            "",
            "the expression is empty, at the end of the expression / write for instance 2 * (3 + 4)",
        ),
        (
            "1,234 + 1",
            "unexpected comma, at character 2: , / write 1000 instead of 1,000, and lists as [1, 2, 3]",
        ),
        (
            "2 = 3",
            "unexpected =, at character 3: = / compare with ==, and name values as in x = 3; 2*x",
        ),
        ("pi = 3", "the name has a meaning already, at character 1: pi / choose another name"),
        (
            "1/2 h",
            "this can be read in two ways, at character 1: 1/2 h / write (1/2) h for half an hour, 1/(2 h) for one in two hours",
        ),
        (
            "6/2(1+2)",
            "this can be read in two ways, at character 1: 6/2(1+2) / write a/(b*c) or a/b*c",
        ),
        (
            "5 in cm",
            "this can be read in two ways, at character 3: in / write 5 in to cm, or 5 km to mi",
        ),
        (
            "round(1, 2, 3)",
            "wrong number of arguments (3), at character 1: round(1, 2, 3) / write round(x, digits)",
        ),
    ]);
}

#[test]
fn incompatible_units_say_so() {
    let hint = "only quantities of one kind can be converted, added and compared";
    check(&[
        (
            "5 km + 3 kg",
            &format!("a mass (kg) is not a length (km), at character 1: 5 km + 3 kg / {hint}"),
        ),
        (
            "5 km to s",
            &format!("a length (km) is not a time (s), at character 1: 5 km to s / {hint}"),
        ),
        (
            "5 to km",
            &format!("a plain number is not a length (km), at character 1: 5 to km / {hint}"),
        ),
        (
            "5 m + 2",
            &format!("a plain number is not a length (m), at character 1: 5 m + 2 / {hint}"),
        ),
        (
            "20 degC + 5 degC",
            "°C is a scale with its own zero, at character 1: 20 degC + 5 degC / convert to K first, and write differences of temperatures in K: 20 degC + 5 K",
        ),
        (
            "2 * 20 degC",
            "°C is a scale with its own zero, at character 1: 2 * 20 degC / convert to K first, and write differences of temperatures in K: 20 degC + 5 K",
        ),
        ("sqrt(2 m)", "no such root of a length (m), at character 1: sqrt(2 m) / write sqrt(x)"),
        (
            "ln(5 m)",
            "expected a number without a unit, not a length (m), at character 1: ln(5 m) / divide by the unit first: (5 km) / (1 m)",
        ),
    ]);
}

#[test]
fn domains_are_checked() {
    check(&[
        (
            "sqrt(-1)",
            "the square root of a negative number, at character 1: sqrt(-1) / write sqrt(x)",
        ),
        (
            "ln(0)",
            "the logarithm of a number that is not above zero, at character 1: ln(0) / write ln(x)",
        ),
        ("asin(2)", "the argument lies between -1 and 1, at character 1: asin(2) / write asin(x)"),
        (
            "tan(90 deg)",
            "the tangent of a right angle is not defined, at character 1: tan(90 deg) / write tan(45 deg)",
        ),
        (
            "(-8)^(1/3)",
            "a negative number to a fractional power, at character 1: (-8)^(1/3) / write root(x, 3) or cbrt(x) for odd roots of negative numbers",
        ),
        ("0^-1", "division by zero: zero to a negative power, at character 1: 0^-1 / "),
        (
            "factorial(2.5)",
            "the factorial is of an integer from zero on, at character 1: factorial(2.5) / write factorial(n)",
        ),
        ("mean([])", "an empty list, at character 1: mean([]) / write mean([1, 2, 3])"),
        (
            "stdev([1])",
            "the spread of a sample needs at least two values, at character 1: stdev([1]) / write stdev([1, 2, 3])",
        ),
        (
            "correlation([1, 2], [1, 2, 3])",
            "two lists of different lengths (2 and 3), at character 1: correlation([1, 2], [1, 2, 3]) / give one value of each list for each pair",
        ),
        (
            "percentile([1, 2], 101)",
            "a percentile lies between 0 and 100, at character 1: percentile([1, 2], 101) / write percentile([1, 2, 3], 90)",
        ),
    ]);
}

#[test]
fn dates_that_do_not_exist_are_refused() {
    check(&[
        ("2023-02-29", "no date of the calendar, at character 1: 2 / 2023 is not a leap year"),
        (
            "2024-04-31 + 1 day",
            "no date of the calendar, at character 1: 2 / that month has 30 days",
        ),
        (
            "2024-13-01",
            "no date of the calendar, at character 1: 2 / months go from 01 to 12: 2024-02-29 is year, month, day",
        ),
        (
            "2024-02-29 + 5",
            "a date and a plain number, at character 1: 2024-02-29 + 5 / name the unit: 2024-02-29 + 30 days",
        ),
        (
            "2024-02-29 + 2024-02-29",
            "a date cannot be added to a date, at character 1: 2024-02-29 + 2024-02-29 / subtract them for the time between: 2024-03-01 - 2024-02-01",
        ),
        (
            "2024-01-31 + 0.3 months",
            "a part of a month or year on the calendar, at character 1: 2024-01-31 + 0.3 months / add whole parts one after the other: 2024-01-31 + 1 year + 2 months",
        ),
        (
            "2024-10-27 02:30 Europe/Berlin",
            "the clocks of that zone show this time twice or never, at character 1: 2024-10-27 02:30 Europe/Berlin / write the offset from UTC instead of the zone: 2024-10-27 02:30+01:00",
        ),
        (
            "2024-06-01 15:00 Europe/Atlantis",
            "unknown time zone, at character 1: 2024-06-01 15:00 Europe/Atlantis / write an IANA name such as Europe/Berlin, or UTC",
        ),
        (
            "9999-12-31 + 1 day",
            "the date lies beyond the calendar, at character 1: 9999-12-31 + 1 day / dates go from -9999-01-01 to 9999-12-31",
        ),
    ]);
}

#[test]
fn the_fault_has_a_code_and_a_position() {
    let fault = ask("2 + foo").unwrap_err();
    assert_eq!(fault.code, "calculation_failed");
    assert_eq!(fault.details.get("position"), Some(&5.into()));
}
