//! Results as columns of Arrow.

use std::sync::Arc;

use antiphon_tools::sql::{
    Database, QueryLimits, QueryParameters, QueryPolicy, QueryTable, SqlDialect, SqliteDatabase,
};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use rusqlite::Connection;

const TABLE: &str = "
    CREATE TABLE cells (
        id INTEGER, ratio REAL, day DATE, at DATETIME, is_open BOOLEAN, raw BLOB, note TEXT, price NUMERIC,
        odd INTEGER, late DATE, empty TEXT
    );
    INSERT INTO cells VALUES
        (9223372036854775807, 0.1, '2026-02-01', '2026-02-01 10:00:00.25', 1, x'00ff', 'é', 1.5, 7, 'soon', NULL),
        (-9007199254740993, NULL, '1899-12-31', NULL, 0, NULL, NULL, 2, 'x', '2026-01-01', NULL);";

async fn read(sql: &str, limits: QueryLimits) -> (QueryTable, Vec<RecordBatch>) {
    read_from(TABLE, sql, limits).await
}

async fn read_from(script: &str, sql: &str, limits: QueryLimits) -> (QueryTable, Vec<RecordBatch>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.db");
    Connection::open(&path).unwrap().execute_batch(script).unwrap();
    let database = SqliteDatabase::open(&path, QueryPolicy::new(SqlDialect::Sqlite)).unwrap();
    let query = database.check(sql).unwrap();
    let table = database.execute(&query, &QueryParameters::None, &limits).await.unwrap();
    let arrow = table.arrow.clone().unwrap();
    let batches = StreamReader::try_new(&*arrow, None).unwrap().map(Result::unwrap).collect();
    (table, batches)
}

fn columns(preview: usize) -> QueryLimits {
    QueryLimits { preview: Some(preview), ..QueryLimits::columns() }
}

#[tokio::test]
async fn columns_have_the_types_of_the_database_where_each_cell_fits_them() {
    let (table, batches) = read("SELECT * FROM cells", columns(1)).await;
    assert_eq!((table.row_count, table.rows.len(), batches.len()), (2, 1, 1));
    let column = |name: &str| -> &ArrayRef { batches[0].column_by_name(name).unwrap() };
    let ids = column("id").as_primitive::<Int64Type>();
    assert_eq!((ids.value(0), ids.value(1)), (i64::MAX, -9_007_199_254_740_993));
    let ratios = column("ratio").as_primitive::<Float64Type>();
    assert!((ratios.value(0) - 0.1).abs() < f64::EPSILON && ratios.is_null(1));
    let days = column("day").as_primitive::<Date32Type>();
    assert_eq!((days.value(0), days.value(1)), (20_485, -25_568));
    let times = column("at").as_primitive::<TimestampMicrosecondType>();
    assert!(times.value(0) == 1_769_940_000_250_000 && times.is_null(1));
    let open = column("is_open").as_boolean();
    assert!(open.value(0) && !open.value(1));
    assert_eq!(column("raw").as_binary::<i32>().value(0), [0, 255]);
    assert!(column("note").as_string::<i32>().value(0) == "é" && column("note").is_null(1));
    assert_eq!(column("price").as_primitive::<Float64Type>().value(1).to_string(), "2");
    for (name, cells) in [("odd", ["7", "x"]), ("late", ["soon", "2026-01-01"])] {
        let texts = column(name).as_string::<i32>();
        assert_eq!([texts.value(0), texts.value(1)], cells, "what does not fit is all text");
    }
    assert!(*column("empty").data_type() == DataType::Utf8 && column("empty").null_count() == 2);
}

#[tokio::test]
async fn numbers_of_a_column_of_decimals_are_decimals_as_long_as_no_digit_is_lost() {
    let script = "CREATE TABLE prices (net DECIMAL(10, 2), odd NUMERIC(10, 1), wide DECIMAL(20, 2));
                  INSERT INTO prices VALUES (9.5, 0.25, 1.5), (-0.07, 1, 2), (NULL, 2, 3), (100, 3, 4);";
    let (_, batches) = read_from(script, "SELECT * FROM prices", columns(1)).await;
    let types: Vec<_> =
        batches[0].schema().fields().iter().map(|it| it.data_type().to_string()).collect();
    assert_eq!(types, ["Decimal128(38, 2)", "Float64", "Float64"]);
    let net = batches[0].column(0).as_primitive::<Decimal128Type>();
    assert_eq!(net.iter().collect::<Vec<_>>(), [Some(950), Some(-7), None, Some(10_000)]);
}

#[tokio::test]
async fn a_type_that_a_later_batch_breaks_is_broken_for_the_whole_column() {
    let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)";
    let sql = format!(
        "{numbers} SELECT i, CASE WHEN i = 15000 THEN 0.5 ELSE i END AS half, \
         CASE WHEN i = 15000 THEN 'x' WHEN i < 9000 THEN NULL ELSE i END AS odd FROM n"
    );
    let (table, batches) = read(&sql, columns(10)).await;
    assert_eq!((table.row_count, table.rows.len(), batches.len()), (20_000, 10, 3));
    let halves = batches[1].column(1).as_primitive::<Float64Type>();
    assert!((halves.value(15_000 - 8_192 - 1) - 0.5).abs() < f64::EPSILON);
    assert_eq!(batches[0].column(1).data_type(), &DataType::Float64);
    assert_eq!(batches[2].column(2).as_string::<i32>().value(0), "16385");
    assert_eq!(batches[0].column(2).null_count(), 8_192);
    let reversed = format!("SELECT * FROM ({sql}) ORDER BY i DESC");
    let same = read(&reversed, columns(0)).await.0;
    assert!(same.digest == table.digest && same.rows.is_empty());
    let other = format!("{sql} WHERE i < 20000");
    assert_ne!(read(&other, columns(0)).await.0.digest, table.digest);
}

#[tokio::test]
async fn the_limits_of_rows_hold_for_columns_too() {
    let limits = QueryLimits { rows: 1, ..columns(5) };
    let (table, batches) = read("SELECT id FROM cells", limits).await;
    assert_eq!((table.row_count, table.truncated, batches[0].num_rows()), (1, true, 1));
    let (none, batches) = read("SELECT id FROM cells WHERE id = 0", columns(5)).await;
    assert_eq!((none.row_count, batches.len()), (0, 0));
    let shared: Arc<[u8]> = none.arrow.unwrap().into();
    assert_eq!(StreamReader::try_new(&*shared, None).unwrap().schema().field(0).name(), "id");
}

#[tokio::test]
async fn the_digest_of_equal_numbers_is_the_same_whichever_type_holds_them() {
    let whole = [
        ("7", "7.0"),
        ("12345678901", "12345678901.0"),
        ("1152921504606846976", "1152921504606846976.0"),
    ];
    for (integer, float) in whole {
        let one = read(&format!("SELECT {integer} AS n"), columns(1)).await.0;
        let other = read(&format!("SELECT {float} AS n"), columns(1)).await.0;
        assert_eq!(one.digest, other.digest, "{integer} and {float}");
    }
    let ids = ["12345678901", "12345678902"].map(|id| format!("SELECT {id} AS n"));
    let digests =
        [read(&ids[0], columns(1)).await.0.digest, read(&ids[1], columns(1)).await.0.digest];
    assert_ne!(digests[0], digests[1]);
    let sums = ["0.1 + 0.2 + 0.3", "0.3 + 0.2 + 0.1"].map(|sum| format!("SELECT {sum} AS n"));
    assert_eq!(
        read(&sums[0], columns(1)).await.0.digest,
        read(&sums[1], columns(1)).await.0.digest
    );
}

#[tokio::test]
async fn a_known_secret_is_masked_in_columns_as_in_rows() {
    let secret = "~key-of-arrow-columns-1";
    antiphon_runtime::redact::register(secret);
    let sql = format!("SELECT 'the key is {secret}.' AS note, 1 AS \"{secret}\"");
    let (table, batches) = read(&sql, columns(1)).await;
    let mask = "*".repeat(secret.len());
    let note = batches[0].column(0).as_string::<i32>().value(0).to_owned();
    assert_eq!(note, format!("the key is {mask}."));
    assert_eq!(batches[0].schema().field(1).name(), &mask);
    let bytes = table.arrow.unwrap();
    assert!(!bytes.windows(secret.len()).any(|part| part == secret.as_bytes()));
}
