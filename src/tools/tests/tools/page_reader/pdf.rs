//! PDF files, good and hostile ones.

use antiphon_tools::document::{
    DocumentFormat, DocumentLimits, DocumentRefusal, DocumentText, read_document,
};
use lopdf::{Dictionary, Document, Object, ObjectId, Stream, dictionary};
use proptest::prelude::*;

/// A file with a page for each content; `forms` are those that pages may draw as `/F0`, `/F1`, …
pub(crate) fn file(contents: &[&str], forms: &[&str]) -> Document {
    let mut file = Document::with_version("1.7");
    let pages = file.new_object_id();
    let font = file.add_object(dictionary! {
        "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Helvetica",
        "Encoding" => "WinAnsiEncoding",
    });
    let ids: Vec<ObjectId> = forms.iter().map(|_| file.new_object_id()).collect();
    let named = ids.iter().enumerate();
    let named: Dictionary =
        named.map(|(at, id)| (format!("F{at}").into_bytes(), Object::Reference(*id))).collect();
    let resources = dictionary! {
        "Font" => dictionary! { "A" => font },
        "XObject" => named,
    };
    for (id, content) in ids.iter().zip(forms) {
        let kind = dictionary! {
            "Type" => "XObject", "Subtype" => "Form", "Resources" => resources.clone(),
        };
        file.objects.insert(*id, Stream::new(kind, content.as_bytes().to_vec()).into());
    }
    let kids: Vec<Object> = contents
        .iter()
        .map(|content| {
            let content =
                file.add_object(Stream::new(Dictionary::new(), content.as_bytes().to_vec()));
            let page = dictionary! {
                "Type" => "Page", "Parent" => pages, "Contents" => content,
                "Resources" => resources.clone(),
            };
            file.add_object(page).into()
        })
        .collect();
    let count = i64::try_from(kids.len()).unwrap();
    let tree = dictionary! { "Type" => "Pages", "Kids" => kids, "Count" => count };
    file.objects.insert(pages, tree.into());
    let catalog = file.add_object(dictionary! { "Type" => "Catalog", "Pages" => pages });
    file.trailer.set("Root", catalog);
    let facts = file.add_object(dictionary! { "Title" => Object::string_literal("On tea") });
    file.trailer.set("Info", facts);
    file
}

pub(crate) fn bytes(mut file: Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.save_to(&mut bytes).unwrap();
    bytes
}

fn read(bytes: &[u8]) -> Result<DocumentText, DocumentRefusal> {
    read_document(bytes, DocumentFormat::Pdf, &DocumentLimits::default())
}

fn text(contents: &[&str], forms: &[&str]) -> String {
    read(&bytes(file(contents, forms))).unwrap().text
}

#[test]
fn lines_words_and_paragraphs_are_where_the_page_shows_them() {
    let content = "BT /A 12 Tf 72 700 Td (Tea is a) Tj 0 -14 Td [(d) 20 (rink) -400 (of) -400 (leaves.)] TJ \
        0 -40 Td (Second) Tj ( paragraph.) Tj T* 14 TL (It ends.) ' ET";
    assert_eq!(
        text(&[content], &[]),
        "Tea is a\ndrink of leaves.\n\nSecond paragraph.\nIt ends.\n"
    );
}

#[test]
fn pages_are_places_that_can_be_linked_to() {
    let page = |text: &str| format!("BT /A 12 Tf 72 700 Td ({text}) Tj ET");
    let document = read(&bytes(file(&[&page("One."), &page("Two.")], &[]))).unwrap();
    assert_eq!(
        (document.title.as_deref(), document.text.as_str()),
        (Some("On tea"), "One.\n\nTwo.\n")
    );
    let second = &document.headings[1];
    assert_eq!((second.title.as_str(), second.start), ("Page 2", 6));
    assert_eq!(second.anchor.as_deref(), Some("page=2"));
}

#[test]
fn text_of_forms_is_read_in_its_place_and_forms_in_circles_are_left_out() {
    let form = "BT /A 12 Tf 72 650 Td (inside) Tj ET /F0 Do /F1 Do";
    let page = "BT /A 12 Tf 72 700 Td (before) Tj ET /F0 Do BT /A 12 Tf 72 600 Td (after) Tj ET";
    let read = text(&[page], &[form, "/F0 Do /F1 Do"]);
    assert!(read.starts_with("before\n\ninside\n"), "{read}");
    assert!(read.trim_end().ends_with("after"), "{read}");
}

#[test]
fn a_form_that_is_drawn_again_and_again_costs_bounded_work() {
    let twice = (1..8).map(|at| format!("/F{at} Do /F{at} Do")).collect::<Vec<_>>();
    let mut forms: Vec<&str> = twice.iter().map(String::as_str).collect();
    forms.push("BT /A 12 Tf 72 650 Td (x) Tj ET");
    text(&["BT /A 12 Tf 72 700 Td (page) Tj ET /F0 Do"], &forms);
}

#[test]
fn what_is_no_pdf_or_needs_a_password_is_refused() {
    assert!(matches!(read(b"%PDF-1.7 nothing"), Err(DocumentRefusal::Malformed(_))));
    assert!(matches!(read(b""), Err(DocumentRefusal::Malformed(_))));
    assert!(matches!(read(&bytes(file(&[""], &[]))), Err(DocumentRefusal::Empty)));
}

#[test]
fn a_page_that_unpacks_without_end_is_refused() {
    let mut bomb = file(&[""], &[]);
    let page = bomb.get_pages()[&1];
    let content =
        bomb.get_dictionary(page).unwrap().get(b"Contents").unwrap().as_reference().unwrap();
    let mut stream = Stream::new(Dictionary::new(), b"q Q ".repeat(2_000_000));
    stream.compress().unwrap();
    bomb.objects.insert(content, stream.into());
    let limits = DocumentLimits { unpacked: 1_000_000, ..DocumentLimits::default() };
    let read = read_document(&bytes(bomb), DocumentFormat::Pdf, &limits);
    assert_eq!(read, Err(DocumentRefusal::UnpacksTooLarge));
}

#[test]
fn a_tree_of_pages_in_a_circle_ends() {
    let mut circle = file(&["BT /A 12 Tf (x) Tj ET"], &[]);
    let pages = circle.catalog().unwrap().get(b"Pages").unwrap().as_reference().unwrap();
    circle.get_dictionary_mut(pages).unwrap().set("Kids", vec![pages.into()]);
    circle.get_dictionary_mut(pages).unwrap().set("Parent", pages);
    assert!(read(&bytes(circle)).is_err());
}

#[test]
fn brackets_nested_without_end_do_not_exhaust_the_stack() {
    let nested = format!("BT /A 12 Tf {} (x) Tj ET", "[".repeat(200_000));
    let _ = read(&bytes(file(&[&nested], &[])));
    let source = String::from_utf8_lossy(&bytes(file(&["BT ET"], &[]))).into_owned();
    let _ = read(source.replace("/Helvetica", &"<<".repeat(200_000)).as_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn damaged_files_are_refused_or_read_but_harm_nobody(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut damaged = bytes(file(&["BT /A 12 Tf 72 700 Td (Tea) Tj ET /F0 Do"], &["/F0 Do"]));
        for (place, byte) in changes {
            let place = place.index(damaged.len());
            damaged[place] = byte;
        }
        let _ = read(&damaged);
        damaged.truncate(cut.index(damaged.len()));
        let _ = read(&damaged);
    }
}
