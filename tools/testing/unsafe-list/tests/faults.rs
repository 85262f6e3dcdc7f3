// SPDX-License-Identifier: GPL-2.0

//! What has to be found fault with, and what not.

use rvfat_unsafe_list::{entries, faults, summary, table};
use std::process::Command;

/// The faults of a source in the one folder where unsafe is allowed, without their places.
fn check(source: &str) -> Vec<String> {
    let entries = entries("vfs/a.rs", source, &["vfs".to_string()]);
    let strip = |f: String| f.splitn(4, ':').nth(3).unwrap_or("").trim().to_string();
    faults(&entries).into_iter().map(strip).collect()
}

#[track_caller]
fn good(source: &str) {
    assert_eq!(check(source), Vec::<String>::new());
}

#[track_caller]
fn bad(source: &str, fault: &str) {
    let found = check(source);
    assert!(
        found.len() == 1 && found[0].contains(fault),
        "expected one fault with {fault:?}, found {found:?}"
    );
}

#[test]
fn a_block_needs_a_comment() {
    bad("fn f() { unsafe { g() } }", "no \"// SAFETY:\"");
    bad(
        "fn f() {\n // Calls g.\n unsafe { g() } }",
        "no \"// SAFETY:\"",
    );
    good("fn f() {\n // SAFETY: The argument is alive.\n unsafe { g() } }");
}

#[test]
fn the_comment_belongs_to_the_statement() {
    good("fn f() {\n // SAFETY: The argument is alive.\n let x = h(1, unsafe { g() })?; }");
    good("fn f() {\n // SAFETY: The argument is alive.\n let x = h(|| Ok(unsafe { g() })); }");
    good("fn f() {\n // SAFETY: The argument is alive.\n let x = if a { 1 } else { 2 } + unsafe { g() }; }");
    // It does not reach over the end of a statement or into a block.
    bad(
        "fn f() {\n // SAFETY: The argument is alive.\n let x = 1;\n unsafe { g() } }",
        "no \"// SAFETY:\"",
    );
    bad(
        "fn f() {\n // SAFETY: The argument is alive.\n if a { unsafe { g() } } }",
        "no \"// SAFETY:\"",
    );
    bad(
        "fn f() {\n // SAFETY: The argument is alive.\n if a { b() }\n unsafe { g() } }",
        "no \"// SAFETY:\"",
    );
}

#[test]
fn arms_and_fields_have_their_own() {
    let arms = "fn f() { match x {\n // SAFETY: The argument is alive.\n A => unsafe { g() },\n";
    good(&format!("{arms} B => 1 }} }}"));
    bad(
        &format!("{arms} B => unsafe {{ g() }} }} }}"),
        "no \"// SAFETY:\"",
    );
    good("const T: O = O { a: 1,\n // SAFETY: All fields may be zero.\n ..unsafe { zeroed() } };");
    bad(
        "const T: O = O { a: 1, ..unsafe { zeroed() } };",
        "no \"// SAFETY:\"",
    );
}

#[test]
fn blocks_inside_macros_count() {
    bad(
        "fn f() { try_init!(Self { a: unsafe { g() } }) }",
        "no \"// SAFETY:\"",
    );
}

#[test]
fn an_impl_needs_a_comment() {
    bad("unsafe impl Send for A {}", "no \"// SAFETY:\"");
    bad(
        "/// Documentation.\nunsafe impl Send for A {}",
        "no \"// SAFETY:\"",
    );
    good("// SAFETY: A is shared between tasks.\n#[allow(x)]\nunsafe impl<T> Send for A<T> {}");
}

#[test]
fn a_function_needs_a_section() {
    bad("unsafe fn f() {}", "no \"# Safety\"");
    bad(
        "// SAFETY: The argument is alive.\nunsafe fn f() {}",
        "no \"# Safety\"",
    );
    bad("/// # Safety\nunsafe fn f() {}", "says too little");
    bad(
        "/// # Safety\n///\n/// # Examples\n/// One two three.\nunsafe fn f() {}",
        "says too little",
    );
    bad(
        "impl A { pub(crate) unsafe extern \"C\" fn f() {} }",
        "no \"# Safety\"",
    );
    good("/// # Safety\n///\n/// `p` has to be alive.\n#[inline]\npub(super) unsafe fn f() {}");
}

#[test]
fn methods_keep_to_their_trait() {
    good("impl<T: B> C for A<T> { unsafe fn f() {} }");
    bad("impl A { unsafe fn f() {} }", "no \"# Safety\"");
    bad("unsafe trait C {}", "no \"# Safety\"");
    // An argument of that form is no impl of a trait.
    bad(
        "impl A { fn g(x: impl C) {} unsafe fn f() {} }",
        "no \"# Safety\"",
    );
}

#[test]
fn a_reason_says_something() {
    for empty in [
        "",
        "TODO",
        "safe.",
        "This is safe.",
        "FFI call.",
        "Trust me!",
    ] {
        let found = check(&format!(
            "fn f() {{\n // SAFETY: {empty}\n unsafe {{ g() }} }}"
        ));
        assert_eq!(found.len(), 1, "{empty:?}: {found:?}");
    }
}

#[test]
fn a_section_is_not_for_everybody() {
    let functions = |n: usize| -> String {
        let one =
            |i| format!("/// # Safety\n///\n/// Called by the kernel.\nunsafe fn f{i}() {{}}\n");
        (0..n).map(one).collect()
    };
    good(&functions(3));
    let found = check(&functions(4));
    assert_eq!(found.len(), 4, "{found:?}");
    assert!(found[0].contains("4 functions"), "{found:?}");
}

#[test]
fn as_above_needs_something_above() {
    let own = "// SAFETY: The argument is alive.\n unsafe { g() };\n";
    let above = "// SAFETY: As above.\n unsafe { g() };\n";
    good(&format!("fn f() {{\n {own} {above} }}"));
    good(&format!("fn f() {{\n {own} {above} {above} }}"));
    bad(&format!("fn f() {{\n {above} }}"), "points to nothing");
    bad(
        &format!("fn e() {{\n {own} }}\n fn f() {{\n {above} }}"),
        "points to nothing",
    );
    // Functions of one name are not one function.
    bad(
        &format!("impl A {{ fn f() {{\n {own} }} }}\n impl B {{ fn f() {{\n {above} }} }}"),
        "points to nothing",
    );
    // A pointer to a pointer that leads nowhere.
    assert_eq!(check(&format!("fn f() {{\n {above} {above} }}")).len(), 2);
}

#[test]
fn as_above_for_an_impl_means_the_one_before() {
    let send = "// SAFETY: A is shared between tasks.\nunsafe impl Send for A {}\n";
    good(&format!(
        "{send} // SAFETY: As above.\nunsafe impl Sync for A {{}}"
    ));
    bad(
        &format!("{send} // SAFETY: As above.\nunsafe impl Sync for B {{}}"),
        "points to nothing",
    );
    bad(
        "// SAFETY: As above.\nunsafe impl Sync for A {}",
        "points to nothing",
    );
}

#[test]
fn as_in_needs_that_function() {
    let other = "fn e() {\n // SAFETY: The argument is alive.\n unsafe { g() } }\n";
    let pointer = "fn f() {\n // SAFETY: As in `e`.\n unsafe { g() } }\n";
    good(&format!("{other} {pointer}"));
    bad(pointer, "points to nothing");
    bad(
        "fn f() {\n // SAFETY: As in `f`.\n unsafe { g() } }\n",
        "points to nothing",
    );
}

#[test]
fn comments_of_impl_and_type_must_exist() {
    let impl_f = "impl A { fn f() {\n // SAFETY: See the impl's comment.\n unsafe { g() } } }";
    good(&format!("// The kernel calls all of these.\n{impl_f}"));
    bad(impl_f, "points to nothing");
    let type_f = "impl A { fn f() {\n // SAFETY: See the type's comment.\n unsafe { g() } } }";
    good(&format!(
        "/// The kernel calls all of these.\nstruct A;\n{type_f}"
    ));
    bad(&format!("struct A;\n{type_f}"), "points to nothing");
}

#[test]
fn words_in_comments_and_strings_are_none() {
    good("// unsafe { g() }\n/* unsafe fn /* nested unsafe */ */\nfn f() { h(\"unsafe { }\", r#\"a\" unsafe {\"#, b\"unsafe {\", 'u') }");
    good("fn f<'unsafe_>(x: &'a str) { let c = '\"'; let d = '\\''; let e = \"unsafe {\"; }");
    // A string that looks like a comment is no reason.
    bad(
        "fn f() { let s = \"\n// SAFETY: The argument is alive.\n\"; unsafe { g() } }",
        "no \"// SAFETY:\"",
    );
}

#[test]
fn types_of_pointers_are_none() {
    good("struct A { f: Option<unsafe extern \"C\" fn(i32) -> i32>, g: unsafe fn() }");
}

#[test]
fn unsafe_is_confined() {
    let source = "fn f() {\n // SAFETY: The argument is alive.\n unsafe { g() } }";
    let count = |path: &str| faults(&entries(path, source, &["rust/vfs".to_string()])).len();
    assert_eq!(count("rust/vfs/a.rs"), 0);
    assert_eq!(count("rust/fat/a.rs"), 1);
    assert_eq!(count("rust/vfs2/a.rs"), 1);
}

#[test]
fn the_table_tells_who_calls_what() {
    let source = "impl<T: A> B for C<T> {\n fn f() {\n // SAFETY: The argument is alive. More.\n \
                  unsafe { bindings::iput(x); (*x).y; bindings::iput(x); bindings::CONST } } }";
    let found = entries("vfs/a.rs", source, &[]);
    assert_eq!(
        table(&found),
        "vfs/a.rs:4  block  B for C::f  iput (*) | The argument is alive.\n"
    );
    assert_eq!(summary(&found), "1 blocks, 0 fns, 0 impls; 0 faults");
}

#[test]
fn the_command_fails_when_there_is_a_fault() {
    let dir = std::env::temp_dir().join(format!("unsafe-list-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let run = |source: &str| {
        std::fs::write(dir.join("a.rs"), source).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_rvfat-unsafe-list"))
            .arg(&dir)
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
        )
    };
    let (code, out) = run("fn f() { unsafe { g() } }");
    assert_eq!(code, Some(1), "{out}");
    assert!(
        out.contains("a.rs:1: unsafe block: no \"// SAFETY:\" comment"),
        "{out}"
    );
    let (code, out) = run("fn f() {}");
    assert_eq!(code, Some(0), "{out}");
    std::fs::remove_dir_all(&dir).unwrap();
    let missing = Command::new(env!("CARGO_BIN_EXE_rvfat-unsafe-list"))
        .arg(&dir)
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(2));
}
