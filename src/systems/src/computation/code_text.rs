//! Python code as text: its literals, and the operations in it.

/// Code, split into the texts in it and all else.
#[derive(Debug)]
pub(super) struct CodeText {
    /// The texts in quotes.
    pub(super) texts: Vec<String>,
    /// The code without them and without comments.
    pub(super) code: String,
}

impl CodeText {
    /// Splits code.
    pub(super) fn of(python: &str) -> Self {
        let (mut texts, mut code) = (Vec::new(), String::new());
        let mut rest = python;
        while let Some(place) = rest.find(['\'', '"', '#']) {
            let (before, from) = rest.split_at(place);
            code.push_str(before);
            code.push(' ');
            if from.starts_with('#') {
                rest = from.find('\n').and_then(|end| from.get(end..)).unwrap_or_default();
                continue;
            }
            let quote = from.get(..3).filter(|it| matches!(*it, "'''" | "\"\"\""));
            let quote = quote.or_else(|| from.get(..1)).unwrap_or_default();
            let inner = from.get(quote.len()..).unwrap_or_default();
            let end = text_end(inner, quote);
            texts.push(inner.get(..end).unwrap_or_default().replace('\\', ""));
            // A placeholder: the minus of `'a' - b` still has an operand before it.
            code.push_str("_ ");
            if before.ends_with(['f', 'F']) {
                // What stands in an f-string is computed too.
                let held = Self::of(inner.get(..end).unwrap_or_default());
                texts.extend(held.texts);
                code.push_str(&held.code);
            }
            rest = inner.get(end + quote.len()..).unwrap_or_default();
        }
        code.push_str(rest);
        Self { texts, code }
    }

    /// Whether the code, or a text in it, has one of these words.
    pub(super) fn has_word(&self, words: &[&str]) -> bool {
        let has = |text: &str| words.iter().any(|word| has_word(text, word));
        has(&self.code) || self.texts.iter().any(|text| has(text))
    }

    /// How often the code outside its texts has one of these words.
    pub(super) fn count(&self, words: &[&str]) -> usize {
        self.code.split(|sign| !is_part(sign)).filter(|part| words.contains(part)).count()
    }

    /// Whether it runs code of another language, or code that it makes.
    pub(super) fn is_opaque(&self) -> bool {
        self.has_word(&["eval", "exec", "execute", "query", "sql", "apply_ufunc"])
    }

    /// Whether it subtracts.
    pub(super) fn subtracts(&self) -> bool {
        const FUNCTIONS: &[&str] = &[
            "sub",
            "rsub",
            "subtract",
            "diff",
            "difference",
            "ptp",
            "pct_change",
            "timedelta",
            "relativedelta",
            "busday_count",
        ];
        self.has_word(FUNCTIONS) || self.has_binary('-')
    }

    /// Whether it divides, also in a mean.
    pub(super) fn divides(&self) -> bool {
        const FUNCTIONS: &[&str] = &[
            "div",
            "rdiv",
            "truediv",
            "divide",
            "true_divide",
            "floordiv",
            "normalize",
            "mean",
            "average",
            "fmean",
            "pct_change",
            "pct",
            "describe",
            "Fraction",
        ];
        self.has_word(FUNCTIONS) || self.has_binary('/')
    }

    /// Whether it multiplies.
    pub(super) fn multiplies(&self) -> bool {
        let functions = ["mul", "rmul", "multiply", "dot", "prod", "product"];
        self.has_word(&functions) || self.has_binary('*') || self.has_binary('@')
    }

    /// Whether a sign stands between two operands.
    fn has_binary(&self, sign: char) -> bool {
        self.code.match_indices(sign).any(|(place, _)| {
            let before = self.code.get(..place).unwrap_or_default();
            // A line may go on after a backslash.
            let before = before.trim_end_matches(|last: char| last.is_whitespace() || last == '\\');
            before.ends_with(|last: char| is_part(last) || matches!(last, ')' | ']' | '}'))
                && !before.ends_with("return")
        })
    }

    /// Whether it picks by a comparison of sizes.
    pub(super) fn compares(&self) -> bool {
        const FUNCTIONS: &[&str] =
            &["gt", "ge", "lt", "le", "greater", "less", "between", "cut", "duplicated"];
        self.has_word(FUNCTIONS) || self.code.contains(['<', '>'])
    }

    /// The numbers in the code and its texts.
    pub(super) fn numbers(&self) -> Vec<f64> {
        self.texts.iter().chain([&self.code]).flat_map(|text| numbers(text)).collect()
    }
}

/// Code with the usual imports of these packages that it needs and has not: small models forget
/// them.
pub(super) fn with_imports(python: String, packages: &[String]) -> String {
    const NAMES: [(&str, &str); 2] = [("pd", "pandas"), ("np", "numpy")];
    let code = CodeText::of(&python).code;
    let words: Vec<&str> = code.split(|sign| !is_part(sign)).filter(|it| !it.is_empty()).collect();
    let is_missing = |(name, package): &(&str, &str)| {
        let imports = |pair: &[&str]| matches!(pair, ["as" | "import", one] if one == name);
        let is_bound = words.windows(2).any(imports)
            || code.lines().any(|line| line.trim_start().starts_with(&format!("{name} =")));
        let is_used = code.contains(&format!("{name}.")) && has_word(&code, name);
        is_used && !is_bound && packages.iter().any(|one| one == package)
    };
    let missing = NAMES.into_iter().filter(is_missing);
    let imports: Vec<String> =
        missing.map(|(name, package)| format!("import {package} as {name}\n")).collect();
    let imports = imports.concat();
    if imports.is_empty() { python } else { imports + &python }
}

/// The numbers in a text, without their signs: `1,000` and `1_000` are one, and so is `1e2`.
pub(super) fn numbers(text: &str) -> Vec<f64> {
    let signs: Vec<char> = text.chars().collect();
    let at = |place: usize| signs.get(place).copied().unwrap_or(' ');
    let is_digit = |place: usize| at(place).is_ascii_digit();
    // `.3` is one too, but not in `a.3` or `].3`.
    let begins = |place: usize| {
        let is_free = place.checked_sub(1).is_none_or(|before| " (,*+-/=<>".contains(at(before)));
        at(place) == '.' && is_free && is_digit(place + 1)
    };
    let mut found = Vec::new();
    let mut place = 0;
    while place < signs.len() {
        let mut digits = String::new();
        while is_digit(place)
            || digits.is_empty() && begins(place)
            || !digits.is_empty() && is_inner(at(place), &signs, place)
        {
            if !matches!(at(place), ',' | '_') {
                digits.push(at(place));
            }
            place += 1;
        }
        found.extend(digits.parse::<f64>());
        place += 1;
    }
    found
}

/// Whether a sign belongs to the number that it stands in.
fn is_inner(sign: char, signs: &[char], place: usize) -> bool {
    let digits = |from: usize, most: usize| {
        signs.iter().skip(from).take(most).take_while(|sign| sign.is_ascii_digit()).count()
    };
    match sign {
        '.' | 'e' => digits(place + 1, 1) == 1,
        ',' | '_' => digits(place + 1, 4) == 3,
        _ => false,
    }
}

/// Where a text ends that began with this quote.
fn text_end(inner: &str, quote: &str) -> usize {
    let mut is_escaped = false;
    for (place, sign) in inner.char_indices() {
        if !is_escaped && inner.get(place..).is_some_and(|rest| rest.starts_with(quote)) {
            return place;
        }
        is_escaped = sign == '\\' && !is_escaped;
    }
    inner.len()
}

/// Whether a text has a word, bounded by other signs than letters and digits.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let is_free = |sign: Option<char>| sign.is_none_or(|sign| !is_part(sign));
    !word.is_empty()
        && text.match_indices(word).any(|(start, _)| {
            let before = text.get(..start).and_then(|text| text.chars().next_back());
            let after = text.get(start + word.len()..).and_then(|text| text.chars().next());
            is_free(before) && is_free(after)
        })
}

pub(super) fn is_part(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_that_is_forgotten_is_added() {
        let packages = ["pandas".to_owned(), "numpy".to_owned()];
        let add = |python: &str| with_imports(python.to_owned(), &packages);
        assert_eq!(
            add("result = pd.Timestamp(1)"),
            "import pandas as pd\nresult = pd.Timestamp(1)"
        );
        for whole in [
            "import pandas as pd; result = pd.NA",
            "import numpy as np, pandas as pd\nresult = pd.NA",
            "pd = 3\nresult = pd.real",
            "result = 'pd.NA'",
            "result = rapd.x",
        ] {
            assert_eq!(add(whole), whole);
        }
        let none = with_imports("result = np.pi".to_owned(), &["pandas".to_owned()]);
        assert_eq!(none, "result = np.pi");
    }

    #[test]
    fn code_is_split_into_its_texts_and_operations() {
        assert!(CodeText::of("result = f\"{a['x'] - b:.1f} EUR\"").subtracts());
        assert!(!CodeText::of("result = f'{a}' + '-'").subtracts());
        assert!(CodeText::of("result = a \\\n    / b").divides());
        assert_eq!(numbers("a * .3 + b[0].4"), [0.3, 0.0, 4.0]);
        let split = CodeText::of("a = b['x-y'] # - c\nresult = a[-1]");
        assert_eq!((split.texts.as_slice(), split.subtracts()), (&["x-y".to_owned()][..], false));
        assert!(CodeText::of("result = b['x'] - 3").subtracts());
        assert!(!CodeText::of("result = f(**c)").multiplies());
        assert_eq!(
            numbers("1,500 or 1_000 or 3.5 or 2024-05-17"),
            [1500.0, 1000.0, 3.5, 2024.0, 5.0, 17.0]
        );
    }
}
