// SPDX-License-Identifier: GPL-2.0

//! What each use of `unsafe` has to say for itself.
//!
//! - A block, an impl and the like have a `// SAFETY:` comment in front of them or in front of the
//!   statement that they are part of; a function or trait has a `# Safety` section. The methods of
//!   an `impl Trait for Type` keep to the section of the trait.
//! - The comment says something: three words at least, and none of the phrases that fit everything.
//! - No more than three functions of a file have the same section: a contract names what it is for.
//! - It may point to another comment only where that is easy to find, and says something itself:
//!   *as above* to an earlier one in the same function, or from an impl to the impl just before it;
//!   *as in `name`* to one in the function `name` of the same file; *the impl's comment* and *the
//!   type's comment* to what is written above the impl around it or above that impl's type.

use crate::scan::{File, Site, What};

/// Phrases that say nothing.
const EMPTY: [&str; 10] = [
    "todo",
    "fixme",
    "xxx",
    "safe",
    "this is safe",
    "it is safe",
    "trivially safe",
    "obviously safe",
    "trust me",
    "ffi call",
];

/// Fewest words of a reason.
const WORDS: usize = 3;

/// Functions of a file that may share one section.
const SHARED: usize = 3;

/// The reason that a site gives, or what is wrong with it.
pub type Reason = Result<String, String>;

/// What follows `marker` in the comments, as one line.
fn section(comments: &str, marker: &str) -> Option<String> {
    let mut lines = comments.lines().map(str::trim);
    let first = lines.find_map(|l| l.strip_prefix(marker))?;
    let rest = lines.take_while(|l| !l.starts_with("# ") && !l.starts_with("SAFETY:"));
    let all: Vec<&str> = std::iter::once(first.trim())
        .chain(rest)
        .filter(|l| !l.is_empty())
        .collect();
    Some(all.join(" "))
}

/// The first sentence.
pub fn sentence(text: &str) -> &str {
    let end = text.find(". ").map_or(text.len(), |n| n + 1);
    &text[..end]
}

fn simplified(text: &str) -> String {
    text.to_lowercase()
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_string()
}

/// Another comment that a reason points to.
#[derive(Debug, PartialEq, Eq)]
enum Pointer {
    Above,
    In(String),
    ImplComment,
    TypeComment,
}

fn pointer(text: &str) -> Option<Pointer> {
    let lower = sentence(text).to_lowercase();
    let starts = |p: &str| lower.starts_with(p);
    if starts("as above") || starts("same as above") || starts("see above") {
        return Some(Pointer::Above);
    }
    if starts("see the impl's comment") {
        return Some(Pointer::ImplComment);
    }
    if starts("see the type's comment") {
        return Some(Pointer::TypeComment);
    }
    if starts("as in `") || starts("see `") || starts("same as in `") {
        return Some(Pointer::In(text.split('`').nth(1)?.to_string()));
    }
    None
}

fn check_text(text: &str) -> Reason {
    if EMPTY.contains(&simplified(text).as_str()) {
        return Err(format!("the reason \"{text}\" fits everything"));
    }
    if text.split_whitespace().count() < WORDS && pointer(text).is_none() {
        return Err(format!("the reason \"{text}\" says too little"));
    }
    Ok(text.to_string())
}

/// A reason of its own, or one that points elsewhere.
fn own_reason(site: &Site) -> Reason {
    match site.what {
        What::Fn | What::Trait => match section(&site.comments, "# Safety") {
            Some(text) => check_text(&text),
            None if site.inner_impl().is_some_and(|i| i.of_trait) => {
                Ok("that of the trait's method".to_string())
            }
            None => Err("no \"# Safety\" section".to_string()),
        },
        _ => match section(&site.comments, "SAFETY:") {
            Some(text) => check_text(&text),
            None => Err("no \"// SAFETY:\" comment".to_string()),
        },
    }
}

/// Whether a comment above an impl or a type can stand for reasons.
fn says_something(comments: &str) -> bool {
    comments.split_whitespace().count() >= WORDS
}

/// Follows the pointer of the reason of site `at`.
fn resolve(file: &File, at: usize, text: &str) -> Result<(), String> {
    let site = &file.sites[at];
    let good = |other: &Site| own_reason(other).is_ok_and(|t| pointer(&t).is_none());
    let found = match pointer(text) {
        None => true,
        Some(Pointer::Above) if site.what == What::Impl => {
            // `Send` and `Sync` of one type come in pairs.
            let before = at.checked_sub(1).map(|n| &file.sites[n]);
            let type_of = |s: &Site| s.name.rsplit(' ').next().map(str::to_string);
            before.is_some_and(|b| b.what == What::Impl && type_of(b) == type_of(site) && good(b))
        }
        Some(Pointer::Above) => {
            let here = site.inner_fn();
            file.sites[..at]
                .iter()
                .any(|s| here.is_some() && s.inner_fn() == here && good(s))
        }
        Some(Pointer::In(name)) => file.sites.iter().any(|s| {
            let within = s.inner_fn().is_some_and(|f| f.name == name);
            let is = s.what == What::Fn && s.name == name;
            let same = s.inner_fn().is_some() && s.inner_fn() == site.inner_fn();
            (within || is) && !same && good(s)
        }),
        Some(Pointer::ImplComment) => site
            .inner_impl()
            .is_some_and(|i| says_something(&i.comments)),
        Some(Pointer::TypeComment) => site.inner_impl().is_some_and(|i| {
            file.types
                .iter()
                .any(|(name, comments)| *name == i.name && says_something(comments))
        }),
    };
    if found {
        Ok(())
    } else {
        Err(format!("\"{}\" points to nothing", sentence(text)))
    }
}

/// Refuses a function's section that many others have, too.
fn unshared(file: &File, at: usize, text: &str) -> Result<(), String> {
    let is_section = |s: &Site| section(&s.comments, "# Safety").as_deref() == Some(text);
    if file.sites[at].what != What::Fn || !is_section(&file.sites[at]) {
        return Ok(());
    }
    match file.sites.iter().filter(|s| is_section(s)).count() {
        n if n > SHARED => Err(format!("{n} functions have the section \"{text}\"")),
        _ => Ok(()),
    }
}

/// The reason of each site of a file.
pub fn reasons(file: &File) -> Vec<Reason> {
    (0..file.sites.len())
        .map(|at| {
            let text = own_reason(&file.sites[at])?;
            resolve(file, at, &text)?;
            unshared(file, at, &text)?;
            Ok(text)
        })
        .collect()
}
