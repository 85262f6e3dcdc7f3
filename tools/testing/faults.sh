#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# faults.sh - the selftests' suite `faults`: I/O errors, full volumes, devices that go away
#
# Usage: tools/testing/faults.sh [OPTION]...
#
#   --quick         fewer modes and parts of the volume, no sweep: some three minutes
#   --stock         no sweep, in which each allocation and request fails once, on the
#                   kernel with fault injection (see vm/debug-kernel --help)
#   --fs NAME       test this file system type instead of rvfat, such as vfat
#   --only TEXT     only tests whose path (faults/group/test) contains TEXT
#
# The last line is "N passed, N failed, N skipped". Logs are in build/faults. `make
# check-faults` builds the module first.

# shellcheck source-path=SCRIPTDIR source=vm/lib.sh
. "$(dirname "$0")/vm/lib.sh"
# shellcheck source=report.sh
. "$(dirname "$0")/report.sh"
cd "$RVFAT_SRC"

fs=rvfat only='' kernel=debug quick=()
while (($#)); do
	case $1 in
	--fs | --only)
		declare "${1#--}=${2:?}"
		shift
		;;
	--quick) quick=(--quick) kernel='' ;;
	--stock) kernel='' ;;
	--help | -h) sed -n '4,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
	*) die "faults: unknown option $1, see --help" 2 ;;
	esac
	shift
done
LOGS=$RVFAT_SRC/build/faults
mkdir -p "$LOGS"
rm -rf "${LOGS:?}"/*

# guest NAME RUN-OPTION... -- TEST-OPTION...: run the suite in a guest, in the background.
declare -A guest_pid
guest() {
	local name=$1 opts=() load=()
	shift
	while [[ $1 != -- ]]; do
		opts+=("$1")
		shift
	done
	shift
	[[ $fs == rvfat ]] || load=(--no-module)
	say "$name"
	"$VM_DIR/run" --quiet --mem 1500M --idle 300 --timeout 10800 --job "$LOGS/$name.job" \
		"${load[@]}" "${opts[@]}" -- /src/build/cargo/debug/rvfat-selftest \
		--fs "$fs" "${quick[@]}" ${only:+--only "$only"} "$@" faults >/dev/null 2>"$LOGS/$name.err" &
	guest_pid[$name]=$!
}

# harvest NAME: wait for a guest and count its tests.
harvest() {
	local rc=0
	wait "${guest_pid[$1]}" || rc=$?
	count_guest "$1" "$LOGS/$1.job" "$rc" "$LOGS/$1.err"
}

start=$(now_ms)
build_selftests "$LOGS/build" || {
	cat "$LOGS/build"
	die "faults: the selftests could not be built"
}
# The sweep is for the kernel with fault injection; the stock kernel skips it.
case ${only:-all} in
all)
	# Side by side, with one processor each.
	guest first --fast -- --part 0/2
	guest second --fast -- --part 1/2
	harvest first
	harvest second
	;;
*sweep*) ;;
*)
	guest tests --fast --
	harvest tests
	kernel=''
	;;
esac
if [[ -n $kernel ]]; then
	if [[ $fs == rvfat ]]; then
		"$VM_DIR/build" --kernel "$kernel" modules "-j$(nproc)" >"$LOGS/module" 2>&1 || {
			cat "$LOGS/module"
			die "faults: the module for the kernel $kernel could not be built"
		}
	fi
	only=${only:-faults/sweep}
	guest sweep --kernel "$kernel" --fast --mem 3G --idle 1200 -- --patience 8
	harvest sweep
fi
say "$(_secs $(($(now_ms) - start)))"
totals
