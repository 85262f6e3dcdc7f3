#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# lint.sh - what can be said about the sources without running them
#
# Usage: tools/testing/lint.sh [NAME]...
#
# Prints KTAP, one test for each lint; with NAMEs only those. The tools run in the
# cache's root, so that their versions are those of the kernel's compiler.

# The lints are called by name.
# shellcheck disable=SC2317
# shellcheck source-path=SCRIPTDIR source=vm/lib.sh
. "$(dirname "$0")/vm/lib.sh"
cd "$RVFAT_SRC"

LINTS=(rustfmt_module rustfmt_tools clippy_module clippy_tools unsafe_placement
	safety_comments no_panic spdx shellcheck)

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

# `unsafe` is confined to the bindings and the VFS layer.
unsafe_placement() {
	! module_sources | grep -vE '^rust/(bindings|vfs)/' |
		xargs grep -nE '\bunsafe\b' | grep -vE '^[^:]+:[0-9]+:[[:space:]]*//'
}

# Each unsafe block, impl and extern has a SAFETY comment above its statement, each
# unsafe function a "# Safety" section.
safety_comments() {
	# shellcheck disable=SC2016
	{ module_sources; tool_sources; } | xargs awk '
		FNR == 1 { delete line }
		{ line[FNR] = $0 }
		/^[ \t]*\/\// { next }
		# The methods of a trait keep to the safety section of the trait.
		/^(unsafe )?impl.* for / { in_trait = 1 }
		/^}/ { in_trait = 0 }
		{
			code = $0
			sub(/\/\/.*/, "", code)
			gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
			if (code !~ /(^|[^A-Za-z0-9_])unsafe([^A-Za-z0-9_]|$)/) next
			fn = code ~ /unsafe (extern "" )?fn [A-Za-z_]/
			if (fn && in_trait) next
			if (!fn && code !~ /unsafe *(\{|impl|extern|$)/) next
			if ($0 ~ /\/\/.*SAFETY:/) next
			# Up to the comment above the statement that this line belongs to.
			n = FNR - 1
			for (left = 14; left > 0 && n > 0; left--) {
				if (line[n] ~ /^[ \t]*\/\//) break
				if (line[n] !~ /^[ \t]*#/ && line[n] ~ /([;}]|[^=(,|>] *\{)[ \t]*$/ && line[n] !~ /[(=] *\{$/) break
				n--
			}
			ok = 0
			for (; n > 0 && line[n] ~ /^[ \t]*(\/\/|#\[)/; n--)
				if (line[n] ~ /SAFETY:|# Safety/) ok = 1
			if (!ok) { print FILENAME ":" FNR ": " $0; bad = 1 }
		}
		END { exit bad }'
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
