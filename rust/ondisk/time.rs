// SPDX-License-Identifier: GPL-2.0

//! DOS dates and times, and Unix time.
//!
//! FAT stores local time: a date from 1980 to 2107, a time in steps of two seconds and, for the
//! creation of a file only, up to 199 further steps of 10 ms (fatgen103, "Date and Time Formats").
//! Values without a meaning are read the way Linux vfat reads them: month and day 0 count as 1, and
//! too large a field runs over into the next one.

/// Seconds per minute.
const MINUTE: i64 = 60;

/// Seconds per hour.
const HOUR: i64 = 60 * MINUTE;

/// Seconds per day.
const DAY: i64 = 24 * HOUR;

/// Days from the Unix epoch to 1980-01-01.
const DAYS_TO_1980: i64 = 3652;

/// First second that a DOS date can express, in local time.
const MIN_SECONDS: i64 = DAYS_TO_1980 * DAY;

/// Last second that a DOS date can express, in local time: 2107-12-31 23:59:59.
const MAX_SECONDS: i64 = 4_354_819_199;

/// Nanoseconds in a step of the 10 ms field.
const STEP_NANOSECONDS: u32 = 10_000_000;

/// Year 2100, counted from 1980: no leap year.
const YEAR_2100: i64 = 120;

/// Days before the first of each month in a year without a leap day.
const DAYS_BEFORE_MONTH: [u16; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// A time of day: hour in bits 15 to 11, minute in 10 to 5, two-second step in 4 to 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DosTime(u16);

impl DosTime {
    /// Returns the stored value.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the seconds since midnight.
    fn seconds(self) -> i64 {
        // Six bits per field at most: far from overflow.
        let hours = i64::from(self.0 >> 11);
        let minutes = i64::from((self.0 >> 5) & 0x3F);
        let steps = i64::from(self.0 & 0x1F);
        hours * HOUR + minutes * MINUTE + steps * 2
    }
}

impl From<u16> for DosTime {
    fn from(raw: u16) -> Self {
        Self(raw)
    }
}

/// A date: years since 1980 in bits 15 to 9, month in 8 to 5, day in 4 to 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DosDate(u16);

impl DosDate {
    /// Returns the stored value.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns the days since 1980-01-01.
    fn days(self) -> i64 {
        let year = i64::from(self.0 >> 9);
        let month = usize::from((self.0 >> 5) & 0xF).max(1);
        let day = i64::from(self.0 & 0x1F).max(1);
        // The first day of months 13 to 15 counts as that of January, like in Linux vfat. No sum
        // or product here comes near overflow: a field has seven bits at most.
        let before_month = DAYS_BEFORE_MONTH.get(month - 1).copied().unwrap_or(0);
        let leap_day = i64::from(is_leap(year) && month > 2);
        days_before_year(year) + i64::from(before_month) + leap_day + day - 1
    }
}

impl From<u16> for DosDate {
    fn from(raw: u16) -> Self {
        Self(raw)
    }
}

/// A date and time as a directory entry stores it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DosStamp {
    /// Time of day.
    pub time: DosTime,
    /// Date.
    pub date: DosDate,
    /// Steps of 10 ms to add, 0 to 199.
    pub cs: u8,
}

/// How local time on the volume differs from UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TzOffset {
    /// Minutes to add to local time to get UTC.
    minutes_west: i32,
}

impl TzOffset {
    /// The volume keeps UTC.
    pub const UTC: Self = Self { minutes_west: 0 };

    /// Returns the offset for `minutes` west of Greenwich, like `tz_minuteswest` of the kernel.
    pub const fn from_minutes_west(minutes: i32) -> Self {
        Self {
            minutes_west: minutes,
        }
    }

    /// Returns the offset for the mount option `time_offset=minutes`: UTC plus `minutes` is local.
    pub const fn from_time_offset(minutes: i32) -> Self {
        Self {
            minutes_west: minutes.saturating_neg(),
        }
    }

    /// Returns the seconds to add to local time to get UTC.
    fn seconds(self) -> i64 {
        i64::from(self.minutes_west) * MINUTE
    }
}

/// Returns whether year `year`, counted from 1980 and up to 127, has a leap day.
fn is_leap(year: i64) -> bool {
    year % 4 == 0 && year != YEAR_2100
}

/// Returns the days from 1980-01-01 to the first day of year `year`, counted from 1980.
fn days_before_year(year: i64) -> i64 {
    let leap_days = (year + 3) / 4 - i64::from(year > YEAR_2100);
    year * 365 + leap_days
}

/// Returns Unix time, in seconds and nanoseconds, of a date and time on the disk.
///
/// `cs` counts steps of 10 ms; more than 199 of them are added all the same. Use 0 for stamps that
/// have no such field.
pub fn unix_from_dos(
    time: impl Into<DosTime>,
    date: impl Into<DosDate>,
    cs: u8,
    tz: TzOffset,
) -> (i64, u32) {
    // Nothing here can saturate: a stamp covers 136 years, and an offset is an `i32` of minutes.
    let secs = date
        .into()
        .days()
        .saturating_add(DAYS_TO_1980)
        .saturating_mul(DAY)
        .saturating_add(time.into().seconds())
        .saturating_add(tz.seconds())
        .saturating_add(i64::from(cs / 100));
    (secs, u32::from(cs % 100) * STEP_NANOSECONDS)
}

/// Returns the stamp for Unix time `secs` seconds and `nsec` nanoseconds.
///
/// Local times before 1980 become the first moment of 1980, those after 2107 the last one.
pub fn dos_from_unix(secs: i64, nsec: u32, tz: TzOffset) -> DosStamp {
    let local = secs.saturating_sub(tz.seconds());
    if local < MIN_SECONDS {
        return stamp(MIN_SECONDS, 0);
    }
    if local > MAX_SECONDS {
        return DosStamp {
            cs: 199,
            ..stamp(MAX_SECONDS, 0)
        };
    }
    stamp(local, nsec)
}

/// Returns the stamp for local time `local` seconds, which a stamp can express, and `nsec`
/// nanoseconds.
fn stamp(local: i64, nsec: u32) -> DosStamp {
    let second = local.rem_euclid(DAY);
    let days = local.div_euclid(DAY).saturating_sub(DAYS_TO_1980);
    let (year, month, day) = year_month_day(u16::try_from(days).unwrap_or(0));
    let steps = u8::try_from(nsec / STEP_NANOSECONDS).unwrap_or(u8::MAX);
    let odd = if second % 2 == 1 { 100 } else { 0 };
    DosStamp {
        time: DosTime(pack(
            ((second / HOUR) << 11) | ((second % HOUR / MINUTE) << 5) | (second % MINUTE / 2),
        )),
        date: DosDate(pack((year << 9) | (month << 5) | day)),
        cs: steps.min(99) + odd,
    }
}

/// Returns the date that is `days` after 1980-01-01: the year from 0, month and day from 1.
fn year_month_day(days: u16) -> (i64, i64, i64) {
    let days = i64::from(days);
    // Right, or a year early or late: 1461 days are four years.
    let mut year = days * 4 / 1461;
    if days_before_year(year) > days {
        year -= 1;
    } else if days_before_year(year + 1) <= days {
        year += 1;
    }
    let day = days - days_before_year(year);
    let mut found = (year, 1, day + 1);
    for (month, before) in (1..=12).zip(DAYS_BEFORE_MONTH) {
        let first = i64::from(before) + i64::from(is_leap(year) && month > 2);
        if first <= day {
            found = (year, month, day - first + 1);
        }
    }
    found
}

/// Returns `value` as a 16-bit field; the callers' values always fit.
fn pack(value: i64) -> u16 {
    u16::try_from(value).unwrap_or(0)
}

/// Returns the first and the last Unix time, in seconds, that a stamp can express.
pub fn range(tz: TzOffset) -> (i64, i64) {
    (MIN_SECONDS + tz.seconds(), MAX_SECONDS - 1 + tz.seconds())
}

/// Returns the Unix time, in seconds, of the last local midnight before `secs`.
///
/// The date of the last access is all that FAT keeps of it.
pub fn truncate_atime(secs: i64, tz: TzOffset) -> i64 {
    let local = secs.saturating_sub(tz.seconds());
    secs.saturating_sub(local.rem_euclid(DAY))
}

/// Returns `secs` rounded down to the two seconds that FAT keeps of a change time.
pub fn truncate_mtime(secs: i64) -> i64 {
    secs & !1
}
