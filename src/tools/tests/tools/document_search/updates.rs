//! Indexes that follow their folders.

use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::folder::{DocumentFolder, paths, search, update};

#[test]
fn only_what_is_new_or_has_changed_is_read_again() {
    let folder = DocumentFolder::new(&[("a.txt", "apple"), ("b.txt", "pear"), ("c.txt", "plum")]);
    let index = folder.index();
    assert_eq!(update(&index).read, 3);
    fs::remove_file(folder.path("a.txt")).unwrap();
    folder.write("b.txt", b"cherry");
    folder.write("d.txt", b"quince");
    let report = update(&index);
    assert_eq!((report.documents, report.removed, report.left), (3, 1, 0));
    assert!(paths(&index, "apple").is_empty() && paths(&index, "pear").is_empty());
    assert_eq!(paths(&index, "cherry"), ["b.txt"]);
    assert_eq!(paths(&index, "quince"), ["d.txt"]);
    assert_eq!(paths(&index, "plum"), ["c.txt"]);
}

#[test]
fn a_file_that_changes_within_a_tick_of_its_clock_is_noticed() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    let index = folder.index();
    update(&index);
    let modified = fs::metadata(folder.path("a.txt")).unwrap().modified().unwrap();
    folder.write("a.txt", b"grape");
    File::options().write(true).open(folder.path("a.txt")).unwrap().set_modified(modified).unwrap();
    update(&index);
    assert_eq!(paths(&index, "grape"), ["a.txt"]);
}

#[test]
fn old_files_are_not_read_again() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    let old = std::time::SystemTime::now() - Duration::from_hours(1);
    File::options().write(true).open(folder.path("a.txt")).unwrap().set_modified(old).unwrap();
    assert_eq!(update(&folder.index()).read, 1);
    assert_eq!(update(&folder.index()).read, 0);
}

#[test]
fn an_update_that_is_stopped_goes_on_where_it_was() {
    let files: Vec<_> = (0..40).map(|i| (format!("{i}.txt"), format!("word{i}"))).collect();
    let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = DocumentFolder::new(&files);
    let index = folder.index();
    let report = index.refresh(Some(Duration::ZERO), &AtomicBool::new(false)).unwrap();
    assert_eq!((report.read, report.left, report.documents), (0, 40, 0));
    let report = index.refresh(None, &AtomicBool::new(true)).unwrap();
    assert_eq!(report.left, 40);
    let report = update(&index);
    assert_eq!((report.left, report.documents), (0, 40));
    assert_eq!(paths(&index, "word39"), ["39.txt"]);
}

#[test]
fn a_damaged_index_is_built_again_and_said_to_be() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    update(&folder.index());
    let mut file = File::options().write(true).open(folder.database()).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file.write_all(&[0x5a; 8192]).unwrap();
    let index = folder.index();
    let report = update(&index);
    assert_eq!(report.notes, ["the index was damaged and has been built again"]);
    assert_eq!(paths(&index, "apple"), ["a.txt"]);
}

#[test]
fn an_index_of_another_version_is_built_again() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    update(&folder.index());
    let database = rusqlite::Connection::open(folder.database()).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let index = folder.index();
    assert_eq!(update(&index).read, 1);
    assert_eq!(paths(&index, "apple"), ["a.txt"]);
}

#[test]
fn readers_work_beside_a_writer() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    let index = folder.index();
    update(&index);
    let lock = folder.database().with_file_name("lock");
    let lock = File::options().write(true).open(lock).unwrap();
    lock.lock().unwrap();
    let reader = folder.index();
    assert_eq!(paths(&reader, "apple"), ["a.txt"]);
    let report = update(&reader);
    assert_eq!((report.documents, report.notes.len()), (1, 1));
}

#[test]
fn the_first_index_is_waited_for_unless_nobody_waits() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    let index = folder.index();
    index.refresh(Some(Duration::ZERO), &AtomicBool::new(false)).unwrap();
    let lock = File::options().write(true).open(folder.database().with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    let fault = index.refresh(None, &AtomicBool::new(true)).unwrap_err();
    assert_eq!(fault.code, "document_index_unavailable");
}

#[test]
fn two_indexes_of_one_folder_share_their_file() {
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    update(&folder.index());
    assert_eq!(paths(&folder.index(), "apple"), ["a.txt"]);
    assert_eq!(fs::read_dir(folder.cache()).unwrap().count(), 1);
}

#[test]
fn files_that_cannot_be_read_are_counted_with_their_reason() {
    let folder = DocumentFolder::new(&[
        ("a.txt", "apple"),
        ("big.txt", "0123456789ABCDEF"),
        ("empty.md", " \n"),
    ]);
    folder.write("broken.docx", b"no archive");
    folder.write("program.exe", b"MZ");
    folder.write(".git/config.txt", b"apple");
    folder.write("binary.txt", b"\0\0\0\0");
    let mut options = folder.options();
    options.max_file_bytes = 12;
    let index = folder.index_with(options);
    let report = update(&index);
    let counts: Vec<_> =
        report.skipped.iter().map(|(reason, files)| (reason.as_str(), files.count)).collect();
    assert_eq!(counts, [("damaged", 2), ("no document", 1), ("no text", 1), ("too large", 1)]);
    assert_eq!(report.skipped["too large"].examples, ["big.txt"]);
    assert_eq!((report.documents, report.files), (1, 5));
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_not_followed_unless_allowed() {
    use std::os::unix::fs::symlink;
    let outside = DocumentFolder::new(&[("secret.txt", "treasure")]);
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    symlink(outside.path("secret.txt"), folder.path("link.txt")).unwrap();
    symlink(outside.path("."), folder.path("folder")).unwrap();
    symlink(folder.path("."), folder.path("loop")).unwrap();
    let index = folder.index();
    assert_eq!(update(&index).skipped["symbolic link"].count, 3);
    assert!(paths(&index, "treasure").is_empty());
    let mut options = folder.options();
    options.follow_links = true;
    let index = folder.index_with(options);
    update(&index);
    assert!(paths(&index, "treasure").contains(&"link.txt".to_owned()));
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_can_be_searched() {
    use std::os::unix::fs::PermissionsExt;
    let folder = DocumentFolder::new(&[("a.txt", "apple")]);
    fs::set_permissions(folder.path("."), fs::Permissions::from_mode(0o500)).unwrap();
    let found = paths(&folder.index(), "apple");
    fs::set_permissions(folder.path("."), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(found, ["a.txt"]);
    let mode = fs::metadata(folder.database().parent().unwrap()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn a_folder_that_has_gone_is_a_fault() {
    let folder = DocumentFolder::new(&[("x/a.txt", "apple")]);
    let index =
        antiphon_tools::document_search::DocumentIndex::new(&folder.path("x"), folder.options())
            .unwrap();
    fs::remove_dir_all(folder.path("x")).unwrap();
    let fault = index.refresh(None, &AtomicBool::new(false)).unwrap_err();
    assert_eq!(fault.code, "document_index_unavailable");
    assert!(
        fault.message.starts_with("the folder of documents cannot be read: "),
        "{}",
        fault.message
    );
}

#[test]
fn removed_words_leave_nothing_behind() {
    let folder = DocumentFolder::new(&[("a.txt", "apple 北京"), ("b.txt", "pear")]);
    let index = folder.index();
    update(&index);
    folder.write("a.txt", b"nothing left of it");
    update(&index);
    assert!(search(&index, "apple").is_empty() && search(&index, "北京").is_empty());
    let database = rusqlite::Connection::open(folder.database()).unwrap();
    let check =
        database.execute("INSERT INTO chunk_words(chunk_words) VALUES('integrity-check')", []);
    check.unwrap();
}
