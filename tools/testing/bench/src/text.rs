// SPDX-License-Identifier: GPL-2.0

//! Numbers and tables for people.

/// `131042` as `131,042`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A size in the largest unit that gives a whole number: `512 B`, `64 KiB`, `1 MiB`.
pub fn size(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0 => (0, "B"),
        n if n % (1 << 30) == 0 => (n >> 30, "GiB"),
        n if n % (1 << 20) == 0 => (n >> 20, "MiB"),
        n if n % (1 << 10) == 0 => (n >> 10, "KiB"),
        n => (n, "B"),
    };
    format!("{value} {unit}")
}

/// Seconds with as many digits as make sense.
pub fn seconds(s: f64) -> String {
    match s {
        s if s < 0.1 => format!("{s:.4} s"),
        s if s < 10.0 => format!("{s:.3} s"),
        s => format!("{s:.1} s"),
    }
}

/// A time to wait: `40 s`, `12 min`, `2 h 30 min`.
pub fn duration(s: f64) -> String {
    let s = s.max(0.0).round() as u64;
    match s {
        0..=90 => format!("{s} s"),
        91..=5399 => format!("{} min", (s + 30) / 60),
        _ => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
    }
}

/// A ratio: `1,221x`, `6.5x`.
pub fn ratio(r: f64) -> String {
    if r >= 10.0 {
        format!("{}x", thousands(r.round() as u64))
    } else {
        format!("{r:.2}x")
    }
}

/// How a column's cells are placed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// A column of a table whose lines are printed one by one.
pub struct Column {
    pub title: &'static str,
    pub width: usize,
    pub align: Align,
}

/// A column with its cells at the right, as numbers want it.
pub const fn right(title: &'static str, width: usize) -> Column {
    Column {
        title,
        width,
        align: Align::Right,
    }
}

/// A column with its cells at the left, as words want it.
pub const fn left(title: &'static str, width: usize) -> Column {
    Column {
        title,
        width,
        align: Align::Left,
    }
}

/// One line of a table.
pub fn line<S: AsRef<str>>(columns: &[Column], cells: &[S]) -> String {
    let mut out = String::new();
    for (column, cell) in columns.iter().zip(cells) {
        let (cell, width) = (cell.as_ref(), column.width);
        out.push_str("  ");
        match column.align {
            Align::Left => out.push_str(&format!("{cell:<width$}")),
            Align::Right => out.push_str(&format!("{cell:>width$}")),
        }
    }
    out.trim_end().to_owned()
}

/// A table's titles.
pub fn head(columns: &[Column]) -> String {
    let titles: Vec<_> = columns.iter().map(|c| c.title).collect();
    line(columns, &titles)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(131_042), "131,042");
        assert_eq!(thousands(1_000_000), "1,000,000");
        assert_eq!(ratio(1221.4), "1,221x");
        assert_eq!(ratio(1.5), "1.50x");
    }

    #[test]
    fn sizes_and_times() {
        assert_eq!(size(512), "512 B");
        assert_eq!(size(4096), "4 KiB");
        assert_eq!(size(1 << 20), "1 MiB");
        assert_eq!(size(32 << 30), "32 GiB");
        assert_eq!(seconds(0.04212), "0.0421 s");
        assert_eq!(seconds(63.51), "63.5 s");
        assert_eq!(duration(40.2), "40 s");
        assert_eq!(duration(720.0), "12 min");
        assert_eq!(duration(9000.0), "2 h 30 min");
    }

    #[test]
    fn lines_are_aligned() {
        let columns = [left("fs", 5), right("time", 6)];
        assert_eq!(head(&columns), "  fs       time");
        assert_eq!(line(&columns, &["vfat", "1 s"]), "  vfat      1 s");
    }
}
