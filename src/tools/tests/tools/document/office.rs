//! `Word`, `PowerPoint` and `OpenDocument`.

use antiphon_tools::document::{
    DocumentFormat, DocumentLimits, DocumentRefusal, DocumentText, read_document,
};

use super::archives::archive;

fn read(format: DocumentFormat, files: &[(&str, &str)]) -> Result<DocumentText, DocumentRefusal> {
    let files: Vec<_> = files.iter().map(|(name, xml)| (*name, xml.as_bytes())).collect();
    read_document(&archive(&files), format, &DocumentLimits::default())
}

#[test]
fn a_word_document_has_headings_lists_and_tables() {
    let body = r#"<w:document xmlns:w="w"><w:body>
        <w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Tea &amp; co</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">Boil </w:t></w:r><w:r><w:t>water.</w:t></w:r></w:p>
        <w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>green</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr></w:tbl>
        <w:p><w:r><w:delText>gone</w:delText><w:t>kept</w:t></w:r></w:p></w:body></w:document>"#;
    let core =
        r#"<cp:coreProperties xmlns:dc="d"><dc:title>The book</dc:title></cp:coreProperties>"#;
    let page =
        read(DocumentFormat::Docx, &[("word/document.xml", body), ("docProps/core.xml", core)])
            .unwrap();
    assert_eq!(page.text, "# Tea & co\n\nBoil water.\n\n- green\n\na | b\n\nkept\n");
    assert_eq!(page.title.as_deref(), Some("The book"));
    assert_eq!(page.headings[0].title, "Tea & co");
}

#[test]
fn slides_come_in_the_order_of_their_numbers() {
    let slide = |text: &str| {
        format!(r#"<p:sld xmlns:a="a"><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:sld>"#)
    };
    let (two, ten) = (slide("second"), slide("tenth"));
    let files = [("ppt/slides/slide10.xml", ten.as_str()), ("ppt/slides/slide2.xml", two.as_str())];
    let page = read(DocumentFormat::Pptx, &files).unwrap();
    assert_eq!(page.text, "## Slide 2\n\nsecond\n\n## Slide 10\n\ntenth\n");
}

#[test]
fn an_open_document_has_headings_lists_and_sheets() {
    let content = r#"<office:document-content xmlns:text="t" xmlns:table="b">
        <text:h text:outline-level="2">Part</text:h><text:p>A<text:s/>b</text:p>
        <text:list><text:list-item><text:p>item</text:p></text:list-item></text:list>
        <table:table table:name="Prices"><table:table-row>
        <table:table-cell table:number-columns-repeated="99999999"><text:p>x</text:p></table:table-cell>
        <table:table-cell><text:p>1</text:p></table:table-cell></table:table-row></table:table>
        </office:document-content>"#;
    let page = read(DocumentFormat::OpenDocument, &[("content.xml", content)]).unwrap();
    assert_eq!(page.text, "## Part\n\nA b\n\n- item\n\n## Prices\n\nx | 1\n");
}

#[test]
fn entities_are_not_expanded() {
    let bomb = r#"<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
        <w:document xmlns:w="w"><w:p><w:r><w:t>x&b;&c;y&#65;&lt;</w:t></w:r></w:p></w:document>"#;
    let page = read(DocumentFormat::Docx, &[("word/document.xml", bomb)]).unwrap();
    assert_eq!(page.text, "xyA<\n");
}

#[test]
fn an_archive_that_unpacks_beyond_the_limit_is_refused() {
    let zeros = vec![b' '; 3_000_000];
    for (format, name) in [
        (DocumentFormat::Docx, "word/document.xml"),
        (DocumentFormat::OpenDocument, "content.xml"),
        (DocumentFormat::Workbook, "xl/workbook.xml"),
    ] {
        let limits = DocumentLimits { unpacked: 1_000_000, ..DocumentLimits::default() };
        let refusal = read_document(&archive(&[(name, &zeros)]), format, &limits).unwrap_err();
        assert_eq!(refusal, DocumentRefusal::UnpacksTooLarge, "{format:?}");
    }
}

#[test]
fn damaged_files_are_refused_with_a_reason() {
    let intact = archive(&[("word/document.xml", b"<w:t>x".as_slice())]);
    for bytes in [&b"no archive"[..], &intact[..intact.len() / 2], b""] {
        for format in [
            DocumentFormat::Docx,
            DocumentFormat::Pptx,
            DocumentFormat::OpenDocument,
            DocumentFormat::Workbook,
        ] {
            let refusal = read_document(bytes, format, &DocumentLimits::default()).unwrap_err();
            assert_eq!(refusal.reason(), "damaged");
        }
    }
    let nothing = archive(&[("other.xml", b"<x/>".as_slice())]);
    let refusal =
        read_document(&nothing, DocumentFormat::Docx, &DocumentLimits::default()).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the file is damaged or has another format: no `word/document.xml`"
    );
}
