// SPDX-License-Identifier: GPL-2.0

//! Rust sources as tokens, comments included.
//!
//! Only what the scan needs is told apart: a word inside a string or a comment is not a token, and
//! a lifetime is not the beginning of a character.

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or a name.
    Word(String),
    /// `(`, `[` or `{`.
    Open(char),
    /// `)`, `]` or `}`.
    Close(char),
    /// One character of punctuation.
    Mark(char),
    /// A string, a character or a number.
    Literal,
    /// `'a`.
    Lifetime,
    /// A comment, without its slashes; `doc` if it is documentation of what follows.
    Comment {
        /// The text.
        text: String,
        /// Whether it is documentation.
        doc: bool,
    },
}

/// A token and the line on which it starts.
#[derive(Clone, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Counted from 1.
    pub line: usize,
}

impl Token {
    /// Whether it is this word.
    pub fn is_word(&self, word: &str) -> bool {
        matches!(&self.kind, Kind::Word(w) if w == word)
    }

    /// Whether it is this character of punctuation.
    pub fn is_mark(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    /// The word, if it is one.
    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(w) => Some(w),
            _ => None,
        }
    }

    /// Whether it is a comment.
    pub fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::Comment { .. })
    }
}

struct Lexer<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Lexer<'a> {
    /// Takes `n` bytes.
    fn take(&mut self, n: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(n);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }

    /// Takes characters as long as `f` holds.
    fn take_while(&mut self, f: impl Fn(char) -> bool) -> &'a str {
        let n = self.rest.find(|c| !f(c)).unwrap_or(self.rest.len());
        self.take(n)
    }

    fn line_comment(&mut self) -> Kind {
        let text = self.take_while(|c| c != '\n');
        let doc = text.starts_with("///") && !text.starts_with("////");
        let text = text.trim_start_matches('/').trim_start_matches('!');
        Kind::Comment {
            text: text.trim().to_string(),
            doc,
        }
    }

    fn block_comment(&mut self) -> Kind {
        let start = self.rest;
        let doc = start.starts_with("/**") && !start.starts_with("/**/");
        let mut depth = 0;
        loop {
            if self.rest.starts_with("/*") {
                depth += 1;
                self.take(2);
            } else if self.rest.starts_with("*/") {
                depth -= 1;
                self.take(2);
            } else if let Some(c) = self.rest.chars().next() {
                self.take(c.len_utf8());
            }
            if depth == 0 || self.rest.is_empty() {
                break;
            }
        }
        let text = &start[..start.len() - self.rest.len()];
        let lines: Vec<_> = text
            .trim_start_matches("/*")
            .trim_end_matches("*/")
            .lines()
            .map(|l| l.trim().trim_start_matches('*').trim())
            .collect();
        Kind::Comment {
            text: lines.join("\n").trim().to_string(),
            doc,
        }
    }

    /// The rest of a string, behind the opening quote.
    fn string(&mut self, quote: char) -> Kind {
        while let Some(c) = self.rest.chars().next() {
            self.take(c.len_utf8());
            if c == '\\' {
                let n = self.rest.chars().next().map_or(0, char::len_utf8);
                self.take(n);
            } else if c == quote {
                break;
            }
        }
        Kind::Literal
    }

    /// A raw string, from its first `#` or quote on.
    fn raw_string(&mut self) -> Kind {
        let hashes = self.take_while(|c| c == '#').len();
        self.take(1);
        let end = format!("\"{}", "#".repeat(hashes));
        let n = self
            .rest
            .find(&end)
            .map_or(self.rest.len(), |n| n + end.len());
        self.take(n);
        Kind::Literal
    }

    /// `'a`, or a character.
    fn quote(&mut self) -> Kind {
        self.take(1);
        let mut chars = self.rest.chars();
        let (first, second) = (chars.next(), chars.next());
        let name = first.is_some_and(|c| c == '_' || c.is_alphabetic());
        if name && second != Some('\'') {
            self.take_while(|c| c == '_' || c.is_alphanumeric());
            return Kind::Lifetime;
        }
        self.string('\'')
    }

    fn word(&mut self) -> Kind {
        let word = self.take_while(|c| c == '_' || c.is_alphanumeric());
        let next = self.rest.chars().next();
        let raw = matches!(word, "r" | "br" | "cr");
        let hashes = self.rest.trim_start_matches('#');
        if raw && next.is_some_and(|c| c == '#' || c == '"') && hashes.starts_with('"') {
            return self.raw_string();
        }
        if word == "r" && next == Some('#') {
            self.take(1);
            return self.word();
        }
        if matches!(word, "b" | "c") && next == Some('"') {
            self.take(1);
            return self.string('"');
        }
        if word == "b" && next == Some('\'') {
            self.take(1);
            return self.string('\'');
        }
        Kind::Word(word.to_string())
    }

    fn next(&mut self) -> Option<Token> {
        self.take_while(char::is_whitespace);
        let line = self.line;
        let c = self.rest.chars().next()?;
        let kind = match c {
            _ if self.rest.starts_with("//") => self.line_comment(),
            _ if self.rest.starts_with("/*") => self.block_comment(),
            '"' => {
                self.take(1);
                self.string('"')
            }
            '\'' => self.quote(),
            '0'..='9' => {
                self.take_while(|c| c == '_' || c.is_alphanumeric());
                Kind::Literal
            }
            _ if c == '_' || c.is_alphabetic() => self.word(),
            _ => {
                self.take(c.len_utf8());
                match c {
                    '(' | '[' | '{' => Kind::Open(c),
                    ')' | ']' | '}' => Kind::Close(c),
                    _ => Kind::Mark(c),
                }
            }
        };
        Some(Token { kind, line })
    }
}

/// Splits a source file into tokens.
pub fn lex(source: &str) -> Vec<Token> {
    let mut lexer = Lexer {
        rest: source,
        line: 1,
    };
    std::iter::from_fn(|| lexer.next()).collect()
}
