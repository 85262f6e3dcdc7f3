// SPDX-License-Identifier: GPL-2.0

//! A real directory tree: taken from the guest, copied onto a volume, compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::progress::Progress;

/// Folders and files by their paths, relative to the tree's top.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tree {
    pub folders: BTreeSet<PathBuf>,
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Tree {
    /// Reads a tree into memory. Left out are links, and names that FAT can't hold or tell apart.
    pub fn load(top: &Path) -> Result<Self> {
        let mut tree = Self::default();
        tree.load_folder(top, Path::new(""))?;
        Ok(tree)
    }

    fn load_folder(&mut self, top: &Path, below: &Path) -> Result<()> {
        let dir = top.join(below);
        let mut entries = fs::read_dir(&dir)
            .with_context(|| format!("can't read {}", dir.display()))?
            .collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut seen = BTreeSet::new();
        for entry in entries {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| is_legal(name)) else {
                continue;
            };
            let kind = entry.file_type()?;
            if kind.is_symlink() || !seen.insert(name.to_ascii_lowercase()) {
                continue;
            }
            let path = below.join(name);
            if kind.is_dir() {
                self.folders.insert(path.clone());
                self.load_folder(top, &path)?;
            } else if kind.is_file() {
                let content = fs::read(entry.path())
                    .with_context(|| format!("can't read {}", entry.path().display()))?;
                self.files.insert(path, content);
            }
        }
        Ok(())
    }

    /// Writes the tree below `to`.
    pub fn store(&self, to: &Path, progress: &mut Progress) -> Result<()> {
        fs::create_dir(to)?;
        for folder in &self.folders {
            fs::create_dir(to.join(folder))?;
        }
        for (n, (path, content)) in (1..).zip(&self.files) {
            fs::write(to.join(path), content)
                .with_context(|| format!("can't write {}", to.join(path).display()))?;
            progress.tick(n, self.files.len() as u64, "files copied");
        }
        Ok(())
    }

    /// The first thing that isn't the same in a copy; nothing if all is.
    pub fn difference(&self, copy: &Self) -> Option<String> {
        if let Some(folder) = self.folders.symmetric_difference(&copy.folders).next() {
            return Some(format!("folder {}", folder.display()));
        }
        let missing = self
            .files
            .keys()
            .find(|path| !copy.files.contains_key(*path));
        let added = copy
            .files
            .keys()
            .find(|path| !self.files.contains_key(*path));
        if let Some(path) = missing.or(added) {
            return Some(format!("file {}", path.display()));
        }
        self.files
            .iter()
            .find(|(path, content)| copy.files.get(*path) != Some(*content))
            .map(|(path, _)| format!("content of {}", path.display()))
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.files
            .values()
            .map(|content| content.len() as u64)
            .sum()
    }
}

/// Whether FAT can hold a name as it is.
fn is_legal(name: &str) -> bool {
    let legal = |c: char| c.is_ascii() && !c.is_ascii_control() && !"\"*/:<>?\\|".contains(c);
    name.chars().all(legal) && !name.ends_with(['.', ' ']) && !name.starts_with(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |&(path, content): &(&str, &str)| (path.into(), content.into());
        Tree {
            folders: BTreeSet::new(),
            files: files.iter().map(file).collect(),
        }
    }

    #[test]
    fn legal_names() {
        assert!(is_legal("a b.txt") && is_legal(".hidden") && is_legal("x+y,z;[1]"));
        for name in ["a:b", "what?", "dot.", "space ", "ü", "a\\b", "a\tb"] {
            assert!(!is_legal(name), "{name}");
        }
    }

    #[test]
    fn differences() {
        let a = tree(&[("x", "1"), ("y", "2")]);
        assert_eq!(a.difference(&tree(&[("x", "1"), ("y", "2")])), None);
        assert_eq!(a.difference(&tree(&[("x", "1")])).unwrap(), "file y");
        let more = tree(&[("x", "1"), ("y", "2"), ("z", "")]);
        assert_eq!(a.difference(&more).unwrap(), "file z");
        let other = tree(&[("x", "1"), ("y", "3")]);
        assert_eq!(a.difference(&other).unwrap(), "content of y");
        assert_eq!(a.bytes(), 2);
    }
}
