// SPDX-License-Identifier: GPL-2.0

//! Slots of a directory: 8.3 entries, and long names in pieces.

/// The two names of a file.
#[derive(Clone, Debug)]
pub struct Name {
    pub short: [u8; 11],
    pub long: Option<Vec<u16>>,
}

impl Name {
    /// An 8.3 name alone.
    pub fn short(short: &[u8; 11]) -> Name {
        Name {
            short: *short,
            long: None,
        }
    }

    /// A long name, with an 8.3 name made from a number.
    pub fn long(long: &str, n: u32) -> Name {
        let mut short = *b"LONGNA~1   ";
        short[2..8].copy_from_slice(format!("{:04X}~1", n & 0xFFFF).as_bytes());
        Name {
            short,
            long: Some(long.encode_utf16().collect()),
        }
    }

    /// The long-name slots, in the order of the disk.
    pub fn long_slots(&self) -> Vec<[u8; 32]> {
        let Some(long) = &self.long else {
            return Vec::new();
        };
        let sum = checksum(&self.short);
        let n = long.len().div_ceil(13);
        let mut out: Vec<[u8; 32]> = long
            .chunks(13)
            .enumerate()
            .map(|(i, part)| {
                let last = if i + 1 == n { 0x40 } else { 0 };
                long_slot(i as u8 + 1 + last, sum, part)
            })
            .collect();
        out.reverse();
        out
    }

    /// The name as a listing shows it.
    pub fn shown(&self) -> String {
        match &self.long {
            Some(long) => String::from_utf16_lossy(long),
            None => {
                let text = String::from_utf8_lossy(&self.short).into_owned();
                let (base, ext) = text.split_at(8);
                match ext.trim_end() {
                    "" => base.trim_end().to_string(),
                    ext => format!("{}.{ext}", base.trim_end()),
                }
            }
        }
    }
}

/// The checksum of an 8.3 name.
pub fn checksum(short: &[u8; 11]) -> u8 {
    short
        .iter()
        .fold(0u8, |s, c| s.rotate_right(1).wrapping_add(*c))
}

/// A long-name slot with up to 13 units.
pub fn long_slot(order: u8, sum: u8, units: &[u16]) -> [u8; 32] {
    const AT: [usize; 13] = [1, 3, 5, 7, 9, 14, 16, 18, 20, 22, 24, 28, 30];
    let mut e = [0u8; 32];
    (e[0], e[11], e[13]) = (order, 0x0F, sum);
    for (i, at) in AT.into_iter().enumerate() {
        let unit = match i.cmp(&units.len()) {
            std::cmp::Ordering::Less => units[i],
            std::cmp::Ordering::Equal => 0,
            std::cmp::Ordering::Greater => 0xFFFF,
        };
        e[at..at + 2].copy_from_slice(&unit.to_le_bytes());
    }
    e
}

/// An 8.3 entry.
pub fn short_slot(name: &[u8; 11], attr: u8, cluster: u32, size: u32) -> [u8; 32] {
    let mut e = [0u8; 32];
    e[..11].copy_from_slice(name);
    e[11] = attr;
    // 2020-05-06 07:08:10 for all of them.
    for at in [14, 22] {
        e[at..at + 2].copy_from_slice(&0x3905u16.to_le_bytes());
    }
    for at in [16, 18, 24] {
        e[at..at + 2].copy_from_slice(&0x50A6u16.to_le_bytes());
    }
    e[20..22].copy_from_slice(&((cluster >> 16) as u16).to_le_bytes());
    e[26..28].copy_from_slice(&(cluster as u16).to_le_bytes());
    e[28..].copy_from_slice(&size.to_le_bytes());
    e
}
