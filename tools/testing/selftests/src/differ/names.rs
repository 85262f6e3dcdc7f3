// SPDX-License-Identifier: GPL-2.0

//! Names and paths for the comparison: few enough that operations meet.

use crate::rng::Rng;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// Directories that sequences use.
const DIRS: &[&str] = &["d0", "D1", "Long Directory Name", "dir.ext", "ümläut", "x"];

/// Ordinary files.
const FILES: &[&str] = &[
    "a",
    "A",
    "b.txt",
    "B.TXT",
    "File.One",
    "file.one",
    "a longer name",
    "A Longer Name",
    "another quite long name.text",
    "readme.md",
    "NOEXT",
    "8CHARNAM.EXT",
    "9charname.ext",
    "x.y.z",
    ".hidden",
    "tail.",
    "UPPER.low",
    "low.UPPER",
    "name+plus",
    "semi;colon",
    "com1",
    "f~1",
    "FILETH~1.TXT",
    "file the first.txt",
    "file the second.txt",
    "Größe",
    "日本語",
];

/// Names at the edges of what FAT can hold, some of them refused. Not 0x7F, which Linux accepts
/// in 8.3 names and fsck.fat doesn't.
pub fn nasty() -> Vec<Vec<u8>> {
    let mut v: Vec<Vec<u8>> = FILES.iter().map(|s| s.as_bytes().to_vec()).collect();
    for s in [
        "...",
        "....a",
        "a...",
        "a. . .",
        " lead",
        "trail ",
        "a b  c",
        "*",
        "a?b",
        "a<b",
        "a>b",
        "a|b",
        "a\"b",
        "a:b",
        "a\\b",
        "a\u{1}b",
        "a\nb",
        "\u{e5}",
        "\u{5}x",
        "~",
        "~~~",
        "a~",
        "a~1",
        "a~10",
        "con",
        "NUL",
        "aux.txt",
        "[x]",
        "a,b",
        "a=b",
        "é.É",
        "straße",
        "İi",
        "ǅ",
        "😀",
        "a😀b.txt",
        "\u{fffd}",
        "\u{200b}",
        "ａｂｃ",
        "ﬁ",
        "Ω.ω",
        "µ",
        "ÿÿÿÿÿÿÿÿ.ÿÿÿ",
        "12345678.123",
        "123456789.1234",
        ".a",
        "a.b.",
        "a..b",
        ".a.b",
        "x.abcd",
        "x.ABC",
        "X.abc",
        "xX.abc",
        "LONGFILENAME",
        "longfilename",
        "a:4e00b",
    ] {
        v.push(s.as_bytes().to_vec());
    }
    for raw in [
        &b"\xff"[..],
        b"a\xffb",
        b"\xe5",
        b"\xc3",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
        b"\x80abc",
    ] {
        v.push(raw.to_vec());
    }
    for n in [12, 13, 14, 26, 27, 127, 128, 254, 255, 256, 257, 300] {
        v.push(vec![b'n'; n]);
    }
    for n in [84, 85, 127, 128, 255, 256] {
        v.push("ä".repeat(n).into_bytes());
    }
    for n in [63, 64, 127, 128] {
        v.push("😀".repeat(n).into_bytes());
    }
    v
}

/// Bytes as a path.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

fn swap_case(rng: &mut Rng, s: &str) -> String {
    match rng.below(8) {
        0 => s.to_uppercase(),
        1 => s.to_lowercase(),
        _ => s.to_string(),
    }
}

/// A directory: usually one of a few, up to three levels deep.
pub fn dir(rng: &mut Rng) -> PathBuf {
    let mut p = PathBuf::new();
    for _ in 0..rng.below(4) {
        let d = *rng.pick(DIRS);
        p.push(swap_case(rng, d));
    }
    p
}

/// A path of something that may or may not exist.
pub fn any(rng: &mut Rng) -> PathBuf {
    let mut p = dir(rng);
    match rng.below(20) {
        0 => p.push(format!("grow{}", rng.below(200))),
        1 => p.push(format!(
            "a long name that grows the directory {}",
            rng.below(200)
        )),
        2 => {
            let all = nasty();
            p.push(path_of(rng.pick::<Vec<u8>>(&all)));
        }
        3 => p.push(rng.pick(DIRS)),
        _ => {
            let f = *rng.pick(FILES);
            p.push(swap_case(rng, f));
        }
    }
    p
}
