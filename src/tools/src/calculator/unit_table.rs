//! The units that expressions may name.
//!
//! Factors are to the units of the dimensions: metre, kilogram, second, kelvin, ampere, degree (of
//! angles) and bit. They are exact where the definition is.

/// Exponents of length, mass, time, temperature, current, angle and data.
pub(super) type Dimensions = [i8; 7];

/// Which prefixes a unit takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefixes {
    None,
    /// All of SI.
    Metric,
    /// Those above one, and those of powers of 1024.
    Data,
}

/// How many of the dimension's unit one unit is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Factor {
    /// A decimal number or a fraction of two: `1000/3600`.
    Exact(&'static str),
    Rounded(f64),
}

/// A row of the table.
#[derive(Debug)]
pub(super) struct UnitRow {
    /// As results write it.
    pub(super) symbol: &'static str,
    /// Further symbols, which take the short prefixes, as does `symbol`.
    pub(super) symbols: &'static [&'static str],
    /// Names, which take the long prefixes; plurals with `s` are understood.
    pub(super) names: &'static [&'static str],
    pub(super) dimensions: Dimensions,
    pub(super) factor: Factor,
    pub(super) prefixes: Prefixes,
    /// What the result says of the unit where another one has the same name.
    pub(super) note: Option<&'static str>,
}

const LENGTH: Dimensions = [1, 0, 0, 0, 0, 0, 0];
const AREA: Dimensions = [2, 0, 0, 0, 0, 0, 0];
const VOLUME: Dimensions = [3, 0, 0, 0, 0, 0, 0];
const MASS: Dimensions = [0, 1, 0, 0, 0, 0, 0];
const TIME: Dimensions = [0, 0, 1, 0, 0, 0, 0];
const TEMPERATURE: Dimensions = [0, 0, 0, 1, 0, 0, 0];
const CURRENT: Dimensions = [0, 0, 0, 0, 1, 0, 0];
const ANGLE: Dimensions = [0, 0, 0, 0, 0, 1, 0];
const DATA: Dimensions = [0, 0, 0, 0, 0, 0, 1];
const DATA_RATE: Dimensions = [0, 0, -1, 0, 0, 0, 1];
const SPEED: Dimensions = [1, 0, -1, 0, 0, 0, 0];
const FORCE: Dimensions = [1, 1, -2, 0, 0, 0, 0];
const ENERGY: Dimensions = [2, 1, -2, 0, 0, 0, 0];
const POWER: Dimensions = [2, 1, -3, 0, 0, 0, 0];
const PRESSURE: Dimensions = [-1, 1, -2, 0, 0, 0, 0];
const FREQUENCY: Dimensions = [0, 0, -1, 0, 0, 0, 0];
const CHARGE: Dimensions = [0, 0, 1, 0, 1, 0, 0];
const VOLTAGE: Dimensions = [2, 1, -3, 0, -1, 0, 0];
const RESISTANCE: Dimensions = [2, 1, -3, 0, -2, 0, 0];

/// The names of the dimensions that messages mention.
pub(super) const KINDS: &[(&str, Dimensions)] = &[
    ("a length", LENGTH),
    ("an area", AREA),
    ("a volume", VOLUME),
    ("a mass", MASS),
    ("a time", TIME),
    ("a temperature", TEMPERATURE),
    ("a current", CURRENT),
    ("an angle", ANGLE),
    ("an amount of data", DATA),
    ("a data rate", DATA_RATE),
    ("a speed", SPEED),
    ("an acceleration", [1, 0, -2, 0, 0, 0, 0]),
    ("a force", FORCE),
    ("an energy", ENERGY),
    ("a power", POWER),
    ("a pressure", PRESSURE),
    ("a frequency", FREQUENCY),
    ("a charge", CHARGE),
    ("a voltage", VOLTAGE),
    ("a resistance", RESISTANCE),
    ("a density", [-3, 1, 0, 0, 0, 0, 0]),
    ("a plain number", [0; 7]),
];

macro_rules! units {
    ($($dimensions:ident { $($row:tt)* })*) => {
        /// All units.
        pub(super) const UNITS: &[&[UnitRow]] = &[$(units!(@rows $dimensions [] $($row)*)),*];
    };
    (@rows $dimensions:ident [$($done:expr,)*]) => { &[$($done),*] };
    (@rows $dimensions:ident [$($done:expr,)*]
        $symbol:literal $symbols:tt $names:tt = $factor:expr, $prefixes:ident $(, $note:literal)?;
        $($rest:tt)*
    ) => {
        units!(@rows $dimensions [$($done,)* UnitRow {
            symbol: $symbol,
            symbols: &$symbols,
            names: &$names,
            dimensions: $dimensions,
            factor: $factor,
            prefixes: Prefixes::$prefixes,
            note: units!(@note $($note)?),
        },] $($rest)*)
    };
    (@note) => { None };
    (@note $note:literal) => { Some($note) };
}

const fn exact(factor: &'static str) -> Factor {
    Factor::Exact(factor)
}

units! {
    LENGTH {
        "m" [] ["meter", "metre"] = exact("1"), Metric;
        "in" ["″"] ["inch", "inches"] = exact("0.0254"), None;
        "ft" ["′"] ["foot", "feet"] = exact("0.3048"), None;
        "yd" [] ["yard"] = exact("0.9144"), None;
        "mi" [] ["mile"] = exact("1609.344"), None;
        "nmi" ["NM"] ["nautical_mile"] = exact("1852"), None;
        "Å" ["Å"] ["angstrom", "ångström"] = exact("0.0000000001"), None;
        "au" ["AU"] ["astronomical_unit"] = exact("149597870700"), None;
        "ly" [] ["light_year", "lightyear"] = exact("9460730472580800"), None;
        "pc" [] ["parsec"] = Factor::Rounded(3.085_677_581_491_367e16), Metric;
    }
    AREA {
        "ha" [] ["hectare"] = exact("10000"), None;
        "acre" ["ac"] ["acre"] = exact("4046.8564224"), None;
    }
    VOLUME {
        "L" ["l"] ["liter", "litre"] = exact("0.001"), Metric;
        "gal" [] ["gallon"] = exact("0.003785411784"), None, "gal is the US gallon";
        "qt" [] ["quart"] = exact("0.000946352946"), None, "qt is the US quart";
        "pt" [] ["pint"] = exact("0.000473176473"), None, "pt is the US pint";
        "cup" [] ["cup"] = exact("0.0002365882365"), None, "cup is the US cup";
        "floz" ["fl_oz"] ["fluid_ounce"] = exact("0.0000295735295625"), None, "floz is the US fluid ounce";
        "tbsp" [] ["tablespoon"] = exact("0.00001478676478125"), None, "tbsp is the US tablespoon";
        "tsp" [] ["teaspoon"] = exact("0.00000492892159375"), None, "tsp is the US teaspoon";
        "impgal" [] ["imperial_gallon"] = exact("0.00454609"), None;
        "imppt" [] ["imperial_pint"] = exact("0.00056826125"), None;
        "bbl" [] ["barrel"] = exact("0.158987294928"), None, "bbl is the barrel of oil";
        "cc" [] [] = exact("0.000001"), None;
    }
    MASS {
        "g" [] ["gram", "gramme"] = exact("0.001"), Metric;
        "t" [] ["tonne", "metric_ton"] = exact("1000"), Metric;
        "lb" ["lbs"] ["pound"] = exact("0.45359237"), None;
        "oz" [] ["ounce"] = exact("0.028349523125"), None;
        "st" [] ["stone"] = exact("6.35029318"), None;
        "ton" [] ["ton", "short_ton"] = exact("907.18474"), None, "ton is the US short ton; the metric one is t";
        "long_ton" [] ["long_ton"] = exact("1016.0469088"), None;
        "ct" [] ["carat"] = exact("0.0002"), None;
    }
    TIME {
        "s" [] ["second", "sec"] = exact("1"), Metric;
        "min" [] ["minute"] = exact("60"), None;
        "h" ["hr"] ["hour", "hr"] = exact("3600"), None;
        "day" ["d"] ["day"] = exact("86400"), None;
        "week" ["wk"] ["week"] = exact("604800"), None;
        "fortnight" [] ["fortnight"] = exact("1209600"), None;
        "month" ["mo"] ["month"] = exact("2629746"), None, "a month counts as 30.436875 days, the average";
        "year" ["yr", "a"] ["year", "yr"] = exact("31556952"), None, "a year counts as 365.2425 days, the average";
        "decade" [] ["decade"] = exact("315569520"), None, "a year counts as 365.2425 days, the average";
        "century" [] ["century", "centuries"] = exact("3155695200"), None, "a year counts as 365.2425 days, the average";
    }
    TEMPERATURE {
        "K" [] ["kelvin"] = exact("1"), Metric;
        "°C" ["degC", "C", "℃"] ["celsius", "centigrade"] = exact("1"), None;
        "°F" ["degF", "F", "℉"] ["fahrenheit"] = exact("5/9"), None;
        "°R" ["degR"] ["rankine"] = exact("5/9"), None;
    }
    CURRENT {
        "A" [] ["ampere", "amp"] = exact("1"), Metric;
    }
    ANGLE {
        "deg" ["°"] ["degree"] = exact("1"), None;
        "rad" [] ["radian"] = Factor::Rounded(57.295_779_513_082_32), Metric;
        "arcmin" [] ["arcminute"] = exact("1/60"), None;
        "arcsec" [] ["arcsecond"] = exact("1/3600"), None;
        "grad" ["gon"] ["gradian"] = exact("0.9"), None;
        "turn" ["rev"] ["turn", "revolution"] = exact("360"), None;
    }
    DATA {
        "bit" ["b"] ["bit"] = exact("1"), Data;
        "B" [] ["byte"] = exact("8"), Data;
    }
    DATA_RATE {
        "bps" [] [] = exact("1"), Data;
    }
    SPEED {
        "mph" [] [] = exact("0.44704"), None;
        "kph" ["kmh"] [] = exact("5/18"), None;
        "kn" ["kt"] ["knot"] = exact("463/900"), None;
        "fps" [] [] = exact("0.3048"), None;
    }
    FORCE {
        "N" [] ["newton"] = exact("1"), Metric;
        "lbf" [] ["pound_force"] = exact("4.4482216152605"), None;
        "kgf" [] ["kilogram_force"] = exact("9.80665"), None;
        "dyn" [] ["dyne"] = exact("0.00001"), None;
    }
    ENERGY {
        "J" [] ["joule"] = exact("1"), Metric;
        "Wh" [] ["watt_hour", "watthour"] = exact("3600"), Metric;
        "cal" [] ["calorie"] = exact("4.184"), Metric, "cal is the thermochemical calorie, 4.184 J; that of food is kcal";
        "Cal" [] [] = exact("4184"), None;
        "BTU" ["Btu"] ["btu"] = exact("1055.05585262"), None;
        "eV" [] ["electronvolt"] = exact("0.0000000000000000001602176634"), Metric;
        "erg" [] ["erg"] = exact("0.0000001"), None;
        "therm" [] ["therm"] = exact("105505585.262"), None;
    }
    POWER {
        "W" [] ["watt"] = exact("1"), Metric;
        "hp" [] ["horsepower"] = exact("745.69987158227022"), None, "hp is the mechanical horsepower; the metric one is PS";
        "PS" [] ["metric_horsepower"] = exact("735.49875"), None;
    }
    PRESSURE {
        "Pa" [] ["pascal"] = exact("1"), Metric;
        "bar" [] ["bar"] = exact("100000"), Metric;
        "atm" [] ["atmosphere"] = exact("101325"), None;
        "psi" [] [] = Factor::Rounded(6_894.757_293_168_361), None;
        "Torr" ["torr"] ["torr"] = exact("101325/760"), None;
        "mmHg" [] [] = exact("133.322387415"), None;
        "inHg" [] [] = exact("3386.388640341"), None;
    }
    FREQUENCY {
        "Hz" [] ["hertz"] = exact("1"), Metric;
    }
    CHARGE {
        "coulomb" [] ["coulomb"] = exact("1"), None;
        "Ah" [] ["ampere_hour"] = exact("3600"), Metric;
    }
    VOLTAGE {
        "V" [] ["volt"] = exact("1"), Metric;
    }
    RESISTANCE {
        "Ω" ["Ω"] ["ohm"] = exact("1"), Metric;
    }
}

/// Prefixes of SI: symbol, name and power of ten.
pub(super) const METRIC: &[(&str, &str, i8)] = &[
    ("da", "deca", 1),
    ("Q", "quetta", 30),
    ("R", "ronna", 27),
    ("Y", "yotta", 24),
    ("Z", "zetta", 21),
    ("E", "exa", 18),
    ("P", "peta", 15),
    ("T", "tera", 12),
    ("G", "giga", 9),
    ("M", "mega", 6),
    ("k", "kilo", 3),
    ("h", "hecto", 2),
    ("d", "deci", -1),
    ("c", "centi", -2),
    ("m", "milli", -3),
    ("µ", "micro", -6),
    ("μ", "micro", -6),
    ("u", "micro", -6),
    ("n", "nano", -9),
    ("p", "pico", -12),
    ("f", "femto", -15),
    ("a", "atto", -18),
    ("z", "zepto", -21),
    ("y", "yocto", -24),
    ("r", "ronto", -27),
    ("q", "quecto", -30),
];

/// Prefixes of data: symbol, name and power of two.
pub(super) const BINARY: &[(&str, &str, u8)] = &[
    ("Ki", "kibi", 10),
    ("Mi", "mebi", 20),
    ("Gi", "gibi", 30),
    ("Ti", "tebi", 40),
    ("Pi", "pebi", 50),
    ("Ei", "exbi", 60),
    ("Zi", "zebi", 70),
    ("Yi", "yobi", 80),
];
