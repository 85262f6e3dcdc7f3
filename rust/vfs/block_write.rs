// SPDX-License-Identifier: GPL-2.0

//! Writing many blocks at once, each to several places.
//!
//! C header: [`include/linux/bio.h`](srctree/include/linux/bio.h)

use super::bindings;
use super::{BufferHead, Disk, Plug};
use core::ptr::NonNull;
use kernel::alloc::flags::__GFP_NOWARN;
use kernel::error::to_result;
use kernel::prelude::*;

/// Most blocks in one write: what a bio can have without more memory for its list.
const MAX_BIO_BLOCKS: usize = bindings::BIO_MAX_VECS as usize;

/// Bytes that are copied together at most, and at least.
const COPY: core::ops::RangeInclusive<usize> = 16 * 1024..=1024 * 1024;

/// Neighbours in ascending order.
enum Piece<'a> {
    /// To be written from where they are.
    Blocks(&'a [BufferHead]),
    /// The bytes of the blocks from this one on, in one piece of physical memory. Devices take only
    /// so many pieces in a request, and pages of the page cache are scattered.
    Copy(u64, KVec<u8>),
}

impl<'a> Piece<'a> {
    fn new(blocks: &'a [BufferHead]) -> Self {
        Self::copy(blocks).unwrap_or(Self::Blocks(blocks))
    }

    /// `None` without memory, or when it would not help.
    fn copy(blocks: &[BufferHead]) -> Option<Self> {
        let first = blocks.first()?;
        let len = blocks.len() * first.size();
        if len < *COPY.start() {
            return None;
        }
        // It is only there if it is there at once.
        let mut bytes = KVec::from_elem(0u8, len, GFP_NOWAIT | __GFP_NOWARN).ok()?;
        for (bh, part) in blocks.iter().zip(bytes.chunks_exact_mut(first.size())) {
            bh.read_into(0, part).ok()?;
        }
        Some(Self::Copy(first.block(), bytes))
    }
}

impl Disk {
    /// Writes the bytes of the blocks as they are in memory, to the places that lie `distances`
    /// blocks behind their own (0: their own), and waits once; returns the first error. Neighbours
    /// in ascending order go out in requests as large as the device takes. Whether the buffers are
    /// dirty does not matter and does not change: they must have no other writer.
    pub(crate) fn write_blocks(&self, blocks: &[BufferHead], distances: &[i64]) -> Result {
        let at_once = COPY.end() >> self.block_bits();
        let mut pieces = KVVec::new();
        for run in blocks.chunk_by(|a, b| a.block().checked_add(1) == Some(b.block())) {
            for part in run.chunks(at_once) {
                pieces.push(Piece::new(part), GFP_KERNEL)?;
            }
        }
        let mut writes = Writes {
            disk: self,
            last: core::ptr::null_mut(),
        };
        Plug::run(|| {
            for &distance in distances {
                for piece in &pieces {
                    writes.add(piece, distance);
                }
            }
            writes.wait()
        })?;
        for &distance in distances.iter().filter(|&&distance| distance != 0) {
            self.refresh(blocks, distance)?;
        }
        Ok(())
    }

    /// Brings the blocks that lie `distance` behind `blocks`, and that somebody has read, up to
    /// date with what was written there. Who reads them later finds it on disk.
    fn refresh(&self, blocks: &[BufferHead], distance: i64) -> Result {
        let bits = self.block_bits();
        let place = |bh: &BufferHead| bh.block().wrapping_add_signed(distance);
        let page = |bh: &BufferHead| place(bh) << bits >> bindings::PAGE_SHIFT;
        for same_page in blocks.chunk_by(|a, b| page(a) == page(b)) {
            let Some(first) = same_page.first() else {
                continue;
            };
            let at = (place(first) << bits) as bindings::loff_t;
            // SAFETY: By the type invariant the device is open.
            let read = unsafe {
                bindings::filemap_range_has_page(bindings::sb_device_mapping(self.as_ptr()), at, at)
            };
            if read {
                for bh in same_page {
                    self.getblk(place(bh))?.copy_from(bh);
                }
            }
        }
        Ok(())
    }
}

/// Writes under way, each chained to the next.
///
/// # Invariants
///
/// `last` is null or a bio that is not submitted yet and owned by the value; all others are
/// submitted, and it ends after them.
struct Writes<'a> {
    disk: &'a Disk,
    last: *mut bindings::bio,
}

impl Writes<'_> {
    /// Adds a piece, to be written `distance` blocks behind its place. It has to stay until
    /// [`wait`](Self::wait) is over.
    fn add(&mut self, piece: &Piece<'_>, distance: i64) {
        match piece {
            Piece::Blocks(blocks) => {
                let mut rest = *blocks;
                while let Some(first) = rest.first() {
                    let bio = self.next(first.block(), distance, rest.len());
                    let mut added = 0;
                    for bh in rest {
                        // SAFETY: The bio is ours and not submitted. The block's memory stays as
                        // long as the caller's reference to it.
                        if !unsafe { bindings::bio_add_bh(bio.as_ptr(), bh.as_ptr()) } {
                            break;
                        }
                        added += 1;
                    }
                    // A new bio has room for a block at least.
                    rest = rest.get(added.max(1)..).unwrap_or(&[]);
                }
            }
            Piece::Copy(block, bytes) => {
                let bio = self.next(*block, distance, 1);
                // SAFETY: The bio is ours, not submitted, and has room for one range. The bytes are
                // in one piece of memory, as `KVec` is, and stay as long as the caller keeps them.
                unsafe {
                    bindings::bio_add_virt_nofail(
                        bio.as_ptr(),
                        bytes.as_ptr().cast_mut().cast(),
                        bytes.len() as u32,
                    );
                }
            }
        }
    }

    /// A new bio with room for `count` ranges of memory, or as many as can be.
    fn next(&mut self, block: u64, distance: i64, count: usize) -> NonNull<bindings::bio> {
        let shift = self
            .disk
            .block_bits()
            .saturating_sub(bindings::SECTOR_SHIFT);
        // SAFETY: By `Disk`'s invariant the device is open. `last` is ours to submit, which this
        // does. With these flags the allocation does not fail.
        unsafe {
            let bio = bindings::blk_next_bio(
                self.last,
                self.disk.bdev(),
                count.min(MAX_BIO_BLOCKS) as u32,
                bindings::REQ_OP_WRITE | bindings::REQ_SYNC,
                bindings::GFP_NOFS,
            );
            (*bio).bi_iter.bi_sector = block.wrapping_add_signed(distance) << shift;
            // INVARIANT: The new bio is ours, and the one before it was submitted.
            self.last = bio;
            NonNull::new_unchecked(bio)
        }
    }

    /// Waits for all.
    fn wait(&mut self) -> Result {
        if self.last.is_null() {
            return Ok(());
        }
        // SAFETY: By the type invariant the bio is ours and not submitted. It ends after the
        // others, with the first error, and is freed here.
        to_result(unsafe {
            let result = bindings::submit_bio_wait(self.last);
            bindings::bio_put(self.last);
            // INVARIANT: Nothing is under way.
            self.last = core::ptr::null_mut();
            result
        })
    }
}
