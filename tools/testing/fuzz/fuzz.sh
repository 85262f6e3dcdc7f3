#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# fuzz.sh - hostile input: to the on-disk format layer on the host, guided by
# coverage, and as whole volumes to the module in guests
#
# Usage: tools/testing/fuzz/fuzz.sh [OPTION]... [TARGET]...
#        tools/testing/fuzz/fuzz.sh replay TARGET FILE...
#        tools/testing/fuzz/fuzz.sh minimise [TARGET]...
#
#   --minutes N   time for the targets together (30); 0: no targets
#   --volumes N   how many volumes, after that (5000); 0: none
#   --first N     number of the first volume (1), which is also the targets' seed
#   --guests N    guests at once (one for each processor)
#   --vm ARG      one more argument for tools/testing/vm/run (repeatable)
#   TARGET        only these targets, and no volumes
#
# What is found stays in build/fuzz. The last line is "N passed, N failed, N
# skipped": a test for each target and for each 50 volumes, and one for each guest that
# its volumes led into all the states they should. `make fuzz` builds the
# module first.

# shellcheck source-path=SCRIPTDIR source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../report.sh
. "$(dirname "$0")/../report.sh"
cd "$RVFAT_SRC"

WORK=build/fuzz
FUZZER=$WORK/cargo/release/rvfat-fuzz
minutes=30 volumes=5000 first=1 guests=$(nproc) vm=()
mkdir -p "$WORK"

build_fuzzer() {
	"$VM_DIR/enter" env RUSTC_WRAPPER=/src/tools/testing/fuzz/sancov cargo build --quiet --release \
		--manifest-path tools/testing/fuzz/Cargo.toml --target-dir "$WORK/cargo"
}

case ${1:-} in
replay | minimise)
	build_fuzzer
	exec "$VM_DIR/enter" "$FUZZER" "$@"
	;;
esac

targets=()
while (($#)); do
	case $1 in
	--minutes | --volumes | --first | --guests)
		[[ ${2:-} =~ ^[0-9]+$ ]] || die "fuzz: $1 needs a number" 2
		declare "${1#--}=$2"
		shift
		;;
	--vm) vm+=("${2:?}") && shift ;;
	--help | -h) sed -n '4,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
	-*) die "fuzz: unknown option $1, see --help" 2 ;;
	*) targets+=("$1") ;;
	esac
	shift
done
((${#targets[@]} == 0)) || volumes=0

host() {
	local rc=0
	say "targets, $minutes minutes:"
	build_fuzzer
	"$VM_DIR/enter" "$FUZZER" run --seconds $((minutes * 60)) --jobs "$(nproc)" --seed "$first" \
		"${targets[@]}" | tee "$WORK/targets" || rc=$?
	count_ktap targets "$WORK/targets" "$rc"
}

# guest NUMBER FIRST LAST: run some volumes.
guest() {
	"$VM_DIR/run" --fast --mem 1500M --idle 300 --timeout 0 --quiet --job "$WORK/guest$1" "${vm[@]}" -- \
		/src/build/cargo/debug/rvfat-selftest --fs rvfat --stats /job/stats --volumes "$2-$3" hostile 2>"$WORK/guest$1.err"
}

# Say now and then how many volumes are done.
follow() {
	local n
	while sleep 15; do
		n=$(cat "$WORK"/guest*/output 2>/dev/null | grep -cE '^    (not )?ok [0-9]+ [0-9]+-' || true)
		say "  about $((n * 50)) of $volumes volumes"
	done
}

in_guests() {
	local i n at last rc pids=() follower
	build_selftests "$WORK/build" || { show_log "$WORK/build" && die "fuzz: the selftests could not be built"; }
	# Few volumes are not worth a boot each.
	n=$((volumes / 250))
	((n <= guests)) || n=$guests
	((n > 0)) || n=1
	say "volumes $first to $((first + volumes - 1)), in $n guests:"
	rm -rf "$WORK"/guest*
	at=$first
	for ((i = 0; i < n; i++)); do
		# Whole batches for all but the last.
		last=$((at + (volumes / n + 49) / 50 * 50 - 1))
		((i < n - 1 && last < first + volumes - 1)) || last=$((first + volumes - 1))
		guest "$i" "$at" "$last" &
		pids+=($!)
		at=$((last + 1))
		((at < first + volumes)) || break
	done
	follow &
	follower=$!
	local status=()
	for i in "${!pids[@]}"; do
		rc=0
		wait "${pids[i]}" || rc=$?
		status[i]=$rc
	done
	kill "$follower" 2>/dev/null || true
	wait "$follower" 2>/dev/null || true
	say "what was reached:"
	"$VM_DIR/enter" /src/build/cargo/debug/rvfat-selftest report "$WORK"/guest*/stats || true
	for i in "${!pids[@]}"; do report "$i" "${status[i]}"; done
}

# report NUMBER STATUS: what became of a guest.
report() {
	count_guest "guest $1" "$WORK/guest$1" "$2" "$WORK/guest$1.err"
	if grep -q 'seed [0-9]*:' "$WORK/guest$1/output"; then
		say "one volume again: tools/testing/vm/run --fast --mem 1500M -- /src/build/cargo/debug/rvfat-selftest --volumes N hostile"
	fi
}

((minutes == 0)) || host
((volumes == 0)) || in_guests
totals
