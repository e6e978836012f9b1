//! LangGraph threads: checkpoints stored as differences, and read as they were.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::SystemClock;
use antiphon_runtime::store::{Entry, EntryKind, EntryRange};
use antiphon_stores::langgraph_thread::{
    CheckpointKeys, FullCheckpoint, LangGraphThread, NewCheckpoint, OWNER, TaskWrite, ValueChange,
    copied, remove_checkpoints,
};
use antiphon_stores::{Cipher, EntryPosition, MemoryStore, SealedStore};
use proptest::prelude::*;

const THREAD: &str = "langgraph:t";

fn sealed_store() -> SealedStore {
    let store = MemoryStore::new(Arc::new(SystemClock::new()));
    SealedStore::new(Arc::new(store), Arc::new(Cipher::tagged()))
}

async fn store(
    sealed_store: &SealedStore,
    thread: &str,
    langgraph_thread: &mut LangGraphThread,
) -> Result<(), Fault> {
    let Some(batch) = langgraph_thread.batch(sealed_store, OWNER, Time::default())? else {
        return Ok(());
    };
    sealed_store.store().claim(thread, OWNER, Duration::from_mins(1)).await?;
    sealed_store.store().append(batch).await
}

fn checkpoint(id: usize, parent: Option<usize>, values: &[(&str, &[u8])]) -> NewCheckpoint {
    let whole = |bytes: &[u8]| ValueChange::Whole(bytes.to_vec());
    NewCheckpoint {
        space: String::new(),
        id: name(id),
        parent: parent.map(name),
        run: Some(format!("run {}", id % 3)),
        step: id as u64,
        head: format!("a head of some length, with the number {id} in it").into_bytes(),
        values: values.iter().map(|(name, bytes)| ((*name).to_owned(), whole(bytes))).collect(),
    }
}

fn name(id: usize) -> String {
    format!("{id:08x}-0000-6000-8000-000000000000")
}

fn write(task: &str, place: i64, value: &[u8]) -> TaskWrite {
    let (channel, value) = ("list".to_owned(), value.into());
    TaskWrite { task: task.to_owned(), path: String::new(), place, channel, value }
}

fn values(found: &FullCheckpoint) -> BTreeMap<String, Vec<u8>> {
    found.values.iter().map(|value| (value.name.clone(), value.bytes.to_vec())).collect()
}

async fn read(
    sealed_store: &SealedStore,
    langgraph_thread: &LangGraphThread,
    id: usize,
) -> Option<FullCheckpoint> {
    if let Some(found) = langgraph_thread.full_checkpoint("", &name(id)) {
        return Some(found);
    }
    let mark = langgraph_thread.mark("", &name(id))?;
    let past = LangGraphThread::past(sealed_store, THREAD, mark).await.unwrap();
    past.full_checkpoint("", &name(id))
}

async fn size(sealed_store: &SealedStore) -> usize {
    let entries = sealed_store.store().read(THREAD, EntryRange::ALL).await.unwrap();
    entries.iter().map(|entry| entry.body.len()).sum()
}

fn noise(seed: usize, length: usize) -> Vec<u8> {
    let mut state = seed as u64 * 0x9e37_79b9 + 1;
    let mut bytes = Vec::with_capacity(length);
    for _ in 0..length {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        bytes.push(state.to_be_bytes()[0]);
    }
    bytes
}

#[tokio::test]
async fn a_list_that_grows_is_stored_once() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    let (mut list, mut information) = (Vec::new(), 0);
    for id in 1..=2_000 {
        let message = noise(id, 200);
        let task = format!("{id:08x}-0000-5000-8000-000000000000");
        langgraph_thread.put_writes("", &name(id - 1), vec![write(&task, 0, &message)]);
        list.extend_from_slice(&message);
        information += message.len();
        langgraph_thread.make_room().unwrap();
        langgraph_thread.put(checkpoint(id, Some(id - 1), &[("list", &list)])).unwrap();
        store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
    }
    let stored = size(&sealed_store).await;
    assert!(stored < information * 2, "{stored} bytes for {information}");
    let again = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
    assert_eq!(values(&again.full_checkpoint("", &name(2_000)).unwrap())["list"], list);
    assert_eq!(values(&again.full_checkpoint("", &name(7)).unwrap())["list"], list[..1_400]);
}

#[tokio::test]
async fn a_small_change_in_a_large_value_takes_little() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    let mut value = noise(1, 100_000);
    for id in 1..=300 {
        let place = id * 331;
        value[place..place + 5].copy_from_slice(b"12345");
        langgraph_thread.make_room().unwrap();
        langgraph_thread.put(checkpoint(id, Some(id - 1), &[("files", &value)])).unwrap();
        store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
    }
    assert!(size(&sealed_store).await < 200_000);
}

#[tokio::test]
async fn what_must_be_read_stays_near_what_is_there() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    for id in 1..=500 {
        langgraph_thread.make_room().unwrap();
        langgraph_thread
            .put(checkpoint(id, Some(id - 1), &[("noise", &noise(id, 1_000))]))
            .unwrap();
        store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
    }
    let entries = sealed_store.store().read(THREAD, EntryRange::ALL).await.unwrap();
    let snapshots = entries.iter().filter(|entry| entry.kind == EntryKind::Snapshot).count();
    assert!((2..20).contains(&snapshots), "{snapshots}");
    let again = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
    assert!(again.weight() < 250_000, "{}", again.weight());
    for id in [1, 250, 499, 500] {
        let found = read(&sealed_store, &again, id).await.unwrap();
        assert_eq!(values(&found)["noise"], noise(id, 1_000));
    }
}

#[tokio::test]
async fn writes_stay_as_they_are_unless_they_are_special() {
    let mut langgraph_thread = LangGraphThread::new(THREAD);
    langgraph_thread.put(checkpoint(1, None, &[])).unwrap();
    langgraph_thread.put_writes("", &name(1), vec![write("b", 0, b"b0"), write("b", 1, b"b1")]);
    langgraph_thread.put_writes(
        "",
        &name(1),
        vec![write("b", 0, b"other"), write("a", -3, b"asked")],
    );
    langgraph_thread.put_writes("", &name(1), vec![write("a", -3, b"asked again")]);
    let found = langgraph_thread.full_checkpoint("", &name(1)).unwrap().writes;
    let found: Vec<_> = found.iter().map(|write| (write.task.as_str(), &*write.value)).collect();
    assert_eq!(found, [("a", &b"asked again"[..]), ("b", b"b0"), ("b", b"b1")]);
}

#[tokio::test]
async fn writes_of_an_old_checkpoint_are_found_where_they_are() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    for id in 1..=300 {
        langgraph_thread.make_room().unwrap();
        langgraph_thread.put_writes("", &name(id), vec![write("early", 0, b"before it came")]);
        langgraph_thread
            .put(checkpoint(id, Some(id - 1), &[("noise", &noise(id, 1_000))]))
            .unwrap();
        langgraph_thread.put_writes("", &name(id), vec![write("t", 0, &noise(id, 20))]);
    }
    langgraph_thread.put_writes(
        "",
        &name(1),
        vec![write("late", 0, b"late"), write("t", 0, b"ignored")],
    );
    store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
    let again = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
    assert!(again.full_checkpoint("", &name(1)).is_none());
    for (id, tasks) in [(1, vec!["early", "late", "t"]), (300, vec!["early", "t"])] {
        let id_name = name(id);
        let mark = again.mark("", &id_name).unwrap();
        let found =
            LangGraphThread::writes_of(&sealed_store, THREAD, ("", &id_name), mark).await.unwrap();
        assert_eq!(found.iter().map(|write| write.task.as_str()).collect::<Vec<_>>(), tasks);
        assert_eq!(*found.last().unwrap().value, *noise(id, 20));
    }
}

#[tokio::test]
async fn a_thread_catches_up_with_other_writers() {
    let (sealed_store, mut mine) = (sealed_store(), LangGraphThread::new(THREAD));
    mine.put(checkpoint(1, None, &[("a", b"1")])).unwrap();
    store(&sealed_store, THREAD, &mut mine).await.unwrap();
    let mut theirs = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
    theirs.put(checkpoint(2, Some(1), &[("a", b"2")])).unwrap();
    store(&sealed_store, THREAD, &mut theirs).await.unwrap();

    mine.put(checkpoint(3, Some(1), &[("a", b"3")])).unwrap();
    assert_eq!(store(&sealed_store, THREAD, &mut mine).await.unwrap_err().code, "thread_conflict");
    let mut mine = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
    theirs.put(checkpoint(4, Some(2), &[("a", b"4")])).unwrap();
    store(&sealed_store, THREAD, &mut theirs).await.unwrap();

    let seen = mine.seen();
    let entries = sealed_store.store().read(THREAD, seen.span()).await.unwrap();
    assert!(mine.catch_up(&sealed_store, &seen, entries).unwrap());
    assert_eq!(mine.last(""), Some(&*name(4)));
    assert_eq!(values(&mine.full_checkpoint("", &name(4)).unwrap())["a"], b"4");
}

#[tokio::test]
async fn another_thread_of_the_same_name_is_distinguished() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    langgraph_thread.put(checkpoint(1, None, &[("a", b"1")])).unwrap();
    store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
    sealed_store.store().release(THREAD, OWNER).await.unwrap();
    assert!(sealed_store.store().delete(THREAD).await.unwrap());
    let gone = sealed_store.store().read(THREAD, langgraph_thread.seen().span()).await.unwrap();
    let seen = langgraph_thread.seen();
    assert!(!langgraph_thread.catch_up(&sealed_store, &seen, gone).unwrap());

    let mut other = LangGraphThread::new(THREAD);
    other.put(checkpoint(9, None, &[("a", b"9")])).unwrap();
    store(&sealed_store, THREAD, &mut other).await.unwrap();
    let entries = sealed_store.store().read(THREAD, seen.span()).await.unwrap();
    assert!(!langgraph_thread.catch_up(&sealed_store, &seen, entries).unwrap());
}

/// Replaces an entry's body and seals it, as anyone with write access to the store can.
fn forge(entry: &mut Entry, mut body: Vec<u8>) {
    let Entry { seq, parent, base, kind, step, at, .. } = *entry;
    let place = EntryPosition { thread: THREAD, seq, parent, base, kind, step, at };
    entry.tag = Cipher::tagged().close(place, &mut body).unwrap();
    entry.body = body;
}

#[tokio::test]
async fn a_forged_entry_is_refused_and_nothing_is_made_of_what_it_claims() {
    let bodies: [&[u8]; 8] = [
        b"",
        b"\x01",
        b"\x02\xa0",                                      // a later format
        b"\x01\xa0\xa1a\xc0\xc0\xa1b\xc4\x00\x90\x90",    // from a checkpoint that is not there
        b"\x01\xa0\xa1a\xc0\xc0\xc0\xdd\xff\xff\xff\xff", // four thousand million pieces
        b"\x01\xa0\xa1a\xc0\xc0\xc0\x91\x00\xcf\xff\xff\xff\xff\xff\xff\xff\xff\x90\x90",
        b"\x01\xa0\xa1a\xc0\xc0\xc0\x91\x93\x00\x00\x01\x90\x90", // bytes nobody wrote
        b"\x01\xa0\xa1a\xc0\xc0\xc0\xc4\x00\x90\x90\x00",         // more than belongs to it
    ];
    for body in bodies {
        let sealed_store = sealed_store();
        sealed_store.store().claim(THREAD, OWNER, Duration::from_mins(1)).await.unwrap();
        let mut langgraph_thread = LangGraphThread::new(THREAD);
        langgraph_thread.put(checkpoint(1, None, &[])).unwrap();
        let mut batch =
            langgraph_thread.batch(&sealed_store, OWNER, Time::default()).unwrap().unwrap();
        forge(&mut batch.entries[0], body.to_vec());
        sealed_store.store().append(batch).await.unwrap();
        let code = LangGraphThread::load(&sealed_store, THREAD).await.unwrap_err().code.clone();
        assert!(["checkpoint_corrupt", "store_version"].contains(&code.as_str()), "{code}");
    }
}

#[tokio::test]
async fn a_changed_byte_is_noticed() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    langgraph_thread.put(checkpoint(1, None, &[("a", b"some text")])).unwrap();
    sealed_store.store().claim(THREAD, OWNER, Duration::from_mins(1)).await.unwrap();
    let mut batch = langgraph_thread.batch(&sealed_store, OWNER, Time::default()).unwrap().unwrap();
    *batch.entries[0].body.first_mut().unwrap() ^= 1;
    sealed_store.store().append(batch).await.unwrap();
    let fault = LangGraphThread::load(&sealed_store, THREAD).await.unwrap_err();
    assert_eq!(fault.code, "checkpoint_corrupt");
}

/// What happens to a thread.
#[derive(Clone, Debug)]
enum Mutation {
    /// A checkpoint after another one, whose list gains, and whose text changes.
    Put {
        parent: usize,
        gain: usize,
        text: usize,
        drops: bool,
    },
    Write {
        at: usize,
        place: i64,
    },
    Reload,
    Keep {
        every: usize,
    },
    Copy,
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let mutation = prop_oneof![
        12 => (0..4_usize, 0..3_000_usize, 0..4_000_usize, any::<bool>())
            .prop_map(|(parent, gain, text, drops)| Mutation::Put { parent, gain, text, drops }),
        6 => (0..4_usize, -3..3_i64).prop_map(|(at, place)| Mutation::Write { at, place }),
        2 => Just(Mutation::Reload),
        1 => (1..4_usize).prop_map(|every| Mutation::Keep { every }),
        1 => Just(Mutation::Copy),
    ];
    prop::collection::vec(mutation, 1..120)
}

type Held = BTreeMap<String, Vec<u8>>;

/// What a thread must hold, in the plainest way.
#[derive(Default)]
struct Model {
    held: BTreeMap<usize, Held>,
    writes: BTreeMap<usize, BTreeMap<i64, Vec<u8>>>,
    made: usize,
}

impl Model {
    fn nth_last(&self, back: usize) -> Option<usize> {
        self.held.keys().rev().nth(back).or_else(|| self.held.keys().next()).copied()
    }

    fn of(&self, id: usize) -> Held {
        self.held.get(&id).cloned().unwrap_or_default()
    }

    fn put(&mut self, (parent, gain, text, drops): (usize, usize, usize, bool)) -> NewCheckpoint {
        let parent = self.nth_last(parent);
        let mut held = parent.map_or_else(Held::new, |parent| self.of(parent));
        self.made += 1;
        let list = held.entry("list".to_owned()).or_default();
        list.extend(noise(self.made, gain));
        let words = "so many words ".repeat(text / 14).into_bytes();
        held.insert("text".to_owned(), [words, noise(text, 9)].concat());
        if drops {
            held.remove("list");
        }
        let values: Vec<_> = held.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
        let new = checkpoint(self.made, parent, &values);
        self.held.insert(self.made, held);
        new
    }

    fn write(&mut self, at: usize, place: i64) -> Option<(usize, TaskWrite)> {
        let at = self.nth_last(at)?;
        self.made += 1;
        let value = noise(self.made, 50);
        let writes = self.writes.entry(at).or_default();
        if place < 0 || !writes.contains_key(&place) {
            writes.insert(place, value.clone());
        }
        Some((at, write("task", place, &value)))
    }

    async fn check(&self, sealed_store: &SealedStore, langgraph_thread: &LangGraphThread) {
        let ids: Vec<_> = langgraph_thread.marks().map(|(_, id, _)| id.to_owned()).collect();
        assert_eq!(ids, self.held.keys().map(|id| name(*id)).collect::<Vec<_>>());
        for (id, held) in &self.held {
            let found = read(sealed_store, langgraph_thread, *id).await.unwrap();
            assert_eq!(values(&found), *held);
            let id_name = name(*id);
            let mark = langgraph_thread.mark("", &id_name).unwrap();
            let writes = LangGraphThread::writes_of(sealed_store, THREAD, ("", &id_name), mark)
                .await
                .unwrap();
            let writes: Vec<_> = writes.iter().map(|write| (write.place, &*write.value)).collect();
            let known = self.writes.get(id).into_iter().flatten();
            assert_eq!(writes, known.map(|(place, value)| (*place, &**value)).collect::<Vec<_>>());
        }
    }
}

#[tokio::test]
async fn a_thread_without_an_entry_that_it_needs_is_neither_copied_nor_pruned() {
    let (sealed_store, mut langgraph_thread) = (sealed_store(), LangGraphThread::new(THREAD));
    let mut before = 0;
    for id in 1..=200 {
        langgraph_thread.make_room().unwrap();
        langgraph_thread.put(checkpoint(id, Some(id - 1), &[("text", &noise(id, 500))])).unwrap();
        store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
        before = sealed_store.way_to(THREAD, None).await.unwrap()[0].parent;
    }
    assert!(before > 0, "it has an older part");
    let last = EntryRange { from: before, to: before };
    sealed_store.store().remove(THREAD, OWNER, last).await.unwrap();
    let copy = copied(&sealed_store, THREAD, LangGraphThread::new("langgraph:copy")).await;
    assert_eq!(copy.unwrap_err().code, FaultCode::CheckpointCorrupt);
    let mut langgraph_thread = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
    let gone = CheckpointKeys::from([(String::new(), name(200))]);
    let pruned = remove_checkpoints(&sealed_store, &mut langgraph_thread, &gone).await;
    assert_eq!(pruned.unwrap_err().code, FaultCode::CheckpointCorrupt);
}

async fn keep(
    sealed_store: &SealedStore,
    langgraph_thread: &mut LangGraphThread,
    model: &mut Model,
    every: usize,
) {
    let last = model.nth_last(0);
    model.held.retain(|id, _| id % every == 0 || Some(*id) == last);
    let held = &model.held;
    model.writes.retain(|id, _| held.contains_key(id));
    let is_gone = |id: &str| !model.held.keys().any(|held| name(*held) == id);
    let marks = langgraph_thread.marks().map(|(space, id, _)| (space.to_owned(), id.to_owned()));
    let gone: CheckpointKeys = marks.filter(|(_, id)| is_gone(id)).collect();
    let Some(first) = remove_checkpoints(sealed_store, langgraph_thread, &gone).await.unwrap()
    else {
        return;
    };
    store(sealed_store, THREAD, langgraph_thread).await.unwrap();
    sealed_store
        .store()
        .remove(THREAD, OWNER, EntryRange { from: 0, to: first - 1 })
        .await
        .unwrap();
}

async fn run(mutations: Vec<Mutation>) {
    let (sealed_store, mut langgraph_thread, mut model) =
        (sealed_store(), LangGraphThread::new(THREAD), Model::default());
    for mutation in mutations {
        match mutation {
            Mutation::Put { parent, gain, text, drops } => {
                langgraph_thread.make_room().unwrap();
                langgraph_thread.put(model.put((parent, gain, text, drops))).unwrap();
            }
            Mutation::Write { at, place } => {
                if let Some((at, write)) = model.write(at, place) {
                    langgraph_thread.put_writes("", &name(at), vec![write]);
                }
            }
            Mutation::Reload => {
                langgraph_thread = LangGraphThread::load(&sealed_store, THREAD).await.unwrap();
            }
            Mutation::Keep { every } => {
                keep(&sealed_store, &mut langgraph_thread, &mut model, every).await;
            }
            Mutation::Copy => {
                let copy = copied(&sealed_store, THREAD, LangGraphThread::new("langgraph:copy"))
                    .await
                    .unwrap();
                for (id, held) in &model.held {
                    if let Some(found) = copy.full_checkpoint("", &name(*id)) {
                        assert_eq!(values(&found), *held);
                    }
                }
                assert_eq!(copy.marks().count(), model.held.len());
            }
        }
        store(&sealed_store, THREAD, &mut langgraph_thread).await.unwrap();
    }
    model.check(&sealed_store, &langgraph_thread).await;
    model.check(&sealed_store, &LangGraphThread::load(&sealed_store, THREAD).await.unwrap()).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn in_every_case_each_checkpoint_is_read_as_it_was(mutations in mutations()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(run(mutations));
    }

    #[test]
    fn arbitrary_bytes_never_cause_a_panic(
        body in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0..5_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (sealed_store, kind) = (sealed_store(), EntryKind::ALL[kind]);
            sealed_store.store().claim(THREAD, OWNER, Duration::from_mins(1)).await.unwrap();
            let mut langgraph_thread = LangGraphThread::new(THREAD);
            langgraph_thread.put(checkpoint(1, None, &[])).unwrap();
            let mut batch = langgraph_thread.batch(&sealed_store, OWNER, Time::default()).unwrap().unwrap();
            batch.entries[0].kind = kind;
            forge(&mut batch.entries[0], [&[1][..], &body].concat());
            sealed_store.store().append(batch).await.unwrap();
            let _ = LangGraphThread::load(&sealed_store, THREAD).await;
        });
    }
}
