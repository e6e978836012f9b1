//! Tables: over pages, wide ones, and rows that are higher than a page.

use std::fmt::Write as _;

use serde_json::json;

use super::PdfFolder;

#[tokio::test]
async fn a_long_table_repeats_its_header_on_each_page() {
    let mut table = "| Number | Square |\n|---:|---:|\n".to_owned();
    for number in 1..=200 {
        writeln!(table, "| row {number} | {} |", number * number).unwrap();
    }
    let folder = PdfFolder::new();
    let pages = folder.write(&table).await["pages"].as_u64().unwrap();
    assert!(pages > 3, "{pages}");
    let text = folder.text();
    assert_eq!(text.matches("Number").count() as u64, pages);
    for number in 1..=200 {
        assert!(text.contains(&format!("row {number} {}", number * number)), "{number}");
    }
}

#[tokio::test]
async fn a_row_that_is_higher_than_a_page_goes_on_on_the_next() {
    let long: Vec<String> = (0..1500).map(|number| format!("word{number}")).collect();
    let table =
        format!("| Name | Text |\n|---|---|\n| one | {} |\n| two | end |\n", long.join(" "));
    let folder = PdfFolder::new();
    assert!(folder.write(&table).await["pages"].as_u64().unwrap() > 1);
    let text = folder.text();
    assert!(long.iter().all(|word| text.contains(word)));
    assert!(text.contains("two end"), "{text}");
}

#[tokio::test]
async fn wide_tables_get_smaller_letters_and_too_wide_ones_are_refused() {
    let table = |columns: usize| {
        let line = |cell: &dyn Fn(usize) -> String| {
            (0..columns).fold("|".to_owned(), |line, index| format!("{line} {} |", cell(index)))
        };
        format!(
            "{}\n{}\n{}\n",
            line(&|index| format!("c{index}")),
            line(&|_| "---".to_owned()),
            line(&|index| format!("v{index}"))
        )
    };
    let folder = PdfFolder::new();
    folder.write(&table(14)).await;
    let text = folder.text();
    assert!(text.contains("c0 c1 c2") && text.contains("v12 v13"), "{text}");
    let content = table(90);
    assert_eq!(folder.code(json!({"path": "b.pdf", "content": content})).await, "pdf_unwritable");
}

#[tokio::test]
async fn a_word_that_is_wider_than_its_column_is_broken() {
    let word = "x".repeat(400);
    let folder = PdfFolder::new();
    folder.write(&format!("| a | b |\n|---|---|\n| {word} | short |\n\n{word}")).await;
    let text = folder.text();
    assert_eq!(text.matches('x').count(), 800, "{text}");
    // A line of the page is too short for more of these letters.
    let longest = text.lines().map(|line| line.matches('x').count()).max();
    assert!(longest < Some(100), "{text}");
}
