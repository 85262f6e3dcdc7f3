// SPDX-License-Identifier: GPL-2.0

//! One page with all tables and charts, which needs nothing but itself.

use std::fmt::Write;

use crate::chart::{self, escape, label, Value};
use crate::record::{Report, Row};
use crate::text;

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>rvfat: benchmark</title>
<style>
:root { color-scheme: light dark; --vfat: #c2803a; --rvfat: #2a78b5; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70em; margin: 2em auto; padding: 0 1em; }
h2 { margin-top: 2.5em; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25em .6em; text-align: right; border-bottom: 1px solid var(--line); }
th:nth-child(-n+2), td:nth-child(-n+2), td.note { text-align: left; }
.met { color: #2a8a3e; } .missed { color: #c0392b; font-weight: bold; }
svg { width: 100%; margin: 1.2em 0; } svg text { font-size: 11px; fill: currentColor; }
svg .title { font-weight: bold; } svg .mark { text-anchor: middle; opacity: .6; }
svg .grid { stroke: var(--line); } svg .fs0 { fill: var(--vfat); } svg .fs1 { fill: var(--rvfat); }
</style>
<h1>rvfat and the kernel's own vfat</h1>
<p>Each cell was run with both file systems in one boot of the same kernel, on equal disks made
afresh. Times are medians; "times as fast" and targets compare rvfat with vfat.</p>
"#;

/// The whole page.
pub fn html(reports: &[Report]) -> String {
    let mut out = String::from(HEAD);
    for report in reports {
        let _ = writeln!(
            out,
            "<h2 id=\"{0}\">{1}</h2>\n<p>Table <code>{0}</code>, Linux {2}, {3}{4}.</p>",
            escape(&report.table),
            escape(&report.title),
            escape(&report.kernel),
            escape(&report.accel),
            if report.complete {
                ""
            } else {
                ", stopped before its end"
            },
        );
        for value in [Value::Seconds, Value::Writes] {
            out.push_str(&chart::svg(&report.rows, value).unwrap_or_default());
        }
        out.push_str(&table(&report.rows));
    }
    out.push_str("</html>\n");
    out
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(
        "<table>\n<tr><th>cell<th>file system<th>time<th>spread<th>writes<th>sectors<th>flushes\
         <th>reads<th>KiB/write<th>times as fast<th>times fewer writes</tr>\n",
    );
    for pair in rows.chunks(2) {
        for (n, row) in pair.iter().enumerate() {
            let cell = if n == 0 {
                escape(&label(row))
            } else {
                String::new()
            };
            let _ = write!(out, "<tr><td>{cell}<td>{}", escape(&row.fs));
            for value in values(row) {
                let _ = write!(out, "<td>{}", escape(&value));
            }
            out.push_str("</tr>\n");
            out.push_str(&notes(row));
        }
    }
    out.push_str("</table>\n");
    out
}

fn values(row: &Row) -> Vec<String> {
    let Some(seconds) = row.seconds else {
        return vec!["-".into()];
    };
    let spread = |(a, b)| format!("{} - {}", text::seconds(a), text::seconds(b));
    vec![
        text::seconds(seconds),
        row.spread().map(spread).unwrap_or_default(),
        text::thousands(row.io.write_requests),
        text::thousands(row.io.write_sectors),
        text::thousands(row.io.flushes),
        text::thousands(row.io.read_requests),
        format!("{:.1}", row.average_write_kib),
        row.ratio_seconds.map(text::ratio).unwrap_or_default(),
        row.ratio_requests.map(text::ratio).unwrap_or_default(),
    ]
}

fn notes(row: &Row) -> String {
    let mut notes: Vec<_> = row
        .extra
        .iter()
        .map(|(name, value)| format!("{} {value:.1}", name.replace('_', " ")))
        .collect();
    notes.extend(row.skipped.clone());
    let mut words = escape(&notes.join("; "));
    if let (Some(target), Some(met)) = (&row.target, row.met) {
        let (class, verdict) = if met {
            ("met", "met")
        } else {
            ("missed", "missed")
        };
        let gap = if words.is_empty() { "" } else { "; " };
        let target = escape(target);
        let _ = write!(
            words,
            "{gap}target {target}: <span class=\"{class}\">{verdict}</span>"
        );
    }
    if words.is_empty() {
        return words;
    }
    format!("<tr><td><td colspan=\"10\" class=\"note\">{words}</tr>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_is_self_contained() {
        let mut row = Row {
            fs: "rvfat".into(),
            seconds: Some(0.1),
            target: Some("<= 64 writes".into()),
            met: Some(true),
            ..Row::default()
        };
        row.io.write_requests = 48;
        let report = Report {
            table: "keep_size".into(),
            rows: vec![row.clone(), row],
            ..Report::default()
        };
        let page = html(&[report]);
        assert!(!page.contains("http") && !page.contains("src="));
        assert!(page.contains("target &lt;= 64 writes") && page.contains("<svg"));
    }
}
