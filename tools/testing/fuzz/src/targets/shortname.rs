// SPDX-License-Identifier: GPL-2.0

//! 8.3 names: making them, with `~N` tails, and showing them.

use super::AnyCodepage;
use crate::input::Input;
use rvfat_unit::ondisk::{
    name, shortname, CreateCase, DisplayCase, FormatError, ShortName, ShortNameError,
};

/// The input chooses a character set, options and how many names are taken already; then it gives
/// an 8.3 name to show and a long name to make one for.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let cp = AnyCodepage::new(input.u8());
    let flags = input.u8();
    let seed = input.u32();
    // So many of the names that are asked for are taken. Few: all 65,536 take too long here.
    let taken = u32::from(input.u8() % 32);
    show(&cp, input.array(), input.u8());
    let mut units = input.units(255);
    units.truncate(name::strip_trailing_dots(&units).len());
    if name::check(&units).is_ok() {
        make(&cp, &units, flags, seed, taken);
    }
}

/// Any 11 bytes can be shown, in any way.
fn show(cp: &AnyCodepage, raw: [u8; 11], lcase: u8) {
    let short = ShortName::from_disk(raw);
    assert_eq!(*short.on_disk(), raw);
    for display in [DisplayCase::Lower, DisplayCase::Win95, DisplayCase::WinNt] {
        let mut out = [0xAAAA; 12];
        let n = shortname::display_units(&short, lcase, display, cp, &mut out);
        assert!(n <= out.len());
        assert!(!out[..n].contains(&0), "a NUL is shown");
    }
}

fn make(cp: &AnyCodepage, units: &[u16], flags: u8, seed: u32, taken: u32) {
    let basis = match shortname::from_long(units, cp) {
        Ok(basis) => basis,
        Err(e) => return assert_eq!(e, FormatError::NameWithoutBase),
    };
    let (create, display) = if flags & 1 != 0 {
        (CreateCase::WinNt, DisplayCase::WinNt)
    } else {
        (CreateCase::Win95, DisplayCase::Win95)
    };
    let mut asked = 0;
    let mut last = None;
    let chosen = basis.choose(create, flags & 2 != 0, seed, |n| {
        if flags & 4 != 0 && asked == taken {
            return Err(());
        }
        asked += 1;
        last = Some(*n);
        Ok(asked <= taken)
    });
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(ShortNameError::Exhausted) => panic!("{asked} names are all there are"),
        Err(ShortNameError::Exists) => return assert!(asked == 1 && taken > 0),
        Err(ShortNameError::Lookup(())) => return assert!(flags & 4 != 0),
    };
    assert_eq!(Some(chosen.name), last, "a name that nobody asked for");
    assert!(asked > taken);
    if !cp.is_sane() {
        return;
    }
    let raw = chosen.name.on_disk();
    assert!(!matches!(raw[0], 0 | 0x20 | 0xE5), "name {raw:02X?}");
    assert!(
        !raw.iter()
            .any(|b| b.is_ascii_lowercase() || b"\"*+,./:;<=>?[\\]|".contains(b))
            || matches!(cp, AnyCodepage::TwoByte),
        "name {raw:02X?}"
    );
    if !chosen.needs_long {
        // What is shown is the name asked for, in its own case.
        let mut out = [0; 12];
        let n = shortname::display_units(&chosen.name, chosen.lcase, display, cp, &mut out);
        assert_eq!(&out[..n], units);
    }
}
