//! What a query finds, and in which order.

use antiphon_tools::document::{CharRange, DocumentFormat, text};
use antiphon_tools::document_search::{DocumentQuery, PageRequest};
use proptest::prelude::*;

use super::folder::{DocumentFolder, paths, search};

#[test]
fn words_are_found_by_their_stem_and_without_accents() {
    let folder = DocumentFolder::new(&[("a.txt", "Das Café öffnet früh. Running fast.")]);
    let index = folder.index();
    for query in ["cafe", "CAFÉ", "runs", "run", "früh", "fruh"] {
        assert_eq!(paths(&index, query), ["a.txt"], "{query}");
    }
    assert!(paths(&index, "walking").is_empty());
}

#[test]
fn stemming_can_be_turned_off() {
    let folder = DocumentFolder::new(&[("a.txt", "Running fast.")]);
    let mut options = folder.options();
    options.stemming = false;
    let index = folder.index_with(options);
    assert!(paths(&index, "runs").is_empty());
    assert_eq!(paths(&index, "running"), ["a.txt"]);
}

#[test]
fn words_in_quotation_marks_follow_each_other() {
    let folder = DocumentFolder::new(&[("a.txt", "green tea"), ("b.txt", "tea that is green")]);
    let index = folder.index();
    assert_eq!(paths(&index, "\"green tea\""), ["a.txt"]);
    assert_eq!(paths(&index, "“green tea” unheard"), ["a.txt"]);
    assert_eq!(paths(&index, "green tea"), ["a.txt", "b.txt"]);
}

#[test]
fn a_star_finds_words_that_begin_so() {
    let folder = DocumentFolder::new(&[("a.txt", "configuration"), ("b.txt", "confident")]);
    assert_eq!(paths(&folder.index(), "config*"), ["a.txt"]);
}

#[test]
fn a_question_finds_the_part_with_its_rare_words() {
    let folder = DocumentFolder::new(&[
        ("tea.md", "# Tea\n\nSteep green tea for two minutes.\n"),
        ("what.md", "# What\n\nHow do I do what you do?\n"),
        ("time.md", "# Minutes\n\nThe minutes of the meeting are long.\n"),
    ]);
    let found =
        paths(&folder.index(), "How many minutes do I steep green tea, and what is boiling?");
    assert_eq!(found.first().map(String::as_str), Some("tea.md"));
}

#[test]
fn a_heading_counts_more_than_the_text() {
    let mention = "See also os.path.join, which is explained elsewhere. ".repeat(3);
    let folder = DocumentFolder::new(&[
        ("mention.md", &mention),
        ("os.md", "# os\n\n## os.path.join\n\nJoins parts of a path with the separator.\n"),
    ]);
    let found = search(&folder.index(), "os.path.join");
    assert_eq!(found[0].path, "os.md");
    assert_eq!(found[0].heading, "os › os.path.join");
}

#[test]
fn the_parameters_of_a_function_are_not_what_it_is_about() {
    let page = "<dl><dt id=a>parse(date_string, format)<dd>Reads a date from a string in a format.\
                <dt id=b>date.write(format)<dd>Returns the date as a string in a format.</dl>";
    let folder = DocumentFolder::new(&[("dates.html", page)]);
    let found = search(&folder.index(), "format a date as a string");
    let headings: Vec<&str> = found.iter().map(|one| one.heading.as_str()).collect();
    assert_eq!(headings[0], "date.write");
    assert!(found[0].passage.contains("(format)"), "{}", found[0].passage);
}

#[test]
fn text_after_a_list_of_terms_belongs_to_the_section_around_it() {
    let text = "The kettle is descaled with vinegar, which is left in it for an hour. ".repeat(4);
    let page = format!("<h1 id=k>Kettles</h1><dl><dt id=e>Error<dd>It leaks.</dl><p>{text}</p>");
    let folder = DocumentFolder::new(&[("kettle.html", &page)]);
    let found = search(&folder.index(), "vinegar").remove(0);
    assert_eq!((found.heading.as_str(), found.anchor.as_deref()), ("Kettles", Some("k")));
}

#[test]
fn a_section_is_worth_more_if_its_document_has_the_other_words() {
    let filler =
        "Nothing else is said about it in this part of the book, however long it is. ".repeat(12);
    let section = format!("## Levels\n\nIsolation has four levels. {filler}\n\n");
    let about = format!("# Transactions\n\nWhat a transaction sees.\n\n{filler}\n\n{section}");
    let beside = format!("# Buildings\n\nWhat a building needs.\n\n{filler}\n\n{section}");
    let folder =
        DocumentFolder::new(&[("a.md", &beside), ("b.md", &about.replace("four", "some"))]);
    let found = search(&folder.index(), "sees isolation levels");
    let section = found.iter().find(|one| one.heading.contains("Levels")).unwrap();
    assert_eq!(section.path, "b.md");
}

#[test]
fn a_passage_is_where_the_words_stand_close_together() {
    let far = format!("A line here. {} a file there. ", "Something else is said. ".repeat(8));
    let text = format!("{far}\n\n{}\n\nRead a line of the file.\n", "More is said. ".repeat(15));
    let folder = DocumentFolder::new(&[("a.txt", &text)]);
    let found = search(&folder.index(), "line of a file").remove(0);
    assert!(found.passage.contains("Read a line of the file."), "{}", found.passage);
}

#[test]
fn a_table_of_contents_comes_after_the_section() {
    let folder = DocumentFolder::new(&[
        (
            "index.html",
            "<h1>Contents</h1><ul><li><a href=a.html>Boiling water</a><li><a href=b.html>Water pipes</a></ul>",
        ),
        (
            "water.html",
            "<h1>Water</h1><p>Boiling water takes a while; the kettle whistles when it is hot enough.",
        ),
    ]);
    assert_eq!(paths(&folder.index(), "boiling water"), ["water.html", "index.html"]);
}

#[test]
fn texts_without_spaces_are_found_by_any_of_their_words() {
    let folder = DocumentFolder::new(&[
        ("zh.txt", "我在北京大学学习中文。"),
        ("ja.txt", "東京都でPython入門を読む。"),
        ("th.txt", "สวัสดีชาวโลก"),
    ]);
    let index = folder.index();
    assert_eq!(paths(&index, "北京"), ["zh.txt"]);
    assert_eq!(paths(&index, "学习 中文"), ["zh.txt"]);
    assert_eq!(paths(&index, "Python入門"), ["ja.txt"]);
    assert_eq!(paths(&index, "ชาวโลก"), ["th.txt"]);
    let found = search(&index, "大学");
    assert_eq!(found[0].matches, [CharRange { start: 4, end: 6 }]);
}

#[test]
fn a_passage_is_the_text_at_its_range_and_so_are_the_matches() {
    let long = "Größe steht hier im Weg. ".repeat(200);
    let text_of = format!("{long}\n\nDer Igel schläft.\n\n{long}");
    let folder = DocumentFolder::new(&[("a.txt", &text_of)]);
    let index = folder.index();
    let found = search(&index, "Igel schläft").remove(0);
    let whole = index
        .read(&PageRequest { path: "a.txt".into(), start: None, characters: usize::MAX })
        .unwrap();
    assert_eq!(whole.text, text_of);
    assert_eq!(text::slice(&whole.text, found.range), found.passage);
    assert!(found.passage.contains("Der Igel schläft."));
    let words: Vec<_> =
        found.matches.iter().map(|range| text::slice(&whole.text, *range)).collect();
    assert_eq!(words, ["Igel", "schläft"]);
}

#[test]
fn documents_that_say_the_same_are_one_result() {
    let same =
        "The kettle boils the water for the tea in the kitchen of the old house by the lake.";
    let folder = DocumentFolder::new(&[("a.txt", same), ("b.txt", same), ("c.txt", "A kettle.")]);
    let found = search(&folder.index(), "kettle water");
    assert_eq!(found.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), ["a.txt", "c.txt"]);
    assert_eq!(found[0].also_in, ["b.txt"]);
}

#[test]
fn results_can_be_limited_to_paths_and_formats() {
    let folder = DocumentFolder::new(&[
        ("guide/tea.md", "tea"),
        ("guide/cup.txt", "tea"),
        ("guide2/tea.md", "tea"),
        ("[x]/tea.md", "tea"),
    ]);
    let index = folder.index();
    let find = |path: Option<&str>, format| {
        let query =
            DocumentQuery { text: "tea".into(), limit: 9, path: path.map(str::to_owned), format };
        let mut found: Vec<_> =
            index.search(&query).unwrap().into_iter().map(|one| one.path).collect();
        found.sort();
        found
    };
    assert_eq!(find(Some("guide"), None), ["guide/cup.txt", "guide/tea.md"]);
    assert_eq!(find(Some("./guide/"), Some(DocumentFormat::Text)), ["guide/cup.txt"]);
    assert_eq!(find(Some("*.md"), None), ["[x]/tea.md", "guide/tea.md", "guide2/tea.md"]);
    assert_eq!(find(Some("[x]/*"), None), ["[x]/tea.md"]);
    assert_eq!(find(Some("guide/tea.md"), None), ["guide/tea.md"]);
    assert!(find(Some("../guide"), None).is_empty());
    assert!(find(Some("x' OR 1=1 --"), None).is_empty());
}

#[test]
fn a_query_without_words_finds_nothing() {
    let index = DocumentFolder::new(&[("a.txt", "tea")]);
    let index = index.index();
    for query in ["", "  ", "!?", "\"\"", "*", "\u{0}"] {
        assert!(search(&index, query).is_empty(), "{query:?}");
    }
    assert!(paths(&index, "what is the").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn no_text_is_a_syntax_error(
        texts in proptest::collection::vec(
            prop_oneof![
                "\\PC{0,30}",
                "(AND|OR|NOT|NEAR|tea|[(){}:^*\"'+,.-]| ){0,12}",
                "(title|heading|body) ?: ?[a-z\"*]{0,6}",
                "[\u{0}-\u{7f}]{0,20}",
            ],
            64,
        ),
        path in proptest::option::of("[a-z*?\\[\\]'%_/.-]{0,8}"),
    ) {
        let folder = DocumentFolder::new(&[("a.txt", "tea and cake, NEAR title"), ("b.md", "# 北京\n\ntea")]);
        let index = folder.index();
        for text in texts {
            let query = DocumentQuery { text, limit: 3, path: path.clone(), format: None };
            index.search(&query).unwrap();
        }
    }
}
