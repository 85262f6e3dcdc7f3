// SPDX-License-Identifier: GPL-2.0

//! A table's bars as inline SVG, on a logarithmic scale.

use std::fmt::Write;

use crate::record::Row;
use crate::text;

const LABEL: f64 = 365.0;
const BARS: f64 = 445.0;
const WIDTH: f64 = 940.0;
const BAR: f64 = 13.0;
const GROUP: f64 = 38.0;
const TOP: f64 = 26.0;

/// What the bars' length is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Value {
    Seconds,
    Writes,
}

impl Value {
    fn of(self, row: &Row) -> Option<f64> {
        let seconds = row.seconds?;
        Some(match self {
            Self::Seconds => seconds,
            Self::Writes => row.io.write_requests as f64,
        })
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::Seconds => text::seconds(value),
            Self::Writes => text::thousands(value as u64),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Seconds => "Time",
            Self::Writes => "Write requests",
        }
    }
}

/// A chart of all rows, which are pairs of vfat and rvfat; nothing if there's nothing to draw.
pub fn svg(rows: &[Row], value: Value) -> Option<String> {
    let scale = Scale::over(rows.iter().filter_map(|row| value.of(row)))?;
    let height = TOP + GROUP * rows.len().div_ceil(2) as f64 + 6.0;
    let title = value.title();
    let mut out = format!(
        "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\n\
         <text x=\"0\" y=\"14\" class=\"title\">{title} (shorter is better, logarithmic)</text>\n"
    );
    for (x, label) in scale.marks(value) {
        let x = LABEL + x;
        let _ = writeln!(
            out,
            "<path d=\"M{x:.1} {TOP}V{height}\" class=\"grid\"/>\
             <text x=\"{x:.1}\" y=\"14\" class=\"mark\">{label}</text>"
        );
    }
    for (n, pair) in rows.chunks(2).enumerate() {
        let y = TOP + GROUP * n as f64 + 4.0;
        let label = escape(&label(&pair[0]));
        let _ = writeln!(
            out,
            "<text x=\"0\" y=\"{:.1}\">{label}</text>",
            y + BAR + 4.0
        );
        for (i, row) in pair.iter().enumerate() {
            let y = y + BAR * i as f64;
            let (length, words) = match value.of(row) {
                Some(v) => (scale.length(v), value.show(v)),
                None => (0.0, "not run".into()),
            };
            let words = format!("{} {words}", row.fs);
            let _ = writeln!(
                out,
                "<rect x=\"{LABEL}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{:.1}\" class=\"fs{i}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" class=\"value\">{}</text>",
                BAR - 1.0,
                LABEL + length + 5.0,
                y + BAR - 3.0,
                escape(&words)
            );
        }
    }
    out.push_str("</svg>\n");
    Some(out)
}

/// A cell in a few words.
pub fn label(row: &Row) -> String {
    let cluster = text::size(row.cluster.into());
    let files = text::thousands(row.files);
    let what = match row.bytes {
        0 => files,
        n => format!("{files} x {}", text::size(n)),
    };
    format!("{}, {}, {cluster} clusters, {what}", row.op, row.mount)
}

/// For text between tags and in quotes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// Powers of ten from below the least value to the greatest.
struct Scale {
    low: i32,
    high: i32,
}

impl Scale {
    fn over(values: impl Iterator<Item = f64>) -> Option<Self> {
        let (least, most) = values.filter(|value| *value > 0.0).fold(
            None,
            |range: Option<(f64, f64)>, value| {
                let (least, most) = range.unwrap_or((value, value));
                Some((least.min(value), most.max(value)))
            },
        )?;
        let low = (least.log10() - 0.1).floor() as i32;
        let high = (most.log10().ceil() as i32).max(low + 1);
        Some(Self { low, high })
    }

    fn length(&self, value: f64) -> f64 {
        if value <= 0.0 {
            return 0.0;
        }
        let part = (value.log10() - f64::from(self.low)) / f64::from(self.high - self.low);
        part.clamp(0.0, 1.0) * BARS
    }

    fn marks(&self, value: Value) -> Vec<(f64, String)> {
        let mark = |exponent: i32| {
            let at = 10f64.powi(exponent);
            let label = match value {
                Value::Seconds => format!("{at} s"),
                Value::Writes if at < 1.0 => String::new(),
                Value::Writes => text::thousands(at as u64),
            };
            (self.length(at), label)
        };
        (self.low..=self.high).map(mark).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(fs: &str, seconds: Option<f64>) -> Row {
        Row {
            fs: fs.into(),
            op: "a < b".into(),
            seconds,
            ..Row::default()
        }
    }

    #[test]
    fn scale() {
        let scale = Scale::over([0.05, 63.0].into_iter()).unwrap();
        assert_eq!((scale.low, scale.high), (-2, 2));
        assert_eq!(scale.length(1.0), BARS / 2.0);
        assert_eq!(scale.length(0.0), 0.0);
        assert!(Scale::over([0.0].into_iter()).is_none());
    }

    #[test]
    fn bars() {
        let rows = [row("vfat", Some(10.0)), row("rvfat", Some(0.1))];
        let svg = svg(&rows, Value::Seconds).unwrap();
        assert_eq!(svg.matches("<rect").count(), 2);
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
    }

    #[test]
    fn nothing_to_draw() {
        assert!(svg(&[row("vfat", None)], Value::Seconds).is_none());
        assert!(svg(&[row("vfat", Some(1.0))], Value::Writes).is_none());
    }
}
