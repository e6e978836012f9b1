//! Workbooks and CSV files.

use antiphon_tools::document::{DocumentFormat, DocumentLimits, read_document};

use super::archives::archive;

fn csv(text: &str) -> String {
    read_document(text.as_bytes(), DocumentFormat::Csv, &DocumentLimits::default()).unwrap().text
}

#[test]
fn rows_of_csv_are_lines_whatever_the_delimiter() {
    assert_eq!(
        csv("city,people\n\"Lyon, France\",520774\n"),
        "city | people\nLyon, France | 520774\n"
    );
    assert_eq!(csv("a;b\n1,5;2\n"), "a | b\n1,5 | 2\n");
    assert_eq!(csv("a\tb\n1\t2\n"), "a | b\n1 | 2\n");
}

fn workbook(cells: &str) -> Vec<u8> {
    let relations = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#;
    let root = r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#;
    let book = r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="Prices" sheetId="1" r:id="r1"/></sheets></workbook>"#;
    let sheet = format!(
        r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>{cells}</sheetData></worksheet>"#
    );
    archive(&[
        ("_rels/.rels", root.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relations.as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
    ])
}

#[test]
fn a_workbook_is_read_sheet_by_sheet() {
    let cells = r#"<row r="1"><c r="A1" t="inlineStr"><is><t>tea</t></is></c><c r="B1"><v>2.5</v></c></row><row r="9"><c r="A9" t="b"><v>1</v></c></row>"#;
    let page =
        read_document(&workbook(cells), DocumentFormat::Workbook, &DocumentLimits::default())
            .unwrap();
    assert_eq!(page.text, "## Prices\n\ntea | 2.5\ntrue\n");
}

#[test]
fn two_cells_in_opposite_corners_take_no_memory() {
    let cells = r#"<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>"#;
    let page =
        read_document(&workbook(cells), DocumentFormat::Workbook, &DocumentLimits::default())
            .unwrap();
    assert_eq!(page.text, "## Prices\n\n1\n2\n");
}
