#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Compiles rust/ondisk the way the kernel does, optimised and with overflow checks, and shows that
# the code holds no call to a panic: whatever is on a disk, there is nothing to trip over.
#
# Usage: check.sh    (RUSTC and NM may name other tools)

set -eu

echo "KTAP version 1"
echo "1..1"

here=$(cd "$(dirname "$0")" && pwd)
object=$(mktemp)
trap 'rm -f "$object"' EXIT

"${RUSTC:-rustc}" --edition 2021 --crate-type lib --emit "obj=$object" \
	-C opt-level=2 -C overflow-checks=y -C panic=abort -C codegen-units=1 \
	"$here/lib.rs"

# What is undefined in the object is what it calls in the core library.
calls=$("${NM:-nm}" --demangle --undefined-only "$object")
if panics=$(echo "$calls" | grep -E 'panic|_fail|unwrap_failed|expect_failed'); then
	echo "$panics" | sed 's/^ */# /'
	echo "not ok 1 no_panic"
	exit 1
fi
echo "ok 1 no_panic"
