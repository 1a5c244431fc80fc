//! A gzipped IDX file of MNIST enters; images or labels leave, counted and checked.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use crate::error::{DataError, IdxProblem};

/// Width and height of an image.
pub const SIDE: usize = 28;

/// The images, [`SIDE`] * [`SIDE`] bytes each.
pub fn read_images(path: &Path) -> Result<Vec<u8>, DataError> {
    read(path, "images", 0x0803, |dims| match *dims {
        [count, rows, cols] if rows as usize == SIDE && cols as usize == SIDE => Ok(u64::from(count) * (SIDE * SIDE) as u64),
        [_, rows, cols] => Err(IdxProblem::Size(rows, cols)),
        _ => unreachable!("images have three dimensions"),
    })
}

/// The labels, one digit each.
pub fn read_labels(path: &Path) -> Result<Vec<u8>, DataError> {
    let labels = read(path, "labels", 0x0801, |dims| Ok(u64::from(dims[0])))?;
    match labels.iter().position(|l| *l > 9) {
        None => Ok(labels),
        Some(index) => Err(problem(path, IdxProblem::Label { label: labels[index], index })),
    }
}

pub(crate) fn problem(path: &Path, problem: IdxProblem) -> DataError {
    DataError::Idx { file: path.display().to_string(), problem }
}

/// Header and data; the lowest byte of the magic number counts the dimensions.
fn read(
    path: &Path,
    expected: &'static str,
    magic: u32,
    length: impl Fn(&[u32]) -> Result<u64, IdxProblem>,
) -> Result<Vec<u8>, DataError> {
    let io = |e| DataError::io(&path.display().to_string(), e);
    let mut bytes = MultiGzDecoder::new(BufReader::new(File::open(path).map_err(io)?));
    let mut word = || {
        let mut four = [0; 4];
        bytes.read_exact(&mut four).map(|()| u32::from_be_bytes(four)).map_err(io)
    };
    let found = word()?;
    if found != magic {
        return Err(problem(path, IdxProblem::Magic { expected, found }));
    }
    let dims: Vec<u32> = (0..magic & 0xff).map(|_| word()).collect::<Result<_, _>>()?;
    let promised = length(&dims).map_err(|p| problem(path, p))?;
    let mut data = Vec::new();
    // The header is not trusted with an allocation: memory grows with what is there.
    bytes.take(promised + 1).read_to_end(&mut data).map_err(io)?;
    let found = data.len() as u64;
    if found != promised {
        return Err(problem(path, IdxProblem::Length { promised, found }));
    }
    Ok(data)
}
