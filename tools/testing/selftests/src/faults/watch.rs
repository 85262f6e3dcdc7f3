// SPDX-License-Identifier: GPL-2.0

//! A call that takes too long is a failure, and its stack is of interest.

use std::sync::mpsc;
use std::time::Duration;

/// Runs `what`. If it isn't done in time, shows where all tasks of this process are, and ends
/// the process, so that the test fails.
pub fn watched<T>(limit: Duration, name: &str, what: impl FnOnce() -> T) -> T {
    let (tx, rx) = mpsc::channel::<()>();
    std::thread::scope(|s| {
        s.spawn(move || {
            if rx.recv_timeout(limit) != Err(mpsc::RecvTimeoutError::Timeout) {
                return;
            }
            println!("# {name}: not done after {limit:?}");
            for t in std::fs::read_dir("/proc/self/task")
                .into_iter()
                .flatten()
                .flatten()
            {
                let stack = std::fs::read_to_string(t.path().join("stack")).unwrap_or_default();
                for l in stack.lines() {
                    println!("#   {}: {l}", t.file_name().to_string_lossy());
                }
            }
            std::process::exit(3);
        });
        let out = what();
        drop(tx);
        out
    })
}
