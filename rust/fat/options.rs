// SPDX-License-Identifier: GPL-2.0

//! Mount options: the same as those of the kernel's vfat.

use crate::ondisk::attr::ModeOptions;
use crate::ondisk::{ShortNameCase, TzOffset};
use crate::vfs::{self, ParamKind as Kind, ParamSpec, ParamTable, ParamValue, SeqFile};
use core::fmt::Write;
use kernel::prelude::*;
use kernel::str::CString;

/// What happens when the volume is found to be corrupt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    /// Go on.
    Continue,
    /// Go on read-only.
    RemountRo,
    /// Stop the machine.
    Panic,
}

/// File handles for NFS.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nfs {
    /// The default.
    Off,
    /// Handles may go stale.
    StaleRw,
    /// Handles never go stale; the volume is read-only.
    NostaleRo,
}

/// The mount options.
pub(crate) struct Options {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) fmask: u16,
    pub(crate) dmask: u16,
    /// `None`: from `dmask`.
    pub(crate) allow_utime: Option<u16>,
    pub(crate) codepage: u32,
    pub(crate) iocharset: CString,
    pub(crate) shortname: ShortNameCase,
    pub(crate) utf8: bool,
    pub(crate) uni_xlate: bool,
    pub(crate) numtail: bool,
    pub(crate) check_strict: bool,
    pub(crate) usefree: bool,
    pub(crate) quiet: bool,
    pub(crate) showexec: bool,
    pub(crate) sys_immutable: bool,
    pub(crate) flush: bool,
    pub(crate) discard: bool,
    pub(crate) rodir: bool,
    pub(crate) dos1x: bool,
    /// `Some(minutes)`: times on disk are this far east of UTC.
    pub(crate) time_offset: Option<i32>,
    pub(crate) errors: OnError,
    pub(crate) nfs: Nfs,
    check_normal: bool,
}

const CHECK: u8 = 0;
const UID: u8 = 1;
const GID: u8 = 2;
const UMASK: u8 = 3;
const DMASK: u8 = 4;
const FMASK: u8 = 5;
const ALLOW_UTIME: u8 = 6;
const CODEPAGE: u8 = 7;
const USEFREE: u8 = 8;
const NOCASE: u8 = 9;
const QUIET: u8 = 10;
const SHOWEXEC: u8 = 11;
const DEBUG: u8 = 12;
const SYS_IMMUTABLE: u8 = 13;
const FLUSH: u8 = 14;
const TZ: u8 = 15;
const TIME_OFFSET: u8 = 16;
const ERRORS: u8 = 17;
const DISCARD: u8 = 18;
const NFS: u8 = 19;
const DOS1X: u8 = 20;
const IOCHARSET: u8 = 21;
const SHORTNAME: u8 = 22;
const UTF8: u8 = 23;
const UNI_XLATE: u8 = 24;
const NONUMTAIL: u8 = 25;
const RODIR: u8 = 26;
const OBSOLETE: u8 = 27;
const CONV: u8 = 28;

const SPECS: [ParamSpec; 37] = [
    ParamSpec::new(c"check", Kind::String, CHECK),
    ParamSpec::new(c"uid", Kind::Uid, UID),
    ParamSpec::new(c"gid", Kind::Gid, GID),
    ParamSpec::new(c"umask", Kind::U32Octal, UMASK),
    ParamSpec::new(c"dmask", Kind::U32Octal, DMASK),
    ParamSpec::new(c"fmask", Kind::U32Octal, FMASK),
    ParamSpec::new(c"allow_utime", Kind::U32Octal, ALLOW_UTIME),
    ParamSpec::new(c"codepage", Kind::U32, CODEPAGE),
    ParamSpec::new(c"usefree", Kind::Flag, USEFREE),
    ParamSpec::new(c"nocase", Kind::Flag, NOCASE),
    ParamSpec::new(c"quiet", Kind::Flag, QUIET),
    ParamSpec::new(c"showexec", Kind::Flag, SHOWEXEC),
    ParamSpec::new(c"debug", Kind::Flag, DEBUG),
    ParamSpec::new(c"sys_immutable", Kind::Flag, SYS_IMMUTABLE),
    ParamSpec::new(c"flush", Kind::Flag, FLUSH),
    ParamSpec::new(c"tz", Kind::String, TZ),
    ParamSpec::new(c"time_offset", Kind::S32, TIME_OFFSET),
    ParamSpec::new(c"errors", Kind::String, ERRORS),
    ParamSpec::new(c"discard", Kind::Flag, DISCARD),
    ParamSpec::new(c"nfs", Kind::Flag, NFS),
    ParamSpec::new(c"nfs", Kind::String, NFS),
    ParamSpec::new(c"dos1xfloppy", Kind::Flag, DOS1X),
    ParamSpec::new(c"iocharset", Kind::String, IOCHARSET),
    ParamSpec::new(c"shortname", Kind::String, SHORTNAME),
    ParamSpec::new(c"utf8", Kind::Flag, UTF8),
    ParamSpec::new(c"utf8", Kind::Bool, UTF8),
    ParamSpec::new(c"uni_xlate", Kind::Flag, UNI_XLATE),
    ParamSpec::new(c"uni_xlate", Kind::Bool, UNI_XLATE),
    ParamSpec::new(c"nonumtail", Kind::Flag, NONUMTAIL),
    ParamSpec::new(c"nonumtail", Kind::Bool, NONUMTAIL),
    ParamSpec::new(c"rodir", Kind::Flag, RODIR),
    ParamSpec::new(c"conv", Kind::String, CONV),
    ParamSpec::new(c"fat", Kind::U32, OBSOLETE),
    ParamSpec::new(c"blocksize", Kind::U32, OBSOLETE),
    ParamSpec::new(c"cvf_format", Kind::String, OBSOLETE),
    ParamSpec::new(c"cvf_options", Kind::String, OBSOLETE),
    ParamSpec::new(c"posix", Kind::Flag, OBSOLETE),
];

/// The table of options.
pub(crate) static PARAMS: ParamTable<38> = ParamTable::new(&SPECS);

/// Whether a flag option was given, also in the form `option=bool`.
fn on(value: &ParamValue<'_>) -> bool {
    !matches!(value, ParamValue::Bool(false))
}

fn number(value: &ParamValue<'_>) -> Result<u32> {
    match *value {
        ParamValue::U32(n) | ParamValue::Id(n) => Ok(n),
        _ => Err(EINVAL),
    }
}

fn mask(value: &ParamValue<'_>) -> Result<u16> {
    // As in C, what does not fit the type of a mode is cut off.
    Ok((number(value)? & 0xffff) as u16)
}

fn choose<T: Copy>(value: &ParamValue<'_>, table: &[(&[u8], T)]) -> Result<T> {
    let ParamValue::Str(s) = value else {
        return Err(EINVAL);
    };
    table
        .iter()
        .find(|(name, _)| *name == s.to_bytes())
        .map(|&(_, v)| v)
        .ok_or(EINVAL)
}

fn obsolete() {
    pr_info!("obsolete mount option, not supported now\n");
}

impl Options {
    /// The options when none are given.
    pub(crate) fn new(uid: u32, gid: u32, umask: u16) -> Result<Self> {
        Ok(Self {
            uid,
            gid,
            fmask: umask,
            dmask: umask,
            allow_utime: None,
            codepage: vfs::DEFAULT_CODEPAGE,
            iocharset: CString::try_from(vfs::default_iocharset())?,
            shortname: ShortNameCase::MIXED,
            utf8: vfs::DEFAULT_UTF8,
            uni_xlate: false,
            numtail: true,
            check_strict: false,
            usefree: false,
            quiet: false,
            showexec: false,
            sys_immutable: false,
            flush: false,
            discard: false,
            rodir: false,
            dos1x: false,
            time_offset: None,
            errors: OnError::RemountRo,
            nfs: Nfs::Off,
            check_normal: true,
        })
    }

    /// Takes one option.
    pub(crate) fn set(&mut self, id: u8, value: &ParamValue<'_>) -> Result {
        match id {
            CHECK => {
                let level = choose(
                    value,
                    &[
                        (b"relaxed", b'r'),
                        (b"r", b'r'),
                        (b"strict", b's'),
                        (b"s", b's'),
                        (b"normal", b'n'),
                        (b"n", b'n'),
                    ],
                )?;
                self.check_strict = level == b's';
                self.check_normal = level == b'n';
            }
            UID => self.uid = number(value)?,
            GID => self.gid = number(value)?,
            UMASK => {
                self.fmask = mask(value)?;
                self.dmask = self.fmask;
            }
            DMASK => self.dmask = mask(value)?,
            FMASK => self.fmask = mask(value)?,
            ALLOW_UTIME => self.allow_utime = Some(mask(value)? & 0o022),
            CODEPAGE => self.codepage = number(value)?,
            USEFREE => self.usefree = true,
            NOCASE => self.shortname = ShortNameCase::WIN95,
            QUIET => self.quiet = true,
            SHOWEXEC => self.showexec = true,
            SYS_IMMUTABLE => self.sys_immutable = true,
            FLUSH => self.flush = true,
            TZ => self.time_offset = Some(choose(value, &[(b"UTC", 0)])?),
            TIME_OFFSET => match *value {
                ParamValue::S32(minutes) if minutes.unsigned_abs() <= 24 * 60 => {
                    self.time_offset = Some(minutes);
                }
                _ => return Err(EINVAL),
            },
            ERRORS => {
                self.errors = choose(
                    value,
                    &[
                        (b"continue", OnError::Continue),
                        (b"panic", OnError::Panic),
                        (b"remount-ro", OnError::RemountRo),
                    ],
                )?;
            }
            _ => return self.set_vfat(id, value),
        }
        Ok(())
    }

    fn set_vfat(&mut self, id: u8, value: &ParamValue<'_>) -> Result {
        match id {
            DISCARD => self.discard = true,
            NFS => {
                self.nfs = match value {
                    ParamValue::Flag => Nfs::StaleRw,
                    _ => choose(
                        value,
                        &[(b"stale_rw", Nfs::StaleRw), (b"nostale_ro", Nfs::NostaleRo)],
                    )?,
                }
            }
            DOS1X => self.dos1x = true,
            IOCHARSET => match value {
                ParamValue::Str(s) => self.iocharset = CString::try_from(*s)?,
                _ => return Err(EINVAL),
            },
            SHORTNAME => {
                self.shortname = choose(
                    value,
                    &[
                        (b"lower", ShortNameCase::LOWER),
                        (b"win95", ShortNameCase::WIN95),
                        (b"winnt", ShortNameCase::WINNT),
                        (b"mixed", ShortNameCase::MIXED),
                    ],
                )?;
            }
            UTF8 => self.utf8 = on(value),
            UNI_XLATE => self.uni_xlate = on(value),
            NONUMTAIL => self.numtail = !on(value),
            RODIR => self.rodir = true,
            CONV => {
                let known: [&[u8]; 6] = [b"binary", b"text", b"auto", b"b", b"t", b"a"];
                choose(value, &known.map(|name| (name, ())))?;
                obsolete();
            }
            OBSOLETE => obsolete(),
            DEBUG => {}
            _ => return Err(EINVAL),
        }
        Ok(())
    }

    /// A copy.
    pub(crate) fn copy(&self) -> Result<Self> {
        Ok(Self {
            iocharset: CString::try_from(&*self.iocharset)?,
            ..*self
        })
    }

    /// Settles what depends on other options, once all are known.
    pub(crate) fn finish(&mut self) {
        if self.uni_xlate {
            self.utf8 = false;
        }
    }

    /// Write bits of group and others that allow setting times.
    pub(crate) fn allow_utime(&self) -> u16 {
        self.allow_utime.unwrap_or(!self.dmask & 0o022)
    }

    /// How attributes and modes translate.
    pub(crate) fn modes(&self) -> ModeOptions {
        ModeOptions {
            fmask: self.fmask,
            dmask: self.dmask,
            rodir: self.rodir,
            showexec: self.showexec,
        }
    }

    /// The time zone of times on disk.
    pub(crate) fn tz(&self) -> TzOffset {
        match self.time_offset {
            Some(minutes) => TzOffset::from_time_offset(minutes),
            None => TzOffset::from_minutes_west(vfs::local_minutes_west()),
        }
    }

    /// Writes the options as /proc/mounts shows them.
    pub(crate) fn show(
        &self,
        charsets: (&CStr, &CStr),
        out: &mut SeqFile<'_>,
    ) -> core::fmt::Result {
        if self.uid != 0 {
            write!(out, ",uid={}", self.uid)?;
        }
        if self.gid != 0 {
            write!(out, ",gid={}", self.gid)?;
        }
        write!(out, ",fmask={:04o},dmask={:04o}", self.fmask, self.dmask)?;
        let allow_utime = self.allow_utime();
        if allow_utime != 0 {
            write!(out, ",allow_utime={allow_utime:04o}")?;
        }
        let (disk, io) = charsets;
        let disk = disk.to_str().unwrap_or("cp?");
        write!(out, ",codepage={}", disk.strip_prefix("cp").unwrap_or(disk))?;
        write!(out, ",iocharset={}", io.to_str().unwrap_or("?"))?;
        write!(out, ",shortname={}", self.shortname_text())?;
        if self.check_strict {
            out.write_str(",check=s")?;
        } else if !self.check_normal {
            out.write_str(",check=r")?;
        }
        self.show_flags(out)?;
        match self.time_offset {
            Some(0) => out.write_str(",tz=UTC")?,
            Some(minutes) => write!(out, ",time_offset={minutes}")?,
            None => {}
        }
        out.write_str(match self.errors {
            OnError::Continue => ",errors=continue",
            OnError::Panic => ",errors=panic",
            OnError::RemountRo => ",errors=remount-ro",
        })?;
        out.write_str(match self.nfs {
            Nfs::Off => "",
            Nfs::StaleRw => ",nfs=stale_rw",
            Nfs::NostaleRo => ",nfs=nostale_ro",
        })?;
        for (on, text) in [(self.discard, ",discard"), (self.dos1x, ",dos1xfloppy")] {
            if on {
                out.write_str(text)?;
            }
        }
        Ok(())
    }

    fn show_flags(&self, out: &mut SeqFile<'_>) -> core::fmt::Result {
        for (on, text) in [
            (self.usefree, ",usefree"),
            (self.quiet, ",quiet"),
            (self.showexec, ",showexec"),
            (self.sys_immutable, ",sys_immutable"),
            (self.utf8, ",utf8"),
            (self.uni_xlate, ",uni_xlate"),
            (!self.numtail, ",nonumtail"),
            (self.rodir, ",rodir"),
            (self.flush, ",flush"),
        ] {
            if on {
                out.write_str(text)?;
            }
        }
        Ok(())
    }

    fn shortname_text(&self) -> &'static str {
        match self.shortname {
            ShortNameCase::LOWER => "lower",
            ShortNameCase::WIN95 => "win95",
            ShortNameCase::WINNT => "winnt",
            _ => "mixed",
        }
    }
}
