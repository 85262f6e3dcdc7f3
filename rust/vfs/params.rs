// SPDX-License-Identifier: GPL-2.0

//! Mount options.
//!
//! C header: [`include/linux/fs_parser.h`](srctree/include/linux/fs_parser.h)

use super::bindings;
use core::ptr;
use kernel::prelude::*;

/// The kind of value an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ParamKind {
    /// No value.
    Flag,
    /// A boolean: `yes`, `no`, `0`, `1`, `true`, `false`.
    Bool,
    /// An unsigned number.
    U32,
    /// An unsigned number, octal.
    U32Octal,
    /// A signed number.
    S32,
    /// A string.
    String,
    /// A user, mapped by the mounter's namespace.
    Uid,
    /// A group, mapped by the mounter's namespace.
    Gid,
}

/// One option: its name, kind and the identifier given back when it is found.
#[derive(Clone, Copy)]
pub(crate) struct ParamSpec {
    name: &'static CStr,
    kind: ParamKind,
    id: u8,
}

impl ParamSpec {
    /// An option `name` of the given kind.
    pub(crate) const fn new(name: &'static CStr, kind: ParamKind, id: u8) -> Self {
        Self { name, kind, id }
    }
}

/// The table of options in the kernel's form, with the terminating entry.
///
/// # Invariants
///
/// The last entry is all zero; the others have static names.
pub(crate) struct ParamTable<const N: usize>([bindings::fs_parameter_spec; N]);

/// A [`ParamTable`] of whatever length.
#[derive(Clone, Copy)]
pub(crate) struct Params(&'static [bindings::fs_parameter_spec]);

impl Params {
    pub(super) fn as_ptr(self) -> *const bindings::fs_parameter_spec {
        self.0.as_ptr()
    }
}

// SAFETY: The table is immutable and refers to static names and functions only.
unsafe impl<const N: usize> Sync for ParamTable<N> {}

impl<const N: usize> ParamTable<N> {
    /// Builds the table of the `N - 1` given options.
    pub(crate) const fn new(specs: &'static [ParamSpec]) -> Self {
        assert!(specs.len() + 1 == N);
        // SAFETY: An all-zero entry is the terminator: no name, no parser.
        let mut table = [unsafe { core::mem::zeroed::<bindings::fs_parameter_spec>() }; N];
        let mut i = 0;
        while i < specs.len() {
            table[i] = Self::entry(&specs[i]);
            i += 1;
        }
        Self(table)
    }

    const fn entry(spec: &ParamSpec) -> bindings::fs_parameter_spec {
        let mut data: *const kernel::ffi::c_void = ptr::null();
        let type_: bindings::fs_param_type = match spec.kind {
            ParamKind::Flag => None,
            ParamKind::Bool => Some(bindings::fs_param_is_bool),
            ParamKind::U32 => Some(bindings::fs_param_is_u32),
            ParamKind::U32Octal => {
                data = ptr::without_provenance(8);
                Some(bindings::fs_param_is_u32)
            }
            ParamKind::S32 => Some(bindings::fs_param_is_s32),
            ParamKind::String => Some(bindings::fs_param_is_string),
            ParamKind::Uid => Some(bindings::fs_param_is_uid),
            ParamKind::Gid => Some(bindings::fs_param_is_gid),
        };
        bindings::fs_parameter_spec {
            name: kernel::str::as_char_ptr_in_const_context(spec.name),
            type_,
            opt: spec.id,
            flags: 0,
            data,
        }
    }

    /// The table, as the trait wants it.
    pub(crate) const fn params(&'static self) -> Params {
        Params(&self.0)
    }
}

/// A parsed option value.
pub(crate) enum ParamValue<'a> {
    /// The option was given without a value.
    Flag,
    /// A boolean.
    Bool(bool),
    /// An unsigned number.
    U32(u32),
    /// A signed number.
    S32(i32),
    /// A string.
    Str(&'a CStr),
    /// A user or group ID in the initial namespace.
    Id(u32),
}

/// Parses `param` by the table.
///
/// # Safety
///
/// `fc` and `param` are live and belong to the mount being set up.
pub(super) unsafe fn parse<'a>(
    fc: *mut bindings::fs_context,
    Params(table): Params,
    param: *mut bindings::fs_parameter,
) -> Result<(u8, ParamValue<'a>)> {
    // SAFETY: A zeroed result is a valid one to be filled.
    let mut result: bindings::fs_parse_result = unsafe { core::mem::zeroed() };
    // SAFETY: By the function's contract; by the invariant the table ends with an empty entry.
    let id =
        unsafe { bindings::__fs_parse(&raw mut (*fc).log, table.as_ptr(), param, &raw mut result) };
    let id = u8::try_from(id).map_err(|_| Error::from_errno(id))?;
    // A name can stand twice, as a flag and with a value; the value decides which one it was.
    // SAFETY: By the function's contract.
    let is_flag = unsafe { (*param).type_() } == bindings::fs_value_type_fs_value_is_flag;
    let type_ = table
        .iter()
        .find(|s| s.opt == id && !s.name.is_null() && s.type_.is_none() == is_flag)
        .or_else(|| table.iter().find(|s| s.opt == id && !s.name.is_null()))
        .map(|s| s.type_)
        .ok_or(EINVAL)?;
    // SAFETY: `fs_parse` has filled the member that belongs to the parser it found; a string
    // parameter keeps its string as long as `param` lives.
    let value = unsafe { value_of(type_, &result, param) };
    Ok((id, value))
}

/// # Safety
///
/// `result` was filled by the parser `type_` for `param`.
unsafe fn value_of<'a>(
    type_: bindings::fs_param_type,
    result: &bindings::fs_parse_result,
    param: *mut bindings::fs_parameter,
) -> ParamValue<'a> {
    let is = |f: bindings::fs_param_type| match (type_, f) {
        (Some(a), Some(b)) => ptr::fn_addr_eq(a, b),
        _ => false,
    };
    // SAFETY: By the function's contract.
    unsafe {
        let union = &result.__bindgen_anon_1;
        if type_.is_none() {
            ParamValue::Flag
        } else if is(Some(bindings::fs_param_is_bool)) {
            ParamValue::Bool(union.boolean)
        } else if is(Some(bindings::fs_param_is_u32)) {
            ParamValue::U32(union.uint_32)
        } else if is(Some(bindings::fs_param_is_s32)) {
            ParamValue::S32(union.int_32)
        } else if is(Some(bindings::fs_param_is_uid)) {
            ParamValue::Id(bindings::from_kuid(union.uid))
        } else if is(Some(bindings::fs_param_is_gid)) {
            ParamValue::Id(bindings::from_kgid(union.gid))
        } else {
            ParamValue::Str(CStr::from_char_ptr((*param).__bindgen_anon_1.string))
        }
    }
}
