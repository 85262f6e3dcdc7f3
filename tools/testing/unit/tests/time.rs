// SPDX-License-Identifier: GPL-2.0

//! DOS dates and times.

use proptest::prelude::*;
use rvfat_unit::ondisk::time::{
    dos_from_unix, range, truncate_atime, truncate_mtime, unix_from_dos,
};
use rvfat_unit::ondisk::TzOffset;

const UTC: TzOffset = TzOffset::UTC;

/// Returns time, date and 10 ms steps for a Unix time.
fn fields(secs: i64, nsec: u32, tz: TzOffset) -> (u16, u16, u8) {
    let stamp = dos_from_unix(secs, nsec, tz);
    (stamp.time.get(), stamp.date.get(), stamp.cs)
}

fn time(hour: u16, minute: u16, second: u16) -> u16 {
    (hour << 11) | (minute << 5) | (second / 2)
}

fn date(year: u16, month: u16, day: u16) -> u16 {
    ((year - 1980) << 9) | (month << 5) | day
}

/// Unix times worked out with another calendar (Python's datetime).
const VECTORS: [(i64, u16, u16); 9] = [
    (315_532_800, 0x0000, 0x0021),
    (320_673_600, 0x6000, 0x005D),
    (320_716_800, 0x0000, 0x0061),
    (951_868_798, 0xBF7D, 0x285D),
    (1_709_186_828, 0x30E4, 0x585D),
    (2_147_483_648, 0x19C4, 0x7433),
    (4_107_542_400, 0x0000, 0xF061),
    (4_133_980_800, 0x0000, 0xF221),
    (4_354_819_198, 0xBF7D, 0xFF9F),
];

#[test]
fn vectors() {
    for (secs, time, date) in VECTORS {
        assert_eq!(unix_from_dos(time, date, 0, UTC), (secs, 0));
        assert_eq!(fields(secs, 0, UTC), (time, date, 0));
    }
}

#[test]
fn ten_millisecond_steps() {
    assert_eq!(fields(315_532_801, 0, UTC), (0, 0x21, 100));
    assert_eq!(fields(315_532_801, 999_999_999, UTC), (0, 0x21, 199));
    assert_eq!(fields(315_532_800, 9_999_999, UTC), (0, 0x21, 0));
    assert_eq!(fields(315_532_800, 10_000_000, UTC), (0, 0x21, 1));
    assert_eq!(unix_from_dos(0, 0x21, 199, UTC), (315_532_801, 990_000_000));
    assert_eq!(unix_from_dos(0, 0x21, 255, UTC), (315_532_802, 550_000_000));
    // More nanoseconds than a second has.
    assert_eq!(fields(315_532_800, u32::MAX, UTC), (0, 0x21, 99));
}

#[test]
fn clamping() {
    let first = (0, date(1980, 1, 1), 0);
    let last = (time(23, 59, 58), date(2107, 12, 31), 199);
    assert_eq!(fields(315_532_799, 999_999_999, UTC), first);
    assert_eq!(fields(i64::MIN, 0, UTC), first);
    assert_eq!(fields(0, 0, UTC), first);
    assert_eq!(fields(4_354_819_199, 0, UTC), (last.0, last.1, 100));
    assert_eq!(fields(4_354_819_200, 0, UTC), last);
    assert_eq!(fields(i64::MAX, 0, UTC), last);
    // The limits are those of local time.
    let east = TzOffset::from_time_offset(60);
    let west = TzOffset::from_time_offset(-60);
    assert_eq!(fields(315_532_800 - 3600, 0, east), first);
    assert_eq!(fields(315_532_800 + 1800, 0, west), first);
    assert_eq!(fields(4_354_819_200 - 1800, 0, east), last);
}

#[test]
fn time_zones() {
    // Noon on the volume.
    let noon = (time(12, 0, 0), date(2024, 2, 29));
    let utc = 1_709_208_000;
    for (tz, secs) in [
        (UTC, utc),
        (TzOffset::from_time_offset(60), utc - 3600),
        (TzOffset::from_time_offset(-720), utc + 12 * 3600),
        (TzOffset::from_minutes_west(300), utc + 5 * 3600),
        (TzOffset::from_minutes_west(-330), utc - 330 * 60),
    ] {
        assert_eq!(unix_from_dos(noon.0, noon.1, 0, tz), (secs, 0));
        assert_eq!(fields(secs, 0, tz), (noon.0, noon.1, 0));
    }
}

#[test]
fn meaningless_fields() {
    let read = |time: u16, date: u16| unix_from_dos(time, date, 0, UTC).0;
    let start = |year| read(0, date(year, 1, 1));
    // Day 0 and month 0.
    assert_eq!(read(0, 0), 315_532_800);
    assert_eq!(read(0, date(2001, 0, 9)), start(2001) + 8 * 86_400);
    assert_eq!(read(0, date(2001, 3, 0)), read(0, date(2001, 3, 1)));
    // February 31 runs over; hour 31, minute 63 and second 62 do, too.
    assert_eq!(read(0, date(2001, 2, 31)), read(0, date(2001, 3, 3)));
    assert_eq!(
        read(0xFFFF, date(2001, 1, 1)),
        start(2001) + 31 * 3600 + 63 * 60 + 62
    );
    // Months beyond December start the year anew, behind its leap day where it has one.
    assert_eq!(read(0, date(2001, 13, 1)), start(2001));
    assert_eq!(read(0, date(2004, 15, 1)), start(2004) + 86_400);
}

/// Walks through all days of the range with the plainest calendar there is.
#[test]
fn every_day() {
    let mut secs = 315_532_800;
    for year in 1980..=2107 {
        let leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let february = if leap { 29 } else { 28 };
        let lengths = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (month, length) in (1..).zip(lengths) {
            for day in 1..=length {
                let date = date(year, month, day);
                assert_eq!(unix_from_dos(0, date, 0, UTC), (secs, 0));
                assert_eq!(fields(secs, 0, UTC), (0, date, 0));
                assert_eq!(fields(secs + 86_399, 0, UTC), (time(23, 59, 58), date, 100));
                secs += 86_400;
            }
        }
    }
    assert_eq!(secs, 4_354_819_200);
}

#[test]
fn every_time_of_day() {
    let mut secs = 315_532_800;
    for hour in 0..24 {
        for minute in 0..60 {
            for second in 0..60 {
                let cs = if second % 2 == 1 { 100 } else { 0 };
                assert_eq!(fields(secs, 0, UTC), (time(hour, minute, second), 0x21, cs));
                secs += 1;
            }
        }
    }
}

#[test]
fn ranges() {
    assert_eq!(range(UTC), (315_532_800, 4_354_819_198));
    assert_eq!(
        range(TzOffset::from_time_offset(-90)),
        (315_532_800 + 5400, 4_354_819_198 + 5400)
    );
}

#[test]
fn truncation() {
    assert_eq!(truncate_mtime(5), 4);
    assert_eq!(truncate_mtime(-5), -6);
    assert_eq!(truncate_atime(1_709_186_828, UTC), 1_709_164_800);
    assert_eq!(truncate_atime(-1, UTC), -86_400);
    // 06:07 UTC is 01:07 at UTC-5: midnight there is 05:00 UTC.
    let tz = TzOffset::from_minutes_west(300);
    assert_eq!(truncate_atime(1_709_186_828, tz), 1_709_164_800 + 5 * 3600);
}

fn zone() -> impl Strategy<Value = TzOffset> {
    (-1440i32..=1440).prop_map(TzOffset::from_time_offset)
}

proptest! {
    #[test]
    fn unix_time_round_trips(secs in 315_619_200i64..4_354_732_800, steps in 0u32..100, tz in zone()) {
        let nsec = steps * 10_000_000;
        let stamp = dos_from_unix(secs, nsec, tz);
        prop_assert!(stamp.cs < 200);
        prop_assert_eq!(unix_from_dos(stamp.time, stamp.date, stamp.cs, tz), (secs, nsec));
        let (changed, _) = unix_from_dos(stamp.time, stamp.date, 0, tz);
        prop_assert_eq!(changed, truncate_mtime(secs));
        let (accessed, _) = unix_from_dos(0, stamp.date, 0, tz);
        prop_assert_eq!(accessed, truncate_atime(secs, tz));
    }

    #[test]
    fn stamps_round_trip(
        year in 1980u16..=2107, month in 1u16..=12, day in 1u16..=28,
        hour in 0u16..24, minute in 0u16..60, second in 0u16..60, cs in 0u8..200, tz in zone(),
    ) {
        let (time, date) = (time(hour, minute, second), date(year, month, day));
        let (secs, nsec) = unix_from_dos(time, date, cs, tz);
        prop_assert_eq!(fields(secs, nsec, tz), (time, date, cs));
    }

    #[test]
    fn never_panics(time: u16, date: u16, cs: u8, secs: i64, nsec: u32, minutes: i32) {
        for tz in [TzOffset::from_minutes_west(minutes), TzOffset::from_time_offset(minutes)] {
            let (from, _) = unix_from_dos(time, date, cs, tz);
            let _ = (range(tz), truncate_atime(secs, tz), truncate_atime(from, tz));
            let stamp = dos_from_unix(secs, nsec, tz);
            let (first, last) = range(tz);
            let (clamped, _) = unix_from_dos(stamp.time, stamp.date, stamp.cs, tz);
            prop_assert!((first..=last + 1).contains(&clamped));
        }
    }
}
