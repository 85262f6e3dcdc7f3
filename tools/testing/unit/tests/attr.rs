// SPDX-License-Identifier: GPL-2.0

//! Attributes and modes.

use proptest::prelude::*;
use rvfat_unit::ondisk::attr::{can_hold_ro, make_attrs, make_mode, sanitize_mode, saved_attrs};
use rvfat_unit::ondisk::{Attrs, ModeOptions};

const TXT: &[u8; 3] = b"TXT";

/// As mounted with `umask=022`.
const USUAL: ModeOptions = ModeOptions {
    fmask: 0o022,
    dmask: 0o022,
    rodir: false,
    showexec: false,
};

#[test]
fn sets() {
    let both = Attrs::HIDDEN.union(Attrs::SYSTEM);
    assert_eq!(both.bits(), 0x06);
    assert!(both.contains(Attrs::HIDDEN) && !Attrs::HIDDEN.contains(both));
    assert_eq!(both.difference(Attrs::HIDDEN), Attrs::SYSTEM);
    assert_eq!(both.intersection(Attrs::HIDDEN), Attrs::HIDDEN);
    assert!(both.contains(Attrs::EMPTY));
    let long = [Attrs::READ_ONLY, Attrs::VOLUME]
        .into_iter()
        .fold(both, Attrs::union);
    assert_eq!(long, Attrs::LONG_NAME);
}

#[test]
fn modes() {
    let mode = |attrs, opts: &ModeOptions| make_mode(attrs, TXT, opts);
    assert_eq!(mode(Attrs::ARCHIVE, &USUAL), 0o100755);
    assert_eq!(mode(Attrs::READ_ONLY, &USUAL), 0o100555);
    assert_eq!(mode(Attrs::DIRECTORY, &USUAL), 0o040755);
    let read_only_dir = Attrs::DIRECTORY.union(Attrs::READ_ONLY);
    assert_eq!(mode(read_only_dir, &USUAL), 0o040755);
    let rodir = ModeOptions {
        rodir: true,
        ..USUAL
    };
    assert_eq!(mode(read_only_dir, &rodir), 0o040555);
    let private = ModeOptions {
        fmask: 0o133,
        dmask: 0o077,
        ..USUAL
    };
    assert_eq!(mode(Attrs::EMPTY, &private), 0o100644);
    assert_eq!(mode(Attrs::DIRECTORY, &private), 0o040700);
}

#[test]
fn showexec() {
    let opts = ModeOptions {
        showexec: true,
        ..USUAL
    };
    for program in [b"EXE", b"COM", b"BAT"] {
        assert_eq!(make_mode(Attrs::ARCHIVE, program, &opts), 0o100755);
    }
    for other in [b"TXT", b"EX ", b"exe", b"XEC"] {
        assert_eq!(make_mode(Attrs::ARCHIVE, other, &opts), 0o100644);
    }
    assert_eq!(make_mode(Attrs::DIRECTORY, TXT, &opts), 0o040755);
}

#[test]
fn read_only_is_kept_aside_where_modes_cannot_hold_it() {
    let rodir = ModeOptions {
        rodir: true,
        ..USUAL
    };
    let no_write = ModeOptions {
        fmask: 0o222,
        dmask: 0o222,
        rodir: true,
        showexec: false,
    };
    assert!(can_hold_ro(false, &USUAL) && !can_hold_ro(true, &USUAL));
    assert!(can_hold_ro(true, &rodir));
    assert!(!can_hold_ro(false, &no_write) && !can_hold_ro(true, &no_write));

    let all = Attrs::from_bits(0xFF);
    assert_eq!(saved_attrs(all, false, &USUAL).bits(), 0x2E);
    assert_eq!(saved_attrs(all, true, &USUAL).bits(), 0x2F);
    assert_eq!(saved_attrs(all, true, &rodir).bits(), 0x2E);
    assert_eq!(saved_attrs(all, false, &no_write).bits(), 0x2F);
}

#[test]
fn attributes_from_modes() {
    let saved = Attrs::ARCHIVE;
    assert_eq!(make_attrs(saved, 0o100755, &USUAL), Attrs::ARCHIVE);
    assert_eq!(make_attrs(saved, 0o100555, &USUAL).bits(), 0x21);
    assert_eq!(make_attrs(Attrs::EMPTY, 0o040555, &USUAL), Attrs::DIRECTORY);
    let rodir = ModeOptions {
        rodir: true,
        ..USUAL
    };
    assert_eq!(make_attrs(Attrs::EMPTY, 0o040555, &rodir).bits(), 0x11);
}

#[test]
fn chmod() {
    let file = |wanted| sanitize_mode(0o100755, wanted, &USUAL);
    assert_eq!(file(0o100755), Some(0o100755));
    assert_eq!(file(0o100777), Some(0o100755));
    assert_eq!(file(0o100555), Some(0o100555));
    assert_eq!(file(0o100644), None);
    assert_eq!(file(0o100000), None);
    let dir = |wanted| sanitize_mode(0o040755, wanted, &USUAL);
    assert_eq!(dir(0o040755), Some(0o040755));
    assert_eq!(dir(0o040555), None);
    // All who may write must be given or refused it together.
    let open = ModeOptions { fmask: 0, ..USUAL };
    assert_eq!(sanitize_mode(0o100777, 0o100755, &open), None);
    assert_eq!(sanitize_mode(0o100777, 0o100555, &open), Some(0o100555));
}

fn options() -> impl Strategy<Value = ModeOptions> {
    (0u16..0o1000, 0u16..0o1000, any::<bool>(), any::<bool>()).prop_map(
        |(fmask, dmask, rodir, showexec)| ModeOptions {
            fmask,
            dmask,
            rodir,
            showexec,
        },
    )
}

proptest! {
    /// An entry read and written back keeps its attributes, but for the two unused bits.
    #[test]
    fn attributes_round_trip(bits: u8, extension: [u8; 3], opts in options()) {
        let attrs = Attrs::from_bits(bits & 0x3F);
        let mode = make_mode(attrs, &extension, &opts);
        let saved = saved_attrs(attrs, attrs.is_dir(), &opts);
        prop_assert_eq!(make_attrs(saved, mode, &opts), attrs);
    }

    /// What `chmod` accepts is the mode that is read back later.
    #[test]
    fn chmod_is_remembered(bits: u8, extension: [u8; 3], wanted in 0u16..0o1000, opts in options()) {
        let attrs = Attrs::from_bits(bits & 0x3F);
        let current = make_mode(attrs, &extension, &opts);
        if let Some(mode) = sanitize_mode(current, (current & 0o170000) | wanted, &opts) {
            let saved = saved_attrs(attrs, attrs.is_dir(), &opts);
            let stored = make_attrs(saved, mode, &opts);
            prop_assert_eq!(make_mode(stored, &extension, &opts), mode);
        }
    }

    #[test]
    fn never_panics(bits: u8, mode: u16, wanted: u16, fmask: u16, dmask: u16, rodir: bool) {
        let opts = ModeOptions { fmask, dmask, rodir, showexec: true };
        let attrs = Attrs::from_bits(bits);
        let _ = make_mode(attrs, TXT, &opts);
        let _ = make_attrs(attrs, mode, &opts);
        let _ = sanitize_mode(mode, wanted, &opts);
    }
}
