// SPDX-License-Identifier: GPL-2.0

//! Selftests of the rvfat file system. They run as root in a disposable guest and test the
//! mounted file system type given by `--fs` or `$FS`; the stock vfat has to pass them, too.

mod badimg;
mod damage;
mod differ;
mod disk;
mod enospc;
mod expect;
mod faults;
mod geom;
mod hostile;
mod interop;
mod kmsg;
mod ktap;
mod lifecycle;
mod ops;
mod options;
mod parallel;
mod regress;
mod rng;
mod runner;
mod stress;
mod sys;
mod tree;
mod vol;

use ktap::{Counts, Ktap};
use runner::{Config, Suite};

const USAGE: &str = "\
rvfat-selftest [OPTION]... SUITE...
rvfat-selftest [OPTION]... list SUITE...
rvfat-selftest report FILE...

Suites: ops geometry options differ interop badimg enospc parallel stress lifecycle tree
        regress faults hostile

  --fs NAME        file system under test (default $FS, then rvfat)
  --only TEXT      only tests whose path (suite/group/test) contains TEXT
  --part I/N       every N-th test, beginning with the I-th
  --quick          a part of the suite faults
  --keep           stop at the first failure, leave everything mounted
  --times          print how long each test takes
  --seed N[,N]...  seeds of the random sequences
  --ops N          operations in each sequence
  --volumes N-M    numbers of the volumes that are made (1-300)
  --stats FILE     where hostile adds its counts, for `report`
  --seconds N      time of the parallel test, and of those of stress
  --scale N        size of the tree test, in per cent
  --patience N     N times as much time for each test, on a slow kernel
  --module PATH    the module for the lifecycle test";

fn suite(name: &str, cfg: &Config) -> Option<Suite> {
    Some(match name {
        "differ" => differ::suite(cfg),
        "options" => options::suite(),
        "interop" => interop::suite(),
        "badimg" => badimg::suite(),
        "enospc" => enospc::suite(),
        "parallel" => parallel::suite(),
        "lifecycle" => lifecycle::suite(),
        "stress" => stress::suite(),
        "tree" => tree::suite(),
        "regress" => regress::suite(),
        "faults" => faults::suite(cfg),
        "hostile" => hostile::suite(cfg),
        "ops" => ops::suite(),
        "geometry" => ops::geometry_suite(),
        _ => return None,
    })
}

fn usage(why: &str) -> ! {
    eprintln!("{why}\n{USAGE}");
    std::process::exit(2);
}

fn parse() -> (Config, Vec<String>, bool) {
    let mut cfg = Config {
        fs: std::env::var("FS").unwrap_or_else(|_| "rvfat".into()),
        only: None,
        keep: false,
        quick: false,
        times: false,
        seeds: vec![1, 2, 3],
        ops: 3000,
        volumes: (1, 300),
        seconds: 60,
        scale: 100,
        patience: 1,
        module: None,
        stats: None,
        part: (0, 1),
    };
    let (mut suites, mut list) = (Vec::new(), false);
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        let mut value = || {
            args.next()
                .unwrap_or_else(|| usage(&format!("{a} needs a value")))
        };
        fn number<T: std::str::FromStr>(v: &str) -> T {
            v.parse()
                .unwrap_or_else(|_| usage(&format!("{v} is no number")))
        }
        match a.as_str() {
            "--fs" => cfg.fs = value(),
            "--only" => cfg.only = Some(value()),
            "--keep" => cfg.keep = true,
            "--quick" => cfg.quick = true,
            "--times" => cfg.times = true,
            "--seed" => cfg.seeds = value().split(',').map(number).collect(),
            "--ops" => cfg.ops = number(&value()),
            "--volumes" => {
                let v = value();
                let (a, b) = v.split_once('-').unwrap_or((&v, &v));
                cfg.volumes = (number(a), number(b));
            }
            "--seconds" => cfg.seconds = number(&value()),
            "--scale" => cfg.scale = number(&value()),
            "--stats" => cfg.stats = Some(value()),
            "--patience" => cfg.patience = number::<u32>(&value()).max(1),
            "--module" => cfg.module = Some(value()),
            "--part" => {
                let v = value();
                let (i, n) = v.split_once('/').unwrap_or_else(|| usage("--part I/N"));
                cfg.part = (number(i), number::<usize>(n).max(1));
            }
            "--help" | "-h" => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            "list" => list = true,
            s if !s.starts_with('-') => suites.push(s.to_string()),
            _ => usage(&format!("unknown option {a}")),
        }
    }
    (cfg, suites, list)
}

fn main() {
    let (cfg, names, list) = parse();
    if let Some(("report", files)) = names.split_first().map(|(n, f)| (n.as_str(), f)) {
        hostile::report(files);
        return;
    }
    if names.is_empty() {
        usage("no suite given");
    }
    let mut suites: Vec<Suite> = names
        .iter()
        .map(|n| suite(n, &cfg).unwrap_or_else(|| usage(&format!("no suite {n}"))))
        .collect();
    for s in &mut suites {
        s.select(&cfg);
    }
    if list {
        for s in &suites {
            for (g, c) in s
                .groups
                .iter()
                .flat_map(|g| g.cases.iter().map(move |c| (g, c)))
            {
                println!("{}/{}/{}", s.name, g.name, c.name);
            }
        }
        return;
    }
    if let Err(e) = vol::prepare_work() {
        println!("Bail out! {e:#}");
        std::process::exit(1);
    }
    vol::sweep();
    let mut k = Ktap::new(0, None, suites.len());
    let mut total = Counts::default();
    for s in &suites {
        let counts = s.run(&cfg, 1);
        total.add(counts);
        k.subtest(s.name, counts);
    }
    k.note(&format!(
        "{} passed, {} failed, {} skipped on {}",
        total.passed, total.failed, total.skipped, cfg.fs
    ));
    std::process::exit(total.exit_code());
}
