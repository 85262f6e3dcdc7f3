# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# common.sh - what demo.sh and bench.sh have in common. Source it.

# shellcheck source-path=SCRIPTDIR source=../vm/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../vm/lib.sh"

BENCH=build/cargo/release/rvfat-bench

# The type of file system that is measured; another one can stand in for it.
RVFAT_FS2=${RVFAT_FS2:-rvfat}

# Build the program that does the work in the guest.
build_bench() {
	local log=$RVFAT_SRC/build/bench-build.log
	stage "building the benchmark"
	if ! logged "$log" "$VM_DIR/enter" cargo build --release \
		--manifest-path /src/tools/testing/bench/Cargo.toml; then
		show_log "$log"
		die "can't build the benchmark: see $log"
	fi
	ok ''
}

# guest JOB SIZE [OPTION]... -- ARG...: run the program in a guest with two equal
# disks of SIZE, on which each write waits for the host's disk. OPTIONs are run(1)'s.
# One at a time: two would spoil each other's times, and write to the same files.
guest() {
	local job=$1 size=$2 opts=() args=() lock
	shift 2
	# The guest inherits it, and has it still if this script is killed.
	exec {lock}>"$job.lock"
	flock -n "$lock" || die "another benchmark is running here (see fuser $job.lock)"
	while [[ $1 != -- ]]; do opts+=("$1") && shift; done
	shift
	[[ ! -t 1 ]] || args+=(--terminal)
	# Out of reach of ctrl-C, which then stops this script alone; see stopped.
	setpriv --pdeathsig TERM setsid "$VM_DIR/run" --cpus 2 --mem 3G --job "$job" \
		--scratch "$size,cache=directsync,serial=vfat" \
		--scratch "$size,cache=directsync,serial=rvfat" "${opts[@]}" -- \
		"/src/$BENCH" "$@" --disks vfat rvfat --fs2 "$RVFAT_FS2" "${args[@]}" </dev/null &
	guest_pid=$!
	wait "$guest_pid"
}

guest_pid=''
stopped() {
	if [[ -n $guest_pid ]]; then
		kill "$guest_pid" 2>/dev/null || true
		wait "$guest_pid" 2>/dev/null || true
	fi
	[[ ! -t 2 ]] || printf '\r\033[K' >&2
	say "stopped"
	exit 130
}
trap stopped INT TERM
