//! The tables and their migrations.

use antiphon_core::{Fault, FaultCode};
use tokio_postgres::types::Type;
use twox_hash::XxHash3_64;

use super::fault::{self, PostgresResult};
use super::link::Connection;

/// The version that the first migration creates. Older tables are from before the first release,
/// and protect their contents too little.
const FIRST: i64 = 3;

/// One migration per version. Names are bytes, because Postgres's `text` cannot contain all of
/// them, and are looked up by a hash, because an index cannot contain long ones. Entries have no
/// foreign key: it would be checked for each of them, and only the holder of a thread's row lock
/// writes its entries.
const MIGRATIONS: [&str; 1] = ["
    CREATE TABLE @.thread (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name bytea NOT NULL,
        last bigint NOT NULL,
        tag bytea NOT NULL,
        at timestamptz NOT NULL,
        owner bytea,
        until timestamptz
    ) WITH (fillfactor = 70);
    CREATE UNIQUE INDEX thread_name ON @.thread (sha256(name));
    CREATE INDEX thread_order ON @.thread (substr(name, 1, 500));
    CREATE TABLE @.entry (
        thread bigint NOT NULL,
        seq bigint NOT NULL,
        parent bigint NOT NULL,
        base bigint NOT NULL,
        kind text NOT NULL,
        step bigint NOT NULL,
        at bigint NOT NULL,
        tag bytea NOT NULL,
        body bytea NOT NULL,
        PRIMARY KEY (thread, seq)
    );
    ALTER TABLE @.antiphon ADD COLUMN tag bytea;
"];

/// The columns and types of the present version, and the indexes that keep rows unique.
const PARTS: [&str; 19] = [
    "antiphon.tag bytea",
    "thread.id bigint",
    "thread.name bytea",
    "thread.last bigint",
    "thread.tag bytea",
    "thread.at timestamp with time zone",
    "thread.owner bytea",
    "thread.until timestamp with time zone",
    "entry.thread bigint",
    "entry.seq bigint",
    "entry.parent bigint",
    "entry.base bigint",
    "entry.kind text",
    "entry.step bigint",
    "entry.at bigint",
    "entry.tag bytea",
    "entry.body bytea",
    "thread_name unique",
    "entry_pkey unique",
];

/// Migrates the tables if necessary.
pub(super) async fn prepare(link: &Connection, schema: &str) -> PostgresResult<()> {
    let latest = i64::try_from(MIGRATIONS.len()).map_or(i64::MAX, |steps| steps + FIRST - 1);
    if version(link, schema).await? == Some(latest) {
        return check(link, schema).await;
    }
    // One process at a time; later ones find it done.
    link.in_transaction(async || {
        let lock = "SELECT pg_advisory_xact_lock($1)";
        link.rows(lock, &[(&key(schema), Type::INT8)]).await?;
        let found = version(link, schema).await?;
        let done = match found {
            None => {
                begin(link, schema).await?;
                0
            }
            Some(version) if version < FIRST => return Err(too_old(version).into()),
            Some(version) => version,
        };
        if done > latest {
            return Err(too_new(done).into());
        }
        for step in MIGRATIONS.iter().skip(usize::try_from(done + 1 - FIRST).unwrap_or_default()) {
            link.execute_all(step).await?;
        }
        link.change("UPDATE @.antiphon SET version = $1", &[(&latest, Type::INT8)]).await?;
        Ok(())
    })
    .await
}

/// Checks that nothing was dropped from the schema.
async fn check(link: &Connection, schema: &str) -> PostgresResult<()> {
    let found = "SELECT relname || '.' || attname || ' ' || format_type(atttypid, atttypmod)
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            JOIN pg_attribute ON attrelid = pg_class.oid
        WHERE nspname = $1 AND relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
        UNION ALL SELECT relname || ' unique'
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            JOIN pg_index ON indexrelid = pg_class.oid
        WHERE nspname = $1 AND indisunique AND indisvalid";
    let rows = link.rows(found, &[(&schema, Type::TEXT)]).await?;
    let found: Vec<String> = rows.iter().filter_map(|row| row.try_get(0).ok()).collect();
    let lacks: Vec<_> =
        PARTS.into_iter().filter(|part| !found.iter().any(|one| one == part)).collect();
    if lacks.is_empty() {
        return Ok(());
    }
    Err(fault::altered(schema, &lacks.join(", ")).into())
}

/// The version of the tables; `None` if there are none.
async fn version(link: &Connection, schema: &str) -> PostgresResult<Option<i64>> {
    // Queries the catalog: a name that a transaction has looked up in vain stays missing for it.
    let found = "SELECT 1 FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE nspname = $1 AND relname = 'antiphon'";
    if link.row(found, &[(&schema, Type::TEXT)]).await?.is_none() {
        return Ok(None);
    }
    let version = link.row("SELECT version FROM @.antiphon", &[]).await?;
    let version = version.ok_or_else(|| fault::corrupt("it has no version"))?;
    Ok(Some(version.try_get(0).map_err(|error| fault::of(&error))?))
}

async fn begin(link: &Connection, schema: &str) -> PostgresResult<()> {
    let found = "SELECT 1 FROM pg_namespace WHERE nspname = $1";
    if link.row(found, &[(&schema, Type::TEXT)]).await?.is_none() {
        link.execute_all("CREATE SCHEMA @").await?;
    }
    link.execute_all("CREATE TABLE @.antiphon (version bigint NOT NULL)").await?;
    link.execute_all("INSERT INTO @.antiphon VALUES (0)").await
}

/// The advisory lock of processes that create the same schema.
fn key(schema: &str) -> i64 {
    XxHash3_64::oneshot(format!("antiphon schema {schema}").as_bytes()).cast_signed()
}

fn too_new(version: i64) -> Fault {
    let message =
        format!("the store was written by a later version of antiphon: schema version {version}");
    Fault::new(FaultCode::StoreVersion, message).hint("install that version or a later one")
}

fn too_old(version: i64) -> Fault {
    let message = format!("the store was written before the first release: version {version}");
    Fault::new(FaultCode::StoreVersion, message).hint("choose another schema, or drop this one")
}
