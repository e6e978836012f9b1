//! Names of files that strangers propose.

use antiphon_net::Url;

/// The most bytes of a name: file systems allow 255, and numbers and endings are added.
const LONGEST: usize = 150;

/// The name of a file without one.
const FALLBACK: &str = "download";

/// Names that Windows reserves, with any ending.
const RESERVED: [&str; 4] = ["con", "prn", "aux", "nul"];

/// `proposed` as a plain name within a folder: the last part of a path, without characters that a file system, a shell or a
/// reader takes for something else.
///
/// ```
/// use antiphon_tools::download::safe_file_name;
/// assert_eq!(safe_file_name("../../etc/passwd"), "passwd");
/// assert_eq!(safe_file_name("..\\.bashrc"), "bashrc");
/// assert_eq!(safe_file_name("a\u{202e}fdp.exe"), "afdp.exe");
/// assert_eq!(safe_file_name(""), "download");
/// ```
pub fn safe_file_name(proposed: &str) -> String {
    let last = proposed.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String = last.chars().map(plain_space).filter(|c| is_harmless(*c)).collect();
    // Neither hidden, nor an option, nor an ending that systems drop.
    let name = kept.trim_start_matches(['.', ' ', '-', '~']).trim_end_matches(['.', ' ']);
    let name = shortened(name);
    let stem = name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    if name.is_empty() {
        FALLBACK.to_owned()
    } else if RESERVED.contains(&stem.as_str()) || is_port(&stem) {
        format!("_{name}")
    } else {
        name
    }
}

/// The name that a reply proposes, by its `Content-Disposition` or else by its URL.
pub(super) fn proposed_name(disposition: Option<&str>, url: &Url) -> String {
    if let Some(name) = disposition.and_then(disposition_name) {
        return safe_file_name(&name);
    }
    let last = url.path_segments().and_then(|mut parts| parts.rfind(|part| !part.is_empty()));
    safe_file_name(&percent_decoded(last.unwrap_or_default()))
}

/// The number-th name beside one that is taken: `report-1.pdf`.
pub(super) fn numbered(name: &str, number: usize) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => format!("{stem}-{number}.{ending}"),
        _ => format!("{name}-{number}"),
    }
}

fn plain_space(character: char) -> char {
    if character.is_whitespace() { ' ' } else { character }
}

/// Not a control, a mark that reverses text or has no width, nor what shells and file systems read.
fn is_harmless(character: char) -> bool {
    let invisible = matches!(character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    !invisible && !character.is_control() && !"<>:\"|?*`$&;!'\u{fffd}".contains(character)
}

fn is_port(stem: &str) -> bool {
    let number = stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt"));
    number.is_some_and(|number| number.len() == 1 && number.chars().all(|c| c.is_ascii_digit()))
}

/// At most [`LONGEST`] bytes, the ending being kept.
fn shortened(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    let ending = name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() < 16);
    let room = LONGEST - ending.map_or(0, |ending| ending.len() + 1);
    let mut stem = String::new();
    for character in name.chars() {
        if stem.len() + character.len_utf8() > room {
            break;
        }
        stem.push(character);
    }
    match ending {
        Some(ending) => format!("{stem}.{ending}"),
        None => stem,
    }
}

/// The name in `attachment; filename="report.pdf"`; `filename*` comes first.
fn disposition_name(header: &str) -> Option<String> {
    let parameters: Vec<(String, String)> =
        header.split(';').skip(1).filter_map(parameter).collect();
    let value = |key: &str| parameters.iter().find(|(name, _)| name == key).map(|(_, value)| value);
    let extended = value("filename*").and_then(|value| {
        let (charset, rest) = value.split_once('\'')?;
        let (_, text) = rest.split_once('\'')?;
        charset.eq_ignore_ascii_case("utf-8").then(|| percent_decoded(text))
    });
    extended.or_else(|| value("filename").cloned()).filter(|name| !name.trim().is_empty())
}

fn parameter(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    let value = value.trim();
    let value = value.strip_prefix('"').map_or_else(
        || value.to_owned(),
        |quoted| quoted.strip_suffix('"').unwrap_or(quoted).replace("\\\"", "\""),
    );
    Some((name.trim().to_ascii_lowercase(), value))
}

fn percent_decoded(text: &str) -> String {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy().into_owned()
}
