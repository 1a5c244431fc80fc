//! What the CSV and parquet readers accept, and how they refuse.

use std::io::Write;
use std::sync::Arc;

use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, FloatType, Int32Type, Int64Type};
use ::parquet::file::properties::WriterProperties;
use ::parquet::file::writer::SerializedFileWriter;
use ::parquet::schema::parser::parse_message_type;
use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::table::{Column, TableValue};

fn read_bytes(name: &str, bytes: &[u8], options: &ReadOptions) -> Result<Table, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    read_table(&path, options, &mut |_| {})
}

fn read(text: &str) -> Table {
    read_bytes("a.csv", text.as_bytes(), &ReadOptions::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn refused(text: &[u8], options: &ReadOptions) -> String {
    read_bytes("a.csv", text, options).expect_err("a refusal").to_string()
}

fn expecting(name: &str, kind: Kind) -> ReadOptions {
    ReadOptions { expected: BTreeMap::from([(name.to_owned(), kind)]), ..ReadOptions::default() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn kinds_are_found_and_values_kept() {
    let t = read("\u{feff}, a,\"b, c\",t\r\n0,1, 2.5 ,x\r\n1,-1e3,,\"y, z\"\r\n2,NA,0.1,NULL\r\n");
    assert_eq!(t.names, ["", "a", "b, c", "t"]);
    assert_eq!(t.row_numbers, [1, 2, 3]);
    assert_eq!(t.columns[0], Column::Number(vec![0.0, 1.0, 2.0]));
    assert_eq!((t.columns[1].value(1), t.columns[1].value(2)), (TableValue::Number(-1000.0), TableValue::Missing));
    assert_eq!((t.columns[2].value(1), t.columns[2].value(2)), (TableValue::Missing, TableValue::Number(0.1)));
    assert_eq!(t.columns[3], Column::Text { levels: vec!["x".into(), "y, z".into()], codes: vec![0, 1, u32::MAX] });
}

#[test]
fn expected_kinds_win() {
    let options = expecting("a", Kind::Text);
    let t = read_bytes("a.csv", b"a\n10\n9\n1.0\n", &options).unwrap();
    assert_eq!(t.columns[0], Column::Text { levels: vec!["1.0".into(), "9".into(), "10".into()], codes: vec![2, 1, 0] });
    let message = refused(b"a,b\n1,x\n2,x\nmany,x\n", &expecting("a", Kind::Number));
    assert!(message.contains("a.csv, row 3, column 'a': 'many' is not a number"), "{message}");
}

#[test]
fn an_empty_line_is_no_row_but_in_a_single_column_may_be_one() {
    let options = ReadOptions::default();
    assert_eq!(read_bytes("a.csv", b"a,b\n1,2\n\n3,4\n\n", &options).unwrap().rows(), 2);
    assert_eq!(read_bytes("a.csv", b"a\n1\r\n\"x\ny\"\n\"\"\nNA\n2\n\n", &options).unwrap().rows(), 5);
    for text in [&b"a\n1\n\n2\n"[..], b"a\r\n1\r\n\r\n2", b"a\r1\r\r2\r"] {
        let message = refused(text, &options);
        assert!(message.contains("line 3 is empty") && message.contains("written NA"), "{message}");
    }
}

#[test]
fn columns_rows_and_separator_are_chosen() {
    let options = ReadOptions {
        columns: Columns::Except(vec![String::new(), "junk".into()]),
        rows: Some(2),
        separator: Some(b';'),
        ..ReadOptions::default()
    };
    // What is ignored may hold anything, and so may rows beyond the last one.
    let t = read_bytes("a.csv", b";a;junk\n0;1,5;\xff\n1;2;1e999\nragged\n", &options).unwrap();
    assert_eq!(t.names, ["a"]);
    assert_eq!(t.columns[0].kind(), Kind::Text);
    assert_eq!(t.rows(), 2);
    let only = ReadOptions { columns: Columns::Only(vec!["b".into()]), ..ReadOptions::default() };
    assert_eq!(read_bytes("a.csv", b"a,b\n1,2\n", &only).unwrap().names, ["b"]);
    let message = refused(b"Gender,Married\n1,2\n", &ReadOptions { columns: Columns::Except(vec!["Gendr".into()]), ..only });
    assert!(message.contains("`ignore` names 'Gendr'") && message.contains("did you mean 'Gender'?"), "{message}");
}

#[test]
fn malformed_files_are_refused_with_their_place() {
    let plain = ReadOptions::default();
    assert!(refused(b"", &plain).contains("the file is empty"));
    assert!(refused(b"\n\n", &plain).contains("the file is empty"));
    assert!(refused(b"a,b\n", &plain).contains("a header but no data rows"));
    assert!(refused(b"a,b,a\n1,2,3\n", &plain).contains("two columns are named 'a'"));
    assert!(refused(b"0.5,2,3\n1,2,3\n", &plain).contains("the first line holds only numbers (0.5, 2, 3)"));
    assert!(refused(b"1,1\n2,2\n", &plain).contains("the first line holds only numbers"));
    assert!(refused(b"a,b\n1,2\n3\n", &plain).contains("row 2: 1 values, but the header names 2 columns"));
    assert!(refused(b"a,b\n1,2\n3,4\n5,6,7\n", &plain).contains("row 3: 3 values"));
    assert!(refused(b"a,b\n1,x\n2,\xff\xfe\n", &plain).contains("row 2: not UTF-8"));
    assert!(refused(b"a,\xff\n1,x\n", &plain).contains("header: not UTF-8"));
    assert!(refused(b"a\n1\n1e39\n", &plain).contains("row 2, column 'a': 1e39 is beyond float32"));
    assert!(refused(b"a\n1\n-inf\n", &plain).contains("row 2, column 'a': -inf is beyond float32"));
    assert!(refused(b"a\n1\n1e999\n", &plain).contains("beyond float32"));
    let message = read_table(Path::new("no-such.csv"), &plain, &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("no-such.csv: cannot be read"), "{message}");
}

#[test]
fn words_beside_infinities_are_text() {
    assert_eq!(read("a\ninf\nnone\n").columns[0].kind(), Kind::Text);
}

#[test]
fn gzip_in_one_or_more_members_and_cut_off() {
    let plain = ReadOptions::default();
    let members = [gzip(b"a,b\n1,x\n"), gzip(b"2,y\n")].concat();
    assert_eq!(read_bytes("a.csv.gz", &members, &plain).unwrap().rows(), 2);
    let text: String = (0..5000).fold("a,b\n".into(), |text, i| format!("{text}{i},{}\n", i * 7919 % 1009));
    let whole = gzip(text.as_bytes());
    let message = read_bytes("a.csv.gz", &whole[..whole.len() / 2], &plain).unwrap_err().to_string();
    assert!(message.contains("a.csv.gz: the compressed file is cut off"), "{message}");
    let message = read_bytes("a.csv.gz", b"a,b\n1,2\nnot compressed at all", &plain).unwrap_err().to_string();
    assert!(message.contains("cannot be read"), "{message}");
}

#[test]
fn two_hundred_thousand_rows_arrive_unchanged_and_progress_ends_at_the_total() {
    let rows = 200_000_u32;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "n0,n1,n2,n3,n4,n5,n6,n7,t,gap").unwrap();
    let value = |row: u32, c: u32| f64::from(row.wrapping_mul(2_654_435_761).wrapping_add(c * 97) % 1_000_003) / 1000.0;
    for row in 0..rows {
        for c in 0..8 {
            write!(file, "{},", value(row, c)).unwrap();
        }
        let gap = if row % 7 == 0 { String::new() } else { row.to_string() };
        writeln!(file, "level {},{gap}", row % 13).unwrap();
    }
    file.into_inner().unwrap();
    let mut last = None;
    let t = read_table(&path, &ReadOptions::default(), &mut |p| {
        assert!(last.is_none_or(|l: Progress| l.bytes <= p.bytes) && p.bytes <= p.total);
        last = Some(p);
    })
    .unwrap();
    assert!(last.is_some_and(|p| p.bytes == p.total && p.total > 0));
    assert_eq!(t.rows(), rows as usize);
    for row in 0..rows {
        let r = row as usize;
        for c in 0..8 {
            assert_eq!(t.columns[c as usize].value(r), TableValue::Number(value(row, c)));
        }
        assert_eq!(t.columns[8].value(r), TableValue::Text(&format!("level {}", row % 13)));
        assert_eq!(t.columns[9].is_missing(r), row % 7 == 0);
    }
}

/// Two row groups: i (int), u (unsigned), l (long), d (nullable double), f (float), b (boolean), s (nullable string).
fn parquet_bytes(doubles: &[f64]) -> Vec<u8> {
    let schema = "message m { required int32 i; required int32 u (UINT_32); required int64 l; optional double d;
        required float f; required boolean b; optional binary s (UTF8); required int32 day (DATE); }";
    let properties = WriterProperties::builder().set_compression(::parquet::basic::Compression::SNAPPY).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut writer = SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties)).unwrap();
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        let mut column = 0;
        while let Some(mut c) = group.next_column().unwrap() {
            let words = ["no", "yes"].map(ByteArray::from);
            match column {
                0 => c.typed::<Int32Type>().write_batch(&[1, -2, 3], None, None),
                1 => c.typed::<Int32Type>().write_batch(&[-1, 0, 1], None, None),
                2 => c.typed::<Int64Type>().write_batch(&[1 << 40, 0, 1], None, None),
                3 => c.typed::<DoubleType>().write_batch(doubles, Some(&[1, 0, 1]), None),
                4 => c.typed::<FloatType>().write_batch(&[0.1, 2.0, 3.0], None, None),
                5 => c.typed::<BoolType>().write_batch(&[true, false, true], None, None),
                6 => c.typed::<ByteArrayType>().write_batch(&words, Some(&[1, 1, 0]), None),
                _ => c.typed::<Int32Type>().write_batch(&[1, 2, 3], None, None),
            }
            .unwrap();
            c.close().unwrap();
            column += 1;
        }
        group.close().unwrap();
    }
    writer.into_inner().unwrap()
}

#[test]
fn parquet_numbers_booleans_strings_and_nulls() {
    let bytes = parquet_bytes(&[0.5, f64::NAN]);
    let options = ReadOptions { columns: Columns::Except(vec!["day".into()]), ..expecting("b", Kind::Text) };
    let t = read_bytes("a.parquet", &bytes, &options).unwrap();
    assert_eq!(t.names, ["i", "u", "l", "d", "f", "b", "s"]);
    assert_eq!(t.row_numbers, [1, 2, 3, 4, 5, 6]);
    assert_eq!(t.columns[0], Column::Number(vec![1.0, -2.0, 3.0, 1.0, -2.0, 3.0]));
    assert_eq!(t.columns[1].value(0), TableValue::Number(4_294_967_295.0));
    assert_eq!(t.columns[2].value(3), TableValue::Number((1_u64 << 40) as f64));
    assert_eq!((t.columns[3].value(3), t.columns[3].value(4)), (TableValue::Number(0.5), TableValue::Missing));
    assert_eq!(t.columns[3].value(5), TableValue::Missing);
    assert_eq!(t.columns[4].value(0), TableValue::Number(0.1));
    assert_eq!(t.columns[5], Column::Text { levels: vec!["0".into(), "1".into()], codes: vec![1, 0, 1, 1, 0, 1] });
    let codes = vec![0, 1, u32::MAX, 0, 1, u32::MAX];
    assert_eq!(t.columns[6], Column::Text { levels: vec!["no".into(), "yes".into()], codes });
    let four = ReadOptions { rows: Some(4), ..options };
    assert_eq!(read_bytes("a.parquet", &bytes, &four).unwrap().columns[0].len(), 4);
}

#[test]
fn parquet_refusals() {
    let bytes = parquet_bytes(&[0.5, f64::INFINITY]);
    let message = read_bytes("a.parquet", &bytes, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("column 'd'") && message.contains("row 3") && message.contains("beyond float32"), "{message}");
    let only = |name: &str| Columns::Only(vec![name.into()]);
    let dates = ReadOptions { columns: only("day"), ..ReadOptions::default() };
    let message = read_bytes("a.parquet", &bytes, &dates).unwrap_err().to_string();
    assert!(message.contains("column 'day' holds dates;"), "{message}");
    // As a text, which no model computes with, it is passed on.
    let text = ReadOptions { columns: only("day"), ..expecting("day", Kind::Text) };
    let days = read_bytes("a.parquet", &bytes, &text).unwrap();
    assert_eq!(
        (days.columns[0].value(0), days.columns[0].value(2)),
        (TableValue::Text("1970-01-02"), TableValue::Text("1970-01-04"))
    );
    let words = ReadOptions { columns: only("s"), ..expecting("s", Kind::Number) };
    let message = read_bytes("a.parquet", &bytes, &words).unwrap_err().to_string();
    assert!(message.contains("row 1, column 's': 'no' is not a number"), "{message}");
    for damaged in [&b"not parquet"[..], &bytes[..bytes.len() / 2], b""] {
        let message = read_bytes("a.parquet", damaged, &ReadOptions::default()).unwrap_err().to_string();
        assert!(message.contains("a.parquet: not a readable parquet file"), "{message}");
    }
}

#[test]
fn damaged_parquet_is_an_error_and_never_a_panic() {
    let good = parquet_bytes(&[0.5, 1.5]);
    let options = ReadOptions { columns: Columns::Except(vec!["day".into()]), ..ReadOptions::default() };
    let mut state = 1u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let mut refused = 0;
    for _ in 0..4000 {
        let mut bytes = good.clone();
        for _ in 0..=random() % 4 {
            let at = random() % bytes.len();
            bytes[at] = random() as u8;
        }
        std::fs::write(&path, &bytes).unwrap();
        // A panic would end the test here.
        refused += usize::from(read_table(&path, &options, &mut |_| {}).is_err());
    }
    assert!(refused > 1000, "{refused}");
}

#[test]
fn many_columns_take_time_in_proportion() {
    let time = |n: usize| {
        let names = |n: usize| (0..n).map(|k| format!("c{k}")).collect::<Vec<_>>();
        let text = format!("{}\n{}\n", names(n).join(","), vec!["1"; n].join(","));
        let options = ReadOptions { columns: Columns::Only(names(n)), ..ReadOptions::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        std::fs::write(&path, text).unwrap();
        let begun = Instant::now();
        assert_eq!(read_table(&path, &options, &mut |_| {}).unwrap().columns.len(), n);
        begun.elapsed().as_secs_f64()
    };
    // Sixteen files of a sixteenth of the columns: as long in proportion, a sixteenth as long by the square. Both take long enough to
    // share the processor with whatever else is running, and one of several tries is enough.
    let mut tries = Vec::new();
    let fine = (0..5).any(|_| {
        let (few, many) = ((0..16).map(|_| time(4_000)).sum::<f64>(), time(64_000));
        tries.push((few, many));
        many < 6.0 * few
    });
    assert!(fine, "{tries:?}");
}
