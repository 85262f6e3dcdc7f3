#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# crash.sh - power cuts: what a disk may hold after one, at any point of a workload
#
# Usage: tools/testing/crash/crash.sh [OPTION]... [WORD]...
#        tools/testing/crash/crash.sh replay TEST CUT
#
#   WORD         run only the tests with this in their names, which are
#                workload/mount/disk: editor, editor/sync, through, full/flush/cache
#   --seed N     seed of the workloads and of the choice of cuts (1)
#   --points N   cuts to look at, over all tests (4800)
#   --quick      as --points 480, on every fourth test
#   --every N    mount one of so many cuts (50)
#   --fs NAME    the file system type (rvfat). What another one than rvfat violates
#                is counted and is no failure
#   --compare    before rvfat, the kernel's own vfat, with a quarter of the cuts
#   --keep       keep the disks, too; logs are always kept, for replay
#   --dir NAME   work in this folder below build (crash)
#
# The last line is "N passed, N failed, N skipped"; each test is one workload on one
# kind of disk with one mount option. Images of failed cuts are in build/crash/failed.

# shellcheck source-path=SCRIPTDIR source=../vm/lib.sh
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=../report.sh
. "$(dirname "$0")/../report.sh"
cd "$RVFAT_SRC"

seed=1 points=4800 every=50 fs=rvfat quick=0 compare=0 keep=0 dir=crash
words=()
while (($#)); do
	case $1 in
	--seed | --points | --every | --fs | --dir)
		declare "${1#--}=${2:?}"
		shift
		;;
	--quick | --compare | --keep) declare "${1#--}=1" ;;
	--help | -h) sed -n '4,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
	-*) die "crash: unknown option $1, see --help" 2 ;;
	*) words+=("$1") ;;
	esac
	shift
done
((!quick)) || points=480
[[ $dir =~ ^[A-Za-z0-9_-]+$ ]] || die "crash: no name for a folder: $dir" 2
need_cache

PROGRAM=/src/build/cargo/release/rvfat-crash
dir=build/$dir

# crash ARG...: the program, in the root.
crash() { "$VM_DIR/enter" "$PROGRAM" --dir "$dir" "$@"; }

build() {
	local log=build/crash-build.log
	stage "building the tool"
	check_lock tools/testing/crash
	if ! logged "$log" "$VM_DIR/enter" cargo build --release \
		--manifest-path tools/testing/crash/Cargo.toml; then
		show_log "$log"
		die "can't build the tool: see $log"
	fi
	ok ''
	stage "trying the checker on damaged disks"
	if ! logged "$log" "$VM_DIR/enter" cargo test --release \
		--manifest-path tools/testing/crash/Cargo.toml; then
		show_log "$log"
		die "the checker does not see what is wrong: see $log"
	fi
	ok "$(sed -n 's/^test result: ok. \([0-9]* passed\).*/\1/p' "$log")"
}

# guest NAME [OPTION]... -- ARG...: run the program in a guest, its results in NAME.
guest() {
	local job=$RVFAT_SRC/$dir/$1 opts=()
	shift
	while [[ $1 != -- ]]; do opts+=("$1") && shift; done
	shift
	[[ $fs == rvfat ]] || opts+=(--no-module)
	# On a busy host the kernel's test of the timer fails now and then.
	"$VM_DIR/run" --quiet --fast --mem 1G --job "$job" --timeout 1500 --idle 300 \
		--append no_timer_check \
		--bind "$RVFAT_SRC/$dir:/run/crash" "${opts[@]}" -- \
		"$PROGRAM" --dir "/src/$dir" "$@" --out /job
}

# Run the workloads of guest number $1.
workloads() {
	local line args=()
	while read -r line; do args+=(--qemu "$line"); done <"$dir/guest$1.args"
	guest "guest$1" "${args[@]}" -- guest --guest "$1"
}

run_all() {
	local file pid pids=() rc=0 inform=() part=()
	rm -rf "$dir"
	mkdir -p "$dir"
	say "seed $seed, $points cuts, $fs"
	stage "making the disks"
	((!quick)) || part=(--quick)
	crash prepare --seed "$seed" --fs "$fs" --points "$points" --seen /run/crash \
		"${part[@]}" -- "${words[@]}" || return
	ok ''
	stage "running the workloads"
	for file in "$dir"/guest*.args; do
		file=${file##*/guest}
		workloads "${file%.args}" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || rc=$?; done
	ok "$( ((rc == 0)) || echo "a guest ended with status $rc")"
	pids=()
	stage "looking at the cuts"
	crash check --every "$every" || return
	ok ''
	stage "mounting some of the disks"
	for file in 0 1; do
		guest "mount$file" -- mount --guest "$file" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || rc=$?; done
	ok ''
	[[ $fs == rvfat ]] || inform=(--inform)
	crash report --guests "$rc" "${inform[@]}"
}

# The disks as they were at the end are large, and nobody needs them: a replay makes
# images from the logs. Samples are of use if something is wrong.
clean() {
	((keep)) || rm -f "$dir"/*.img "$dir"/mount*/*.img
	((keep || rc)) || rm -f "$dir"/samples/*
}

if [[ ${words[0]:-} == replay ]]; then
	crash replay "${words[1]:?which test}" "${words[2]:?which cut}"
	exit
fi
build
rc=0
if ((compare)); then
	(fs=vfat points=$((points / 4)) dir=$dir-vfat && run_all && clean) ||
		die "the comparison could not be made"
fi
run_all || rc=$?
clean
exit "$rc"
