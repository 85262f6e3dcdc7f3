// SPDX-License-Identifier: GPL-2.0

//! What the kernel counts for a block device, as in `/sys/block/*/stat`.

use std::ops::Sub;

use anyhow::{bail, Result};
use serde::{Deserialize, Serialize};

/// Requests and 512-byte sectors, of a device so far or of a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockStat {
    pub write_requests: u64,
    pub write_sectors: u64,
    pub flushes: u64,
    pub read_requests: u64,
    pub read_sectors: u64,
}

impl BlockStat {
    /// Reads the one line of a `stat` file.
    pub fn parse(line: &str) -> Result<Self> {
        let fields = line
            .split_whitespace()
            .map(str::parse)
            .collect::<Result<Vec<u64>, _>>()?;
        let (Some(&[read_requests, _, read_sectors, _, write_requests, _, write_sectors]), flushes) =
            (fields.first_chunk(), fields.get(15))
        else {
            bail!("too few fields in a block device's statistics");
        };
        Ok(Self {
            write_requests,
            write_sectors,
            flushes: flushes.copied().unwrap_or(0),
            read_requests,
            read_sectors,
        })
    }

    /// Average size of a write request in KiB.
    pub fn average_write_kib(&self) -> f64 {
        self.write_sectors as f64 / 2.0 / self.write_requests.max(1) as f64
    }
}

impl Sub for BlockStat {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            write_requests: self.write_requests.saturating_sub(before.write_requests),
            write_sectors: self.write_sectors.saturating_sub(before.write_sectors),
            flushes: self.flushes.saturating_sub(before.flushes),
            read_requests: self.read_requests.saturating_sub(before.read_requests),
            read_sectors: self.read_sectors.saturating_sub(before.read_sectors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "     101 2 803 4 55 6 707 8 0 9 10 0 0 0 0 11 12\n";

    #[test]
    fn parses_all_fields() {
        let stat = BlockStat::parse(LINE).unwrap();
        assert_eq!((stat.read_requests, stat.read_sectors), (101, 803));
        assert_eq!((stat.write_requests, stat.write_sectors), (55, 707));
        assert_eq!(stat.flushes, 11);
    }

    #[test]
    fn short_lines() {
        assert_eq!(BlockStat::parse("1 2 3 4 5 6 7 8").unwrap().flushes, 0);
        assert!(BlockStat::parse("1 2 3").is_err());
        assert!(BlockStat::parse("a b c d e f g h").is_err());
    }

    #[test]
    fn difference_and_average() {
        let before = BlockStat::parse(LINE).unwrap();
        let mut after = before;
        after.write_requests += 2;
        after.write_sectors += 8;
        let delta = after - before;
        assert_eq!(
            (delta.write_requests, delta.write_sectors, delta.flushes),
            (2, 8, 0)
        );
        assert_eq!(delta.average_write_kib(), 2.0);
        assert_eq!(BlockStat::default().average_write_kib(), 0.0);
    }
}
