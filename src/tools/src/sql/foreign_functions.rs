//! Functions of other databases that models write, and what says the same in a dialect.

use super::dialect::SqlDialect;

/// Names of functions, and the form of the dialect; `d` is a date, `s` a text, `x` a number.
type Forms = &'static [(&'static str, &'static str)];

const SQLITE: Forms = &[
    ("year", "CAST(strftime('%Y', d) AS INTEGER)"),
    ("month", "CAST(strftime('%m', d) AS INTEGER)"),
    ("day dayofmonth", "CAST(strftime('%d', d) AS INTEGER)"),
    ("hour", "CAST(strftime('%H', d) AS INTEGER)"),
    ("minute", "CAST(strftime('%M', d) AS INTEGER)"),
    ("second", "CAST(strftime('%S', d) AS INTEGER)"),
    ("dayofweek weekday", "strftime('%w', d), from '0' for Sunday"),
    ("dayofyear", "CAST(strftime('%j', d) AS INTEGER)"),
    ("week weekofyear", "strftime('%W', d)"),
    ("quarter", "(strftime('%m', d) + 2) / 3"),
    ("extract date_part datepart", "strftime with '%Y', '%m', '%d' or '%H': strftime('%m', d)"),
    ("date_trunc", "date(d, 'start of month') or date(d, 'start of year')"),
    ("datediff timestampdiff age", "julianday(a) - julianday(b), in days"),
    ("date_add dateadd date_sub adddate", "date(d, '+1 month')"),
    ("date_format to_char", "strftime('%Y-%m', d)"),
    ("to_date str_to_date to_timestamp", "date(s)"),
    ("now getdate curdate sysdate", "date('now')"),
    ("isnull nvl", "coalesce(x, 0)"),
    ("if", "CASE WHEN … THEN … ELSE … END"),
    ("left", "substr(s, 1, n)"),
    ("right", "substr(s, -n)"),
    ("len char_length character_length", "length(s)"),
    ("locate position strpos charindex", "instr(s, part)"),
    ("stddev stddev_samp stddev_pop variance", "avg(x * x) - avg(x) * avg(x), the variance"),
    ("greatest", "max(a, b)"),
    ("least", "min(a, b)"),
    ("median percentile_cont", "ORDER BY x with LIMIT 1 OFFSET half of the rows"),
];

const POSTGRES: Forms = &[
    ("year", "EXTRACT(YEAR FROM d)"),
    ("month", "EXTRACT(MONTH FROM d)"),
    ("day dayofmonth", "EXTRACT(DAY FROM d)"),
    ("hour", "EXTRACT(HOUR FROM d)"),
    ("minute", "EXTRACT(MINUTE FROM d)"),
    ("dayofweek weekday", "EXTRACT(ISODOW FROM d), from 1 for Monday"),
    ("week weekofyear", "EXTRACT(WEEK FROM d)"),
    ("quarter", "EXTRACT(QUARTER FROM d)"),
    ("strftime date_format", "to_char(d, 'YYYY-MM')"),
    ("julianday", "EXTRACT(EPOCH FROM d) / 86400"),
    ("datediff timestampdiff", "a::date - b::date, in days"),
    ("date_add dateadd date_sub", "d + INTERVAL '1 month'"),
    ("getdate curdate sysdate", "CURRENT_DATE"),
    ("ifnull isnull nvl", "coalesce(x, 0)"),
    ("if iif", "CASE WHEN … THEN … ELSE … END"),
    ("len", "length(s)"),
    ("instr locate charindex", "strpos(s, part)"),
    ("group_concat", "string_agg(s, ', ')"),
    ("median", "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"),
];

/// What to write in place of a function that the dialect does not have.
pub(super) fn own_form(dialect: SqlDialect, name: &str) -> Option<&'static str> {
    let forms = match dialect {
        SqlDialect::Sqlite => SQLITE,
        SqlDialect::Postgres => POSTGRES,
    };
    let named = |(names, _): &&(&str, &str)| names.split(' ').any(|one| one == name);
    forms.iter().find(named).map(|(_, form)| *form)
}
