#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# lint.sh - what can be said about the sources without running them
#
# Usage: tools/testing/lint.sh [NAME]...
#        tools/testing/lint.sh --unsafe-table
#
# Prints KTAP, one test for each lint; with NAMEs only those. The tools run in the
# cache's root, so that their versions are those of the kernel's compiler.
#
# --unsafe-table lists each use of unsafe in the module: where and what it is, the C
# functions that it calls, the contract that it names.

# The lints are called by name.
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=vm/lib.sh
. "$(dirname "$0")/vm/lib.sh"
cd "$RVFAT_SRC"

LINTS=(rustfmt_module rustfmt_tools clippy_module clippy_tools unsafe no_panic spdx
	shellcheck)

in_root() { "$VM_DIR/enter" "$@"; }

# Rust sources written by hand.
module_sources() { find rust -name '*.rs' -not -name '*_generated.rs' | sort; }
tool_sources() { find tools -name '*.rs' -not -path '*/target/*' | sort; }
scripts() { { find .ci -type f; find tools -type f -not -path '*/target/*'; } 2>/dev/null |
	xargs grep -lE '^#!/bin/(ba)?sh|^# shellcheck shell=' | sort; }

format() {
	local files
	mapfile -t files
	((${#files[@]})) || { echo "there are no sources"; return 1; }
	in_root rustfmt --edition 2021 --config skip_children=true --color never --check "${files[@]}"
}

rustfmt_module() { module_sources | format; }
rustfmt_tools() { tool_sources | format; }

clippy_module() {
	local out
	# Warnings are shown for what gets compiled only: compile everything.
	rm -rf build/clippy*
	out=$("$VM_DIR/build" clippy "-j$(nproc)" 2>&1) || { tail -n 60 <<<"$out"; return 1; }
	# What bindgen generates isn't ours to tidy.
	! awk 'BEGIN { RS = ""; ORS = "\n\n" } /(^|\n)(warning|error)/ && /-->/ && !/_generated\.rs/' <<<"$out" | grep .
}

# Drop a crate's lock file if it asks for versions that the root's Debian doesn't have.
check_lock() {
	[[ ! -e $1/Cargo.lock ]] ||
		"$VM_DIR/enter" cargo metadata --format-version 1 --manifest-path "$1/Cargo.toml" >/dev/null 2>&1 ||
		rm -f "$1/Cargo.lock"
}

clippy_tools() {
	local toml
	for toml in tools/testing/*/Cargo.toml; do
		check_lock "${toml%/*}"
		in_root cargo clippy --quiet --all-targets --manifest-path "$toml" -- -D warnings || return 1
	done
}

# Each `unsafe` names the contract it relies on; in the module it is confined to the
# bindings and the VFS layer. The tool's own tests come first.
unsafe() {
	local out
	out=$(unsafe_list test --quiet 2>&1) || { echo "$out"; return 1; }
	unsafe_list run --quiet -- --within rust/bindings --within rust/vfs rust &&
		unsafe_list run --quiet -- tools
}
unsafe_list() {
	local command=$1
	shift
	in_root cargo "$command" --manifest-path tools/testing/unsafe-list/Cargo.toml "$@"
}

# Nothing in the module may panic. Doc examples and comments don't count.
no_panic() {
	! module_sources | xargs grep -nE '\.unwrap\(\)|\.expect\(|\b(panic|todo|unimplemented|unreachable)!' |
		grep -vE '^[^:]+:[0-9]+:[[:space:]]*//'
}

spdx() {
	local f bad=0
	while read -r f; do
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: ' || { echo "$f"; bad=1; }
	done < <({ module_sources; tool_sources; scripts; find rust -name '*.[ch]'; find Documentation tools -name '*.rst' -o -name Cargo.toml; ls Makefile Kbuild; } 2>/dev/null)
	return "$bad"
}

shellcheck() {
	local files
	mapfile -t files < <(scripts)
	in_root sh -c 'command -v shellcheck >/dev/null' || return 4
	in_root shellcheck -x "${files[@]}"
}

if [[ ${1-} == --unsafe-table ]]; then
	unsafe_list run --quiet -- --table rust
	exit
fi
(($#)) || set -- "${LINTS[@]}"
echo "KTAP version 1"
echo "1..$#"
n=0 failed=0
for lint in "$@"; do
	n=$((n + 1)) rc=0
	declare -F "$lint" >/dev/null || die "no lint $lint; there are: ${LINTS[*]}" 2
	out=$("$lint" 2>&1) || rc=$?
	case $rc in
	0) echo "ok $n $lint" ;;
	4) echo "ok $n $lint # SKIP no such tool" ;;
	*)
		sed -n '1,80s/^/# /p' <<<"$out"
		echo "not ok $n $lint"
		failed=1
		;;
	esac
done
exit "$failed"
