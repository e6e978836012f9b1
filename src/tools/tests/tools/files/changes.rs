//! Writing, moving and deleting, and the settings that forbid them.

use std::fs;
use std::sync::Arc;

use antiphon_core::SideEffect;
use antiphon_runtime::{CallContext, ManualClock, Tool};
use antiphon_tools::files::{RelativePath, Root};
use antiphon_tools::find;
use futures_util::future::join_all;
use serde_json::json;

use super::Folder;

#[tokio::test]
async fn files_are_written_with_the_folders_above_them() {
    let folder = Folder::new();
    let arguments = json!({"path": "notes/2024/plan.md", "content": "plan"});
    let answer = folder.answer("write_file", arguments.clone()).await;
    assert_eq!(answer, json!({"path": "notes/2024/plan.md", "size": 4}));
    assert_eq!(folder.content("notes/2024/plan.md"), "plan");
    assert_eq!(folder.code("write_file", arguments).await, "file_exists");
    let again = json!({"path": "notes/2024/plan.md", "content": "other", "overwrite": true});
    folder.answer("write_file", again).await;
    assert_eq!(folder.content("notes/2024/plan.md"), "other");
    let onto = json!({"path": "notes", "content": "x", "overwrite": true});
    assert_eq!(folder.code("write_file", onto).await, "file_unusable");
    let through = json!({"path": "notes/2024/plan.md/x", "content": "x"});
    assert!(folder.call("write_file", through).await.is_err());
}

#[tokio::test]
async fn text_is_appended() {
    let folder = Folder::new();
    for content in ["one\n", "two\n"] {
        folder.answer("append_file", json!({"path": "log.txt", "content": content})).await;
    }
    assert_eq!(folder.content("log.txt"), "one\ntwo\n");
}

#[test]
fn a_file_that_is_not_committed_leaves_nothing_behind() {
    let folder = Folder::new();
    let root = Root::open(folder.root("")).unwrap();
    let path = RelativePath::parse("a.txt").unwrap();
    let mut file = root.create(&path, 10).unwrap();
    file.write(b"12345").unwrap();
    assert_eq!(fs::read_dir(folder.root("")).unwrap().count(), 1);
    assert_eq!(file.write(b"6789012").unwrap_err().code, "file_too_large");
    drop(file);
    assert_eq!(fs::read_dir(folder.root("")).unwrap().count(), 0);
    let mut file = root.create(&path, 10).unwrap();
    file.write(b"1").unwrap();
    folder.put("a.txt", "was first");
    assert_eq!(file.commit(false).unwrap_err().code, "file_exists");
    assert_eq!(folder.content("a.txt"), "was first");
    assert_eq!(fs::read_dir(folder.root("")).unwrap().count(), 1);
}

#[tokio::test]
async fn files_and_folders_are_moved() {
    let folder = Folder::new();
    folder.put("a/one.txt", "1");
    folder.put("two.txt", "2");
    folder.answer("move_file", json!({"from": "a/one.txt", "to": "b/c/one.txt"})).await;
    assert_eq!(folder.content("b/c/one.txt"), "1");
    let onto = json!({"from": "b/c/one.txt", "to": "two.txt"});
    assert_eq!(folder.code("move_file", onto).await, "file_exists");
    let onto = json!({"from": "b/c/one.txt", "to": "two.txt", "overwrite": true});
    folder.answer("move_file", onto).await;
    assert_eq!(folder.content("two.txt"), "1");
    folder.answer("move_file", json!({"from": "b", "to": "d"})).await;
    assert!(folder.root("d/c").is_dir());
    let within = json!({"from": "d", "to": "d/c/e"});
    assert_eq!(folder.code("move_file", within).await, "file_unusable");
    assert_eq!(folder.code("move_file", json!({"from": "no", "to": "x"})).await, "file_missing");
}

#[tokio::test]
async fn folders_are_deleted_only_if_empty_or_asked_for() {
    let folder = Folder::new();
    folder.put("a/b/c.txt", "1");
    folder.put("d.txt", "1");
    assert_eq!(folder.code("delete_file", json!({"path": "a"})).await, "file_unusable");
    folder.answer("delete_file", json!({"path": "a", "recursive": true})).await;
    folder.answer("delete_file", json!({"path": "d.txt"})).await;
    assert_eq!(fs::read_dir(folder.root("")).unwrap().count(), 0);
    assert_eq!(folder.code("delete_file", json!({"path": "d.txt"})).await, "file_missing");
}

#[test]
fn tools_declare_what_they_do() {
    let effect = |folder: &Folder| -> Vec<(String, SideEffect)> {
        let specs = folder.tools.iter().map(|tool| tool.spec());
        specs.map(|spec| (spec.name.clone(), spec.side_effect)).collect()
    };
    let (read, write) = (SideEffect::Read, SideEffect::Write);
    let reading = [("read_file", read), ("list_files", read), ("search_files", read)];
    let writing = [
        ("write_file", write),
        ("append_file", write),
        ("move_file", write),
        ("delete_file", write),
    ];
    let named = |list: &[(&str, SideEffect)]| -> Vec<_> {
        list.iter().map(|(name, effect)| ((*name).to_owned(), *effect)).collect()
    };
    assert_eq!(effect(&Folder::new()), named(&[&reading[..], &writing[..]].concat()));
    assert_eq!(effect(&Folder::with(&json!({"read_only": true}))), named(&reading));
}

#[tokio::test]
async fn sizes_are_limited() {
    let folder = Folder::with(&json!({"max_file_size": 10, "quota": 15}));
    let write = |path: &str, size: usize| json!({"path": path, "content": "x".repeat(size)});
    assert_eq!(folder.code("write_file", write("a", 11)).await, "file_too_large");
    folder.answer("write_file", write("a", 10)).await;
    assert_eq!(folder.code("write_file", write("b", 6)).await, "file_too_large");
    folder.answer("write_file", write("b", 5)).await;
    assert_eq!(folder.code("append_file", write("a", 1)).await, "file_too_large");
    folder.put("big", "x".repeat(11));
    assert_eq!(folder.code("read_file", json!({"path": "big"})).await, "file_too_large");
}

#[tokio::test]
async fn the_number_of_files_is_limited() {
    let folder = Folder::with(&json!({"max_files": 2}));
    let write = |path: &str| json!({"path": path, "content": "x", "overwrite": true});
    for path in ["a", "deep/b", "a"] {
        folder.answer("write_file", write(path)).await;
    }
    assert_eq!(folder.code("write_file", write("c")).await, "file_too_large");
    assert_eq!(folder.code("append_file", write("c")).await, "file_too_large");
    folder.answer("append_file", write("a")).await;
    folder.answer("move_file", json!({"from": "a", "to": "c"})).await;
    folder.answer("delete_file", json!({"path": "c"})).await;
    folder.answer("write_file", write("d")).await;
    for path in ["e", "f"] {
        folder.put(path, "by others");
    }
    folder.answer("write_file", write("d")).await;
    assert_eq!(folder.code("write_file", write("g")).await, "file_too_large");
}

#[tokio::test]
async fn limits_hold_and_nothing_is_lost_while_many_write() {
    let folder = Folder::with(&json!({"max_files": 1, "quota": 10_000}));
    let path = |number: usize| json!({"path": format!("f{number}"), "content": "x"});
    let writes = (0..20).map(|number| folder.call("write_file", path(number)));
    let written = join_all(writes).await;
    assert_eq!(written.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let folder = Folder::with(&json!({}));
    let line = |number: usize| json!({"path": "log", "content": format!("{number}\n")});
    let added = join_all((0..20).map(|number| folder.call("append_file", line(number)))).await;
    assert!(added.iter().all(Result::is_ok), "{added:?}");
    assert_eq!(folder.content("log").lines().count(), 20);
}

#[tokio::test]
async fn two_toolsets_of_one_folder_lose_nothing_of_each_other() {
    let folder = Folder::with(&json!({}));
    let other = find("files").unwrap().open(&json!({"root": folder.root(".")})).unwrap();
    let append = |tools: &[Arc<dyn Tool>], number: usize| {
        let tool = tools.iter().find(|tool| tool.spec().name == "append_file").cloned().unwrap();
        let arguments = json!({"path": "log", "content": format!("{number}\n")});
        async move { tool.call(arguments, &CallContext::new(Arc::new(ManualClock::default()))).await }
    };
    let both =
        (0..40).map(|number| append(if number % 2 == 0 { &folder.tools } else { &other }, number));
    let added = join_all(both).await;
    assert!(added.iter().all(Result::is_ok), "{added:?}");
    assert_eq!(folder.content("log").lines().count(), 40);
}

#[tokio::test]
async fn a_file_that_is_moved_and_appended_to_is_not_in_both_places() {
    for _ in 0..50 {
        let folder = Folder::with(&json!({}));
        folder.put("log", "old\n");
        let moved = folder.call("move_file", json!({"from": "log", "to": "log.1"}));
        let added = folder.call("append_file", json!({"path": "log", "content": "new\n"}));
        let (moved, added) = tokio::join!(moved, added);
        assert!(moved.is_ok() && added.is_ok(), "{moved:?} {added:?}");
        let both =
            folder.content("log.1") + &fs::read_to_string(folder.root("log")).unwrap_or_default();
        assert_eq!(both, "old\nnew\n");
    }
}

#[tokio::test]
async fn hidden_files_and_those_of_other_names_are_out_of_reach() {
    let folder = Folder::with(&json!({"patterns": ["*.md", "data/*.csv"]}));
    for path in ["a.md", "b.txt", "data/c.csv", "data/deep/d.csv", ".e.md", ".git/f.md"] {
        folder.put(path, "x");
    }
    let listing = folder.answer("list_files", json!({})).await;
    let expected = json!([
        {"path": "a.md", "size": 1}, {"path": "data/"}, {"path": "data/c.csv", "size": 1},
        {"path": "data/deep/"},
    ]);
    assert_eq!(listing["entries"], expected);
    for path in ["b.txt", "data/deep/d.csv", ".e.md", ".git/f.md"] {
        assert_eq!(folder.code("read_file", json!({"path": path})).await, "path_refused", "{path}");
        let deleted = json!({"path": path});
        assert_eq!(folder.code("delete_file", deleted).await, "path_refused", "{path}");
        let moved = json!({"from": "a.md", "to": path});
        assert_eq!(folder.code("move_file", moved).await, "path_refused", "{path}");
    }
    let deleted = json!({"path": "data", "recursive": true});
    assert_eq!(folder.code("delete_file", deleted).await, "path_refused");
    let folder = Folder::new();
    folder.put("a/.git/config", "x");
    let deleted = json!({"path": "a", "recursive": true});
    assert_eq!(folder.code("delete_file", deleted.clone()).await, "path_refused");
    assert_eq!(folder.code("move_file", json!({"from": "a", "to": "b"})).await, "path_refused");
}

#[test]
fn settings_are_checked() {
    let code =
        |settings| find("files").unwrap().open(&settings).err().map(|fault| fault.code.clone());
    for settings in [
        json!({}),
        json!({"root": "/no/such/folder"}),
        json!({"root": "/", "patterns": ["[a"]}),
        json!({"root": "/", "unknown": 1}),
        json!({"root": "/", "max_file_size": -1}),
    ] {
        assert_eq!(code(settings.clone()).unwrap(), "tool_setting_invalid", "{settings}");
    }
}
