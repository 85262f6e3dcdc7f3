#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# bench.sh - the benchmark's tables, rvfat and the kernel's own vfat in one boot
#
# Usage: tools/testing/bench/bench.sh [TABLE[,TABLE]... [SIZES]]
#
#   TABLE  keep_size, cont_expand, mirror, flush, data, scale, or all (all)
#   SIZES  quick: the cells that are done in a few minutes (quick)
#          full: all cells; a cell that would take vfat over 10 minutes is only
#          named for vfat
#
# Where an argument is missing, the variable of its name counts: as in
# make bench TABLE=keep_size SIZES=full. With ONLY='16 x 1 MiB' only the cells with
# these words in their title are run, of either size.
#
# Results are in build/bench: a file TABLE.json for each table, and index.html with
# all tables and their charts. Ctrl-C stops; what was measured by then is kept.
# Exit status 1 if a target was missed. Environment: RVFAT_FS2 (rvfat), what to
# compare vfat with.

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

tables=${1:-${TABLE:-all}} sizes=${2:-${SIZES:-quick}}
case $tables in
-h | --help) sed -n '4,/^# shellcheck/{/^# shellcheck/d;s/^# \{0,1\}//p}' "$0" && exit 0 ;;
esac
for t in ${tables//,/ }; do
	case $t in
	all | keep_size | cont_expand | mirror | flush | data | scale) ;;
	*) die "TABLE is keep_size, cont_expand, mirror, flush, data, scale or all, not $t" 2 ;;
	esac
done
[[ $sizes == quick || $sizes == full ]] || die "SIZES is quick or full, not $sizes" 2

cd "$RVFAT_SRC"
need_cache
build_bench

out=build/bench
job=$out/guest
slow=''
mkdir -p "$job"

finish() {
	[[ -z $slow ]] || rm -rf "$slow"
	for f in "$job"/*.json "$job"/index.html; do
		[[ ! -e $f ]] || cp "$f" "$out/"
	done
	[[ ! -e $out/index.html ]] || say "Results: $out/index.html, $out/*.json"
}
trap finish EXIT

args=(bench --sizes "$sizes")
[[ -z ${ONLY:-} ]] || args+=(--only "$ONLY")
[[ ,$tables, == *,all,* ]] || args+=(--table "$tables")
opts=(--timeout 0 --idle 900)

# Disks of 20 MB/s for the tables that need them.
case ,$tables, in
*,flush,* | *,all,*)
	mkdir -p "$RVFAT_CACHE/tmp"
	slow=$(mktemp -d "$RVFAT_CACHE/tmp/slow.XXXXXX")
	for d in vfat rvfat; do
		truncate -s 2G "$slow/$d.raw"
		opts+=(--bind "$slow/$d.raw:/run/slow/$d.raw"
			--qemu -drive --qemu "file=/run/slow/$d.raw,if=none,id=slow-$d,format=raw,cache=directsync,discard=unmap,throttling.bps-total=20000000"
			--qemu -device --qemu "virtio-blk-pci,drive=slow-$d,serial=slow-$d")
	done
	args+=(--slow-disks slow-vfat slow-rvfat)
	;;
esac

guest "$job" 33G "${opts[@]}" -- "${args[@]}"
