// SPDX-License-Identifier: GPL-2.0

//! What rvfat's result of a cell is held against.

use crate::record::Row;
use crate::text;

/// One bound of a target. Factors are relative to vfat in the same boot.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// At most so many write requests.
    Writes(u64),
    /// At most so many write requests for each file.
    WritesPerFile(u64),
    /// No more write requests than vfat.
    WritesOfVfat,
    /// Each FAT sector of a file is written once per copy, and little else.
    FatSectorsOnce,
    /// At most so many read requests.
    Reads(u64),
    /// At least so many times as fast as vfat.
    Faster(f64),
    /// At most so many seconds.
    Seconds(f64),
    /// At most so many times rvfat's own time of the cell with this many files and bytes.
    OwnTime(f64, u64, u64),
    /// The named value is at most this.
    AtMost(&'static str, f64),
    /// The average write request has at least so many KiB.
    AverageKib(f64),
    /// The named value is at most this part of vfat's.
    PartOfVfat(&'static str, f64),
}

impl Bound {
    /// Whether the bound holds; nothing if what it refers to was not measured.
    fn holds(&self, ours: &Row, vfat: &Row, earlier: &[Row]) -> Option<bool> {
        let seconds = ours.seconds?;
        Some(match *self {
            Self::Writes(n) => ours.io.write_requests <= n,
            Self::WritesPerFile(n) => ours.io.write_requests <= n * ours.files,
            Self::WritesOfVfat => {
                vfat.seconds?;
                ours.io.write_requests <= vfat.io.write_requests
            }
            Self::FatSectorsOnce => ours.io.write_sectors <= ours.files * fat_sectors_once(ours),
            Self::Reads(n) => ours.io.read_requests <= n,
            Self::Faster(factor) => ours.ratio_seconds? >= factor,
            Self::Seconds(s) => seconds <= s,
            Self::OwnTime(factor, files, bytes) => {
                let same = |row: &&Row| {
                    row.fs == ours.fs
                        && row.op == ours.op
                        && row.mount == ours.mount
                        && row.cluster == ours.cluster
                        && (row.files, row.bytes) == (files, bytes)
                };
                seconds <= factor * earlier.iter().find(same)?.seconds?
            }
            Self::AtMost(name, value) => *ours.extra.get(name)? <= value,
            Self::AverageKib(kib) => ours.average_write_kib >= kib,
            Self::PartOfVfat(name, part) => {
                *ours.extra.get(name)? <= part * *vfat.extra.get(name)?
            }
        })
    }

    fn describe(&self) -> String {
        match *self {
            Self::Writes(n) => format!("<= {} writes", text::thousands(n)),
            Self::WritesPerFile(n) => format!("<= {n} writes a file"),
            Self::WritesOfVfat => "<= vfat's writes".into(),
            Self::FatSectorsOnce => "FAT sectors once per copy".into(),
            Self::Reads(n) => format!("<= {n} reads"),
            Self::Faster(factor) => {
                let digits = usize::from(factor.fract() != 0.0);
                if digits == 0 {
                    format!(">= {}x as fast", text::thousands(factor as u64))
                } else {
                    format!(">= {factor:.1}x as fast")
                }
            }
            Self::Seconds(s) => format!("<= {s} s"),
            Self::OwnTime(factor, files, 0) => {
                format!("<= {factor} times its time for {}", text::thousands(files))
            }
            Self::OwnTime(factor, _, bytes) => {
                format!("<= {factor} times its time for {}", text::size(bytes))
            }
            Self::AtMost(name, value) => format!("{} <= {value}", name.replace('_', " ")),
            Self::AverageKib(kib) => format!("average write >= {kib} KiB"),
            Self::PartOfVfat(name, part) => {
                format!("{} <= {part} of vfat's", name.replace('_', " "))
            }
        }
    }
}

/// Sectors that a change of a file's whole chain needs: those of two FAT copies, which the chain
/// needn't begin at, and two for directory and FSINFO.
fn fat_sectors_once(row: &Row) -> u64 {
    let clusters = row.bytes.div_ceil(u64::from(row.cluster).max(1));
    2 * ((clusters * 4).div_ceil(512) + 1) + 2
}

/// All bounds in words.
pub fn describe(bounds: &[Bound]) -> Option<String> {
    let words: Vec<_> = bounds.iter().map(Bound::describe).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// Whether all bounds hold that can be told; nothing if none can.
pub fn met(bounds: &[Bound], ours: &Row, vfat: &Row, earlier: &[Row]) -> Option<bool> {
    bounds
        .iter()
        .filter_map(|bound| bound.holds(ours, vfat, earlier))
        .reduce(|a, b| a && b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seconds: Option<f64>, writes: u64) -> Row {
        let mut row = Row {
            seconds,
            files: 16,
            bytes: 1 << 20,
            ..Row::default()
        };
        row.io.write_requests = writes;
        row
    }

    #[test]
    fn bounds() {
        let vfat = row(Some(10.0), 1000);
        let mut ours = row(Some(0.1), 48);
        ours.compare(&vfat);
        let good = [
            Bound::Writes(48),
            Bound::Faster(99.0),
            Bound::WritesPerFile(3),
        ];
        assert_eq!(met(&good, &ours, &vfat, &[]), Some(true));
        assert_eq!(met(&[Bound::Writes(47)], &ours, &vfat, &[]), Some(false));
        assert_eq!(met(&[Bound::Faster(101.0)], &ours, &vfat, &[]), Some(false));
        assert_eq!(met(&[], &ours, &vfat, &[]), None);
    }

    #[test]
    fn unknown_bounds_do_not_count() {
        let vfat = row(None, 0);
        let mut ours = row(Some(0.1), 48);
        ours.compare(&vfat);
        assert_eq!(met(&[Bound::Faster(2.0)], &ours, &vfat, &[]), None);
        let both = [Bound::Faster(2.0), Bound::Writes(64)];
        assert_eq!(met(&both, &ours, &vfat, &[]), Some(true));
    }

    #[test]
    fn own_time() {
        let vfat = row(None, 0);
        let earlier = [row(Some(1.0), 1)];
        let ours = row(Some(4.0), 1);
        let bound = |factor| [Bound::OwnTime(factor, 16, 1 << 20)];
        assert_eq!(met(&bound(5.0), &ours, &vfat, &earlier), Some(true));
        assert_eq!(met(&bound(3.0), &ours, &vfat, &earlier), Some(false));
    }

    #[test]
    fn fat_sectors() {
        let mut ours = row(Some(0.1), 48);
        ours.cluster = 512;
        assert_eq!(fat_sectors_once(&ours), 36);
        ours.io.write_sectors = 36 * 16;
        let none = row(None, 0);
        assert_eq!(met(&[Bound::FatSectorsOnce], &ours, &none, &[]), Some(true));
        ours.io.write_sectors += 1;
        assert_eq!(
            met(&[Bound::FatSectorsOnce], &ours, &none, &[]),
            Some(false)
        );
    }

    #[test]
    fn words() {
        let bounds = [Bound::Writes(64), Bound::Faster(1000.0)];
        assert_eq!(
            describe(&bounds).unwrap(),
            "<= 64 writes, >= 1,000x as fast"
        );
        assert_eq!(describe(&[Bound::Faster(1.5)]).unwrap(), ">= 1.5x as fast");
        assert_eq!(describe(&[]), None);
    }
}
