// SPDX-License-Identifier: GPL-2.0

//! Which object has which name, while steps are carried out one after the other.

use std::collections::BTreeMap;

use crate::content::Obj;
use crate::op::{Op, Place, ROOT};

/// The names at one moment.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// What each name stands for.
    pub cells: BTreeMap<Place, Obj>,
    /// Where each object is.
    pub places: BTreeMap<Obj, Place>,
}

/// What a step changes: a name and what it stands for afterwards.
pub type CellChange = (Place, Option<Obj>);

impl Names {
    /// The path of an object from the root, without a slash in front; `None` if it has no name.
    pub fn path(&self, obj: Obj) -> Option<String> {
        if obj == ROOT {
            return Some(String::new());
        }
        let place = self.places.get(&obj)?;
        let parent = self.path(place.dir)?;
        Some(match parent.as_str() {
            "" => place.name.clone(),
            parent => format!("{parent}/{}", place.name),
        })
    }

    /// The path of a name.
    pub fn place_path(&self, place: &Place) -> Option<String> {
        let parent = self.path(place.dir)?;
        Some(match parent.as_str() {
            "" => place.name.clone(),
            parent => format!("{parent}/{}", place.name),
        })
    }

    /// What a name stands for.
    pub fn get(&self, place: &Place) -> Option<Obj> {
        self.cells.get(place).copied()
    }

    /// The names that a step changes if it succeeds.
    pub fn changes(&self, op: &Op) -> Vec<CellChange> {
        match op {
            Op::Create { obj, at } | Op::Mkdir { obj, at } => vec![(at.clone(), Some(*obj))],
            Op::Unlink { at } | Op::Rmdir { at } => vec![(at.clone(), None)],
            Op::Rename { from, to } => {
                vec![(to.clone(), self.get(from)), (from.clone(), None)]
            }
            Op::Exchange { a, b } => {
                vec![(a.clone(), self.get(b)), (b.clone(), self.get(a))]
            }
            _ => Vec::new(),
        }
    }

    /// The object that a step takes the last name from if it succeeds.
    pub fn removed(&self, op: &Op) -> Option<Obj> {
        match op {
            Op::Unlink { at } | Op::Rmdir { at } => self.get(at),
            Op::Rename { to, .. } => self.get(to),
            _ => None,
        }
    }

    /// Carries out a step that succeeded.
    pub fn apply(&mut self, op: &Op) {
        let gone = self.removed(op);
        for (place, value) in self.changes(op) {
            match value {
                Some(obj) => {
                    self.places.insert(obj, place.clone());
                    self.cells.insert(place, obj);
                }
                None => {
                    self.cells.remove(&place);
                }
            }
        }
        if let Some(obj) = gone {
            self.places.remove(&obj);
        }
    }

    /// The objects in a directory.
    pub fn children(&self, dir: Obj) -> impl Iterator<Item = (&Place, Obj)> {
        self.cells
            .iter()
            .filter(move |(place, _)| place.dir == dir)
            .map(|(place, obj)| (place, *obj))
    }
}
