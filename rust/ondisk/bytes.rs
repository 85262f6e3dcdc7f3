// SPDX-License-Identifier: GPL-2.0

//! Fixed-offset fields in fixed-size blocks.
//!
//! Offset, length and block size are all known to the compiler, so a field that does not fit its
//! block is a build error and no access can fail at run time.

/// Returns the `LEN` bytes at offset `AT`.
///
/// Whether they fit is checked when the caller is compiled.
pub(super) fn field<const AT: usize, const LEN: usize, const N: usize>(
    block: &[u8; N],
) -> [u8; LEN] {
    const { assert!(AT <= N && LEN <= N - AT) };
    match block.get(AT..).and_then(<[u8]>::first_chunk) {
        Some(bytes) => *bytes,
        // Ruled out by the assertion above; the branch is compiled away.
        None => [0; LEN],
    }
}

/// Overwrites the `LEN` bytes at offset `AT`.
///
/// Whether they fit is checked when the caller is compiled.
pub(super) fn set_field<const AT: usize, const LEN: usize, const N: usize>(
    block: &mut [u8; N],
    value: [u8; LEN],
) {
    const { assert!(AT <= N && LEN <= N - AT) };
    if let Some(bytes) = block.get_mut(AT..).and_then(<[u8]>::first_chunk_mut) {
        *bytes = value;
    }
}

/// Returns the byte at offset `AT`.
pub(super) fn byte<const AT: usize, const N: usize>(block: &[u8; N]) -> u8 {
    let [value] = field::<AT, 1, N>(block);
    value
}

/// Returns the little-endian 16-bit value at offset `AT`.
pub(super) fn le16<const AT: usize, const N: usize>(block: &[u8; N]) -> u16 {
    u16::from_le_bytes(field::<AT, 2, N>(block))
}

/// Returns the little-endian 32-bit value at offset `AT`.
pub(super) fn le32<const AT: usize, const N: usize>(block: &[u8; N]) -> u32 {
    u32::from_le_bytes(field::<AT, 4, N>(block))
}
