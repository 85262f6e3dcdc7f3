// SPDX-License-Identifier: GPL-2.0

//! The FSINFO sector of a FAT32 volume: hints on free space.
//!
//! Layout: fatgen103, "FAT32 FSInfo Sector Structure and Backup Boot Sector". Both values are only
//! hints. Linux vfat asks for the lead and structure signatures and not for the trailing one; so
//! does this module.

use super::{
    bytes::{
        le32,
        set_field, //
    },
    FormatError, //
};

/// FSI_LeadSig, at offset 0.
const LEAD_SIGNATURE: u32 = 0x4161_5252;

/// FSI_StrucSig, at offset 484.
const STRUCTURE_SIGNATURE: u32 = 0x6141_7272;

/// The value of either hint that stands for "unknown".
const UNKNOWN: u32 = 0xFFFF_FFFF;

/// Offset of FSI_LeadSig in bytes.
const LEAD_AT: usize = 0;

/// Offset of FSI_StrucSig in bytes.
const STRUCTURE_AT: usize = 484;

/// Offset of FSI_Free_Count in bytes.
const FREE_AT: usize = 488;

/// Offset of FSI_Nxt_Free in bytes.
const NEXT_AT: usize = 492;

/// The hints of an FSINFO sector, as found: neither is checked against the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FsInfo {
    /// FSI_Free_Count: number of free clusters, [`None`] if unknown.
    pub free: Option<u32>,
    /// FSI_Nxt_Free: cluster number where the search for a free one should start, [`None`] if
    /// unknown. Linux vfat stores the cluster that was allocated last.
    pub next: Option<u32>,
}

/// Returns the hint stored as `raw`.
fn hint(raw: u32) -> Option<u32> {
    (raw != UNKNOWN).then_some(raw)
}

/// Reads the FSINFO sector in `sector`, the first 512 bytes of the logical sector.
///
/// # Errors
///
/// [`FormatError::FsInfoSignature`] if a signature is missing.
pub fn parse(sector: &[u8; 512]) -> Result<FsInfo, FormatError> {
    let lead = le32::<LEAD_AT, 512>(sector);
    let structure = le32::<STRUCTURE_AT, 512>(sector);
    if lead != LEAD_SIGNATURE || structure != STRUCTURE_SIGNATURE {
        return Err(FormatError::FsInfoSignature { lead, structure });
    }
    Ok(FsInfo {
        free: hint(le32::<FREE_AT, 512>(sector)),
        next: hint(le32::<NEXT_AT, 512>(sector)),
    })
}

/// Stores both hints in `sector` and leaves all its other bytes alone.
///
/// [`None`] is stored as "unknown". Signatures are not written: a sector that [`parse`] refuses
/// must not be updated.
pub fn encode_into(sector: &mut [u8; 512], free: Option<u32>, next: Option<u32>) {
    set_field::<FREE_AT, 4, 512>(sector, free.unwrap_or(UNKNOWN).to_le_bytes());
    set_field::<NEXT_AT, 4, 512>(sector, next.unwrap_or(UNKNOWN).to_le_bytes());
}
