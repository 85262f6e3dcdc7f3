// SPDX-License-Identifier: GPL-2.0

//! Suite `ops`: every operation of the file system, on FAT12, FAT16 and FAT32.

mod alloc;
mod attrs;
mod data;
mod direct;
mod dirs;
mod ioctls;
mod maps;
mod names;
mod rename;
mod state;
mod times;

use crate::geom::{self, Geom};
use crate::runner::{Case, Group, Suite};
use crate::vol::Vol;
use anyhow::Result;

/// A test on a fresh, mounted volume; the volume is checked afterwards.
pub type Op = (&'static str, &'static str, fn(&mut Vol) -> Result<()>);

/// All tests of the suite: name, mount options, body.
fn all() -> Vec<Op> {
    [
        names::OPS,
        dirs::OPS,
        rename::OPS,
        data::OPS,
        direct::OPS,
        maps::OPS,
        alloc::OPS,
        times::OPS,
        attrs::OPS,
        ioctls::OPS,
        state::OPS,
    ]
    .concat()
}

/// Wraps a test into a case on a fresh volume.
pub fn case(geom: &Geom, (name, opts, body): Op) -> Case {
    let geom = geom.clone();
    Case::new(name, move |cfg| {
        let mut v = Vol::fresh(&geom, &cfg.fs, opts, "t")?;
        body(&mut v)?;
        v.finish()
    })
}

/// The suite on the three FAT types.
pub fn suite() -> Suite {
    Suite {
        name: "ops",
        groups: geom::basic()
            .into_iter()
            .map(|g| Group {
                name: g.name.clone(),
                cases: all().into_iter().map(|op| case(&g, op)).collect(),
            })
            .collect(),
    }
}

/// Suite `geometry`: a few of the operations on many sector and cluster sizes.
pub fn geometry_suite() -> Suite {
    let few = [
        "smoke",
        "data_survives_remount",
        "directory_grows",
        "statfs_counts",
        "mmap_shared",
        "fallocate_keep_size",
    ];
    let mut groups: Vec<Group> = geom::wide()
        .into_iter()
        .map(|g| Group {
            name: g.name.clone(),
            cases: vec![Case::new("all", move |cfg| {
                for op in all().into_iter().filter(|o| few.contains(&o.0)) {
                    let mut v = Vol::fresh(&g, &cfg.fs, op.1, "t")?;
                    let r = op.2(&mut v).and_then(|()| v.finish());
                    r.map_err(|e| e.context(op.0))?;
                }
                Ok(())
            })
            .limit(240)],
        })
        .collect();
    groups.push(Group {
        name: "fsinfo".into(),
        cases: state::fsinfo_cases(),
    });
    Suite {
        name: "geometry",
        groups,
    }
}
