//! Which fonts a document is set in: those that the host gives, those that are built in, and for
//! characters that none of them has, those of this machine.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use antiphon_core::{Fault, FaultCode};
use parley::fontique::{Blob, Collection, CollectionOptions, FontInfoOverride, SourceCache};
use parley::style::FontFamilyName;

/// How many families of this machine one document uses.
const MAX_SYSTEM_FAMILIES: usize = 8;
/// The most bytes of a font file.
const MAX_FONT_SIZE: u64 = 100_000_000;

/// Names that no font of a host has.
const TEXT: &str = "antiphon text";
const CODE: &str = "antiphon code";
const SYMBOLS: &str = "antiphon symbols";

const BUILT_IN: &[(&str, &[u8])] = &[
    (TEXT, include_bytes!("../../fonts/NotoSans-Regular.ttf")),
    (TEXT, include_bytes!("../../fonts/NotoSans-Bold.ttf")),
    (TEXT, include_bytes!("../../fonts/NotoSans-Italic.ttf")),
    (TEXT, include_bytes!("../../fonts/NotoSans-BoldItalic.ttf")),
    (CODE, include_bytes!("../../fonts/NotoSansMono-Regular.ttf")),
    (SYMBOLS, include_bytes!("../../fonts/DejaVuSans-Symbols.ttf")),
];

/// What the built-in families are called: their own names, and those that every viewer of PDF files
/// knows for such fonts.
const ALIASES: &[(&str, &str)] =
    &[("Noto Sans", TEXT), ("Noto Sans Mono", CODE), ("Helvetica", TEXT), ("Courier", CODE)];

/// Where a family may be found whose files were not given.
#[derive(Clone, Copy)]
pub(super) struct FontSearch<'p> {
    /// The folder of the host.
    pub(super) folder: Option<&'p Path>,
    /// Whether the fonts of this machine count.
    pub(super) of_machine: bool,
}

/// Fonts in the order in which they are tried.
#[derive(Clone)]
pub(super) struct Fonts {
    pub(super) collection: Collection,
    /// The families of text.
    families: Vec<String>,
}

impl Fonts {
    /// Those of the files, then the built-in ones.
    ///
    /// # Errors
    /// A fault `tool_setting_invalid`: a file cannot be read, or holds no font.
    pub(super) fn load(files: &[String]) -> Result<Self, Fault> {
        let options = CollectionOptions { shared: false, system_fonts: false };
        let mut fonts = Self { collection: Collection::new(options), families: Vec::new() };
        for file in files {
            fonts.add_file(Path::new(file)).map_err(|reason| {
                let message =
                    format!("`fonts` names a file that cannot be used ({reason}): {file}");
                let fault = Fault::new(FaultCode::ToolSettingInvalid, message);
                fault.hint("name a TrueType or OpenType font, such as fonts/Body-Regular.ttf")
            })?;
        }
        for (family, data) in BUILT_IN {
            let name = FontInfoOverride { family_name: Some(family), ..Default::default() };
            fonts.collection.register_fonts(Blob::new(Arc::new(*data)), Some(name));
        }
        fonts.families.extend([TEXT.to_owned(), SYMBOLS.to_owned()]);
        Ok(fonts)
    }

    /// The families of text, or of code.
    pub(super) fn families(&self, code: bool) -> Vec<FontFamilyName<'static>> {
        let first = code.then(|| CODE.to_owned());
        let names = first.into_iter().chain(self.families.iter().cloned());
        names.map(|name| FontFamilyName::Named(name.into())).collect()
    }

    /// Adds fonts of this machine that have the characters which are missing.
    pub(super) fn complete(&mut self, characters: &BTreeSet<char>) {
        let mut missing: BTreeSet<char> =
            characters.iter().copied().filter(|c| !is_invisible(*c)).collect();
        for family in self.families.clone() {
            let covered = covered_by(&mut self.collection, &family, &missing);
            missing.retain(|c| !covered.contains(c));
        }
        if missing.is_empty() {
            return;
        }
        let mut system = read_folders(system_folders());
        let mut names: Vec<String> = system.family_names().map(str::to_owned).collect();
        names.sort();
        let mut offers: Vec<(String, BTreeSet<char>)> = names
            .into_iter()
            .map(|name| {
                let covered = covered_by(&mut system, &name, &missing);
                (name, covered)
            })
            .collect();
        for _ in 0..MAX_SYSTEM_FAMILIES {
            // The first of those that have most, so that the same fonts make the same file.
            let best = offers.iter().rev().max_by_key(|(_, covered)| covered.len());
            let Some((name, covered)) = best.filter(|(_, covered)| !covered.is_empty()).cloned()
            else {
                break;
            };
            self.adopt(&mut system, &name);
            for (_, others) in &mut offers {
                others.retain(|c| !covered.contains(c));
            }
        }
    }

    /// Sets the text in the family of a file, and uses the others for what it lacks.
    ///
    /// # Errors
    /// Why the file cannot be used.
    pub(super) fn prefer(&mut self, file: &Path) -> Result<(), String> {
        let known = self.families.len();
        self.add_file(file)?;
        let added = self.families.len() - known;
        self.families.rotate_right(added);
        Ok(())
    }

    /// Sets the text in a family, of those that there are, of files of these folders, or of this
    /// machine, and uses the others for what it lacks.
    ///
    /// # Errors
    /// Which families there are.
    pub(super) fn choose(&mut self, name: &str, places: FontSearch<'_>) -> Result<(), String> {
        let same = |one: &str| one.eq_ignore_ascii_case(name.trim());
        let own = self.families.iter().find(|family| same(family)).cloned();
        let built_in = ALIASES.iter().find(|(alias, _)| same(alias));
        let known = own.or_else(|| built_in.map(|(_, family)| (*family).to_owned()));
        let family = match known {
            Some(family) => family,
            None => self.adopt_named(&same, places).ok_or_else(|| self.offered(name))?,
        };
        self.families.retain(|other| *other != family);
        self.families.insert(0, family);
        Ok(())
    }

    /// Adds a family of files that were not given one by one.
    fn adopt_named(
        &mut self,
        same: &dyn Fn(&str) -> bool,
        places: FontSearch<'_>,
    ) -> Option<String> {
        let own = places.folder.into_iter().map(Path::to_path_buf);
        let of_machine = places.of_machine.then(system_folders).into_iter().flatten();
        let mut found = read_folders(own.chain(of_machine));
        let name = found.family_names().find(|family| same(family))?.to_owned();
        self.adopt(&mut found, &name);
        Some(name)
    }

    fn offered(&self, name: &str) -> String {
        let own = self.families.iter().filter(|family| ![TEXT, SYMBOLS].contains(&&***family));
        let own = own.map(String::as_str).chain(["Noto Sans", "Noto Sans Mono"]);
        let own: Vec<&str> = own.collect();
        format!("no font of that name is here, only {} ({name})", own.join(", "))
    }

    fn add_file(&mut self, file: &Path) -> Result<(), String> {
        let size = file.metadata().map_err(|error| error.to_string())?.len();
        if size > MAX_FONT_SIZE {
            return Err(format!("more than {MAX_FONT_SIZE} bytes"));
        }
        let data = std::fs::read(file).map_err(|error| error.to_string())?;
        let registered = self.collection.register_fonts(Blob::from(data), None);
        if registered.is_empty() {
            return Err("no font in it".to_owned());
        }
        for (family, _) in registered {
            let name = self.collection.family_name(family).map(str::to_owned);
            if let Some(name) = name.filter(|name| !self.families.contains(name)) {
                self.families.push(name);
            }
        }
        Ok(())
    }

    fn adopt(&mut self, system: &mut Collection, name: &str) {
        let Some(family) = system.family_by_name(name) else { return };
        for font in family.fonts() {
            if let Some(data) = font.load(None) {
                self.collection.register_fonts(data, None);
            }
        }
        self.families.push(name.to_owned());
    }
}

/// Which of the characters a family has.
fn covered_by(
    collection: &mut Collection,
    family: &str,
    characters: &BTreeSet<char>,
) -> BTreeSet<char> {
    let mut cache = SourceCache::default();
    let family = collection.family_by_name(family);
    let Some(font) = family.as_ref().and_then(|family| family.default_font()) else {
        return BTreeSet::new();
    };
    let Some(data) = font.load(Some(&mut cache)) else { return BTreeSet::new() };
    let Some(charmap) = font.charmap_index().charmap(data.data()) else { return BTreeSet::new() };
    characters.iter().copied().filter(|c| charmap.map(*c).is_some_and(|id| id != 0)).collect()
}

/// Whether a character shows nothing, so that no font need have it.
pub(super) fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// The fonts of all files of folders.
fn read_folders(folders: impl IntoIterator<Item = PathBuf>) -> Collection {
    let options = CollectionOptions { shared: false, system_fonts: false };
    let mut found = Collection::new(options);
    found.load_fonts_from_paths(folders.into_iter().filter(|path| path.is_dir()));
    found
}

/// Where systems keep their fonts. They are read as files: the libraries that know of them differ
/// from system to system, and are missing in many containers.
fn system_folders() -> Vec<PathBuf> {
    let below = |variable: &str, path: &str| {
        std::env::var_os(variable).map(|folder| PathBuf::from(folder).join(path))
    };
    let fixed: &[&str] = if cfg!(target_os = "macos") {
        &["/System/Library/Fonts", "/Library/Fonts"]
    } else if cfg!(windows) {
        &[]
    } else {
        &["/usr/share/fonts", "/usr/local/share/fonts"]
    };
    let own: &[(&str, &str)] = if cfg!(target_os = "macos") {
        &[("HOME", "Library/Fonts")]
    } else if cfg!(windows) {
        &[("SystemRoot", "Fonts"), ("LOCALAPPDATA", "Microsoft/Windows/Fonts")]
    } else {
        &[("HOME", ".local/share/fonts"), ("HOME", ".fonts")]
    };
    let own = own.iter().filter_map(|(variable, path)| below(variable, path));
    fixed.iter().map(PathBuf::from).chain(own).collect()
}
