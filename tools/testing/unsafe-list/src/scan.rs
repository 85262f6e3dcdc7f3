// SPDX-License-Identifier: GPL-2.0

//! Finds every `unsafe` in a file, what surrounds it and the comment that justifies it.

use crate::lex::{lex, Kind, Token};

/// What is unsafe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// `unsafe { .. }`
    Block,
    /// `unsafe fn`
    Fn,
    /// `unsafe impl`
    Impl,
    /// `unsafe trait`
    Trait,
    /// `unsafe extern { .. }`
    Extern,
    /// An attribute or a macro's argument, such as `unsafe(no_mangle)`.
    Mark,
}

impl What {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            What::Block => "block",
            What::Fn => "fn",
            What::Impl => "impl",
            What::Trait => "trait",
            What::Extern => "extern",
            What::Mark => "mark",
        }
    }
}

/// An item around a piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// `fn`, `impl`, `trait` or `mod`.
    pub keyword: String,
    /// Its name; of an impl the type's.
    pub name: String,
    /// Whether it is the impl of a trait for a type.
    pub of_trait: bool,
    /// The comments above it.
    pub comments: String,
    /// Where it starts; tells items of one name apart.
    pub line: usize,
}

/// One use of `unsafe`.
#[derive(Clone, Debug)]
pub struct Site {
    /// Counted from 1.
    pub line: usize,
    /// What is unsafe.
    pub what: What,
    /// The name of the function or type, for all but blocks.
    pub name: String,
    /// The items around it, the outermost first.
    pub around: Vec<Item>,
    /// What is written in front of it: for a block in front of its statement.
    pub comments: String,
    /// C functions that a block calls.
    pub calls: Vec<String>,
    /// Whether a block follows a raw pointer.
    pub derefs: bool,
}

impl Site {
    /// The function that it is in or that it is.
    pub fn function(&self) -> String {
        let mut parts: Vec<&str> = Vec::new();
        for item in &self.around {
            if item.keyword != "mod" {
                parts.push(&item.name);
            }
        }
        if self.what != What::Block {
            parts.push(&self.name);
        }
        if parts.is_empty() {
            parts.push("-");
        }
        parts.join("::")
    }

    /// The innermost function around a block.
    pub fn inner_fn(&self) -> Option<&Item> {
        self.around.iter().rev().find(|i| i.keyword == "fn")
    }

    /// The innermost impl around it.
    pub fn inner_impl(&self) -> Option<&Item> {
        self.around.iter().rev().find(|i| i.keyword == "impl")
    }
}

/// A type and the comments above it.
pub type TypeDoc = (String, String);

/// What a file holds.
pub struct File {
    /// Each `unsafe`, in order.
    pub sites: Vec<Site>,
    /// The types that it defines.
    pub types: Vec<TypeDoc>,
}

struct Scan {
    tokens: Vec<Token>,
    /// For each token the index of the bracket around it.
    around: Vec<Option<usize>>,
    /// For each opening bracket the index of its partner.
    partner: Vec<usize>,
}

impl Scan {
    fn new(source: &str) -> Self {
        let tokens = lex(source);
        let mut around = Vec::with_capacity(tokens.len());
        let mut partner = vec![tokens.len(); tokens.len()];
        let mut stack = Vec::new();
        for (i, token) in tokens.iter().enumerate() {
            if matches!(token.kind, Kind::Close(_)) {
                if let Some(open) = stack.pop() {
                    partner[open] = i;
                    partner[i] = open;
                }
            }
            around.push(stack.last().copied());
            if matches!(token.kind, Kind::Open(_)) {
                stack.push(i);
            }
        }
        Self {
            tokens,
            around,
            partner,
        }
    }

    /// The first token behind `i` that is no comment.
    fn after(&self, i: usize) -> Option<usize> {
        (i + 1..self.tokens.len()).find(|&i| !self.tokens[i].is_comment())
    }

    fn is_open(&self, i: usize, c: char) -> bool {
        self.tokens.get(i).is_some_and(|t| t.kind == Kind::Open(c))
    }

    /// Whether a `}` at `i` ends a statement or an item, rather than a part of an expression.
    fn ends_statement(&self, i: usize) -> bool {
        match self.after(i).map(|n| &self.tokens[n].kind) {
            Some(Kind::Word(w)) => w != "else" && w != "as",
            Some(Kind::Mark(c)) => *c == '#',
            _ => true,
        }
    }

    /// The index of the token before which the comments of the statement or item of `at` stand,
    /// and those comments.
    fn comments_before(&self, at: usize) -> String {
        let mut i = at;
        while i > 0 {
            let token = &self.tokens[i - 1];
            let stop = match token.kind {
                Kind::Comment { .. } => true,
                Kind::Close('}') => self.ends_statement(i - 1),
                Kind::Open('{') => true,
                Kind::Mark(';') => true,
                // Arms of a match, fields of a struct. Arguments belong to their statement.
                Kind::Mark(',') => self.around[i - 1].is_none_or(|o| self.is_open(o, '{')),
                _ => false,
            };
            if stop {
                break;
            }
            i -= 1;
            if matches!(self.tokens[i].kind, Kind::Close(_)) {
                i = self.partner[i].min(i);
            }
        }
        self.run_before(i)
    }

    /// The comments and attributes that end before `i`: the text of the comments.
    fn run_before(&self, mut i: usize) -> String {
        let mut lines = Vec::new();
        while i > 0 {
            match &self.tokens[i - 1].kind {
                Kind::Comment { text, .. } => {
                    lines.push(text.as_str());
                    i -= 1;
                }
                Kind::Close(']') => {
                    let open = self.partner[i - 1];
                    if open == 0 || open > i || !self.tokens[open - 1].is_mark('#') {
                        break;
                    }
                    i = open - 1;
                }
                _ => break,
            }
        }
        lines.reverse();
        lines.join("\n")
    }

    /// What the `unsafe` at `i` makes unsafe, and its name. `None` for the type of a pointer to an
    /// unsafe function.
    fn classify(&self, i: usize) -> Option<(What, String)> {
        let next = self.after(i)?;
        match &self.tokens[next].kind {
            Kind::Open('{') => Some((What::Block, String::new())),
            Kind::Open('(') => Some((What::Mark, "unsafe(..)".to_string())),
            Kind::Word(w) => match w.as_str() {
                "impl" => Some((What::Impl, self.impl_name(next).0)),
                "trait" => Some((What::Trait, self.name_after(next)?)),
                "fn" => Some((What::Fn, self.name_after(next)?)),
                "extern" => {
                    let mut n = self.after(next)?;
                    if self.tokens[n].kind == Kind::Literal {
                        n = self.after(n)?;
                    }
                    if self.tokens[n].is_word("fn") {
                        return Some((What::Fn, self.name_after(n)?));
                    }
                    Some((What::Extern, "extern".to_string()))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn name_after(&self, i: usize) -> Option<String> {
        Some(self.tokens[self.after(i)?].word()?.to_string())
    }

    /// The name of the impl at `i` (`Send for Inode`, or the type's), and whether it is a trait's.
    fn impl_name(&self, i: usize) -> (String, bool) {
        let mut names: Vec<&str> = Vec::new();
        let mut of = None;
        let mut depth = 0;
        let mut n = i + 1;
        while n < self.tokens.len() {
            let token = &self.tokens[n];
            match &token.kind {
                Kind::Open('{') | Kind::Mark(';') => break,
                Kind::Open(_) => n = self.partner[n],
                Kind::Mark('<') => depth += 1,
                // Not the end of an arrow.
                Kind::Mark('>') if !self.tokens[n - 1].is_mark('-') => depth -= 1,
                Kind::Word(w) if depth == 0 => match w.as_str() {
                    "where" => break,
                    "for" => of = names.last().copied(),
                    "const" | "dyn" => {}
                    w => names.push(w),
                },
                _ => {}
            }
            n += 1;
        }
        let name = names.last().copied().unwrap_or("?");
        match of {
            Some(of) => (format!("{of} for {name}"), true),
            None => (name.to_string(), false),
        }
    }

    /// C functions called in the block that opens at `open`, and whether it follows raw pointers.
    fn calls(&self, open: usize) -> (Vec<String>, bool) {
        let body: Vec<&Token> = self.tokens[open..self.partner[open].min(self.tokens.len())]
            .iter()
            .filter(|t| !t.is_comment())
            .collect();
        let mut calls = Vec::new();
        for w in body.windows(5) {
            if w[0].is_word("bindings") && w[1].is_mark(':') && w[2].is_mark(':') {
                if let (Some(name), Kind::Open('(')) = (w[3].word(), &w[4].kind) {
                    if !calls.iter().any(|c| c == name) {
                        calls.push(name.to_string());
                    }
                }
            }
        }
        let derefs = body
            .windows(2)
            .any(|w| w[0].kind == Kind::Open('(') && w[1].is_mark('*'));
        (calls, derefs)
    }

    /// The item whose keyword is at `i`, if it is one.
    fn item(&self, i: usize) -> Option<Item> {
        let word = self.tokens[i].word()?;
        let (name, of_trait) = match word {
            "fn" | "mod" | "trait" => (self.name_after(i)?, false),
            "impl" if self.starts_item(i) => self.impl_name(i),
            _ => return None,
        };
        Some(Item {
            keyword: word.to_string(),
            name,
            of_trait,
            comments: self.comments_before(i),
            line: self.tokens[i].line,
        })
    }

    /// Whether an `impl` at `i` is an item, and not a type.
    fn starts_item(&self, i: usize) -> bool {
        let before = (0..i).rev().find(|&i| !self.tokens[i].is_comment());
        before.is_none_or(|b| match &self.tokens[b].kind {
            Kind::Close(c) => *c != ')',
            Kind::Open(c) => *c == '{',
            Kind::Mark(c) => *c == ';',
            Kind::Word(w) => w == "unsafe",
            _ => false,
        })
    }

    fn types(&self) -> Vec<TypeDoc> {
        let mut types = Vec::new();
        for (i, token) in self.tokens.iter().enumerate() {
            if token.is_word("struct") || token.is_word("enum") || token.is_word("union") {
                if let Some(name) = self.name_after(i) {
                    types.push((name, self.comments_before(i)));
                }
            }
        }
        types
    }

    fn sites(&self) -> Vec<Site> {
        let mut sites = Vec::new();
        // The items that are open, and the brackets that close them.
        let mut open: Vec<(Item, usize)> = Vec::new();
        let mut next: Option<(Item, Option<usize>)> = None;
        for (i, token) in self.tokens.iter().enumerate() {
            let same = |next: &(Item, Option<usize>)| next.1 == self.around[i];
            match &token.kind {
                Kind::Open('{') if next.as_ref().is_some_and(same) => {
                    open.extend(next.take().map(|(item, _)| (item, self.partner[i])));
                }
                Kind::Close('}') if open.last().is_some_and(|(_, end)| *end == i) => {
                    open.pop();
                }
                Kind::Mark(';') if next.as_ref().is_some_and(same) => next = None,
                Kind::Word(w) if w == "unsafe" => {
                    if let Some((what, name)) = self.classify(i) {
                        let body = self.after(i).filter(|_| what == What::Block);
                        let (calls, derefs) = body.map_or((Vec::new(), false), |b| self.calls(b));
                        sites.push(Site {
                            line: token.line,
                            what,
                            name,
                            around: open.iter().map(|(item, _)| item.clone()).collect(),
                            comments: self.comments_before(i),
                            calls,
                            derefs,
                        });
                    }
                }
                Kind::Word(_) if !next.as_ref().is_some_and(same) => {
                    if let Some(item) = self.item(i) {
                        next = Some((item, self.around[i]));
                    }
                }
                _ => {}
            }
        }
        sites
    }
}

/// Scans a source file.
pub fn scan(source: &str) -> File {
    let scan = Scan::new(source);
    File {
        sites: scan.sites(),
        types: scan.types(),
    }
}
