//! Planted images: each pixel says which digit and image it belongs to.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::*;
use crate::table::TableValue;

fn write_idx(path: &Path, header: &[u32], data: &[u8]) {
    let mut gz = GzEncoder::new(std::fs::File::create(path).unwrap(), Compression::fast());
    for word in header {
        gz.write_all(&word.to_be_bytes()).unwrap();
    }
    gz.write_all(data).unwrap();
    gz.finish().unwrap();
}

/// Twenty images a part; image i shows digit i % 10, its pixels all 20 * digit (+ 1 in the second half).
fn plant(folder: &Path) {
    for (images, labels) in PARTS {
        let pixels: Vec<u8> = (0..20_u8).flat_map(|i| [20 * (i % 10) + i / 10; PIXELS]).collect();
        write_idx(&folder.join(images), &[0x0803, 20, 28, 28], &pixels);
        write_idx(&folder.join(labels), &[0x0801, 20], &(0..20).map(|i| i % 10).collect::<Vec<u8>>());
    }
}

#[test]
fn there_are_198_sets() {
    assert_eq!(digit_sets().len(), 198);
}

#[test]
fn pixels_belong_to_the_labels() {
    let folder = tempfile::tempdir().unwrap();
    plant(folder.path());
    let path = folder.path().join(TRAIN_IMAGES);
    let made = read(&path, 50, 7).unwrap();
    assert_eq!((made.table.rows(), made.table.columns.len(), made.overrides.len()), (50, 3146, 3136));
    for row in 0..50 {
        let number = |name: &str| match made.table.column(name).unwrap().value(row) {
            TableValue::Number(v) => v,
            other => panic!("{other:?}"),
        };
        let shown: Vec<usize> = (0..4).map(|i| (number(&format!("p{}", i * PIXELS + 5)) * 255.0).round() as usize / 20).collect();
        let labels: Vec<usize> = (0..10).filter(|d| number(&format!("d{d}")) == 1.0).collect();
        let mut sorted = shown.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, labels);
        assert!(labels.len() == 4 && labels.iter().sum::<usize>() > 10);
    }
    assert_eq!(made, read(&path, 50, 7).unwrap());
    assert_ne!(made, read(&path, 50, 8).unwrap());
}

#[test]
fn damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(TRAIN_IMAGES);
    let labels = folder.path().join(PARTS[0].1);
    let refused = || read(&path, 5, 0).unwrap_err().to_string();
    plant(folder.path());
    write_idx(&path, &[0x0801, 20], &[0; 20]);
    assert!(refused().contains("not an IDX file of images: it starts with 0x00000801"), "{}", refused());
    write_idx(&path, &[0x0803, 20, 32, 28], &[0; 20]);
    assert!(refused().contains("32 x 28 pixels, not 28 x 28"));
    write_idx(&path, &[0x0803, 20, 28, 28], &[0; 19 * PIXELS]);
    assert!(refused().contains("promises 15680 bytes of data, the file holds fewer"), "{}", refused());
    write_idx(&path, &[0x0803, 20, 28, 28], &[0; 20 * PIXELS + 1]);
    assert!(refused().contains("holds more"));
    write_idx(&path, &[0x0803], &[]);
    assert!(refused().contains("cut off"), "{}", refused());
    plant(folder.path());
    write_idx(&labels, &[0x0801, 2], &[3, 10]);
    assert!(refused().contains("label 10 of image 1 is not a digit"));
    write_idx(&labels, &[0x0801, 2], &[3, 4]);
    assert!(refused().contains("2 labels for 20 images"));
    for (_, labels) in PARTS {
        write_idx(&folder.path().join(labels), &[0x0801, 20], &[3; 20]);
    }
    assert!(refused().contains("no image of the digit 0"));
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(refused().contains("the compressed file is cut off"), "{}", refused());
    plant(folder.path());
    std::fs::remove_file(folder.path().join("t10k-images-idx3-ubyte.gz")).unwrap();
    assert!(refused().contains("t10k-images-idx3-ubyte.gz: cannot be read"));
}
