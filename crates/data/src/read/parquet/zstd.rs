//! A column whose pages are packed by zstd enters, a reader of its values leaves. The crate's own zstd is a C library; pages are unpacked here
//! instead, in Rust, and handed on as if they had never been packed.

use std::io::Read;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::column::reader::{ColumnReader, get_column_reader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;

/// A page is a few megabytes; one that unpacks to more than this is no honest one.
const MOST_BYTES: u64 = 1 << 30;

/// Whether the pages of a column are packed so.
pub(super) fn packs(chunk: &ColumnChunkMetaData) -> bool {
    matches!(chunk.compression(), Compression::ZSTD(_))
}

/// The values of such a column.
pub(super) fn column<R: ChunkReader + 'static>(file: Arc<R>, chunk: &ColumnChunkMetaData, rows: usize) -> Result<ColumnReader> {
    let as_stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED).build()?;
    let pages = SerializedPageReader::new(file, &as_stored, rows, None)?;
    Ok(get_column_reader(chunk.column_descr_ptr(), Box::new(Unpacked(pages))))
}

struct Unpacked<R: ChunkReader>(SerializedPageReader<R>);

impl<R: ChunkReader> PageReader for Unpacked<R> {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let Some(mut page) = self.0.get_next_page()? else { return Ok(None) };
        match &mut page {
            Page::DataPage { buf, .. } | Page::DictionaryPage { buf, .. } => *buf = unpacked(buf, 0)?.into(),
            Page::DataPageV2 { buf, is_compressed: packed @ true, rep_levels_byte_len, def_levels_byte_len, .. } => {
                // Levels are never packed.
                *buf = unpacked(buf, (*rep_levels_byte_len as usize).saturating_add(*def_levels_byte_len as usize))?.into();
                *packed = false;
            }
            Page::DataPageV2 { .. } => {}
        }
        Ok(Some(page))
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }

    fn at_record_boundary(&mut self) -> Result<bool> {
        self.0.at_record_boundary()
    }
}

impl<R: ChunkReader> Iterator for Unpacked<R> {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Bytes of which all after the first `plain` are packed; none at all are packed as none.
fn unpacked(bytes: &[u8], plain: usize) -> Result<Vec<u8>> {
    let Some((levels, packed)) = bytes.split_at_checked(plain) else {
        return Err(ParquetError::General("a page is shorter than its levels".into()));
    };
    let mut out = levels.to_vec();
    if packed.is_empty() {
        return Ok(out);
    }
    let failed = |why: String| ParquetError::General(format!("a page can't be unpacked by zstd: {why}"));
    let mut source = packed;
    let decoder = ruzstd::decoding::StreamingDecoder::new(&mut source).map_err(|e| failed(e.to_string()))?;
    decoder.take(MOST_BYTES + 1).read_to_end(&mut out).map_err(|e| failed(e.to_string()))?;
    if out.len() as u64 > MOST_BYTES { Err(failed(format!("more than {MOST_BYTES} bytes"))) } else { Ok(out) }
}
