// SPDX-License-Identifier: GPL-2.0

//! Names: long, short, upper and lower case, aliases, and those that are refused.

use super::Op;
use crate::expect::{errno, one_of};
use crate::same;
use crate::sys;
use crate::vol::Vol;
use anyhow::{ensure, Result};

pub const OPS: &[Op] = &[
    ("lookup_missing", "", lookup_missing),
    ("case_preserved_and_ignored", "", case_preserved),
    ("short_names", "", short_names),
    ("alias_lookup", "", alias_lookup),
    ("alias_numbers", "", alias_numbers),
    ("long_name_255", "utf8", long_255),
    ("name_too_long", "utf8", too_long),
    ("non_bmp_names", "utf8", non_bmp),
    ("utf8_case", "utf8", utf8_case),
    ("refused_names", "", refused),
    ("trailing_dots_and_spaces", "", trailing),
    ("volume_label_hidden", "", label_hidden),
    ("every_length", "utf8", every_length),
    ("control_characters", "", control_chars),
];

fn lookup_missing(v: &mut Vol) -> Result<()> {
    errno(sys::stat(&v.p("none")), libc::ENOENT, "stat")?;
    errno(sys::stat(&v.p("none/below")), libc::ENOENT, "stat below")?;
    sys::create(&v.p("file"))?;
    errno(
        sys::stat(&v.p("file/below")),
        libc::ENOTDIR,
        "stat below a file",
    )?;
    errno(sys::unlink(&v.p("none")), libc::ENOENT, "unlink")?;
    errno(sys::rmdir(&v.p("none")), libc::ENOENT, "rmdir")?;
    // A negative entry must not outlive the file's creation under other case.
    errno(sys::stat(&v.p("Negative")), libc::ENOENT, "stat")?;
    sys::create(&v.p("NEGATIVE"))?;
    sys::stat(&v.p("Negative"))?;
    sys::unlink(&v.p("negative"))?;
    errno(
        sys::stat(&v.p("NEGATIVE")),
        libc::ENOENT,
        "stat after unlink",
    )
}

fn case_preserved(v: &mut Vol) -> Result<()> {
    let names = [
        "MixedCase.Txt",
        "lower.txt",
        "UPPER.TXT",
        "Long Mixed Name.text",
    ];
    for n in names {
        sys::create(&v.p(n))?;
    }
    for round in 0..2 {
        let mut want: Vec<String> = names.iter().map(|s| s.to_string()).collect();
        want.sort();
        same!(sys::names(&v.mp)?, want, "names, round {round}");
        for n in names {
            let ino = sys::stat(&v.p(n))?.ino;
            same!(
                sys::stat(&v.p(n.to_lowercase()))?.ino,
                ino,
                "lower case of {n}"
            );
            same!(
                sys::stat(&v.p(n.to_uppercase()))?.ino,
                ino,
                "upper case of {n}"
            );
        }
        errno(
            sys::open(
                &v.p("LOWER.txt"),
                libc::O_CREAT | libc::O_EXCL | libc::O_RDWR,
            ),
            libc::EEXIST,
            "O_EXCL with other case",
        )?;
        errno(
            sys::mkdir(&v.p("mixedcase.TXT")),
            libc::EEXIST,
            "mkdir with other case",
        )?;
        v.remount()?;
    }
    Ok(())
}

fn short_names(v: &mut Vol) -> Result<()> {
    for n in [
        "A",
        "ABCDEFGH",
        "ABCDEFGH.XYZ",
        "A.B",
        "12345678.123",
        "A-B_C~D!.#$%",
        "abc.TXT",
    ] {
        sys::create(&v.p(n))?;
    }
    v.remount()?;
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    for (short, long) in sys::readdir_ioctl(&d, true)? {
        let (s, l) = (
            String::from_utf8_lossy(&short),
            String::from_utf8_lossy(&long),
        );
        ensure!(
            l.is_empty() || l.eq_ignore_ascii_case(&s),
            "8.3 name {l:?} has the alias {s:?}"
        );
    }
    Ok(())
}

fn aliases(v: &Vol) -> Result<Vec<(String, String)>> {
    let d = sys::open(&v.mp, libc::O_RDONLY)?;
    let text = |b: Vec<u8>| String::from_utf8_lossy(&b).into_owned();
    Ok(sys::readdir_ioctl(&d, true)?
        .into_iter()
        .map(|(s, l)| (text(s), text(l)))
        .collect())
}

fn alias_lookup(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("A rather long name.text"))?;
    let ino = sys::stat(&v.p("A rather long name.text"))?.ino;
    same!(sys::stat(&v.p("ARATHE~1.TEX"))?.ino, ino, "inode by alias");
    same!(
        sys::stat(&v.p("arathe~1.tex"))?.ino,
        ino,
        "inode by lower-case alias"
    );
    errno(
        sys::open(
            &v.p("ARATHE~1.TEX"),
            libc::O_CREAT | libc::O_EXCL | libc::O_RDWR,
        ),
        libc::EEXIST,
        "creating the alias",
    )?;
    v.remount()?;
    sys::unlink(&v.p("arathe~1.tex"))?;
    same!(
        sys::names(&v.mp)?,
        Vec::<String>::new(),
        "names after unlink by alias"
    );
    Ok(())
}

fn alias_numbers(v: &mut Vol) -> Result<()> {
    for i in 1..=9 {
        sys::create(&v.p(format!("longname number {i}.txt")))?;
    }
    let mut got: Vec<String> = aliases(v)?
        .into_iter()
        .map(|a| a.0)
        .filter(|s| s.contains('~'))
        .collect();
    got.sort();
    let want: Vec<String> = (1..=9).map(|i| format!("LONGNA~{i}.TXT")).collect();
    same!(got, want, "aliases");
    // The next ones get other tails, but all have to differ.
    for i in 10..=40 {
        sys::create(&v.p(format!("longname number {i}.txt")))?;
    }
    let mut all: Vec<String> = aliases(v)?.into_iter().map(|a| a.0).collect();
    let n = all.len();
    all.sort();
    all.dedup();
    same!(all.len(), n, "number of distinct aliases");
    // A file that takes a freed number.
    sys::unlink(&v.p("longname number 3.txt"))?;
    sys::create(&v.p("longname third.txt"))?;
    ensure!(
        aliases(v)?
            .iter()
            .any(|(s, l)| s == "LONGNA~3.TXT" && l == "longname third.txt"),
        "the freed alias wasn't used again"
    );
    Ok(())
}

fn long_255(v: &mut Vol) -> Result<()> {
    let names = [
        "a".repeat(255),
        "ü".repeat(127),
        "b".repeat(254) + "c",
        "x y".repeat(85),
    ];
    for n in &names {
        sys::create(&v.p(n))?;
    }
    // The limit is in UTF-16 units: 255 of these are 765 bytes.
    let wide = "\u{4e00}".repeat(255);
    sys::create(&v.p(&wide))?;
    v.remount()?;
    for n in names.iter().chain([&wide]) {
        sys::stat(&v.p(n))?;
    }
    same!(sys::names(&v.mp)?.len(), 5, "number of names");
    for n in names.iter().chain([&wide]) {
        sys::unlink(&v.p(n))?;
    }
    Ok(())
}

fn too_long(v: &mut Vol) -> Result<()> {
    errno(
        sys::create(&v.p("a".repeat(256))),
        libc::ENAMETOOLONG,
        "256 units",
    )?;
    errno(
        sys::mkdir(&v.p("a".repeat(256))),
        libc::ENAMETOOLONG,
        "mkdir of 256 units",
    )?;
    errno(
        sys::create(&v.p("a".repeat(300))),
        libc::ENAMETOOLONG,
        "300 units",
    )?;
    sys::create(&v.p("f"))?;
    errno(
        sys::rename(&v.p("f"), &v.p("b".repeat(256)), 0),
        libc::ENAMETOOLONG,
        "rename to 256 units",
    )?;
    // The C driver doesn't look at the length when it only searches.
    one_of(
        sys::stat(&v.p("c".repeat(256))),
        &[libc::ENAMETOOLONG, libc::ENOENT],
        "stat of 256 units",
    )
}

fn non_bmp(v: &mut Vol) -> Result<()> {
    let names = [
        "\u{1F600}",
        "a\u{1F680}b.txt",
        "\u{10FFFD}x",
        "\u{1F600}\u{1F601}\u{1F602}",
    ];
    for n in names {
        sys::create(&v.p(n))?;
    }
    v.remount()?;
    for n in names {
        sys::stat(&v.p(n))?;
    }
    let mut want: Vec<String> = names.iter().map(|s| s.to_string()).collect();
    want.sort();
    same!(sys::names(&v.mp)?, want, "names");
    Ok(())
}

fn utf8_case(v: &mut Vol) -> Result<()> {
    for n in [
        "Größe.txt",
        "ΑΒΓ δεζ",
        "Привет мир",
        "日本語ファイル.txt",
        "é",
    ] {
        sys::mkdir(&v.p(n))?;
        sys::create(&v.p(n).join(n))?;
    }
    v.remount()?;
    for n in [
        "Größe.txt",
        "ΑΒΓ δεζ",
        "Привет мир",
        "日本語ファイル.txt",
        "é",
    ] {
        sys::stat(&v.p(n).join(n))?;
        sys::unlink(&v.p(n).join(n))?;
        sys::rmdir(&v.p(n))?;
    }
    Ok(())
}

fn refused(v: &mut Vol) -> Result<()> {
    for c in ["*", "?", "<", ">", "|", "\"", ":", "\\"] {
        errno(
            sys::create(&v.p(format!("a{c}b"))),
            libc::EINVAL,
            &format!("create a{c}b"),
        )?;
        errno(
            sys::mkdir(&v.p(format!("a{c}b"))),
            libc::EINVAL,
            &format!("mkdir a{c}b"),
        )?;
        errno(
            sys::stat(&v.p(format!("a{c}b"))),
            libc::ENOENT,
            &format!("stat a{c}b"),
        )?;
    }
    for n in [
        "a+b", "a,b", "a;b", "a=b", "[a]", "a b", "é", ".hidden", "a.b.c", "~", "'",
    ] {
        sys::create(&v.p(n))?;
    }
    v.remount()?;
    for n in [
        "a+b", "a,b", "a;b", "a=b", "[a]", "a b", "é", ".hidden", "a.b.c", "~", "'",
    ] {
        sys::unlink(&v.p(n))?;
    }
    Ok(())
}

fn trailing(v: &mut Vol) -> Result<()> {
    sys::create(&v.p("name..."))?;
    let ino = sys::stat(&v.p("name"))?.ino;
    same!(sys::stat(&v.p("name."))?.ino, ino, "with a dot");
    same!(sys::stat(&v.p("name....."))?.ino, ino, "with five dots");
    errno(
        sys::open(&v.p("name.."), libc::O_CREAT | libc::O_EXCL | libc::O_RDWR),
        libc::EEXIST,
        "O_EXCL with dots",
    )?;
    v.remount()?;
    same!(sys::names(&v.mp)?, vec!["name".to_string()], "names");
    errno(sys::create(&v.p("...")), libc::ENOENT, "only dots")?;
    errno(
        sys::mkdir(&v.p("trailing ")),
        libc::EINVAL,
        "mkdir with a trailing space",
    )
}

fn label_hidden(v: &mut Vol) -> Result<()> {
    same!(
        sys::names(&v.mp)?,
        Vec::<String>::new(),
        "names of an empty volume"
    );
    errno(sys::stat(&v.p("RVFAT")), libc::ENOENT, "stat of the label")?;
    sys::create(&v.p("RVFAT"))?;
    same!(sys::names(&v.mp)?, vec!["RVFAT".to_string()], "names");
    sys::unlink(&v.p("rvfat"))?;
    Ok(())
}

fn every_length(v: &mut Vol) -> Result<()> {
    sys::mkdir(&v.p("d"))?;
    let name = |n: usize| {
        "q".repeat(n - n / 3) + &"ß".repeat(n / 6) + if n / 3 % 2 == 1 { "z" } else { "" }
    };
    let lens: Vec<usize> = (1..=40)
        .chain([51, 52, 53, 64, 65, 66, 129, 130, 131, 246, 247, 248])
        .collect();
    for &n in &lens {
        sys::create(&v.p("d").join(name(n)))?;
    }
    v.remount()?;
    for &n in &lens {
        sys::stat(&v.p("d").join(name(n)))?;
    }
    same!(sys::names(&v.p("d"))?.len(), lens.len(), "number of names");
    for &n in &lens {
        sys::unlink(&v.p("d").join(name(n)))?;
    }
    sys::rmdir(&v.p("d"))?;
    Ok(())
}

fn control_chars(v: &mut Vol) -> Result<()> {
    for c in ["\u{1}", "\n", "\u{1f}"] {
        errno(
            sys::create(&v.p(format!("a{c}b"))),
            libc::EINVAL,
            &format!("create {c:?}"),
        )?;
    }
    Ok(())
}
