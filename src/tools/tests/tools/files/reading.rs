//! Reading, listing and searching.

use serde_json::json;

use super::Folder;

#[tokio::test]
async fn a_text_is_read_in_its_charset() {
    let folder = Folder::new();
    folder.put("utf8.txt", "naïve\n");
    folder.put("latin.txt", b"na\xefve caf\xe9 d\xe9j\xe0 vu\n");
    let utf16: Vec<u8> = "\u{feff}naïve".encode_utf16().flat_map(u16::to_le_bytes).collect();
    folder.put("utf16.txt", utf16);
    folder.put("empty.txt", "");
    assert_eq!(folder.read("utf8.txt").await, "naïve\n");
    assert_eq!(folder.read("latin.txt").await, "naïve café déjà vu\n");
    assert_eq!(folder.read("utf16.txt").await, "naïve");
    assert_eq!(folder.read("empty.txt").await, "");
}

#[tokio::test]
async fn long_files_are_read_in_parts() {
    let folder = Folder::new();
    let text = (1..=5000).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n") + "\n";
    folder.put("long.txt", &text);
    let mut read = String::new();
    let mut start = 1;
    while start <= 5000 {
        let arguments = json!({"path": "long.txt", "start_line": start});
        let part = folder.answer("read_file", arguments).await;
        let part = part.as_str().unwrap();
        let (lines, mark) = part.rsplit_once('[').unwrap();
        assert!(part.len() < 20_000);
        read.push_str(lines);
        start = match mark.rsplit_once("start_line ") {
            Some((_, next)) => next.trim_end_matches(']').parse().unwrap(),
            None => 5001,
        };
    }
    assert_eq!(read, text);
    let some = folder.answer("read_file", json!({"path": "long.txt", "start_line": 3, "lines": 2}));
    assert_eq!(
        some.await,
        json!("line 3\nline 4\n[lines 3 to 4 of 5000; read on with start_line 5]")
    );
    let after = folder.answer("read_file", json!({"path": "long.txt", "start_line": 6000})).await;
    assert_eq!(after, json!("[the file has 5000 lines]"));
}

#[tokio::test]
async fn binary_files_are_refused_with_their_type_and_size() {
    let folder = Folder::new();
    folder.put("a.pdf", b"%PDF-1.7 rest");
    folder.put("b.bin", b"a\0b");
    let fault = folder.fault("read_file", json!({"path": "a.pdf"})).await;
    assert_eq!(fault.message, "not a text file (PDF document, 13 bytes): a.pdf");
    let fault = folder.fault("read_file", json!({"path": "b.bin"})).await;
    assert_eq!(fault.message, "not a text file (binary data, 3 bytes): b.bin");
}

#[tokio::test]
async fn images_are_content_parts() {
    let folder = Folder::new();
    folder.put("plot.png", b"\x89PNG\r\n\x1a\n");
    let answer = folder.answer("read_file", json!({"path": "plot.png"})).await;
    let expected = json!([
        {"type": "text", "text": "plot.png, image/png, 8 bytes"},
        {"type": "image", "mime_type": "image/png", "base64": "iVBORw0KGgo="},
    ]);
    assert_eq!(answer["content"], expected);
}

#[tokio::test]
async fn listings_are_sorted_and_go_as_deep_as_asked() {
    let folder = Folder::new();
    for path in ["b.txt", "a/x.md", "a/deep/er/y.md", ".hidden", "a/.git/config"] {
        folder.put(path, "12345");
    }
    let listing = folder.answer("list_files", json!({"depth": 2})).await;
    let expected = json!({"entries": [
        {"path": "a/"}, {"path": "a/deep/"}, {"path": "a/x.md", "size": 5},
        {"path": "b.txt", "size": 5},
    ]});
    assert_eq!(listing, expected);
    let listing = folder.answer("list_files", json!({"glob": "*.md", "depth": 9})).await;
    let expected = json!([{"path": "a/deep/er/y.md", "size": 5}, {"path": "a/x.md", "size": 5}]);
    assert_eq!(listing["entries"], expected);
    let fault = folder.fault("list_files", json!({"glob": "[a"})).await;
    assert_eq!(fault.code, "invalid_value");
}

#[tokio::test]
async fn long_listings_say_that_there_is_more() {
    let folder = Folder::new();
    (0..600).for_each(|n| folder.put(&format!("{n}.txt"), ""));
    let listing = folder.answer("list_files", json!({})).await;
    assert_eq!(listing["entries"].as_array().unwrap().len(), 500);
    assert_eq!(listing["truncated"], json!("there are more; name a folder, or pass a glob"));
}

#[tokio::test]
async fn searches_show_lines_with_their_numbers() {
    let folder = Folder::new();
    folder.put("a.txt", "one\ntwo\nthree\nfour\n");
    folder.put("b/c.md", "Two\n");
    folder.put("d.bin", b"two\0");
    let answer = folder.answer("search_files", json!({"pattern": "^two$"})).await;
    let skipped = "1 skipped that are no text or too large";
    assert_eq!(answer, json!(format!("a.txt:2: two\n[1 matches in 2 files, {skipped}]")));
    let arguments = json!({"pattern": "TWO", "ignore_case": true, "glob": "*.md"});
    let answer = folder.answer("search_files", arguments).await;
    assert_eq!(answer, json!("b/c.md:1: Two\n[1 matches in 1 files]"));
    let arguments = json!({"pattern": "t", "context": 1, "path": "a.txt"});
    let answer = folder.answer("search_files", arguments).await;
    let lines = "a.txt-1- one\na.txt:2: two\na.txt:3: three\na.txt-4- four\n";
    assert_eq!(answer, json!(format!("{lines}[2 matches in 1 files]")));
    let answer = folder.answer("search_files", json!({"pattern": "o", "limit": 1})).await;
    assert_eq!(answer, json!("a.txt:1: one\n[1 matches; there may be more]"));
}

#[tokio::test]
async fn expressions_that_would_take_long_are_refused() {
    let folder = Folder::new();
    folder.put("a.txt", "a".repeat(5000));
    for pattern in ["(a", "(?=a)", "a{1000}{1000}{10}"] {
        let fault = folder.fault("search_files", json!({"pattern": pattern})).await;
        assert_eq!(fault.code, "invalid_value", "{pattern}");
    }
    let answer = folder.answer("search_files", json!({"pattern": "(a*)*b"})).await;
    assert_eq!(answer, json!("[no match in 1 files]"));
}
