// SPDX-License-Identifier: GPL-2.0

//! `file_operations` of files and directories.
//!
//! C header: [`include/linux/fs.h`](srctree/include/linux/fs.h)

use super::bindings;
use super::{data, iomap, to_c, DataOps, FileSystem, Inode, UserPtr};
use core::marker::PhantomData;
use kernel::error::{from_result, to_result};
use kernel::prelude::*;

/// An open file, for the length of a call.
pub(crate) struct File<'a, T: FileSystem>(*mut bindings::file, PhantomData<&'a Inode<T>>);

impl<T: FileSystem> File<'_, T> {
    /// The file's inode.
    pub(crate) fn inode(&self) -> &Inode<T> {
        // SAFETY: The file is open for the length of the call and keeps its inode.
        unsafe { Inode::from_raw(bindings::file_inode(self.0)) }
    }

    /// Whether it was opened for writing.
    pub(crate) fn is_writable(&self) -> bool {
        // SAFETY: The file is open.
        unsafe { (*self.0).f_mode & bindings::FMODE_WRITE != 0 }
    }

    /// Runs `f` with the mount held writable; `EROFS` when it is read-only.
    pub(crate) fn with_write_access<R>(&self, f: impl FnOnce() -> Result<R>) -> Result<R> {
        // SAFETY: The file is open.
        to_result(unsafe { bindings::mnt_want_write_file(self.0) })?;
        let result = f();
        // SAFETY: The file is open, and write access was taken above.
        unsafe { bindings::mnt_drop_write_file(self.0) };
        result
    }

    /// Position in bytes.
    pub(crate) fn pos(&self) -> u64 {
        // SAFETY: The file is open.
        unsafe { (*self.0).f_pos }.try_into().unwrap_or(0)
    }

    /// Sets the position. The caller holds the inode lock.
    pub(crate) fn set_pos(&self, pos: u64) {
        // SAFETY: The file is open.
        unsafe { (*self.0).f_pos = i64::try_from(pos).unwrap_or(i64::MAX) };
    }

    /// Whether the current task may change the mode to `mode`.
    pub(crate) fn may_set_mode(&self, mode: u16) -> Result {
        // SAFETY: The file is open and its inode locked by the caller.
        to_result(unsafe { bindings::file_may_set_mode(self.0, mode) })
    }

    /// Tells those who watch the file that its attributes changed.
    pub(crate) fn notify_attrs_changed(&self) {
        // SAFETY: The file is open.
        unsafe { bindings::fsnotify_attrs_changed(self.0) };
    }
}

/// An I/O request on an open file.
pub(crate) struct Kiocb<'a, T: FileSystem>(*mut bindings::kiocb, PhantomData<&'a Inode<T>>);

impl<T: FileSystem> Kiocb<'_, T> {
    pub(super) fn as_ptr(&self) -> *mut bindings::kiocb {
        self.0
    }

    /// The file's inode.
    pub(crate) fn inode(&self) -> &Inode<T> {
        // SAFETY: The request's file is open.
        unsafe { Inode::from_raw(bindings::file_inode((*self.0).ki_filp)) }
    }

    /// Position in bytes.
    pub(crate) fn pos(&self) -> u64 {
        // SAFETY: The request is live.
        unsafe { (*self.0).ki_pos }.try_into().unwrap_or(0)
    }

    /// Whether the page cache is to be bypassed.
    pub(crate) fn is_direct(&self) -> bool {
        // SAFETY: The request is live.
        unsafe { (*self.0).ki_flags as u32 & bindings::IOCB_DIRECT != 0 }
    }

    /// Falls back to the page cache.
    pub(crate) fn clear_direct(&self) {
        // SAFETY: The request is live and private to this task.
        unsafe { (*self.0).ki_flags &= !(bindings::IOCB_DIRECT as i32) };
    }

    /// Limits, append mode and file size rules; trims `from` and returns the bytes left to write.
    pub(crate) fn write_checks(&self, from: &IoVec<'_>) -> Result<usize> {
        // SAFETY: Request and iterator are live; the inode is locked by the caller.
        data::count(unsafe { bindings::generic_write_checks(self.0, from.as_ptr()) })
    }

    /// Updates times and drops privileges before a write.
    pub(crate) fn file_modified(&self) -> Result {
        // SAFETY: The request's file is open; the inode is locked by the caller.
        to_result(unsafe { bindings::file_modified((*self.0).ki_filp) })
    }

    /// Makes `n` written bytes durable when the file or the mount asks for it.
    pub(crate) fn write_sync(&self, n: usize) -> Result<usize> {
        let n = isize::try_from(n).map_err(|_| EINVAL)?;
        // SAFETY: The request is live; no lock is held.
        data::count(unsafe { bindings::generic_write_sync(self.0, n) })
    }

    /// Notes an access.
    pub(crate) fn file_accessed(&self) {
        // SAFETY: The request's file is open.
        unsafe { bindings::file_accessed((*self.0).ki_filp) };
    }

    /// Reads through the page cache.
    pub(crate) fn buffered_read(&self, to: &IoVec<'_>) -> Result<usize> {
        // SAFETY: Request and iterator are live.
        data::count(unsafe { bindings::generic_file_read_iter(self.0, to.as_ptr()) })
    }
}

/// The memory of an I/O request.
pub(crate) struct IoVec<'a>(*mut bindings::iov_iter, PhantomData<&'a ()>);

impl IoVec<'_> {
    pub(super) fn as_ptr(&self) -> *mut bindings::iov_iter {
        self.0
    }

    /// Bytes left.
    pub(crate) fn count(&self) -> usize {
        // SAFETY: The iterator is live.
        unsafe { bindings::iov_iter_count(self.0) }
    }
}

/// Where a directory's entries are reported to.
pub(crate) struct DirContext<'a> {
    file: *mut bindings::file,
    ctx: &'a mut bindings::dir_context,
}

impl DirContext<'_> {
    /// The position, as in `telldir`.
    pub(crate) fn pos(&self) -> u64 {
        self.ctx.pos.try_into().unwrap_or(0)
    }

    /// Sets the position of the next entry.
    pub(crate) fn set_pos(&mut self, pos: u64) {
        self.ctx.pos = i64::try_from(pos).unwrap_or(i64::MAX);
    }

    /// The inode number of the directory above.
    pub(crate) fn parent_ino(&self) -> u64 {
        // SAFETY: The file is open.
        unsafe { bindings::file_parent_ino(self.file) }
    }

    /// Reports `.` and `..` if the position is before them. `false`: the reader's memory is full.
    pub(crate) fn emit_dots(&mut self) -> bool {
        // SAFETY: File and context are live and the position is locked by the VFS.
        unsafe { bindings::dir_emit_dots(self.file, self.ctx) }
    }

    /// Reports an entry. `false`: the reader's memory is full.
    pub(crate) fn emit(&mut self, name: &[u8], ino: u64, is_dir: bool) -> bool {
        let kind = if is_dir {
            bindings::DT_DIR
        } else {
            bindings::DT_REG
        };
        let Ok(len) = i32::try_from(name.len()) else {
            return true;
        };
        // SAFETY: The context is live; `name` is readable for its length.
        unsafe { bindings::dir_emit(self.ctx, name.as_ptr().cast(), len, ino, kind) }
    }
}

/// Operations on open files; the names are those of `file_operations`.
pub(crate) trait FileOps: FileSystem {
    /// Reads. No lock is held.
    fn read(iocb: &Kiocb<'_, Self>, to: &IoVec<'_>) -> Result<usize>;
    /// Writes. No lock is held.
    fn write(iocb: &Kiocb<'_, Self>, from: &IoVec<'_>) -> Result<usize>;
    /// Makes the file, or a directory's entries, durable. Data in `start..end` bytes.
    fn fsync(inode: &Inode<Self>, start: u64, end: u64, datasync: bool) -> Result;
    /// Allocates space; `keep_size` leaves the size alone.
    fn fallocate(inode: &Inode<Self>, keep_size: bool, offset: u64, len: u64) -> Result;
    /// Every close of a file descriptor; `writable` when it could have been written to.
    fn flush(inode: &Inode<Self>, writable: bool) -> Result;
    /// Lists a directory. Its lock is held shared.
    fn iterate(dir: &Inode<Self>, ctx: &mut DirContext<'_>) -> Result;
    /// Device control. No lock is held.
    fn ioctl(file: &File<'_, Self>, cmd: u32, arg: UserPtr) -> Result<isize>;
}

/// The tables, and the callbacks in them: called by the VFS with live objects of type `T`, locked
/// as Documentation/filesystems/locking.rst says.
pub(super) struct FileTable<T>(PhantomData<T>);

impl<T: FileOps> FileTable<T> {
    pub(super) const DIR: bindings::file_operations = bindings::file_operations {
        llseek: Some(bindings::generic_file_llseek),
        read: Some(bindings::generic_read_dir),
        iterate_shared: Some(Self::iterate),
        unlocked_ioctl: Some(Self::ioctl),
        compat_ioctl: Some(Self::ioctl),
        fsync: Some(Self::fsync),
        setlease: Some(bindings::generic_setlease),
        // SAFETY: All fields are function pointers or nothing.
        ..unsafe { core::mem::zeroed() }
    };

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.iterate_shared`, with live objects of type `T`.
    unsafe extern "C" fn iterate(
        file: *mut bindings::file,
        ctx: *mut bindings::dir_context,
    ) -> i32 {
        // SAFETY: See the type's comment; the context is private to the call.
        unsafe {
            let dir = Inode::from_raw(bindings::file_inode(file));
            let mut ctx = DirContext {
                file,
                ctx: &mut *ctx,
            };
            to_c(T::iterate(dir, &mut ctx))
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.unlocked_ioctl`, with live objects of type `T`.
    unsafe extern "C" fn ioctl(file: *mut bindings::file, cmd: u32, arg: usize) -> isize {
        match T::ioctl(&File(file, PhantomData), cmd, UserPtr::new(arg)) {
            Ok(n) => n,
            Err(e) => e.to_errno() as isize,
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.fsync`, with live objects of type `T`.
    unsafe extern "C" fn fsync(
        file: *mut bindings::file,
        start: i64,
        end: i64,
        datasync: i32,
    ) -> i32 {
        // SAFETY: See the type's comment.
        let inode = unsafe { Inode::from_raw(bindings::file_inode(file)) };
        let start = u64::try_from(start).unwrap_or(0);
        let end = u64::try_from(end).unwrap_or(0).saturating_add(1);
        let result = T::fsync(inode, start, end, datasync != 0);
        // SAFETY: The file is open. Reports a write error to each file once.
        let seen = to_result(unsafe { bindings::file_check_and_advance_wb_err(file) });
        to_c(result.and(seen))
    }
}

impl<T: FileOps + DataOps> FileTable<T> {
    pub(super) const FILE: bindings::file_operations = bindings::file_operations {
        llseek: Some(Self::llseek),
        read_iter: Some(Self::read_iter),
        write_iter: Some(Self::write_iter),
        mmap_prepare: Some(Self::mmap_prepare),
        open: Some(Self::open),
        flush: Some(Self::flush),
        fallocate: Some(Self::fallocate),
        splice_read: Some(bindings::filemap_splice_read),
        splice_write: Some(bindings::iter_file_splice_write),
        read: None,
        iterate_shared: None,
        ..Self::DIR
    };

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.llseek`, with live objects of type `T`.
    unsafe extern "C" fn llseek(file: *mut bindings::file, offset: i64, whence: i32) -> i64 {
        let hole = match whence as u32 {
            bindings::SEEK_HOLE => true,
            bindings::SEEK_DATA => false,
            // SAFETY: See the type's comment.
            _ => return unsafe { bindings::generic_file_llseek(file, offset, whence) },
        };
        from_result(|| {
            let at = data::seek::<T>(&File(file, PhantomData), offset, hole)?;
            // SAFETY: See the type's comment.
            Ok(unsafe {
                let sb = (*bindings::file_inode(file)).i_sb;
                bindings::vfs_setpos(file, at, (*sb).s_maxbytes)
            })
        })
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.read_iter`, with live objects of type `T`.
    unsafe extern "C" fn read_iter(
        iocb: *mut bindings::kiocb,
        to: *mut bindings::iov_iter,
    ) -> isize {
        io_result(T::read(&Kiocb(iocb, PhantomData), &IoVec(to, PhantomData)))
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.write_iter`, with live objects of type `T`.
    unsafe extern "C" fn write_iter(
        iocb: *mut bindings::kiocb,
        from: *mut bindings::iov_iter,
    ) -> isize {
        io_result(T::write(
            &Kiocb(iocb, PhantomData),
            &IoVec(from, PhantomData),
        ))
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.mmap_prepare`, with live objects of type `T`.
    unsafe extern "C" fn mmap_prepare(desc: *mut bindings::vm_area_desc) -> i32 {
        // SAFETY: See the type's comment; the description is private to the call.
        unsafe {
            bindings::file_accessed((*desc).file);
            (*desc).vm_ops = &iomap::DataTable::<T>::VM;
        }
        0
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.open`, with live objects of type `T`.
    unsafe extern "C" fn open(inode: *mut bindings::inode, file: *mut bindings::file) -> i32 {
        // SAFETY: See the type's comment; the file is not yet visible to others.
        unsafe {
            (*file).f_mode |= bindings::FMODE_CAN_ODIRECT;
            bindings::generic_file_open(inode, file)
        }
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.flush`, with live objects of type `T`.
    unsafe extern "C" fn flush(file: *mut bindings::file, _id: bindings::fl_owner_t) -> i32 {
        let file = File::<T>(file, PhantomData);
        to_c(T::flush(file.inode(), file.is_writable()))
    }

    /// # Safety
    ///
    /// Called by the VFS as `file_operations.fallocate`, with live objects of type `T`.
    unsafe extern "C" fn fallocate(
        file: *mut bindings::file,
        mode: i32,
        offset: i64,
        len: i64,
    ) -> isize {
        from_result(|| {
            if mode as u32 & !bindings::FALLOC_FL_KEEP_SIZE != 0 {
                return Err(EOPNOTSUPP);
            }
            let file = File::<T>(file, PhantomData);
            T::fallocate(
                file.inode(),
                mode as u32 & bindings::FALLOC_FL_KEEP_SIZE != 0,
                u64::try_from(offset).map_err(|_| EINVAL)?,
                u64::try_from(len).map_err(|_| EINVAL)?,
            )?;
            Ok(0)
        })
    }
}

fn io_result(result: Result<usize>) -> isize {
    match result {
        Ok(n) => isize::try_from(n).unwrap_or(isize::MAX),
        Err(e) => e.to_errno() as isize,
    }
}
