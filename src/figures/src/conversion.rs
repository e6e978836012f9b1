//! Units of one dimension, and how many of the smallest each has.

/// A dimension with its units. A month and a year are no fixed number of days.
const DIMENSIONS: &[&[(&str, f64)]] = &[
    &[
        ("mm", 1e-3),
        ("cm", 1e-2),
        ("m", 1.0),
        ("km", 1e3),
        ("inch", 0.0254),
        ("ft", 0.3048),
        ("yd", 0.9144),
        ("mi", 1_609.344),
    ],
    &[("m2", 1.0), ("ha", 1e4), ("km2", 1e6)],
    &[("ml", 1e-3), ("l", 1.0), ("m3", 1e3)],
    &[
        ("mg", 1e-3),
        ("g", 1.0),
        ("kg", 1e3),
        ("t", 1e6),
        ("lb", 453.592_37),
        ("oz", 28.349_523_125),
    ],
    &[
        ("ms", 1e-3),
        ("s", 1.0),
        ("min", 60.0),
        ("h", 3_600.0),
        ("d", 86_400.0),
        ("week", 604_800.0),
    ],
    &[("month", 1.0), ("year", 12.0)],
    &[("km/h", 1.0), ("mph", 1.609_344), ("m/s", 3.6)],
    &[("W", 1.0), ("kW", 1e3), ("MW", 1e6)],
    &[("kWh", 1.0), ("MWh", 1e3)],
    &[("B", 1.0), ("kB", 1e3), ("MB", 1e6), ("GB", 1e9)],
];

/// What a number in the first unit is multiplied by to be one in the second; none if they do not
/// measure the same.
pub(super) fn factor(from: &str, to: &str) -> Option<f64> {
    if from == to {
        return Some(1.0);
    }
    let of = |units: &[(&str, f64)], name: &str| {
        units.iter().find(|(unit, _)| *unit == name).map(|(_, size)| *size)
    };
    DIMENSIONS.iter().find_map(|units| Some(of(units, from)? / of(units, to)?))
}

/// Whether a unit can be converted into others.
pub(super) fn is_convertible(name: &str) -> bool {
    DIMENSIONS.iter().any(|units| units.iter().any(|(unit, _)| *unit == name))
}
