// SPDX-License-Identifier: GPL-2.0

//! Reads a volume out of an image, independently of the driver and of `fsck.fat`.
//!
//! Only the format itself comes from `rust/ondisk`; walking chains and directories is done here. It
//! reads by one copy of the FAT, which the caller chooses: a promise has to hold with each.

use std::collections::BTreeMap;

use anyhow::{anyhow, Context, Result};
use rvfat_unit::ondisk::{
    fat, shortname, Attrs, Cluster, Codepage, DisplayCase, FatEntry, Geometry, LongNameAssembler,
    ParseOptions, RawDirent, SlotKind, DIRENT_SIZE,
};

use crate::verdict::{Kind, Problem};

/// Directories deeper than this are taken for a loop.
const MAX_DEPTH: usize = 64;

/// ASCII.
struct Ascii;

impl Codepage for Ascii {
    fn char2uni(&self, bytes: &[u8]) -> Option<(u16, usize)> {
        let byte = bytes.first().filter(|b| b.is_ascii())?;
        Some((u16::from(*byte), 1))
    }

    fn uni2char(&self, unit: u16, out: &mut [u8; 6]) -> Option<usize> {
        *out.first_mut()? = u8::try_from(unit).ok()?;
        Some(1)
    }

    fn to_upper(&self, byte: u8) -> u8 {
        byte.to_ascii_uppercase()
    }

    fn to_lower(&self, byte: u8) -> u8 {
        byte.to_ascii_lowercase()
    }
}

/// A file or directory as it is on disk.
#[derive(Debug)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its path from the root.
    pub path: String,
    /// Its first cluster; 0 if it has none.
    pub start: u32,
    /// What it is.
    pub what: What,
}

/// What a node is.
#[derive(Debug)]
pub enum What {
    /// A file: its content, and whether its chain is longer than that needs.
    File { bytes: Vec<u8>, longer: bool },
    /// A directory: what is in it, and the start of its parent by its `..`.
    Dir { nodes: Vec<Node>, up: u32 },
}

/// A volume.
#[derive(Debug)]
pub struct Volume {
    /// What is in the root directory.
    pub nodes: Vec<Node>,
    /// What is wrong with the structure.
    pub problems: Vec<Problem>,
    /// Pairs of paths whose chains begin at the same cluster.
    pub shared: Vec<(String, String)>,
}

/// What the mark means that no slot behind it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// The directory ends there, as for rvfat.
    Here,
    /// It is a free slot, as for the kernel's vfat and for `fsck.fat`.
    Nowhere,
}

/// What is known while a volume is read.
struct Reader<'a> {
    image: &'a [u8],
    geo: Geometry,
    fat: &'a [u8],
    ends: Ends,
    problems: Vec<Problem>,
    shared: Vec<(String, String)>,
    /// Whose a cluster is: where that chain starts, and the path.
    owners: BTreeMap<u32, (u32, String)>,
}

/// Where everything is in `image`.
pub fn geometry(image: &[u8]) -> Result<Geometry> {
    let sector = image.first_chunk().context("no boot sector")?;
    Geometry::parse(sector, image.len() as u64, ParseOptions::default())
        .map_err(|e| anyhow!("boot sector: {e:?}"))
}

/// Reads a volume by FAT number `copy`.
pub fn read(image: &[u8], copy: u8, ends: Ends) -> Result<Volume> {
    let geo = geometry(image)?;
    let start = geo.fat_copy_start(copy).context("no such FAT")?;
    let at = (start.get() << geo.sector_bits()) as usize;
    let fat = image
        .get(at..at + geo.fat_bytes() as usize)
        .context("the FAT is cut off")?;
    let mut reader = Reader {
        image,
        geo,
        fat,
        ends,
        problems: Vec::new(),
        shared: Vec::new(),
        owners: BTreeMap::new(),
    };
    let root = match geo.root_cluster() {
        Some(cluster) => reader.chain(cluster.get(), "", true),
        None => {
            let at = (geo.root_start().get() << geo.sector_bits()) as usize;
            let len = (geo.root_sectors() << geo.sector_bits()) as usize;
            image.get(at..at + len).context("no root")?.to_vec()
        }
    };
    let (nodes, _) = reader.dir(&root, "", 0);
    Ok(Volume {
        nodes,
        problems: reader.problems,
        shared: reader.shared,
    })
}

impl Reader<'_> {
    fn problem(&mut self, kind: Kind, text: String) {
        self.problems.push(Problem { kind, text });
    }

    /// The FAT's entry of a cluster.
    fn entry(&self, cluster: Cluster) -> FatEntry {
        let at = self.geo.fat_offset(cluster) as usize;
        let mut raw = [0; 4];
        for (to, from) in raw.iter_mut().zip(self.fat.get(at..).unwrap_or(&[])) {
            *to = *from;
        }
        fat::decode(self.geo.fat_type(), cluster, raw, self.geo.max_cluster())
    }

    /// The bytes of the chain that starts at `start`; what is wrong with it is noted.
    fn chain(&mut self, start: u32, path: &str, dir: bool) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Some(mut at) = self.geo.cluster(start) else {
            self.problem(Kind::Chain, format!("/{path}: starts at cluster {start}"));
            return bytes;
        };
        let mut count = 0;
        loop {
            match self.owners.get(&at.get()) {
                Some((other, _)) if *other == start && count > 0 => {
                    if self.owners.get(&at.get()).is_some_and(|o| o.1 == path) {
                        self.problem(Kind::Chain, format!("/{path}: its chain loops"));
                        return bytes;
                    }
                }
                Some((other, owner)) if *other == start => {
                    self.shared.push((owner.clone(), path.to_string()));
                }
                Some((_, owner)) => {
                    let text = format!("/{path} and /{owner} share cluster {}", at.get());
                    self.problem(Kind::CrossLink, text);
                    return bytes;
                }
                None => {
                    self.owners.insert(at.get(), (start, path.to_string()));
                }
            }
            let from = (self.geo.cluster_sector(at).get() << self.geo.sector_bits()) as usize;
            let len = self.geo.cluster_bytes() as usize;
            bytes.extend_from_slice(self.image.get(from..from + len).unwrap_or(&[]));
            count += 1;
            match self.entry(at) {
                FatEntry::Next(next) => at = next,
                FatEntry::End => return bytes,
                other => {
                    let kind = if dir { "directory" } else { "file" };
                    let text = format!("/{path}: cluster {} of the {kind} is {other:?}", at.get());
                    self.problem(Kind::Chain, text);
                    return bytes;
                }
            }
            if count > self.geo.clusters() {
                self.problem(Kind::Chain, format!("/{path}: its chain loops"));
                return bytes;
            }
        }
    }

    /// What is in a directory, and the start in its `..`.
    fn dir(&mut self, bytes: &[u8], path: &str, depth: usize) -> (Vec<Node>, Option<u32>) {
        let mut nodes: Vec<Node> = Vec::new();
        let mut up = None;
        let mut dot = None;
        let mut name = LongNameAssembler::new();
        // Slots of a long name that no entry followed yet.
        let mut slots = 0;
        for (index, slot) in bytes.chunks_exact(DIRENT_SIZE).enumerate() {
            let Ok(slot) = slot.try_into() else { break };
            let raw = RawDirent::from_bytes(slot);
            let kind = raw.kind();
            if !matches!(kind, SlotKind::Long(_) | SlotKind::Entry) && slots > 0 {
                let text = format!("/{path}: {slots} slots of a long name before slot {index}");
                self.problem(Kind::LongName, text);
            }
            match kind {
                SlotKind::End if self.ends == Ends::Here => break,
                SlotKind::Long(long) => {
                    name.feed(&long);
                    slots += 1;
                    continue;
                }
                SlotKind::End | SlotKind::Deleted | SlotKind::VolumeLabel => name.reset(),
                SlotKind::Entry if raw.name().is_dot() => dot = Some(self.start(&raw)),
                SlotKind::Entry if raw.name().is_dot_dot() => up = Some(self.start(&raw)),
                SlotKind::Entry => {
                    let long = name.finish(&raw.name()).map(String::from_utf16_lossy);
                    if slots > 0 && long.is_none() {
                        let text = format!("/{path}: the long name of slot {index} is not whole");
                        self.problem(Kind::LongName, text);
                    }
                    let name = long.unwrap_or_else(|| short_name(&raw));
                    let node = self.node(&raw, name, path, depth);
                    if nodes
                        .iter()
                        .any(|n| n.name.eq_ignore_ascii_case(&node.name))
                    {
                        let text = format!("/{}: twice in its directory", node.path);
                        self.problem(Kind::Structure, text);
                    }
                    nodes.push(node);
                }
            }
            slots = 0;
        }
        if depth > 0 && (dot.is_none() || up.is_none()) {
            self.problem(Kind::Structure, format!("/{path}: no . or no .."));
        }
        (nodes, up)
    }

    fn start(&self, raw: &RawDirent) -> u32 {
        raw.start(self.geo.fat_type())
    }

    fn node(&mut self, raw: &RawDirent, name: String, dir: &str, depth: usize) -> Node {
        let path = match dir {
            "" => name.clone(),
            dir => format!("{dir}/{name}"),
        };
        let start = self.start(raw);
        let what = if raw.attrs().contains(Attrs::DIRECTORY) {
            self.subdir(&path, start, depth)
        } else {
            self.file(raw, &path, start)
        };
        Node {
            name,
            path,
            start,
            what,
        }
    }

    fn subdir(&mut self, path: &str, start: u32, depth: usize) -> What {
        let none = What::Dir {
            nodes: Vec::new(),
            up: 0,
        };
        if start == 0 {
            self.problem(
                Kind::Chain,
                format!("/{path}: a directory without clusters"),
            );
            return none;
        }
        if depth > MAX_DEPTH {
            self.problem(Kind::Structure, format!("/{path}: directories loop"));
            return none;
        }
        let bytes = self.chain(start, path, true);
        let (nodes, up) = self.dir(&bytes, path, depth + 1);
        let first = RawDirent::from_bytes(bytes.first_chunk().copied().unwrap_or([0; DIRENT_SIZE]));
        if first.name().is_dot() && self.start(&first) != start {
            self.problem(Kind::Structure, format!("/{path}: its . is wrong"));
        }
        What::Dir {
            nodes,
            up: up.unwrap_or(0),
        }
    }

    fn file(&mut self, raw: &RawDirent, path: &str, start: u32) -> What {
        let size = raw.size() as usize;
        let mut bytes = match start {
            0 => Vec::new(),
            start => self.chain(start, path, false),
        };
        if bytes.len() < size {
            let text = format!("/{path}: {size} bytes, its chain has {}", bytes.len());
            self.problem(Kind::Chain, text);
        }
        let needed = self.geo.clusters_for(size as u64).get() as usize;
        let longer = bytes.len() > needed * self.geo.cluster_bytes() as usize;
        bytes.truncate(size);
        What::File { bytes, longer }
    }
}

fn short_name(raw: &RawDirent) -> String {
    let mut out = [0; shortname::MAX_DISPLAY_UNITS];
    let len = shortname::display_units(
        &raw.name(),
        raw.lcase(),
        DisplayCase::WinNt,
        &Ascii,
        &mut out,
    );
    String::from_utf16_lossy(out.get(..len).unwrap_or(&[]))
}
