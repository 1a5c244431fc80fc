//! A million rows of fifty columns: time and peak memory of reading and encoding. Writes half a
//! gigabyte: `cargo bench -p deepsade-data --bench scale`

use std::io::{BufWriter, Write};
use std::time::Instant;

use deepsade_data::{DataSettings, Overrides, Request, TaskSettings, encode, load};

const ROWS: u32 = 1_000_000;
const COLUMNS: u32 = 50;

/// Peak resident memory of this process in MB, where the system tells.
fn peak_megabytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb / 1024)
}

fn a_million_rows_of_fifty_columns() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("big.csv");
    let mut file = BufWriter::new(std::fs::File::create(&path).unwrap());
    let names: Vec<String> = (0..COLUMNS).map(|c| format!("c{c}")).collect();
    writeln!(file, "{}", names.join(",")).unwrap();
    for row in 0..ROWS {
        for c in 0..COLUMNS {
            let hash = row.wrapping_mul(2_654_435_761).wrapping_add(c.wrapping_mul(40_503));
            let end = if c + 1 == COLUMNS { '\n' } else { ',' };
            // Every tenth column is a category of eight levels.
            if c % 10 == 9 {
                write!(file, "level{}{end}", hash >> 29).unwrap();
            } else {
                write!(file, "{:.4}{end}", f64::from(hash) / 1e5).unwrap();
            }
        }
    }
    file.into_inner().unwrap();
    let size = std::fs::metadata(&path).unwrap().len() >> 20;
    println!("file: {size} MB; peak before reading: {:?} MB", peak_megabytes());

    let data: DataSettings = toml::from_str("file = 'big.csv'\ntargets = ['c0']").unwrap();
    let data = data.checked().unwrap();
    let task: TaskSettings = toml::from_str("kind = 'regression'").unwrap();
    let overrides = Overrides::new();
    let request = Request { data: &data, task: &task, overrides: &overrides, rule_file_dir: folder.path(), data_dir: None };
    let start = Instant::now();
    let mut calls = 0;
    let loaded = load(request, &mut |_| calls += 1).unwrap();
    println!("load: {:.1} s, {calls} progress calls; peak {:?} MB", start.elapsed().as_secs_f64(), peak_megabytes());
    let start = Instant::now();
    let set = encode(&loaded.table, &loaded.schema).unwrap();
    println!("encode: {:.1} s; peak {:?} MB", start.elapsed().as_secs_f64(), peak_megabytes());
    assert_eq!((set.rows(), set.x.cols), (ROWS as usize, 44 + 5 * 8));
}

fn twenty_thousand_digit_sums() {
    let data: DataSettings = toml::from_str("recipe = 'mnist-sum'").unwrap();
    let data = data.checked().unwrap();
    let task: TaskSettings = toml::from_str("kind = 'multilabel'").unwrap();
    let (overrides, here) = (Overrides::new(), std::path::Path::new("."));
    let request = Request { data: &data, task: &task, overrides: &overrides, rule_file_dir: here, data_dir: None };
    let start = Instant::now();
    let loaded = load(request, &mut |_| {}).unwrap();
    println!("load: {:.1} s; peak {:?} MB", start.elapsed().as_secs_f64(), peak_megabytes());
    let start = Instant::now();
    let set = encode(&loaded.table, &loaded.schema).unwrap();
    println!("encode: {:.1} s; peak {:?} MB", start.elapsed().as_secs_f64(), peak_megabytes());
    assert_eq!((set.rows(), set.x.cols), (20_000, 3136));
}

fn main() {
    a_million_rows_of_fifty_columns();
    twenty_thousand_digit_sums();
}
