// SPDX-License-Identifier: GPL-2.0

//! Mounts some of the disks as they were after a cut: as they are, and repaired by `fsck.fat -a`.
//!
//! The guest mounts each, reads everything, makes, changes and removes files of its own, and
//! unmounts it. The host then holds what was read against its own reading of the image, and looks
//! at what the driver left behind.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{ensure, Context, Result};
use serde::{Deserialize, Serialize};

use crate::examine::{Failure, Found};
use crate::fsck;
use crate::plan::Plan;
use crate::rng::mix;
use crate::verdict::{Kind, Problem};
use crate::volume::{self, Ends, Node, What};

/// What is in a volume: for each path the size and a sum of the content; `None` for a directory.
type Listing = BTreeMap<String, Option<(u64, u64)>>;

/// An image to be mounted.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sample {
    test: String,
    cut: String,
    image: PathBuf,
    /// Whether `fsck.fat -a` repaired it.
    repaired: bool,
    /// What the host read from it.
    listing: Listing,
    /// What `fsck.fat` says when nothing is wrong.
    usual: String,
}

/// What came of mounting one.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Seen {
    error: Option<String>,
    listing: Listing,
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(bytes.len() as u64, |sum, chunk| {
        let word = chunk.iter().fold(0, |w, b| (w << 8) | u64::from(*b));
        mix(sum ^ word)
    })
}

fn list(nodes: &[Node], listing: &mut Listing) {
    for node in nodes {
        let value = match &node.what {
            What::File { bytes, .. } => Some((bytes.len() as u64, sum(bytes))),
            What::Dir { nodes, .. } => {
                list(nodes, listing);
                None
            }
        };
        listing.insert(node.path.clone(), value);
    }
}

/// What is in an image; `None` if it is broken.
fn read_image(path: &Path, ends: Ends) -> Result<Option<Listing>> {
    let volume = volume::read(&fs::read(path)?, 0, ends)?;
    let mut listing = Listing::new();
    list(&volume.nodes, &mut listing);
    Ok(volume.problems.is_empty().then_some(listing))
}

/// Repairs a copy of each image and writes the list for the guest.
pub fn prepare(dir: &Path, fs_type: &str, all: &[Found]) -> Result<()> {
    let ends = match fs_type {
        "rvfat" => Ends::Here,
        _ => Ends::Nowhere,
    };
    let mut samples = Vec::new();
    for found in all {
        for (cut, image) in &found.samples {
            let fixed = image.with_extension("fixed.img");
            fs::copy(image, &fixed)?;
            fsck::output(&fixed, "-a")?;
            for (image, repaired) in [(image.clone(), false), (fixed, true)] {
                // fsck.fat takes all clusters from a directory that has a second name, and leaves
                // its entry; no driver reads that.
                let Some(listing) = read_image(&image, ends)? else {
                    continue;
                };
                samples.push(Sample {
                    test: found.test.clone(),
                    cut: cut.clone(),
                    listing,
                    image,
                    repaired,
                    usual: found.usual.clone(),
                });
            }
        }
    }
    fs::write(dir.join("samples.json"), serde_json::to_string(&samples)?)?;
    Ok(())
}

fn read_samples(dir: &Path) -> Result<Vec<Sample>> {
    let text = fs::read_to_string(dir.join("samples.json")).context("no samples")?;
    Ok(serde_json::from_str(&text)?)
}

/// Guests that mount images side by side.
const GUESTS: usize = 2;

/// In guest number `guest`: mounts its part of them. `out` is where what is written stays.
pub fn run(dir: &Path, guest: usize, out: &Path) -> Result<()> {
    let plan = Plan::read(dir)?;
    for module in ["loop", "nls_cp437", "nls_iso8859-1", "nls_ascii"] {
        let _ = Command::new("modprobe").arg(module).status();
    }
    let root = Path::new("/tmp/mounted");
    fs::create_dir_all(root)?;
    let mut all = Vec::new();
    let samples = read_samples(dir)?;
    for (i, sample) in samples.iter().skip(guest).step_by(GUESTS).enumerate() {
        let mut seen = Seen::default();
        if let Err(e) = one(&plan.fs, sample, root, out, &mut seen) {
            seen.error = Some(format!("{e:#}"));
            let _ = Command::new("umount").arg(root).status();
        }
        all.push(seen);
        if i % 10 == 9 {
            println!("{} images mounted", i + 1);
        }
    }
    fs::write(out.join("mounted.json"), serde_json::to_string(&all)?)?;
    Ok(())
}

fn name(path: &Path) -> Result<&std::ffi::OsStr> {
    path.file_name().context("an image without a name")
}

fn one(kind: &str, sample: &Sample, root: &Path, out: &Path, seen: &mut Seen) -> Result<()> {
    let image = Path::new("/tmp").join(name(&sample.image)?);
    fs::copy(Path::new("/src").join(&sample.image), &image)?;
    command("mount", &["-o", "loop", "-t", kind], &[&image, root])?;
    walk(root, root, &mut seen.listing)?;
    let room = nix::sys::statvfs::statvfs(root)?;
    if room.blocks_available() * room.fragment_size() >= ROOM {
        exercise(root)?;
    }
    if sample.repaired {
        remove_all(root)?;
    }
    command("umount", &[], &[root])?;
    fs::copy(&image, out.join(name(&sample.image)?))?;
    fs::remove_file(&image)?;
    Ok(())
}

fn command(program: &str, options: &[&str], paths: &[&Path]) -> Result<()> {
    let out = Command::new(program).args(options).args(paths).output()?;
    let errors = String::from_utf8_lossy(&out.stderr);
    ensure!(out.status.success(), "{program}: {}", errors.trim());
    Ok(())
}

fn walk(root: &Path, dir: &Path, listing: &mut Listing) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let key = path.strip_prefix(root)?.to_string_lossy().into_owned();
        if path.is_dir() {
            listing.insert(key, None);
            walk(root, &path, listing)?;
        } else {
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            listing.insert(key, Some((bytes.len() as u64, sum(&bytes))));
        }
    }
    Ok(())
}

/// Bytes that [`exercise`] may need.
const ROOM: u64 = 32768;

/// Makes, changes and removes files.
fn exercise(root: &Path) -> Result<()> {
    let dir = root.join("made after the cut");
    fs::create_dir(&dir)?;
    let path = dir.join("A new file.txt");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)?;
    file.write_all(&[b'n'; 3000])?;
    file.write_all_at(b"changed", 1000)?;
    file.sync_all()?;
    drop(file);
    fs::rename(&path, dir.join("renamed"))?;
    let bytes = fs::read(dir.join("renamed"))?;
    ensure!(
        bytes.len() == 3000 && bytes[1000..1007] == *b"changed",
        "a new file has another content"
    );
    fs::write(dir.join("another"), [b'x'; 700])?;
    fs::remove_file(dir.join("another"))?;
    fs::write(root.join("at the top"), [b'x'; 700])?;
    File::open(root)?.sync_all()?;
    Ok(())
}

/// Removes everything, which a repaired volume has to allow.
fn remove_all(root: &Path) -> Result<()> {
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        let shown = path.display().to_string();
        if path.is_dir() {
            fs::remove_dir_all(&path).context(shown)?;
        } else {
            fs::remove_file(&path).context(shown)?;
        }
    }
    Ok(())
}

/// Adds what came of the images to the tests; returns how many there were.
pub fn collect(dir: &Path, all: &mut [Found]) -> Result<usize> {
    let samples = read_samples(dir)?;
    if samples.is_empty() {
        return Ok(0);
    }
    let mut seen = Vec::new();
    for guest in 0..GUESTS {
        let path = dir.join(format!("mount{guest}/mounted.json"));
        let text = fs::read_to_string(&path)
            .with_context(|| format!("the guest did not end: no {}", path.display()))?;
        seen.push(serde_json::from_str::<Vec<Seen>>(&text)?.into_iter());
    }
    for (i, sample) in samples.iter().enumerate() {
        let out = dir.join(format!("mount{}", i % GUESTS));
        let seen = seen[i % GUESTS].next();
        let seen = &seen.context("the guest mounted other images")?;
        let mut wrong = Vec::new();
        compare(sample, seen, &mut wrong);
        let left = out.join(name(&sample.image)?);
        if seen.error.is_none() {
            leftover(sample, &left, &mut wrong)?;
        }
        if wrong.is_empty() {
            let _ = fs::remove_file(left);
            continue;
        }
        let how = if sample.repaired { ", repaired" } else { "" };
        let failure = Failure {
            cut: sample.cut.clone(),
            moment: format!("mounted after the cut{how}"),
            problems: wrong
                .into_iter()
                .map(|w| Problem::new(Kind::Mounted, w))
                .collect(),
            first: true,
            image: Some(sample.image.clone()),
        };
        if let Some(found) = all.iter_mut().find(|f| f.test == sample.test) {
            found.failures.push(failure);
        }
    }
    Ok(samples.len())
}

/// What was seen through the driver has to be what is in the image.
fn compare(sample: &Sample, seen: &Seen, wrong: &mut Vec<String>) {
    wrong.extend(seen.error.clone());
    for (path, value) in &sample.listing {
        match seen.listing.get(path) {
            Some(found) if found == value => {}
            Some(_) => wrong.push(format!("/{path} was read as something else")),
            None if seen.error.is_none() => wrong.push(format!("/{path} was not there")),
            None => {}
        }
    }
    for path in seen.listing.keys() {
        if !sample.listing.contains_key(path) {
            wrong.push(format!("/{path} was there"));
        }
    }
}

/// Afterwards a repaired volume has to be clean; one that was not may have what it had.
fn leftover(sample: &Sample, image: &Path, wrong: &mut Vec<String>) -> Result<()> {
    let report = fsck::run(image, &sample.usual)?;
    wrong.extend(
        report
            .problems
            .iter()
            .map(|p| format!("fsck.fat: {}", p.text)),
    );
    // Under two names more may be said; see what was found after the cut itself.
    if report.shared == 0 {
        wrong.extend(
            report
                .broken
                .iter()
                .map(|p| format!("fsck.fat: {p}: a free cluster")),
        );
        wrong.extend(
            report
                .parents
                .iter()
                .map(|p| format!("fsck.fat: {p}: an invalid '..'")),
        );
    }
    if sample.repaired && (report.found || report.lost) {
        let text = fsck::output(image, "-n")?;
        wrong.push(format!("not clean: {}", text.replace('\n', " | ")));
    }
    Ok(())
}
