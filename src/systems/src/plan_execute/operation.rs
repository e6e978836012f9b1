//! The operations of `FileSystemTool` and `FileDownloaderTool`: what each needs, and the native
//! tool that does it.

use std::ffi::OsStr;
use std::path::Path;

use serde_json::{Map, Value as Json, json};

use super::capability::{DOWNLOADER, FILES};

/// An operation on files.
#[derive(Debug)]
pub(super) struct FileOperation {
    /// The tool that has it.
    pub(super) tool: &'static str,
    pub(super) name: &'static str,
    /// The native tool that does it.
    pub(super) native: &'static str,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

/// Parameters that name a place: a plan says them, and no result of a step decides them.
const PLACES: [&str; 4] = ["filename", "filepath", "directory", "customFontFileName"];
/// How deep a list of files goes that is recursive.
const DEPTH: u64 = 3;

/// Writes a file of text.
pub(super) const CREATE: &str = "create_file";
/// Writes a PDF file.
pub(super) const PDF: &str = "create_pdf_from_text";

const PDF_OPTIONS: &[&str] =
    &["directory", "overwrite", "fontSize", "fontName", "customFontFileName", "margins"];

const OPERATIONS: [FileOperation; 7] = [
    writing(CREATE, "write_file", &["directory", "overwrite"]),
    writing("overwrite_file", "write_file", &["directory"]),
    writing("append_to_file", "append_file", &["directory"]),
    writing(PDF, "write_pdf", PDF_OPTIONS),
    FileOperation {
        tool: FILES,
        name: "read_file",
        native: "read_file",
        required: &[],
        optional: &["filepath", "filename", "directory"],
    },
    FileOperation {
        tool: FILES,
        name: "list_files",
        native: "list_files",
        required: &[],
        optional: &["directory", "recursive", "maxDepth"],
    },
    FileOperation {
        tool: DOWNLOADER,
        name: "download_file",
        native: "download",
        required: &["url"],
        optional: &["filename"],
    },
];

const fn writing(
    name: &'static str,
    native: &'static str,
    optional: &'static [&'static str],
) -> FileOperation {
    FileOperation { tool: FILES, name, native, required: &["filename", "content"], optional }
}

/// The operations of a tool that its native tools can do.
pub(super) fn operations<'n>(
    tool: &'n str,
    has_native: &'n dyn Fn(&str) -> bool,
) -> impl Iterator<Item = &'static FileOperation> + 'n {
    OPERATIONS.iter().filter(move |it| it.tool == tool && has_native(it.native))
}

/// The operation of that name of a tool.
pub(super) fn operation(tool: &str, name: &str) -> Option<&'static FileOperation> {
    OPERATIONS.iter().find(|it| it.tool == tool && it.name == name)
}

/// The operation of that name, or the first one that the native tool of that name does.
pub(super) fn operation_named(name: &str) -> Option<&'static FileOperation> {
    let of = |is_it: &dyn Fn(&FileOperation) -> bool| OPERATIONS.iter().find(|it| is_it(it));
    of(&|it| it.name == name).or_else(|| of(&|it| it.native == name))
}

impl FileOperation {
    /// Whether it has a parameter of that name.
    pub(super) fn has(&self, parameter: &str) -> bool {
        self.required.contains(&parameter) || self.optional.contains(&parameter)
    }

    /// What is wrong with the parameters, each with the name of the parameter.
    pub(super) fn problems(&self, params: &Map<String, Json>) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        let mut wrong = |name: &str, message: String| problems.push((name.to_owned(), message));
        for name in self.required.iter().filter(|name| !params.contains_key(**name)) {
            wrong(name, format!("`{}` needs it", self.name));
        }
        if self.name == "read_file"
            && !params.contains_key("filepath")
            && !params.contains_key("filename")
        {
            wrong("filepath", "`read_file` needs it, or `filename`".to_owned());
        }
        for (name, value) in params {
            if !self.has(name) {
                wrong(name, format!("`{}` has no such parameter", self.name));
            } else if PLACES.contains(&name.as_str()) {
                match value.as_str() {
                    None => wrong(name, "it must be a text".to_owned()),
                    Some(text) if text.contains("@{") => {
                        wrong(name, "it must not hold a reference".to_owned());
                    }
                    Some(_) => {}
                }
            }
        }
        let has_pdf_name = params
            .get("filename")
            .and_then(Json::as_str)
            .is_none_or(|name| name.to_lowercase().ends_with(".pdf"));
        if self.name == PDF && !has_pdf_name {
            wrong("filename", "the name of a PDF file ends with `.pdf`".to_owned());
        }
        problems.extend(layout_problems(params));
        if params.get("url").is_some_and(|url| !url.is_string()) {
            problems.push(("url".to_owned(), "it must be a text".to_owned()));
        }
        problems
    }

    /// The arguments of the native tool.
    pub(super) fn arguments(&self, params: &Map<String, Json>) -> Json {
        let text = |name: &str| params.get(name).and_then(Json::as_str);
        let flag = |name: &str| params.get(name).and_then(Json::as_bool);
        let named = text("filepath").or_else(|| text("filename")).unwrap_or_default();
        let path = match text("directory").map(|directory| directory.trim_end_matches('/')) {
            Some(directory) if !directory.is_empty() && !named.is_empty() => {
                format!("{directory}/{named}")
            }
            Some(directory) if named.is_empty() => directory.to_owned(),
            _ => named.to_owned(),
        };
        let content = params.get("content").map(crate::json_texts::plain_text);
        match self.name {
            "append_to_file" => json!({"path": path, "content": content}),
            PDF => {
                let size = params.get("fontSize").and_then(number);
                let file = text("customFontFileName");
                json!({
                    "path": path, "content": content, "format": "text",
                    // A file says more than a name.
                    "font": file, "font_name": text("fontName").filter(|_| file.is_none()),
                    "font_size": size, "margins": params.get("margins").and_then(margins),
                    "overwrite": flag("overwrite").unwrap_or(true),
                })
            }
            "read_file" => json!({"path": path}),
            "list_files" => {
                let depth = params.get("maxDepth").and_then(Json::as_u64).unwrap_or(DEPTH);
                let is_recursive = flag("recursive") == Some(true);
                json!({"path": path, "depth": if is_recursive { depth } else { 1 }})
            }
            "download_file" => {
                let mut arguments = json!({"url": text("url").unwrap_or_default()});
                if let (Some(fields), Some(name)) = (arguments.as_object_mut(), text("filename")) {
                    fields.insert("name".to_owned(), json!(name));
                }
                arguments
            }
            // A file is replaced unless the plan says otherwise.
            _ => json!({
                "path": path, "content": content,
                "overwrite": flag("overwrite").unwrap_or(true),
            }),
        }
    }
}

/// What is wrong with how a PDF file is to look.
fn layout_problems(params: &Map<String, Json>) -> Vec<(String, String)> {
    let given = |name: &str| params.get(name).filter(|value| !is_reference(value));
    let font = params.get("customFontFileName");
    let is_file = font.is_none_or(|font| font.as_str().is_some_and(is_font_file));
    let is_name = given("fontName").is_none_or(Json::is_string);
    let is_size = given("fontSize").is_none_or(|size| size.is_string() || size.is_number());
    let is_margin = given("margins").is_none_or(|given| margins(given).is_some());
    let four = "it must be a number of points, or four: top, right, bottom, left";
    let file = "a font file ends with `.ttf` or `.otf`, and is named without a folder";
    [
        ("customFontFileName", is_file, file),
        ("fontName", is_name, "it must be a text"),
        ("fontSize", is_size, "it must be a number"),
        ("margins", is_margin, four),
    ]
    .into_iter()
    .filter(|(_, is_right, _)| !is_right)
    .map(|(name, _, message)| (name.to_owned(), message.to_owned()))
    .collect()
}

fn is_reference(value: &Json) -> bool {
    value.as_str().is_some_and(|text| text.contains("@{"))
}

/// The margins of a page: a number, four, or those by the names of the sides.
fn margins(value: &Json) -> Option<Json> {
    let four = |sides: [Option<&Json>; 4]| {
        let sides = sides.map(|side| side.and_then(number));
        sides.iter().all(Option::is_some).then(|| json!(sides))
    };
    match value {
        Json::Array(sides) => match sides.as_slice() {
            [top, right, bottom, left] => four([top, right, bottom, left].map(Some)),
            _ => None,
        },
        Json::Object(sides) if sides.len() == 4 => {
            four(["top", "right", "bottom", "left"].map(|side| sides.get(side)))
        }
        other => number(other).map(|margin| json!(margin)),
    }
}

/// A number, or one as a text: what a reference puts in.
fn number(value: &Json) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// Whether a text names a font file, of no folder.
fn is_font_file(name: &str) -> bool {
    let ending = Path::new(name).extension().map(OsStr::to_ascii_lowercase);
    let is_font = ending.is_some_and(|ending| ending == "ttf" || ending == "otf");
    is_font && !name.contains(['/', '\\'])
}
