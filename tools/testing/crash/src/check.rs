// SPDX-License-Identifier: GPL-2.0

//! Holds a volume against the history of the workload.

use std::collections::BTreeSet;

use crate::content::Obj;
use crate::expect::{self, Expected};
use crate::history::{History, Moment};
use crate::op::{Place, ROOT};
use crate::verdict::{Kind, Problem};
use crate::volume::{Node, Volume, What};

/// How the name begins that one of two objects has while their names are exchanged.
const SPARE: &str = ".exchange-";

/// What was found out about a volume.
struct Checker<'a> {
    history: &'a History,
    at: Moment,
    known: Known,
}

/// What is known so far.
#[derive(Clone, Default)]
struct Known {
    problems: Vec<Problem>,
    /// Objects that are there.
    found: BTreeSet<Obj>,
    /// Which object a path was taken for.
    taken: Vec<(String, Obj)>,
    /// Directories whose `..` was looked at: which, whether it is right, and what it says.
    ups: Vec<(Obj, bool, String)>,
}

/// What is wrong with `volume` at a moment.
pub fn check(history: &History, volume: &Volume, at: Moment) -> Vec<Problem> {
    let mut checker = Checker {
        history,
        at,
        known: Known {
            problems: volume.problems.clone(),
            ..Known::default()
        },
    };
    checker.dir(ROOT, &volume.nodes, "", 0);
    for obj in history.must_exist(at) {
        if !checker.known.found.contains(&obj) {
            let text = format!("object {obj} has none of its names");
            checker.known.problems.push(Problem::new(Kind::Lost, text));
        }
    }
    for (a, b) in &volume.shared {
        checker.shared(a, b);
    }
    checker.parents();
    checker.known.problems
}

impl Checker<'_> {
    fn problem(&mut self, kind: Kind, text: String) {
        self.known.problems.push(Problem { kind, text });
    }

    /// Checks the names in a directory, whose chain begins at `start`, and what is behind them.
    fn dir(&mut self, dir: Obj, nodes: &[Node], path: &str, start: u32) {
        for place in self.history.names_in(dir) {
            let values = self.history.values(place, self.at);
            if !values.contains(&None) && !nodes.iter().any(|n| n.name == place.name) {
                let name = &place.name;
                self.problem(
                    Kind::Missing,
                    format!("/{path}: no {name}, which is object {values:?}"),
                );
            }
        }
        for node in nodes {
            let place = Place {
                dir,
                name: node.name.clone(),
            };
            let values = self.history.values(&place, self.at);
            let mut objs: Vec<Obj> = values.into_iter().flatten().collect();
            if objs.is_empty() && node.name.starts_with(SPARE) {
                let moving = |obj: &Obj| self.history.may_have_two_names(*obj, self.at);
                objs = self.history.objs.keys().copied().filter(moving).collect();
            }
            if objs.is_empty() {
                self.problem(Kind::Name, format!("/{}", node.path));
                continue;
            }
            self.node(node, &objs, start);
        }
    }

    /// Checks a node that may be any of `objs`: it has to be right as one of them.
    fn node(&mut self, node: &Node, objs: &[Obj], parent: u32) {
        let is_dir = matches!(node.what, What::Dir { .. });
        let same_kind = |obj: &Obj| self.history.objs.get(obj).is_some_and(|o| o.dir) == is_dir;
        let objs: Vec<Obj> = objs.iter().copied().filter(same_kind).collect();
        if objs.is_empty() {
            self.problem(
                Kind::Name,
                format!("/{}: file and directory are confused", node.path),
            );
            return;
        }
        let start = self.known.clone();
        let mut right: Option<Known> = None;
        let mut wrong: Option<(Obj, Known)> = None;
        // The latest is the likeliest.
        for obj in objs.into_iter().rev() {
            self.known = start.clone();
            self.known.found.insert(obj);
            self.known.taken.push((node.path.clone(), obj));
            self.one(node, obj, parent);
            let known = std::mem::take(&mut self.known);
            if known.problems.len() == start.problems.len() {
                match &mut right {
                    None => right = Some(known),
                    // It may be this one as well, as an empty file may.
                    Some(right) => {
                        right.found.insert(obj);
                        right.taken.push((node.path.clone(), obj));
                    }
                }
                continue;
            }
            let owner = match &node.what {
                What::File { bytes, .. } => expect::owner(bytes),
                What::Dir { .. } => None,
            };
            // Of several wrong readings the one that the bytes name is told.
            let better = wrong.as_ref().is_none_or(|(other, best)| {
                let fewer = known.problems.len() < best.problems.len();
                owner == Some(obj) || (owner != Some(*other) && fewer)
            });
            if better {
                wrong = Some((obj, known));
            }
        }
        self.known = right.or(wrong.map(|w| w.1)).unwrap_or(start);
    }

    /// Checks a node as `obj`.
    fn one(&mut self, node: &Node, obj: Obj, parent: u32) {
        match &node.what {
            What::File { bytes, longer } => self.file(node, obj, bytes, *longer),
            What::Dir { nodes, up } => {
                let text = format!(
                    "/{}: .. names cluster {up}, its directory is {parent}",
                    node.path
                );
                self.known.ups.push((obj, *up == parent, text));
                self.dir(obj, nodes, &node.path, node.start);
            }
        }
    }

    fn file(&mut self, node: &Node, obj: Obj, bytes: &[u8], longer: bool) {
        let expected = Expected::new(self.history, obj, self.at);
        if let Err(text) = expected.check(bytes) {
            let kind = match text.split_whitespace().next() {
                Some("size") => Kind::Size,
                Some("stale") => Kind::Stale,
                _ if text.contains("of another file") => Kind::Foreign,
                _ => Kind::Content,
            };
            self.problem(kind, format!("/{} (object {obj}): {text}", node.path));
        }
        if longer && !expected.moving {
            let text = format!("/{}: {} bytes", node.path, bytes.len());
            self.problem(Kind::Longer, text);
        }
    }

    /// The objects that a path may stand for.
    fn objects(&self, path: &str) -> BTreeSet<Obj> {
        let taken = self.known.taken.iter().filter(|(p, _)| p == path);
        taken.map(|(_, obj)| *obj).collect()
    }

    /// Two paths to one chain: they have to be names of one object, which is being renamed or lies
    /// in a directory that is.
    fn shared(&mut self, a: &str, b: &str) {
        let (first, second) = (self.objects(a), self.objects(b));
        let ends = a.match_indices('/').map(|(at, _)| at).chain([a.len()]);
        let moves = ends
            .flat_map(|end| self.objects(&a[..end]))
            .any(|obj| self.history.may_have_two_names(obj, self.at));
        if first.is_disjoint(&second) || !moves {
            let text =
                format!("/{a} (object {first:?}) and /{b} (object {second:?}) are one chain");
            self.problem(Kind::CrossLink, text);
        }
    }

    /// A directory's `..` has to name the directory it is in; of two, one of them.
    fn parents(&mut self) {
        let right: BTreeSet<Obj> = self.known.ups.iter().filter(|u| u.1).map(|u| u.0).collect();
        for (obj, _, text) in std::mem::take(&mut self.known.ups) {
            if !right.contains(&obj) {
                self.problem(Kind::Parent, text);
            }
        }
    }
}
