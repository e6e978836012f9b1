//! A link that is swapped while files are opened.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use antiphon_tools::files::{RelativePath, Root};

/// How often at least the file is opened while another thread swaps what its folder is, and how
/// often that is swapped meanwhile.
const ROUNDS: usize = 10_000;
const SWAPS: usize = 1_000;

#[test]
fn a_link_that_is_swapped_while_a_file_is_opened_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    for parent in [&root.join("real"), &outside] {
        fs::create_dir_all(parent).unwrap();
        fs::write(parent.join("a.txt"), parent.file_name().unwrap().as_encoded_bytes()).unwrap();
    }
    let stop = Arc::new(AtomicBool::new(false));
    let swaps = Arc::new(AtomicUsize::new(0));
    let swapping = {
        let (root, outside) = (root.clone(), outside.clone());
        let (stop, swaps) = (stop.clone(), swaps.clone());
        thread::spawn(move || {
            let (real, dir) = (root.join("real"), root.join("dir"));
            while !stop.load(Ordering::Relaxed) {
                // The name is a folder, a link out of the root, and a link within it, in turn. A
                // step fails if a write has just made the name a folder of its own.
                let _ = fs::rename(&real, &dir).and_then(|()| fs::rename(&dir, &real));
                for target in [outside.as_path(), Path::new("real")] {
                    let _ = fs::remove_dir_all(&dir);
                    swaps.fetch_add(usize::from(symlink(target, &dir).is_ok()), Ordering::Relaxed);
                    let _ = fs::remove_file(&dir);
                }
            }
        })
    };
    let access = Root::open(&root).unwrap();
    let path = RelativePath::parse("dir/a.txt").unwrap();
    let (mut read, mut round) = (0, 0);
    while round < ROUNDS || read == 0 || swaps.load(Ordering::Relaxed) < SWAPS {
        round += 1;
        if let Ok(bytes) = access.read(&path, 100) {
            assert_ne!(bytes, b"outside");
            read += 1;
        }
        if round % 4 == 0
            && let Ok(mut file) = access.create(&RelativePath::parse("dir/new.txt").unwrap(), 100)
        {
            file.write(b"new").unwrap();
            let _ = file.commit(true);
        }
        let _ = access.remove_file(&RelativePath::parse("dir/new.txt").unwrap());
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    let names: Vec<_> =
        fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.txt"]);
    assert_eq!(fs::read(outside.join("a.txt")).unwrap(), b"outside");
}
