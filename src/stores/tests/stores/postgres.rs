//! What only a database can do, and what can happen to one: held against a real
//! server (`make test-rust` starts one).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use antiphon_core::{Fault, FaultCode, Time};
use antiphon_runtime::store::{
    Entry, EntryBatch, EntryKind, EntryRange, EntryTag, Store, ThreadHead,
};
use antiphon_stores::{PostgresSettings, PostgresStore};

use crate::database::Schema;
use crate::proxy::Proxy;

const TERM: Duration = Duration::from_secs(30);
const ALL: EntryRange = EntryRange::ALL;

fn batch(thread: &str, after: u64) -> EntryBatch {
    let kind = EntryKind::Step;
    let (seq, at) = (after + 1, Time::from_micros(after));
    let (tag, body) = (EntryTag::new(&seq.to_be_bytes()), b"body".to_vec());
    let entry = Entry { seq, parent: after, base: 0, kind, step: seq, at, tag: tag.clone(), body };
    EntryBatch {
        thread: thread.into(),
        owner: "me".into(),
        after,
        expected: None,
        entries: vec![entry],
        tag,
    }
}

fn refused(url: &str, settings: &PostgresSettings) -> Fault {
    match PostgresStore::connect(url, settings) {
        Ok(store) => panic!("it was opened: {}", store.name()),
        Err(fault) => fault,
    }
}

async fn seqs(store: &PostgresStore, thread: &str) -> Vec<u64> {
    store.read(thread, ALL).await.unwrap().iter().map(|entry| entry.seq).collect()
}

mod connections {
    use super::*;

    #[tokio::test]
    async fn one_that_was_cut_while_nobody_used_it_is_opened_anew() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        assert!(schema.cut().await > 0);
        store.append(batch("t", 0)).await.unwrap();
        assert!(schema.cut().await > 0);
        assert_eq!(seqs(&store, "t").await, [1]);
    }

    #[tokio::test]
    async fn what_was_cut_before_its_commit_is_done_once() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        let mut admin = schema.admin().await;
        let lock = admin.transaction().await.unwrap();
        let row = format!("SELECT 1 FROM {}.thread FOR UPDATE", schema.name());
        lock.execute(&row, &[]).await.unwrap();
        let answer = store.append(batch("t", 0));
        schema.blocked().await;
        assert!(schema.cut().await > 0);
        lock.commit().await.unwrap();
        answer.await.unwrap();
        store.append(batch("t", 1)).await.unwrap();
        assert_eq!(seqs(&store, "t").await, [1, 2]);
    }

    #[tokio::test]
    async fn there_are_no_more_of_them_than_asked_for() {
        let schema = Schema::new();
        let settings = PostgresSettings { pool: 2, ..schema.settings() };
        let store = PostgresStore::connect(&schema.url(), &settings).unwrap();
        assert_eq!(schema.connections().await, 1);
        let claims = (0..50).map(|thread| store.claim(&thread.to_string(), "me", TERM));
        for claim in claims.collect::<Vec<_>>() {
            claim.await.unwrap();
        }
        assert_eq!(schema.connections().await, 2);
        assert_eq!(store.threads("", 99).await.unwrap().len(), 50);
    }

    #[tokio::test]
    async fn dropping_the_store_does_what_was_queued_and_closes_them() {
        let schema = Schema::new();
        let store = schema.open();
        drop((store.claim("t", "me", TERM), store.append(batch("t", 0))));
        drop(store);
        assert_eq!(seqs(&schema.open(), "t").await, [1]);
        schema.left().await;
    }

    #[tokio::test]
    async fn a_statement_that_takes_too_long_is_given_up() {
        let schema = Schema::new();
        let timeout = Duration::from_millis(200);
        let settings = PostgresSettings { timeout, ..schema.settings() };
        let store = PostgresStore::connect(&schema.url(), &settings).unwrap();
        store.claim("t", "me", TERM).await.unwrap();
        let mut admin = schema.admin().await;
        let lock = admin.transaction().await.unwrap();
        let row = format!("SELECT 1 FROM {}.thread FOR UPDATE", schema.name());
        lock.execute(&row, &[]).await.unwrap();
        assert_eq!(store.append(batch("t", 0)).await.unwrap_err().code, "store_timeout");
        lock.commit().await.unwrap();
        store.append(batch("t", 0)).await.unwrap();
    }
}

mod cuts_in_a_row {
    use super::*;

    /// A statement of the store that waits for a lock as long as `lock` is open.
    async fn held_up(schema: &Schema) -> tokio_postgres::Client {
        let admin = schema.admin().await;
        let row = format!("BEGIN; SELECT 1 FROM {}.thread FOR UPDATE", schema.name());
        admin.batch_execute(&row).await.unwrap();
        admin
    }

    #[tokio::test]
    async fn one_statement_is_repeated_as_often_as_time_allows() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        let lock = held_up(&schema).await;
        let answer = store.append(batch("t", 0));
        for _ in 0..6 {
            schema.blocked().await;
            assert!(schema.cut().await > 0);
        }
        lock.batch_execute("COMMIT").await.unwrap();
        answer.await.unwrap();
        assert_eq!(seqs(&store, "t").await, [1]);
    }

    #[tokio::test]
    async fn it_is_given_up_when_time_is_up() {
        let schema = Schema::new();
        let settings = PostgresSettings { timeout: Duration::from_secs(1), ..schema.settings() };
        let store = PostgresStore::connect(&schema.url(), &settings).unwrap();
        store.claim("t", "me", TERM).await.unwrap();
        let lock = held_up(&schema).await;
        let answer = tokio::spawn(store.append(batch("t", 0)));
        while !answer.is_finished() {
            schema.cut().await;
        }
        let fault = answer.await.unwrap().unwrap_err();
        assert_eq!(fault.code, "store_unavailable");
        assert!(fault.details["attempts"].as_u64().unwrap() > 1, "{fault:?}");
        assert!(fault.message.contains("attempts"), "{}", fault.message);
        lock.batch_execute("COMMIT").await.unwrap();
        store.append(batch("t", 0)).await.unwrap();
        assert_eq!(seqs(&store, "t").await, [1]);
    }

    #[tokio::test]
    async fn answers_that_are_lost_again_and_again_are_found_in_the_end() {
        let (_schema, proxy, store) = answers_that_are_lost::store().await;
        for (round, count) in (1..).zip([2, 3, 4, 5, 9]) {
            proxy.lose_next_answers(count);
            store.append(batch("t", round)).await.unwrap();
        }
        assert_eq!(proxy.lost(), 23);
        assert_eq!(seqs(&store, "t").await, [1, 2, 3, 4, 5, 6]);
    }

    #[tokio::test]
    async fn opening_is_repeated_too() {
        let schema = Schema::new();
        let proxy = Proxy::to(schema.place()).await;
        proxy.lose_next_answers(7);
        let url = format!("postgres://{}@{}", schema.login(), proxy.place());
        let store = PostgresStore::connect(&url, &schema.settings()).unwrap();
        assert_eq!(proxy.lost(), 7);
        store.claim("t", "me", TERM).await.unwrap();
    }

    #[tokio::test]
    async fn opening_is_given_up_when_time_is_up() {
        let schema = Schema::new();
        let proxy = Proxy::to(schema.place()).await;
        proxy.lose_next_answers(u32::MAX);
        let url = format!("postgres://{}@{}", schema.login(), proxy.place());
        let settings = PostgresSettings { timeout: Duration::from_secs(1), ..schema.settings() };
        let fault = refused(&url, &settings);
        assert_eq!(fault.code, "store_unavailable");
        assert!(fault.details["attempts"].as_u64().unwrap() > 1, "{fault:?}");
    }
}

mod answers_that_are_lost {
    use super::*;

    #[tokio::test]
    async fn what_arrives_late_does_nothing_any_more() {
        let (_schema, proxy, store) = store().await;
        store.release("t", "me").await.unwrap();
        store.claim("t", "me", TERM).await.unwrap();
        proxy.delay_next_question();
        store.release("t", "me").await.unwrap();
        store.claim("t", "me", TERM).await.unwrap();
        proxy.deliver().await;
        store.append(batch("t", 1)).await.unwrap();
        assert_eq!(seqs(&store, "t").await, [1, 2]);
    }

    #[tokio::test]
    async fn a_thread_that_got_the_name_of_a_deleted_one_stays() {
        let (schema, proxy, store) = store().await;
        store.release("t", "me").await.unwrap();
        // After BEGIN, one answer about the row, and two about its removal: that to COMMIT.
        proxy.lose_answer_after(4);
        let deleted = store.delete("t");
        proxy.wait_until_lost(1).await;
        proxy.shut();
        proxy.cut();
        let other = schema.open();
        while other.head("t").await.unwrap().is_some() {}
        other.claim("t", "me", TERM).await.unwrap();
        other.append(batch("t", 0)).await.unwrap();
        other.release("t", "me").await.unwrap();
        proxy.open();
        assert!(deleted.await.unwrap());
        assert_eq!(seqs(&other, "t").await, [1]);
    }

    /// A store behind a proxy, with a thread of one entry.
    pub(super) async fn store() -> (Schema, Proxy, PostgresStore) {
        let schema = Schema::new();
        let proxy = Proxy::to(schema.place()).await;
        let settings = PostgresSettings { pool: 1, ..schema.settings() };
        let url = format!("postgres://{}@{}", schema.login(), proxy.place());
        let store = PostgresStore::connect(&url, &settings).unwrap();
        store.claim("t", "me", TERM).await.unwrap();
        store.append(batch("t", 0)).await.unwrap();
        (schema, proxy, store)
    }

    #[tokio::test]
    async fn what_was_added_is_not_added_again() {
        let (_schema, proxy, store) = store().await;
        proxy.lose_next_answer();
        store.append(batch("t", 1)).await.unwrap();
        assert_eq!(proxy.lost(), 1);
        assert_eq!(seqs(&store, "t").await, [1, 2]);
        assert_eq!(
            store.head("t").await.unwrap(),
            Some(ThreadHead { last: 2, stored: 2, tag: EntryTag::new(&2_u64.to_be_bytes()) })
        );
    }

    #[tokio::test]
    async fn a_conflict_stays_one() {
        let (_schema, proxy, store) = store().await;
        proxy.lose_next_answer();
        let mut other = batch("t", 0);
        other.entries[0].body = b"other".to_vec();
        assert_eq!(store.append(other).await.unwrap_err().code, "thread_conflict");
        let nothing = EntryBatch { entries: Vec::new(), ..batch("t", 0) };
        proxy.lose_next_answer();
        assert_eq!(store.append(nothing).await.unwrap_err().code, "thread_conflict");
        assert_eq!(proxy.lost(), 2);
    }

    #[tokio::test]
    async fn reading_claiming_and_letting_go_are_repeated() {
        let (_schema, proxy, store) = store().await;
        for _ in 0..2 {
            proxy.lose_next_answer();
            assert_eq!(seqs(&store, "t").await, [1]);
            proxy.lose_next_answer();
            store.release("t", "me").await.unwrap();
            proxy.lose_next_answer();
            assert_eq!(store.claim("t", "me", TERM).await.unwrap().last, 1);
        }
        assert_eq!(proxy.lost(), 6);
    }

    #[tokio::test]
    async fn what_was_removed_is_reported() {
        let (_schema, proxy, store) = store().await;
        // After the answers to BEGIN and to what is said before COMMIT.
        proxy.lose_answer_after(5);
        assert_eq!(store.remove("t", "me", ALL).await.unwrap(), 1);
        store.release("t", "me").await.unwrap();
        proxy.lose_answer_after(4);
        assert!(store.delete("t").await.unwrap());
        assert_eq!(proxy.lost(), 2);
        assert_eq!(store.head("t").await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_was_added_is_reported_though_another_has_taken_over() {
        let (schema, proxy, store) = store().await;
        proxy.shut();
        proxy.lose_next_answer();
        let answer = store.append(batch("t", 1));
        proxy.wait_until_lost(1).await;
        schema.grow_older(TERM * 2).await;
        let other = schema.open();
        assert_eq!(other.claim("t", "you", TERM).await.unwrap().last, 2);
        other.append(EntryBatch { owner: "you".into(), ..batch("t", 2) }).await.unwrap();
        proxy.open();
        answer.await.unwrap();
        assert_eq!(store.append(batch("t", 2)).await.unwrap_err().code, "thread_conflict");
        assert_eq!(seqs(&other, "t").await, [1, 2, 3]);
    }

    #[tokio::test]
    async fn a_database_that_stays_away_is_reported_to_all_who_wait() {
        let (schema, proxy, store) = store().await;
        let timeout = Duration::from_millis(300);
        let settings = PostgresSettings { timeout, pool: 1, ..schema.settings() };
        let url = format!("postgres://{}@{}", schema.login(), proxy.place());
        let hasty = PostgresStore::connect(&url, &settings).unwrap();
        proxy.shut();
        proxy.cut();
        let answers: Vec<_> = (0..3).map(|_| hasty.head("t")).collect();
        for answer in answers {
            assert_eq!(answer.await.unwrap_err().code, "store_unavailable");
        }
        assert_eq!(hasty.head("t").await.unwrap_err().code, "store_unavailable");
        // Reported as failed, and done as soon as possible.
        assert_eq!(hasty.release("t", "me").await.unwrap_err().code, "store_unavailable");
        let waiting = store.head("t");
        proxy.open();
        waiting.await.unwrap().unwrap();
        hasty.claim("t", "you", TERM).await.unwrap();
    }
}

mod groups {
    use super::*;

    /// Holds everything up until what is queued has become a group.
    async fn queued<T>(schema: &Schema, store: &PostgresStore, queue: impl FnOnce() -> T) -> T {
        let mut admin = schema.admin().await;
        let lock = admin.transaction().await.unwrap();
        let table = format!("LOCK TABLE {}.thread", schema.name());
        lock.execute(&table, &[]).await.unwrap();
        drop(store.head("held up"));
        schema.blocked().await;
        let queue = queue();
        lock.commit().await.unwrap();
        queue
    }

    async fn store(schema: &Schema) -> PostgresStore {
        let settings = PostgresSettings { pool: 1, ..schema.settings() };
        let store = PostgresStore::connect(&schema.url(), &settings).unwrap();
        for thread in ["a", "b", "c"] {
            store.claim(thread, "me", TERM).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn a_conflict_is_that_of_its_thread_alone() {
        let schema = Schema::new();
        let store = store(&schema).await;
        let answers = queued(&schema, &store, || {
            [("a", 0), ("b", 7), ("c", 0), ("a", 1), ("b", 8), ("c", 0), ("a", 2)]
                .map(|(thread, after)| store.append(batch(thread, after)))
        })
        .await;
        let mut codes = Vec::new();
        for answer in answers {
            codes.push(answer.await.err().map(|fault| fault.code.clone()));
        }
        let conflict = Some(FaultCode::ThreadConflict);
        let none = || None;
        let expected =
            [none(), conflict.clone(), none(), none(), conflict.clone(), conflict, none()];
        assert_eq!(codes, expected);
        assert_eq!(seqs(&store, "a").await, [1, 2, 3]);
        assert_eq!(seqs(&store, "b").await, [0; 0]);
        assert_eq!(seqs(&store, "c").await, [1]);
    }

    #[tokio::test]
    async fn a_batch_that_cannot_be_added_fails_alone() {
        let schema = Schema::new();
        let store = store(&schema).await;
        let mut twice = batch("b", 0);
        twice.entries.push(twice.entries[0].clone());
        let [a, b, c] = queued(&schema, &store, || {
            [batch("a", 0), twice, batch("c", 0)].map(|batch| store.append(batch))
        })
        .await;
        a.await.unwrap();
        assert_eq!(b.await.unwrap_err().code, "store_failed");
        c.await.unwrap();
        assert_eq!(store.head("b").await.unwrap(), Some(ThreadHead::default()));
        assert_eq!(seqs(&store, "c").await, [1]);
    }

    #[tokio::test]
    async fn a_group_that_was_cut_is_added_once() {
        let schema = Schema::new();
        let store = store(&schema).await;
        let mut admin = schema.admin().await;
        let lock = admin.transaction().await.unwrap();
        let row = format!("SELECT 1 FROM {}.thread FOR UPDATE", schema.name());
        lock.execute(&row, &[]).await.unwrap();
        let answers: Vec<_> = ["a", "b", "c"]
            .into_iter()
            .flat_map(|thread| (0..20).map(move |after| batch(thread, after)))
            .map(|batch| store.append(batch))
            .collect();
        schema.blocked().await;
        assert_eq!(schema.cut().await, 1);
        lock.commit().await.unwrap();
        for answer in answers {
            answer.await.unwrap();
        }
        for thread in ["a", "b", "c"] {
            assert_eq!(seqs(&store, thread).await, (1..=20).collect::<Vec<_>>());
        }
    }
}

mod questions_that_wait_together {
    use super::*;

    /// Asks while the only connection is held up, so that all wait.
    async fn together<T>(
        schema: &Schema,
        store: &PostgresStore,
        ask: impl FnOnce() -> Vec<antiphon_runtime::store::StoreFuture<T>>,
    ) -> Vec<Result<T, Fault>> {
        let admin = schema.admin().await;
        let row =
            format!("BEGIN; SELECT 1 FROM {}.thread WHERE last > 0 FOR UPDATE", schema.name());
        admin.batch_execute(&row).await.unwrap();
        let held = store.claim("a", "me", TERM);
        schema.blocked().await;
        let answers = ask();
        admin.batch_execute("COMMIT").await.unwrap();
        held.await.unwrap();
        let mut results = Vec::new();
        for answer in answers {
            results.push(answer.await);
        }
        results
    }

    async fn filled() -> (Schema, PostgresStore) {
        let schema = Schema::new();
        let settings = PostgresSettings { pool: 1, ..schema.settings() };
        let store = PostgresStore::connect(&schema.url(), &settings).unwrap();
        for (thread, count) in [("a", 1), ("b", 3), ("c", 2)] {
            store.claim(thread, "me", TERM).await.unwrap();
            for after in 0..count {
                store.append(batch(thread, after)).await.unwrap();
            }
        }
        (schema, store)
    }

    #[tokio::test]
    async fn each_gets_its_own_answer() {
        let (schema, store) = filled().await;
        let spans = [("b", 2, 3), ("none", 1, 9), ("a", 1, 1), ("b", 1, 2), ("c", 9, 9)];
        let read = together(&schema, &store, || {
            let ask = |(thread, from, to)| store.read(thread, EntryRange { from, to });
            spans.into_iter().map(ask).collect()
        });
        let read: Vec<Vec<u64>> = read
            .await
            .into_iter()
            .map(|entries| entries.unwrap().iter().map(|entry| entry.seq).collect())
            .collect();
        assert_eq!(read, [vec![2, 3], vec![], vec![1], vec![1, 2], vec![]]);
        let marks = together(&schema, &store, || {
            let kinds = [None, Some(EntryKind::Step), Some(EntryKind::Run)];
            let of = |thread| kinds.map(|kind| store.marks(thread, ALL, kind));
            ["c", "b"].into_iter().flat_map(of).collect()
        });
        let counts: Vec<_> = marks.await.into_iter().map(|marks| marks.unwrap().len()).collect();
        assert_eq!(counts, [2, 2, 0, 3, 3, 0]);
    }

    #[tokio::test]
    async fn those_that_are_held_stay_when_the_others_are_deleted() {
        let (schema, store) = filled().await;
        store.release("b", "me").await.unwrap();
        store.release("c", "me").await.unwrap();
        let deleted = together(&schema, &store, || {
            ["b", "none", "a", "c", "b"].map(|thread| store.delete(thread)).into()
        });
        let results: Vec<_> = deleted
            .await
            .into_iter()
            .map(|result| result.map_err(|fault| fault.code.clone()))
            .collect();
        assert_eq!(results[2], Err("thread_busy".into()));
        assert_eq!((&results[0], &results[1], &results[3]), (&Ok(true), &Ok(false), &Ok(true)));
        assert_eq!(seqs(&store, "a").await, [1]);
        let left = store.threads("", 9).await.unwrap();
        assert_eq!(left.iter().map(|thread| &*thread.name).collect::<Vec<_>>(), ["a"]);
        schema.ask("SELECT 1 / (SELECT (count(*) = 1)::int FROM @.entry)").await;
    }
}

mod tables_that_a_hand_has_changed {
    use super::*;

    #[tokio::test]
    async fn a_holder_without_a_term_holds_nothing() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        schema.ask("UPDATE @.thread SET until = NULL").await;
        store.claim("t", "you", TERM).await.unwrap();
        assert_eq!(store.append(batch("t", 0)).await.unwrap_err().code, "thread_conflict");
    }

    #[tokio::test]
    async fn impossible_times_are_shown_as_the_first_or_the_last() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        for (time, is_held) in [("infinity", true), ("-infinity", false)] {
            schema.ask(&format!("UPDATE @.thread SET at = '{time}', until = '{time}'")).await;
            let listed = store.threads("", 9).await.unwrap();
            assert_eq!(listed[0].held.is_some(), is_held, "{time}");
            assert_eq!(store.recent("t").await.unwrap()[0].1, listed[0].at);
            let claimed = store.claim("t", "you", TERM).await;
            assert_eq!(
                claimed.err().map(|fault| fault.code.clone()),
                is_held.then(|| "thread_busy".into())
            );
        }
    }
}

mod opening {
    use super::*;

    #[tokio::test]
    async fn many_may_do_it_at_once() {
        let schema = Schema::new();
        let opened: Vec<_> = (0..8)
            .map(|_| {
                let (url, settings) = (schema.url(), schema.settings());
                std::thread::spawn(move || PostgresStore::connect(&url, &settings).map(drop))
            })
            .collect();
        for opened in opened {
            opened.join().unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn two_machines_agree_on_who_holds_a_thread() {
        let schema = Schema::new();
        let (one, two) = (schema.open(), schema.open());
        one.claim("t", "me", TERM).await.unwrap();
        let busy = two.claim("t", "you", TERM).await.unwrap_err();
        assert_eq!((busy.code.as_str(), &busy.details["owner"]), ("thread_busy", &"me".into()));
        schema.grow_older(TERM).await;
        two.claim("t", "you", TERM).await.unwrap();
        assert_eq!(one.append(batch("t", 0)).await.unwrap_err().code, "thread_conflict");
        assert_eq!(one.claim("t", "me", TERM).await.unwrap_err().code, "thread_busy");
    }

    #[tokio::test]
    async fn tables_of_another_version_are_refused() {
        let schema = Schema::new();
        drop(schema.open());
        for version in [99, 2, 0, i64::MIN] {
            schema.ask(&format!("UPDATE @.antiphon SET version = {version}")).await;
            let fault = refused(&schema.url(), &schema.settings());
            assert_eq!(fault.code, "store_version", "{version}");
        }
    }

    #[tokio::test]
    async fn a_store_that_was_updated_meanwhile_is_left_alone() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        schema.ask("UPDATE @.antiphon SET version = 99").await;
        schema.cut().await;
        assert_eq!(store.append(batch("t", 0)).await.unwrap_err().code, "store_version");
    }

    #[tokio::test]
    async fn the_tables_of_another_program_are_left_alone() {
        let schema = Schema::new();
        schema.ask("CREATE SCHEMA @; CREATE TABLE @.entry (precious int)").await;
        let fault = refused(&schema.url(), &schema.settings());
        assert_eq!(fault.code, "store_corrupt");
        schema.ask("SELECT precious FROM @.entry").await;
        let missing = "SELECT 1 / (to_regclass('@.thread') IS NULL)::int";
        schema.ask(missing).await;
    }

    #[tokio::test]
    async fn a_role_that_may_only_read_reads() {
        let schema = Schema::new();
        let store = schema.open();
        store.claim("t", "me", TERM).await.unwrap();
        store.append(batch("t", 0)).await.unwrap();
        schema
            .ask(
                "CREATE ROLE @ LOGIN PASSWORD 'look'; GRANT USAGE ON SCHEMA @ TO @;
                GRANT SELECT ON ALL TABLES IN SCHEMA @ TO @",
            )
            .await;
        let url = format!("postgres://{}:look@{}", schema.name(), schema.place());
        let reader = PostgresStore::connect(&url, &schema.settings()).unwrap();
        assert_eq!(seqs(&reader, "t").await, [1]);
        assert_eq!(reader.threads("", 9).await.unwrap().len(), 1);
        for fault in [
            reader.claim("t", "you", TERM).await.err(),
            reader.append(batch("t", 1)).await.err(),
            reader.delete("t").await.err(),
            reader.remove("t", "me", ALL).await.err(),
        ] {
            assert_eq!(fault.unwrap().code, "store_read_only");
        }
        let fresh = Schema::new();
        assert_eq!(refused(&url, &fresh.settings()).code, "store_read_only");
    }

    #[tokio::test]
    async fn a_wrong_password_is_reported_without_it() {
        let schema = Schema::new();
        let url = format!("postgres://postgres:Hunter2@{}", schema.place());
        let fault = refused(&url, &schema.settings());
        assert_eq!(fault.code, "store_refused");
        assert!(!format!("{fault:?}").contains("Hunter2"), "{fault:?}");
    }

    #[tokio::test]
    async fn a_missing_password_is_what_the_hint_is_about() {
        let schema = Schema::new();
        let fault = refused(&format!("postgres://postgres@{}", schema.place()), &schema.settings());
        assert_eq!(fault.code, "store_refused");
        let hint = fault.hint.as_deref().unwrap();
        assert!(hint.contains("password") && !hint.contains("TLS"), "{hint}");
    }

    #[tokio::test]
    async fn what_was_dropped_or_altered_is_noticed() {
        for change in [
            "DROP TABLE @.entry",
            "DROP TABLE @.thread",
            "ALTER TABLE @.entry DROP COLUMN body",
            "ALTER TABLE @.thread ALTER COLUMN last TYPE numeric",
            "DROP INDEX @.thread_name",
            "ALTER TABLE @.entry DROP CONSTRAINT entry_pkey",
        ] {
            let schema = Schema::new();
            drop(schema.open());
            drop(schema.open());
            schema.ask(change).await;
            let fault = refused(&schema.url(), &schema.settings());
            assert_eq!(fault.code, "store_corrupt", "{change}");
            assert!(fault.message.contains(schema.name()), "{fault}");
        }
    }

    #[tokio::test]
    async fn a_name_says_where_and_no_more() {
        let schema = Schema::new();
        let store = schema.open();
        assert_eq!(store.name(), format!("postgres:{}", schema.place()));
    }

    #[tokio::test]
    async fn what_is_not_there_is_an_error_at_once() {
        let schema = Schema::new();
        let nowhere = "postgres://me:Hunter2@127.0.0.1:1/db".to_owned();
        let no_file = "postgres:///db?host=/nowhere/at/all".to_owned();
        let no_database = format!("{}_x", schema.url().split('?').next().unwrap());
        for url in [nowhere, no_file, no_database] {
            let fault = refused(&url, &schema.settings());
            assert_eq!(fault.code, "store_unavailable");
            assert!(!format!("{fault:?}").contains("Hunter2"), "{fault:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_and_not_quoted() {
        for url in [
            "",
            "postgres",
            "mysql://u:Hunter2@h/db",
            "postgresql+psycopg://u:Hunter2@h/db",
            "postgres://u:Hun@ter2@h/db",
            "postgres://u:Hunter2@h:port/db",
            "postgres://u:Hunter2@h:99999/db",
            "postgres://u:Hunter2@h/db?sslmode=Hunter2",
            "postgres://u:Hunter2@h/db?Hunter2=1",
            "postgres://u:Hunter2@h/db?password",
            "postgres://u:Hunter2@/db",
            "postgres://u:Hunter2@h/db?sslmode=verify-ca",
            "postgres://u:Hunter2@h/db?sslmode=verify-full&sslrootcert=/nowhere/at/all",
        ] {
            let fault = refused(url, &PostgresSettings::default());
            assert_eq!(fault.code, "store_setting_invalid", "{url}");
            let text = format!("{fault:?}");
            assert!(!text.contains("Hunter2") && !text.contains("ter2"), "{text}");
        }
    }

    #[test]
    fn settings_that_cannot_be_used_are_refused() {
        let usual = PostgresSettings::default;
        let named = |schema: &str| PostgresSettings { schema: schema.into(), ..usual() };
        let long = "x".repeat(64);
        let names = ["", "1a", "a-b", "a\"b", "a; DROP TABLE x", "ä", "a b", "pg_mine", &long];
        let mut all: Vec<_> = names.into_iter().map(named).collect();
        all.push(PostgresSettings { pool: 0, ..usual() });
        all.push(PostgresSettings { pool: 65, ..usual() });
        all.push(PostgresSettings { timeout: Duration::ZERO, ..usual() });
        all.push(PostgresSettings { timeout: Duration::MAX, ..usual() });
        for settings in all {
            let fault = refused("postgres://127.0.0.1:1/db", &settings);
            assert_eq!(fault.code, "store_setting_invalid", "{settings:?}");
        }
    }

    #[tokio::test]
    async fn a_schema_may_have_any_name_that_is_one() {
        let schema = Schema::new();
        for name in ["select", "MiXed_1", "_x"] {
            let settings = PostgresSettings { schema: name.into(), ..PostgresSettings::default() };
            schema.ask(&format!("DROP SCHEMA IF EXISTS \"{name}\" CASCADE")).await;
            let store = PostgresStore::connect(&schema.url(), &settings).unwrap();
            assert_eq!(store.head("t").await.unwrap(), None);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn connections_that_are_cut_all_the_time_lose_and_double_nothing() {
    let schema = Schema::new();
    let (store, done) = (Arc::new(schema.open()), Arc::new(AtomicU64::new(0)));
    let enough = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..6)
        .map(|writer| {
            let (store, done, enough) = (Arc::clone(&store), done.clone(), enough.clone());
            tokio::spawn(async move {
                let thread = format!("t{writer}");
                store.claim(&thread, "me", TERM).await.unwrap();
                let mut last = 0;
                while !enough.load(Ordering::Relaxed) {
                    store.append(batch(&thread, last)).await.unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                    last += 1;
                }
                assert_eq!(seqs(&store, &thread).await, (1..=last).collect::<Vec<_>>());
            })
        })
        .collect();
    let mut before = 0;
    for _ in 0..10 {
        // A client that is cut three times in a row may give up.
        while done.load(Ordering::Relaxed) < before + 20 {
            assert!(!writers.iter().any(tokio::task::JoinHandle::is_finished), "one gave up");
            tokio::task::yield_now().await;
        }
        assert!(schema.cut().await > 0);
        // Counted from after the cut: traffic at the same time says nothing of a connection that lives.
        before = done.load(Ordering::Relaxed);
    }
    enough.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
}
