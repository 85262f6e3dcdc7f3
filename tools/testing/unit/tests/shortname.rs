// SPDX-License-Identifier: GPL-2.0

//! 8.3 names.

mod common;

use common::{units, Hostile, Latin, TwoByte};
use proptest::prelude::*;
use rvfat_unit::ondisk::dirent::{CASE_LOWER_BASE, CASE_LOWER_EXT};
use rvfat_unit::ondisk::shortname::{display_units, from_long, Chosen, MAX_DISPLAY_UNITS};
use rvfat_unit::ondisk::{
    name, Codepage, CreateCase, DisplayCase, FormatError, ShortName, ShortNameCase, ShortNameError,
};

/// Chooses an 8.3 name for `name`, with the names in `taken` in use.
fn choose_from(
    name: &[u16],
    cp: &impl Codepage,
    create: CreateCase,
    numtail: bool,
    taken: &[&[u8; 11]],
) -> Result<Chosen, ShortNameError<FormatError>> {
    from_long(name, cp).map_err(ShortNameError::Lookup)?.choose(
        create,
        numtail,
        0x0003_1A2B,
        |name| Ok(taken.contains(&name.on_disk())),
    )
}

/// Returns the 8.3 name for `name` in an empty directory, its case flags, and whether it needs a
/// long name.
fn choose(name: &str, create: CreateCase) -> (String, u8, bool) {
    let chosen = choose_from(&units(name), &Latin, create, true, &[]).unwrap();
    let stored = String::from_utf8_lossy(chosen.name.on_disk()).into_owned();
    (stored, chosen.lcase, chosen.needs_long)
}

fn win95(name: &str) -> (String, bool) {
    let (stored, lcase, needs_long) = choose(name, CreateCase::Win95);
    assert_eq!(lcase, 0);
    (stored, needs_long)
}

#[test]
fn names_that_fit() {
    for (name, stored, needs_long) in [
        ("README.TXT", "README  TXT", false),
        ("A", "A          ", false),
        ("12345678.123", "12345678123", false),
        ("A-B_C~1.$%'", "A-B_C~1 $%'", false),
        ("readme.txt", "README  TXT", true),
        ("Readme.TXT", "README  TXT", true),
        ("README.txt", "README  TXT", true),
    ] {
        assert_eq!(win95(name), (stored.into(), needs_long), "{name}");
    }
}

#[test]
fn names_that_need_a_tail() {
    for (name, stored) in [
        ("longfilename.txt", "LONGFI~1TXT"),
        ("123456789", "123456~1   "),
        ("a.text", "A~1     TEX"),
        ("a b.txt", "AB~1    TXT"),
        ("a.b.c", "AB~1    C  "),
        ("a+b.txt", "A_B~1   TXT"),
        ("a.[b]", "A~1     _B_"),
        (".bashrc", "BASHRC~1   "),
        (".config.old", "CONFIG~1OLD"),
        (". .x", "X~1        "),
        ("a.t xt", "A~1     TXT"),
        ("snow☃man.txt", "SNOW_M~1TXT"),
        ("☃", "_~1        "),
        ("trailing.", "TRAILI~1   "),
    ] {
        assert_eq!(win95(name), (stored.into(), true), "{name}");
    }
}

#[test]
fn winnt_case_flags() {
    let both = CASE_LOWER_BASE | CASE_LOWER_EXT;
    for (name, lcase, needs_long) in [
        ("README.TXT", 0, false),
        ("readme.txt", both, false),
        ("readme.TXT", CASE_LOWER_BASE, false),
        ("README.txt", CASE_LOWER_EXT, false),
        ("readme", CASE_LOWER_BASE, false),
        ("123.txt", CASE_LOWER_EXT, false),
        ("123.456", 0, false),
        ("Readme.txt", 0, true),
        ("readme.Txt", 0, true),
    ] {
        let (_, got, long) = choose(name, CreateCase::WinNt);
        assert_eq!((got, long), (lcase, needs_long), "{name}");
    }
}

#[test]
fn non_ascii_letters_need_a_long_name() {
    for create in [CreateCase::Win95, CreateCase::WinNt] {
        for name in ["\u{C0}B", "\u{E0}B", "A.\u{E0}"] {
            let (_, lcase, needs_long) = choose(name, create);
            assert_eq!((lcase, needs_long), (0, true));
        }
    }
    let chosen = choose_from(&units("\u{E0}"), &Latin, CreateCase::Win95, true, &[]).unwrap();
    assert_eq!(chosen.name.on_disk(), b"\xC0          ");
}

#[test]
fn first_byte_e5() {
    let chosen = choose_from(&units(".\u{E5}"), &Latin, CreateCase::Win95, true, &[]).unwrap();
    assert_eq!(chosen.name.on_disk(), b"\x05~1        ");
}

#[test]
fn names_without_a_base() {
    for name in ["", ".", "...", " . .", "  "] {
        assert_eq!(
            from_long(&units(name), &Latin).err(),
            Some(FormatError::NameWithoutBase),
            "{name:?}"
        );
    }
}

#[test]
fn tails_count_up() {
    let name = units("longfilename.txt");
    let pick = |numtail, taken: &[&[u8; 11]]| {
        let chosen = choose_from(&name, &Latin, CreateCase::Win95, numtail, taken).unwrap();
        assert!(chosen.needs_long);
        *chosen.name.on_disk()
    };
    assert_eq!(&pick(true, &[b"LONGFI~1TXT"]), b"LONGFI~2TXT");
    assert_eq!(&pick(true, &[b"LONGFI~2TXT"]), b"LONGFI~1TXT");
    assert_eq!(&pick(false, &[]), b"LONGFILETXT");
    assert_eq!(&pick(false, &[b"LONGFILETXT"]), b"LONGFI~1TXT");

    let nine: Vec<[u8; 11]> = (b'1'..=b'9')
        .map(|digit| {
            let mut taken = *b"LONGFI~?TXT";
            taken[7] = digit;
            taken
        })
        .collect();
    let mut taken: Vec<&[u8; 11]> = nine.iter().collect();
    // Seed 0x0003_1A2B: tail ~4, digits 1A2B, then 11 less.
    assert_eq!(&pick(true, &taken), b"LO1A2B~4TXT");
    taken.push(b"LO1A2B~4TXT");
    assert_eq!(&pick(true, &taken), b"LO1A20~4TXT");
}

#[test]
fn short_bases_and_hashes() {
    let basis = from_long(&units("a+"), &Latin).unwrap();
    let mut tried = Vec::new();
    let chosen = basis.choose(CreateCase::Win95, true, 0x0007_0005, |name| {
        tried.push(*name.on_disk());
        Ok::<_, ()>(tried.len() < 11)
    });
    assert_eq!(&tried[0], b"A_~1       ");
    assert_eq!(&tried[8], b"A_~9       ");
    assert_eq!(&tried[9], b"A_0005~8   ");
    // 5 - 11 wraps around.
    assert_eq!(&tried[10], b"A_FFFA~8   ");
    assert_eq!(chosen.unwrap().name.on_disk(), b"A_FFFA~8   ");
}

#[test]
fn exhaustion_and_errors() {
    let basis = from_long(&units("longfilename.txt"), &Latin).unwrap();
    let mut tried = std::collections::HashSet::new();
    let result = basis.choose(CreateCase::Win95, false, 7, |name| {
        tried.insert(*name.on_disk());
        Ok::<_, ()>(true)
    });
    assert_eq!(result, Err(ShortNameError::Exhausted));
    assert_eq!(tried.len(), 1 + 9 + 65_536);
    assert_eq!(
        basis.choose(CreateCase::Win95, true, 7, |_| Err("io")),
        Err(ShortNameError::Lookup("io"))
    );
    assert_eq!(
        choose_from(
            &units("readme.txt"),
            &Latin,
            CreateCase::WinNt,
            true,
            &[b"README  TXT"]
        ),
        Err(ShortNameError::Exists)
    );
}

#[test]
fn two_byte_characters_stay_whole() {
    let pick = |name: &str| {
        let chosen = choose_from(&units(name), &TwoByte, CreateCase::Win95, true, &[]).unwrap();
        (*chosen.name.on_disk(), chosen.needs_long)
    };
    // U+3042 is 81 42.
    assert_eq!(pick("あ.あ"), (*b"\x81\x42      \x81\x42 ", true));
    assert_eq!(pick("abcdeあx"), (*b"ABCDE\x81\x42X   ", true));
    assert_eq!(pick("abcdeあxy"), (*b"ABCDE~1    ", true));
    assert_eq!(pick("abcdあxyz"), (*b"ABCD\x81\x42~1   ", true));
    assert_eq!(pick("a.xxあ"), (*b"A~1     XX ", true));
    assert_eq!(pick("a.xあ"), (*b"A       X\x81\x42", true));
    // U+00E9 is not in the set at all.
    assert_eq!(pick("é"), (*b"_~1        ", true));
}

fn show(stored: &[u8; 11], lcase: u8, display: DisplayCase) -> String {
    let mut out = [0; MAX_DISPLAY_UNITS];
    let name = ShortName::from_disk(*stored);
    let len = display_units(&name, lcase, display, &Latin, &mut out);
    String::from_utf16_lossy(&out[..len])
}

#[test]
fn showing() {
    let plain = |stored| show(stored, 0, DisplayCase::WinNt);
    assert_eq!(plain(b"README  TXT"), "README.TXT");
    assert_eq!(plain(b"12345678123"), "12345678.123");
    assert_eq!(plain(b"A          "), "A");
    assert_eq!(plain(b"A B     C  "), "A B.C");
    assert_eq!(plain(b"        TXT"), ".TXT");
    assert_eq!(plain(b"           "), "");
    assert_eq!(plain(b"AB\0C    TXT"), "AB.TXT");
    assert_eq!(plain(b"AB      T\0T"), "AB.T");
    assert_eq!(plain(b"\x05B         "), "\u{E5}B");
    assert_eq!(plain(b".          "), ".");
    assert_eq!(plain(b"..         "), "..");
}

#[test]
fn showing_in_case() {
    let both = CASE_LOWER_BASE | CASE_LOWER_EXT;
    for (lcase, display, shown) in [
        (0, DisplayCase::Lower, "readme.txt"),
        (both, DisplayCase::Win95, "README.TXT"),
        (0, DisplayCase::WinNt, "README.TXT"),
        (both, DisplayCase::WinNt, "readme.txt"),
        (CASE_LOWER_BASE, DisplayCase::WinNt, "readme.TXT"),
        (CASE_LOWER_EXT, DisplayCase::WinNt, "README.txt"),
    ] {
        assert_eq!(show(b"README  TXT", lcase, display), shown);
    }
    assert_eq!(show(b"\xC0          ", 0, DisplayCase::Lower), "\u{E0}");
}

#[test]
fn showing_two_byte_characters() {
    let show = |stored: &[u8; 11], display| {
        let mut out = [0; MAX_DISPLAY_UNITS];
        let name = ShortName::from_disk(*stored);
        let len = display_units(&name, 0, display, &TwoByte, &mut out);
        String::from_utf16_lossy(&out[..len])
    };
    // The second byte of the character is a letter, which must keep its case.
    assert_eq!(
        show(b"\x81\x42A     \x81\x43 ", DisplayCase::Lower),
        "あa.ぃ"
    );
    assert_eq!(show(b"\x81 A        ", DisplayCase::Win95), "\u{3020}A");
    // Cut off at the end of the base.
    assert_eq!(show(b"ABCDEFG\x81TXT", DisplayCase::Win95), "ABCDEFG?.TXT");
}

#[test]
fn mount_options() {
    let parts = |case: ShortNameCase| (case.display, case.create);
    assert_eq!(
        parts(ShortNameCase::LOWER),
        (DisplayCase::Lower, CreateCase::Win95)
    );
    assert_eq!(
        parts(ShortNameCase::WIN95),
        (DisplayCase::Win95, CreateCase::Win95)
    );
    assert_eq!(
        parts(ShortNameCase::WINNT),
        (DisplayCase::WinNt, CreateCase::WinNt)
    );
    assert_eq!(
        parts(ShortNameCase::MIXED),
        (DisplayCase::WinNt, CreateCase::Win95)
    );
}

/// Returns whether `part` is a run of valid 8.3 characters, followed by spaces only.
fn is_valid_part(part: &[u8]) -> bool {
    let len = part.iter().rposition(|b| *b != b' ').map_or(0, |at| at + 1);
    part[..len].iter().all(|byte| {
        byte.is_ascii_uppercase()
            || byte.is_ascii_digit()
            || *byte >= 0x7F
            || b"$%'`-@{}~!#()&_^".contains(byte)
    })
}

fn create_case() -> impl Strategy<Value = CreateCase> {
    prop_oneof![Just(CreateCase::Win95), Just(CreateCase::WinNt)]
}

/// Names that the checks let through: mostly short, with many dots and spaces.
fn long_name() -> impl Strategy<Value = Vec<u16>> {
    prop_oneof![
        "[a-zA-Z0-9. +é☃\u{10000}~-]{1,20}",
        "[A-Z0-9]{1,9}\\.[a-z]{0,4}"
    ]
    .prop_map(|text| units(&text))
    .prop_filter("refused", |name| name::check(name).is_ok())
}

proptest! {
    #[test]
    fn always_valid(
        name in long_name(), create in create_case(), numtail: bool, seed: u32, busy in 0usize..30
    ) {
        let Ok(basis) = from_long(&name, &Latin) else { return Ok(()) };
        let mut calls = 0;
        let chosen = basis.choose(create, numtail, seed, |short| {
            calls += 1;
            let bytes = short.on_disk();
            prop_assert!(is_valid_part(&short.decoded()[..8]), "{:?}", bytes);
            prop_assert!(is_valid_part(&bytes[8..]), "{:?}", bytes);
            prop_assert!(!matches!(bytes[0], 0xE5 | b' ' | 0), "{:?}", bytes);
            Ok(calls <= busy)
        });
        match chosen {
            Ok(_) | Err(ShortNameError::Exists) => {}
            Err(error) => prop_assert!(false, "{:?}", error),
        }
    }

    /// A name stored without a long name is shown as it was given.
    #[test]
    fn stored_short_is_shown_exactly(name in long_name(), case in prop_oneof![
        Just(ShortNameCase::WIN95), Just(ShortNameCase::WINNT), Just(ShortNameCase::MIXED)
    ]) {
        if let Ok(chosen) = choose_from(&name, &Latin, case.create, true, &[]) {
            if !chosen.needs_long {
                let mut out = [0; MAX_DISPLAY_UNITS];
                let len = display_units(&chosen.name, chosen.lcase, case.display, &Latin, &mut out);
                prop_assert_eq!(&out[..len], &name[..]);
            }
        }
    }

    #[test]
    fn never_panics(
        name in prop::collection::vec(any::<u16>(), 0..300),
        stored in any::<[u8; 11]>(),
        lcase: u8, set: u64, seed: u32, create in create_case(), numtail: bool, busy in 0usize..20,
    ) {
        let cp = Hostile(set);
        if let Ok(basis) = from_long(&name, &cp) {
            let mut calls = 0;
            let _ = basis.choose(create, numtail, seed, |_| {
                calls += 1;
                Ok::<_, ()>(calls <= busy)
            });
        }
        let mut out = [0; MAX_DISPLAY_UNITS];
        let stored = ShortName::from_disk(stored);
        for display in [DisplayCase::Lower, DisplayCase::Win95, DisplayCase::WinNt] {
            let len = display_units(&stored, lcase, display, &cp, &mut out);
            prop_assert!(len <= MAX_DISPLAY_UNITS);
            prop_assert!(!out[..len].contains(&0));
        }
    }
}
