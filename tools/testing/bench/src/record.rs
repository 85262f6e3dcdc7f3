// SPDX-License-Identifier: GPL-2.0

//! What is kept of a measurement: the records in `build/demo.json` and `build/bench/*.json`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::blockstat::BlockStat;
use crate::stage::Sample;

/// One file system's result of one loop.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Row {
    pub fs: String,
    pub mount: String,
    pub cluster: u32,
    pub files: u64,
    pub bytes: u64,
    pub op: String,
    /// The median of `samples`; nothing if the cell was not run.
    pub seconds: Option<f64>,
    #[serde(flatten)]
    pub io: BlockStat,
    pub average_write_kib: f64,
    /// Seconds of every repetition, the fastest first.
    pub samples: Vec<f64>,
    /// Values that only this kind of loop has.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra: BTreeMap<String, f64>,
    /// How many times as fast as vfat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_seconds: Option<f64>,
    /// How many times fewer write requests than vfat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_requests: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub met: Option<bool>,
    /// Why the cell was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

impl Row {
    /// Fills in the result of the repetitions of one loop: the one with the median time.
    pub fn fill(&mut self, mut samples: Vec<Sample>) {
        samples.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
        self.samples = samples.iter().map(|s| s.seconds).collect();
        let middle = samples.len().saturating_sub(1) / 2;
        if let Some(sample) = samples.into_iter().nth(middle) {
            self.seconds = Some(sample.seconds);
            self.io = sample.io;
            self.average_write_kib = sample.io.average_write_kib();
            self.extra = sample.extra;
        }
    }

    /// Fills in the ratios to the row of the file system this one is compared with.
    pub fn compare(&mut self, other: &Self) {
        if let (Some(ours), Some(theirs)) = (self.seconds, other.seconds) {
            self.ratio_seconds = Some(theirs / ours.max(1e-9));
            let requests = |row: &Self| row.io.write_requests as f64;
            if requests(self) > 0.0 && requests(other) > 0.0 {
                self.ratio_requests = Some(requests(other) / requests(self));
            }
        }
    }

    /// Fastest and slowest repetition, if there were several.
    pub fn spread(&self) -> Option<(f64, f64)> {
        match self.samples.as_slice() {
            [first, .., last] => Some((*first, *last)),
            _ => None,
        }
    }
}

/// A table of the benchmark, as in its file.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Report {
    pub kernel: String,
    pub accel: String,
    pub table: String,
    pub title: String,
    /// Whether all cells of the table are there.
    pub complete: bool,
    pub rows: Vec<Row>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(seconds: f64, write_requests: u64) -> Sample {
        let mut sample = Sample {
            seconds,
            ..Sample::default()
        };
        sample.io.write_requests = write_requests;
        sample
    }

    #[test]
    fn median_and_ratio() {
        let mut ours = Row::default();
        ours.fill(vec![sample(3.0, 7), sample(1.0, 5), sample(2.0, 6)]);
        assert_eq!((ours.seconds, ours.io.write_requests), (Some(2.0), 6));
        assert_eq!(ours.spread(), Some((1.0, 3.0)));
        let mut theirs = Row::default();
        theirs.fill(vec![sample(20.0, 600)]);
        assert_eq!(theirs.spread(), None);
        ours.compare(&theirs);
        assert_eq!(
            (ours.ratio_seconds, ours.ratio_requests),
            (Some(10.0), Some(100.0))
        );
    }

    #[test]
    fn a_row_is_flat_in_json() {
        let mut row = Row::default();
        row.fill(vec![sample(0.5, 48)]);
        let json = serde_json::to_value(&row).unwrap();
        assert_eq!(json["write_requests"], 48);
        assert_eq!(json["seconds"], 0.5);
        assert!(json.get("met").is_none());
    }

    #[test]
    fn a_skipped_row_has_no_ratio() {
        let mut ours = Row::default();
        ours.fill(vec![sample(1.0, 1)]);
        ours.compare(&Row::default());
        assert_eq!(ours.ratio_seconds, None);
    }
}
