// SPDX-License-Identifier: GPL-2.0

//! Dates and times, against a calendar that counts the days one by one.

use crate::input::Input;
use rvfat_unit::ondisk::{time, DosDate, DosStamp, DosTime, TzOffset};

const DAY: i64 = 86_400;

/// Days from 1970-01-01 to a date of the proleptic Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // The year begins in March, so that a leap day is its last.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    y * 365 + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (m * 153 + 2) / 5 + day
        - 719_469
}

/// Whether the fields make a moment that a calendar and a clock have.
fn is_real(t: u16, d: u16, cs: u8) -> bool {
    let (year, month, day) = (i64::from(d >> 9) + 1980, (d >> 5) & 15, d & 31);
    let next = match month {
        12 => days(year + 1, 1, 1),
        m => days(year, i64::from(m) + 1, 1),
    };
    (1..=12).contains(&month)
        && day >= 1
        && i64::from(day) <= next - days(year, i64::from(month), 1)
        && (t >> 11) < 24
        && (t >> 5) & 63 < 60
        && t & 31 < 30
        && cs < 200
}

/// The input gives a stamp, a time zone in two forms and a moment of Unix time.
pub fn run(data: &[u8]) {
    let mut input = Input::new(data);
    let (t, d, cs) = (input.u16(), input.u16(), input.u8());
    let minutes = input.u32() as i32;
    let tz = if input.flag() {
        TzOffset::from_minutes_west(minutes % 1440)
    } else if input.flag() {
        TzOffset::from_minutes_west(minutes)
    } else {
        TzOffset::from_time_offset(minutes)
    };
    stamp(t, d, cs, tz);
    // Mostly near the range of FAT.
    let secs = match input.below(3) {
        0 => input.u64() as i64,
        1 => i64::from(input.u32()),
        _ => i64::from(input.u32()) + (1 << 31),
    };
    unix(secs, input.u32(), tz);
}

fn stamp(t: u16, d: u16, cs: u8, tz: TzOffset) {
    let (secs, nsec) = time::unix_from_dos(t, d, cs, tz);
    assert!(nsec < 1_000_000_000);
    let (zero, _) = time::unix_from_dos(t, d, cs, TzOffset::UTC);
    if !is_real(t, d, cs) {
        return;
    }
    let date = days(
        i64::from(d >> 9) + 1980,
        i64::from((d >> 5) & 15),
        i64::from(d & 31),
    );
    let clock = i64::from(t >> 11) * 3600 + i64::from((t >> 5) & 63) * 60 + i64::from(t & 31) * 2;
    assert_eq!(zero, date * DAY + clock + i64::from(cs / 100));
    // And back.
    let want = DosStamp {
        time: DosTime::from(t),
        date: DosDate::from(d),
        cs,
    };
    assert_eq!(time::dos_from_unix(secs, nsec, tz), want);
}

fn unix(secs: i64, nsec: u32, tz: TzOffset) {
    let made = time::dos_from_unix(secs, nsec, tz);
    assert!(
        is_real(made.time.get(), made.date.get(), made.cs),
        "{made:?}"
    );
    let (first, last) = time::range(tz);
    assert!(first < last);
    if secs >= first && secs <= last && nsec < 1_000_000_000 {
        let (back, fraction) = time::unix_from_dos(made.time, made.date, made.cs, tz);
        assert_eq!(back, secs);
        assert_eq!(fraction, nsec / 10_000_000 * 10_000_000);
    }
    let midnight = time::truncate_atime(secs, tz);
    let even = time::truncate_mtime(secs);
    assert!(even <= secs && secs - even <= 1 && even % 2 == 0);
    if secs >= first && secs <= last {
        assert!(midnight <= secs && secs - midnight < DAY);
        let stamp = time::dos_from_unix(midnight, 0, tz);
        assert_eq!((stamp.time.get(), stamp.date), (0, made.date));
    }
}
