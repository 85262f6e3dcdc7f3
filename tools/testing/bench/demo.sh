#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# demo.sh - rvfat and the kernel's own vfat side by side, in one boot
#
# Usage: tools/testing/bench/demo.sh
#
# Gives files their space on a sync mount, as a published benchmark does it, then
# copies a real directory tree and has it checked by fsck.fat, both drivers and
# mtools. The figures are kept in build/demo.json. Exit status 0 only if
# everything held. Environment: RVFAT_FS2 (rvfat), what to compare vfat with.

# shellcheck source-path=SCRIPTDIR source=common.sh
. "$(dirname "$0")/common.sh"

if (($#)); then
	sed -n '4,/^$/s/^# \{0,1\}//p' "$0"
	[[ $1 == --help || $1 == -h ]] && exit 0
	exit 2
fi

cd "$RVFAT_SRC"
need_cache
build_bench

job=build/demo
rm -f build/demo.json "$job/demo.json"
rc=0
guest "$job" 2G -- demo || rc=$?
[[ ! -e $job/demo.json ]] || mv "$job/demo.json" build/demo.json
exit "$rc"
