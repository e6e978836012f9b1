//! Attempts to get out of the root.

use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;

use serde_json::json;

use super::Folder;

#[tokio::test]
async fn paths_out_of_the_root_are_refused_by_every_tool() {
    let folder = Folder::new();
    folder.put("a.txt", "a");
    let secret = folder.secret().display().to_string();
    for path in ["../secret.txt", "a/../../secret.txt", &secret, "..", "/", "../root2/x"] {
        for (tool, arguments) in [
            ("read_file", json!({"path": path})),
            ("list_files", json!({"path": path})),
            ("search_files", json!({"pattern": "s", "path": path})),
            ("write_file", json!({"path": path, "content": "x", "overwrite": true})),
            ("append_file", json!({"path": path, "content": "x"})),
            ("move_file", json!({"from": "a.txt", "to": path, "overwrite": true})),
            ("move_file", json!({"from": path, "to": "b.txt"})),
            ("delete_file", json!({"path": path, "recursive": true})),
        ] {
            assert_eq!(folder.code(tool, arguments).await, "path_refused", "{tool} {path}");
        }
    }
    assert_eq!(fs::read_to_string(folder.secret()).unwrap(), "secret");
    assert_eq!(fs::read_dir(folder.outside.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn links_out_of_the_root_are_not_followed() {
    let folder = Folder::new();
    symlink(folder.secret(), folder.root("file")).unwrap();
    symlink(folder.outside.path(), folder.root("dir")).unwrap();
    symlink("../secret.txt", folder.root("relative")).unwrap();
    symlink("/proc/self", folder.root("proc")).unwrap();
    symlink("loop", folder.root("loop")).unwrap();
    for path in ["file", "dir/secret.txt", "relative", "proc/environ", "loop"] {
        let fault = folder.fault("read_file", json!({"path": path})).await;
        assert!(matches!(fault.code.as_str(), "path_refused" | "file_unusable"), "{path}: {fault}");
        let shown = format!("{fault:?}");
        assert!(!shown.contains(&folder.outside.path().display().to_string()), "{shown}");
    }
    for (tool, arguments) in [
        ("write_file", json!({"path": "dir/new.txt", "content": "x"})),
        ("write_file", json!({"path": "dir/sub/new.txt", "content": "x"})),
        ("append_file", json!({"path": "dir/secret.txt", "content": "x"})),
        ("append_file", json!({"path": "file", "content": "x"})),
        ("delete_file", json!({"path": "dir/secret.txt"})),
        ("move_file", json!({"from": "dir/secret.txt", "to": "mine.txt"})),
    ] {
        assert!(folder.call(tool, arguments.clone()).await.is_err(), "{tool} {arguments}");
    }
    let found = folder.answer("search_files", json!({"pattern": "secret"})).await;
    assert_eq!(found, json!("[no match in 0 files]"));
    assert_eq!(fs::read_to_string(folder.secret()).unwrap(), "secret");
    assert_eq!(fs::read_dir(folder.outside.path()).unwrap().count(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn a_write_or_a_deletion_takes_the_link_and_not_what_it_leads_to() {
    let folder = Folder::new();
    symlink(folder.secret(), folder.root("one")).unwrap();
    symlink(folder.secret(), folder.root("two")).unwrap();
    symlink(folder.outside.path(), folder.root("three")).unwrap();
    let written = json!({"path": "one", "content": "new", "overwrite": true});
    folder.answer("write_file", written).await;
    folder.answer("delete_file", json!({"path": "two"})).await;
    folder.answer("delete_file", json!({"path": "three", "recursive": true})).await;
    assert_eq!(folder.content("one"), "new");
    assert_eq!(fs::read_to_string(folder.secret()).unwrap(), "secret");
}

#[cfg(unix)]
#[tokio::test]
async fn links_within_the_root_work() {
    let folder = Folder::new();
    folder.put("real/a.txt", "text");
    symlink("real", folder.root("dir")).unwrap();
    symlink("real/a.txt", folder.root("file")).unwrap();
    assert_eq!(folder.read("dir/a.txt").await, "text");
    assert_eq!(folder.read("file").await, "text");
}

#[cfg(unix)]
#[tokio::test]
async fn a_hard_link_to_a_file_elsewhere_is_not_written_through() {
    let folder = Folder::new();
    fs::hard_link(folder.secret(), folder.root("linked.txt")).unwrap();
    folder.answer("append_file", json!({"path": "linked.txt", "content": " more"})).await;
    assert_eq!(folder.content("linked.txt"), "secret more");
    assert_eq!(fs::read_to_string(folder.secret()).unwrap(), "secret");
}

#[cfg(unix)]
#[tokio::test]
async fn pipes_and_folders_are_no_files_and_nothing_waits_for_them() {
    use std::os::unix::net::UnixListener;

    let folder = Folder::new();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        folder.root("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let _listener = UnixListener::bind(folder.root("socket")).unwrap();
    fs::create_dir(folder.root("dir")).unwrap();
    for path in ["pipe", "socket", "dir"] {
        assert_eq!(folder.code("read_file", json!({"path": path})).await, "file_unusable");
        let appended = json!({"path": path, "content": "x"});
        assert_eq!(folder.code("append_file", appended).await, "file_unusable");
    }
    let entries = folder.answer("list_files", json!({})).await;
    let special = json!({"path": "pipe", "kind": "pipe, device or socket"});
    assert!(entries["entries"].as_array().unwrap().contains(&special), "{entries}");
    let found = folder.answer("search_files", json!({"pattern": "x"})).await;
    assert_eq!(found, json!("[no match in 0 files]"));
}

#[tokio::test]
async fn the_root_itself_is_neither_moved_nor_deleted() {
    let folder = Folder::new();
    folder.put("a.txt", "a");
    for path in ["", ".", "./"] {
        let deleted = json!({"path": path, "recursive": true});
        assert_eq!(folder.code("delete_file", deleted).await, "path_refused");
        assert_eq!(
            folder.code("move_file", json!({"from": path, "to": "b"})).await,
            "path_refused"
        );
    }
    assert_eq!(folder.content("a.txt"), "a");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn names_that_are_not_unicode_are_counted() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;

    let folder = Folder::new();
    fs::write(folder.root("").join(OsStr::from_bytes(b"caf\xe9.txt")), "x").unwrap();
    folder.put("ok.txt", "x");
    let listing = folder.answer("list_files", json!({})).await;
    let expected = json!({"entries": [{"path": "ok.txt", "size": 1}], "names_not_unicode": 1});
    assert_eq!(listing, expected);
}

#[tokio::test]
async fn a_name_is_found_in_either_spelling_of_its_accents() {
    let folder = Folder::new();
    folder.put("cafe\u{301}.txt", "decomposed");
    assert_eq!(folder.read("caf\u{e9}.txt").await, "decomposed");
}
