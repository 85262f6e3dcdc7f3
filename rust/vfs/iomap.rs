// SPDX-License-Identifier: GPL-2.0

//! Where file data lies, for iomap, and `address_space_operations`.
//!
//! Data goes through iomap and not through buffer heads: large folios, one mapping call per extent
//! and bios as large as the extents. What system calls do with it is in `data.rs`.
//!
//! C header: [`include/linux/iomap.h`](srctree/include/linux/iomap.h)

use super::bindings;
use super::writeback::WriteEnds;
use super::{FileSystem, Inode};
use core::marker::PhantomData;
use kernel::error::{from_result, to_result};
use kernel::prelude::*;

/// Why a mapping is wanted.
#[derive(Clone, Copy)]
pub(crate) struct IomapFlags(u32);

impl IomapFlags {
    /// Data will be written: space has to be there.
    pub(crate) fn is_write(self) -> bool {
        self.0 & bindings::IOMAP_WRITE != 0
    }

    /// The page cache is bypassed.
    pub(crate) fn is_direct(self) -> bool {
        self.0 & bindings::IOMAP_DIRECT != 0
    }

    /// Zeros will be written through the page cache.
    pub(crate) fn is_zero(self) -> bool {
        self.0 & bindings::IOMAP_ZERO != 0
    }
}

/// What a range of a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum IomapKind {
    /// Space with data on the device at this byte offset.
    Mapped(u64),
    /// Space with data on the device at this byte offset, not part of the file before this write:
    /// what the write does not cover becomes zero.
    New(u64),
    /// Space at this byte offset without data: reads as zero.
    Unwritten(u64),
    /// No space: reads as zero.
    Hole,
}

/// A range of a file and what it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct IomapTarget {
    /// Start in the file, in bytes.
    pub(crate) offset: u64,
    /// Length in bytes, not zero.
    pub(crate) len: u64,
    /// What it is.
    pub(crate) kind: IomapKind,
    /// Given back to [`DataOps::is_valid`].
    pub(crate) cookie: u64,
}

impl IomapTarget {
    /// The range, if the byte at `pos` is in it: iomap relies on that.
    fn covering(self, pos: u64) -> Result<Self> {
        let covers = self.offset <= pos
            && self
                .offset
                .checked_add(self.len)
                .is_some_and(|end| end > pos);
        covers.then_some(self).ok_or(EIO)
    }
}

/// How a file's data lies on the device.
pub(crate) trait DataOps: FileSystem {
    /// The range that begins at or before `pos`, at most `len` bytes beyond it of interest. For
    /// a write, space for it is allocated.
    fn map(inode: &Inode<Self>, pos: u64, len: u64, flags: IomapFlags) -> Result<IomapTarget>;

    /// `written` bytes at `pos` of the mapped range are in the page cache now.
    fn written(inode: &Inode<Self>, pos: u64, written: u64) -> Result;

    /// The range at `pos` is about to be written from the page cache to the device. If it is
    /// [`IomapKind::Unwritten`], [`written_back`](Self::written_back) tells when that is done.
    fn map_writeback(inode: &Inode<Self>, pos: u64, len: u64) -> Result<IomapTarget>;

    /// The write of unwritten ranges that began at or after `start`, within `len` bytes, has ended.
    /// The folios are still under writeback. May sleep, but not wait for data of any file.
    fn written_back(inode: &Inode<Self>, start: u64, len: u64, result: Result);

    /// Whether a mapping with this cookie still says what is true. Called during long writes, with
    /// a folio locked.
    fn is_valid(inode: &Inode<Self>, cookie: u64) -> bool;

    /// Direct I/O has written `len` bytes at `pos`. May run in interrupt context unless the write
    /// goes beyond the size.
    fn direct_written(inode: &Inode<Self>, pos: u64, len: u64) -> Result;
}

fn fill<T: FileSystem>(inode: &Inode<T>, target: IomapTarget, map: &mut bindings::iomap) {
    let (kind, addr, flags) = match target.kind {
        IomapKind::Mapped(addr) => (bindings::IOMAP_MAPPED, addr, bindings::IOMAP_F_MERGED),
        IomapKind::New(addr) => (
            bindings::IOMAP_MAPPED,
            addr,
            bindings::IOMAP_F_MERGED | bindings::IOMAP_F_NEW,
        ),
        IomapKind::Unwritten(addr) => (bindings::IOMAP_UNWRITTEN, addr, bindings::IOMAP_F_MERGED),
        IomapKind::Hole => (bindings::IOMAP_HOLE, u64::MAX, 0),
    };
    map.type_ = kind as u16;
    map.addr = addr;
    map.flags = flags as u16;
    map.offset = i64::try_from(target.offset).unwrap_or(i64::MAX);
    map.length = target.len;
    map.validity_cookie = target.cookie;
    // SAFETY: The inode and its superblock are alive.
    map.bdev = unsafe { (*(*inode.as_ptr()).i_sb).s_bdev };
}

/// The tables for files with data, and the callbacks in them. They are called by the VFS, the
/// memory management and iomap with live objects of type `T`.
pub(super) struct DataTable<T>(PhantomData<T>);

impl<T: DataOps> DataTable<T> {
    pub(super) const IOMAP: bindings::iomap_ops = bindings::iomap_ops {
        iomap_begin: Some(Self::begin),
        iomap_end: Some(Self::end),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    const WRITEBACK: bindings::iomap_writeback_ops = bindings::iomap_writeback_ops {
        writeback_range: Some(Self::writeback_range),
        writeback_submit: Some(Self::writeback_submit),
    };

    pub(super) const WRITE: bindings::iomap_write_ops = bindings::iomap_write_ops {
        iomap_valid: Some(Self::is_valid),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    pub(super) const DIRECT_WRITE: bindings::iomap_dio_ops = bindings::iomap_dio_ops {
        end_io: Some(Self::direct_end),
        // SAFETY: All fields are pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    pub(super) const AOPS: bindings::address_space_operations =
        bindings::address_space_operations {
            read_folio: Some(Self::read_folio),
            readahead: Some(Self::readahead),
            writepages: Some(Self::writepages),
            bmap: Some(Self::bmap),
            swap_activate: Some(Self::swap_activate),
            dirty_folio: Some(bindings::iomap_dirty_folio),
            release_folio: Some(bindings::iomap_release_folio),
            invalidate_folio: Some(bindings::iomap_invalidate_folio),
            is_partially_uptodate: Some(bindings::iomap_is_partially_uptodate),
            migrate_folio: Some(bindings::filemap_migrate_folio),
            error_remove_folio: Some(bindings::generic_error_remove_folio),
            // SAFETY: All fields are function pointers or nothing.
            ..unsafe { core::mem::zeroed() }
        };

    pub(super) const VM: bindings::vm_operations_struct = bindings::vm_operations_struct {
        fault: Some(bindings::filemap_fault),
        map_pages: Some(bindings::filemap_map_pages),
        page_mkwrite: Some(Self::page_mkwrite),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    /// # Safety
    ///
    /// Called by the iomap code as `iomap_ops.iomap_begin`, with live objects of type `T`.
    unsafe extern "C" fn begin(
        inode: *mut bindings::inode,
        pos: i64,
        len: i64,
        flags: u32,
        map: *mut bindings::iomap,
        _src: *mut bindings::iomap,
    ) -> i32 {
        from_result(|| {
            let pos = u64::try_from(pos).map_err(|_| EINVAL)?;
            let len = u64::try_from(len).map_err(|_| EINVAL)?;
            // SAFETY: See the type's comment; `map` is private to the iteration.
            let (inode, map) = unsafe { (Inode::from_raw(inode), &mut *map) };
            let target = T::map(inode, pos, len, IomapFlags(flags))?.covering(pos)?;
            fill(inode, target, map);
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// Called by the iomap code as `iomap_ops.iomap_end`, with live objects of type `T`.
    unsafe extern "C" fn end(
        inode: *mut bindings::inode,
        pos: i64,
        _len: i64,
        written: isize,
        flags: u32,
        _map: *mut bindings::iomap,
    ) -> i32 {
        if flags & bindings::IOMAP_WRITE == 0 || flags & bindings::IOMAP_DIRECT != 0 {
            return 0;
        }
        from_result(|| {
            let pos = u64::try_from(pos).map_err(|_| EINVAL)?;
            let written = u64::try_from(written).unwrap_or(0);
            // SAFETY: See the type's comment.
            T::written(unsafe { Inode::from_raw(inode) }, pos, written)?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// Called by the iomap code as `iomap_write_ops.iomap_valid`, with live objects of type `T`.
    unsafe extern "C" fn is_valid(
        inode: *mut bindings::inode,
        map: *const bindings::iomap,
    ) -> bool {
        // SAFETY: See the type's comment.
        unsafe { T::is_valid(Inode::from_raw(inode), (*map).validity_cookie) }
    }

    /// # Safety
    ///
    /// Called by the iomap code as `iomap_dio_ops.end_io`, with live objects of type `T`.
    unsafe extern "C" fn direct_end(
        iocb: *mut bindings::kiocb,
        size: isize,
        error: i32,
        _flags: u32,
    ) -> i32 {
        from_result(|| {
            to_result(error)?;
            let len = u64::try_from(size).unwrap_or(0);
            // SAFETY: See the type's comment; the file is open while its I/O completes.
            let (inode, pos) = unsafe {
                (
                    Inode::<T>::from_raw(bindings::file_inode((*iocb).ki_filp)),
                    u64::try_from((*iocb).ki_pos).map_err(|_| EINVAL)?,
                )
            };
            T::direct_written(inode, pos, len)?;
            Ok(0)
        })
    }

    /// # Safety
    ///
    /// Called by the iomap code as `iomap_writeback_ops.writeback_range`, with live objects of type
    /// `T`.
    unsafe extern "C" fn writeback_range(
        wpc: *mut bindings::iomap_writepage_ctx,
        folio: *mut bindings::folio,
        pos: u64,
        len: u32,
        end_pos: u64,
    ) -> isize {
        // SAFETY: See the type's comment; the folio is locked and the context private to this
        // writeback.
        unsafe {
            let inode = Inode::<T>::from_raw((*wpc).inode);
            match T::map_writeback(inode, pos, u64::from(len)).and_then(|t| t.covering(pos)) {
                Ok(target) => {
                    fill(inode, target, &mut (*wpc).iomap);
                    let n =
                        bindings::iomap_add_to_ioend(wpc, folio, pos as i64, end_pos as i64, len);
                    if n < 0 && matches!(target.kind, IomapKind::Unwritten(_)) {
                        // It is part of no write, so none will end.
                        T::written_back(inode, pos, 0, Err(EIO));
                    }
                    n
                }
                Err(e) => e.to_errno() as isize,
            }
        }
    }

    /// # Safety
    ///
    /// Called by iomap as `iomap_writeback_ops.writeback_submit`, with a context that has an ioend
    /// of an inode of type `T`.
    unsafe extern "C" fn writeback_submit(
        wpc: *mut bindings::iomap_writepage_ctx,
        error: i32,
    ) -> i32 {
        // SAFETY: See the type's comment; the ioend is not submitted yet and private to the
        // context.
        unsafe {
            let ioend = (*wpc).wb_ctx.cast::<bindings::iomap_ioend>();
            if u32::from((*ioend).io_flags) & bindings::IOMAP_IOEND_UNWRITTEN != 0 {
                (*ioend).io_bio.bi_end_io = Some(WriteEnds::<T>::end_io);
            }
            bindings::iomap_ioend_writeback_submit(wpc, error)
        }
    }

    /// # Safety
    ///
    /// Called by the VFS and the memory management as `address_space_operations.read_folio`, with
    /// live objects of type `T`.
    unsafe extern "C" fn read_folio(
        _file: *mut bindings::file,
        folio: *mut bindings::folio,
    ) -> i32 {
        // SAFETY: See the type's comment; the folio is locked.
        unsafe { bindings::iomap_bio_read_folio(folio, &Self::IOMAP) };
        0
    }

    /// # Safety
    ///
    /// Called by the VFS and the memory management as `address_space_operations.readahead`, with
    /// live objects of type `T`.
    unsafe extern "C" fn readahead(rac: *mut bindings::readahead_control) {
        // SAFETY: See the type's comment.
        unsafe { bindings::iomap_bio_readahead(rac, &Self::IOMAP) };
    }

    /// # Safety
    ///
    /// Called by the VFS and the memory management as `address_space_operations.writepages`, with
    /// live objects of type `T`.
    unsafe extern "C" fn writepages(
        mapping: *mut bindings::address_space,
        wbc: *mut bindings::writeback_control,
    ) -> i32 {
        // SAFETY: See the type's comment; a zeroed context is an empty one.
        unsafe {
            let mut wpc: bindings::iomap_writepage_ctx = core::mem::zeroed();
            wpc.inode = (*mapping).host;
            wpc.wbc = wbc;
            wpc.ops = &Self::WRITEBACK;
            bindings::iomap_writepages(&mut wpc)
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `address_space_operations.bmap`, with live objects of type `T`.
    unsafe extern "C" fn bmap(mapping: *mut bindings::address_space, block: u64) -> u64 {
        // SAFETY: See the type's comment. The lock keeps the layout still.
        unsafe {
            let inode = Inode::<T>::from_raw((*mapping).host);
            let _shared = inode.lock_shared();
            bindings::iomap_bmap(mapping, block, &Self::IOMAP)
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `address_space_operations.swap_activate`, with live objects of type
    /// `T`.
    unsafe extern "C" fn swap_activate(
        sis: *mut bindings::swap_info_struct,
        file: *mut bindings::file,
        span: *mut u64,
    ) -> i32 {
        // SAFETY: See the type's comment.
        unsafe { bindings::iomap_swapfile_activate(sis, file, span, &Self::IOMAP) }
    }

    /// # Safety
    ///
    /// Called by the memory management as `vm_operations_struct.page_mkwrite`, with live objects of
    /// type `T`.
    unsafe extern "C" fn page_mkwrite(vmf: *mut bindings::vm_fault) -> bindings::vm_fault_t {
        // SAFETY: See the type's comment. The invalidate lock keeps truncation away while the page
        // is made writable.
        unsafe {
            let file = (*(*vmf).__bindgen_anon_1.vma).vm_file;
            let inode = bindings::file_inode(file);
            bindings::sb_start_pagefault((*inode).i_sb);
            bindings::file_update_time(file);
            bindings::filemap_invalidate_lock_shared((*inode).i_mapping);
            let ret = bindings::iomap_page_mkwrite(vmf, &Self::IOMAP, core::ptr::null_mut());
            bindings::filemap_invalidate_unlock_shared((*inode).i_mapping);
            bindings::sb_end_pagefault((*inode).i_sb);
            ret
        }
    }
}
