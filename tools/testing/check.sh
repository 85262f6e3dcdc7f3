#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh - all tests: lints, host tests, and the selftests in guests
#
# Usage: tools/testing/check.sh [OPTION]... [PART]...
#
#   PART          lint unit ops images limits races regress (all of them)
#   --fs NAME     test this file system type instead of rvfat, such as vfat
#   --kernel NAME in guests with this debug kernel (see vm/debug-kernel --help); the
#                 parts are then detect ops images limits races regress, in sizes for a
#                 slow machine
#   --seconds N   time of the parallel test, and of those of stress (60; on a debug
#                 kernel 30)
#   --ops N       operations in each random sequence (3000; 300)
#   --scale N     size of the tree test, in per cent (100; 10)
#
# The last line is "N passed, N failed, N skipped"; it counts lints, host tests, the
# leaves of the guests' KTAP, and for each guest whether its kernel's log is clean.
# Logs are in build/check or build/NAME/check. `make check` builds the module first,
# `make check-debug` kernel and module.

# shellcheck source-path=SCRIPTDIR source=vm/lib.sh
. "$(dirname "$0")/vm/lib.sh"
# shellcheck source=report.sh
. "$(dirname "$0")/report.sh"
cd "$RVFAT_SRC"

PARTS=(lint unit ops images limits races regress)
fs=rvfat kernel='' seconds='' ops='' scale=''
while (($#)); do
	case $1 in
	--fs | --kernel | --seconds | --ops | --scale)
		declare "${1#--}=${2:?}"
		shift
		;;
	--help | -h) sed -n '4,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
	-*) die "check: unknown option $1, see --help" 2 ;;
	*) break ;;
	esac
	shift
done
LOGS=$RVFAT_SRC/build/check
run_opts=(--quiet --mem 1500M --idle 300 --timeout 1500)
little=128M
size=(--seconds "${seconds:-60}" --ops "${ops:-3000}" --scale "${scale:-100}")
if [[ -n $kernel ]]; then
	# KASAN and lockdep under TCG are slow.
	PARTS=(detect ops images limits races regress)
	need_cache
	use_kernel "$kernel"
	LOGS=$RVFAT_SRC/build/$kernel/check
	run_opts=(--quiet --kernel "$kernel" --mem 3G --idle 1200 --timeout 5400)
	little=640M
	size=(--seconds "${seconds:-30}" --ops "${ops:-300}" --scale "${scale:-10}" --patience 8)
fi
(($#)) || set -- "${PARTS[@]}"
for part in "$@"; do
	[[ " ${PARTS[*]} " == *" $part "* ]] || die "check: no part $part; there are: ${PARTS[*]}" 2
done
wanted=" $* "

mkdir -p "$LOGS"
rm -rf "${LOGS:?}"/*
table=()

# row PART START_MS: remember a line of the table.
row() { table+=("$(printf '%-8s %8s  %s' "$1" "$(_secs $(($(now_ms) - $2)))" "$result")"); }

part_lint() {
	local t rc=0
	t=$(now_ms)
	say "lint"
	tools/testing/lint.sh >"$LOGS/lint" 2>"$LOGS/lint.err" || rc=$?
	count_ktap lint "$LOGS/lint" "$rc"
	row lint "$t"
}

part_unit() {
	local t rc=0 p f s
	t=$(now_ms)
	say "unit"
	check_lock tools/testing/unit
	"$VM_DIR/enter" cargo test --no-fail-fast --manifest-path tools/testing/unit/Cargo.toml >"$LOGS/unit" 2>&1 || rc=$?
	read -r p f s < <(awk '
		/^test result:/ { gsub(/;/, ""); p += $4; f += $6; s += $8 }
		END { print p + 0, f + 0, s + 0 }' "$LOGS/unit")
	if ((rc && !f)) || ((p + f == 0)); then f=$((f + 1)); fi
	((f == 0)) || sed -n '/^failures:/,$p; /^error/,/^$/p' "$LOGS/unit" | sed -n 1,100p
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	result="$p passed, $f failed, $s skipped"
	row unit "$t"

	[[ -e tools/testing/unit/no-panic/check.sh ]] || return 0
	t=$(now_ms) rc=0
	"$VM_DIR/enter" tools/testing/unit/no-panic/check.sh >"$LOGS/no-panic" 2>&1 || rc=$?
	count_ktap no-panic "$LOGS/no-panic" "$rc"
	row no-panic "$t"
}

# guest PART RUN-OPTION... -- SUITE...: start a guest in the background.
declare -A guest_pid guest_start
guest() {
	local part=$1 opts=() module=()
	shift
	while [[ $1 != -- ]]; do
		opts+=("$1")
		shift
	done
	shift
	if [[ $fs == rvfat ]]; then
		set -- --module "/src/$VM_OUT/rvfat.ko" "$@"
	else
		module=(--no-module)
	fi
	guest_start[$part]=$(now_ms)
	say "$part: $*"
	"$VM_DIR/run" "${run_opts[@]}" --job "$LOGS/$part.job" "${module[@]}" "${opts[@]}" -- \
		/src/build/cargo/debug/rvfat-selftest --fs "$fs" "${size[@]}" "$@" 2>"$LOGS/$part.err" &
	guest_pid[$part]=$!
}

# harvest PART: wait for a guest and count its tests, once.
harvest() {
	local part=$1 rc=0
	[[ -n ${guest_pid[$part]:-} ]] || return 0
	wait "${guest_pid[$part]}" || rc=$?
	unset "guest_pid[$part]"
	count_guest "$part" "$LOGS/$part.job" "$rc" "$LOGS/$part.err"
	row "$part" "${guest_start[$part]}"
}

# Are the faults noticed that a guest makes on purpose?
part_detect() {
	local t rc=0 text p=0 f=0
	t=$(now_ms)
	say "detect"
	"$VM_DIR/run" "${run_opts[@]}" --no-module --job "$LOGS/detect.job" -- \
		/src/tools/testing/vm/guest/provoke >/dev/null 2>"$LOGS/detect.err" || rc=$?
	while read -r text; do
		if grep -Fqs -- "$text" "$LOGS/detect.job/fault-lines"; then
			p=$((p + 1))
		else
			f=$((f + 1))
			say "detect: overlooked, or not made: $text"
		fi
	done <"$LOGS/detect.job/output"
	# They are no use if the run passes all the same.
	if ((rc != VM_EX_LOG || p + f < 5)); then
		f=$((f + 1))
		say "detect: exit status $rc"
		tail -n 20 "$LOGS/detect.err" >&2
	fi
	passed=$((passed + p)) failed=$((failed + f))
	result="$p passed, $f failed, 0 skipped"
	row detect "$t"
}

# With errors=panic an error on the volume ends the guest.
part_panic() {
	local t rc=0 cmd
	t=$(now_ms)
	cmd="set -e; mount -t $fs \$RVFAT_DEV /mnt; head -c 100000 /dev/zero >/mnt/f; umount /mnt
		fat=\$((\$(od -An -tu2 -j14 -N2 \$RVFAT_DEV) * 512))
		printf '\\1\\0' | dd of=\$RVFAT_DEV bs=1 seek=\$((fat + 4)) conv=notrunc status=none
		mount -t $fs -o errors=panic \$RVFAT_DEV /mnt; cat /mnt/f; echo survived"
	local opts=()
	[[ $fs == rvfat ]] || opts=(--no-module)
	"$VM_DIR/run" "${run_opts[@]}" "${opts[@]}" --scratch 64M,fat=16 --job "$LOGS/panic.job" -- \
		"$cmd" >/dev/null 2>"$LOGS/panic.err" || rc=$?
	if ((rc > 120)) && grep -Eq 'Kernel panic - not syncing: (rvfat|FAT-fs)' "$LOGS/panic.job/kernel.log"; then
		passed=$((passed + 1)) result='1 passed, 0 failed, 0 skipped'
	else
		say "panic: exit status $rc, and no panic for an error on the volume"
		failed=$((failed + 1)) result='0 passed, 1 failed, 0 skipped'
	fi
	row panic "$t"
}

part_guests() {
	local t file
	t=$(now_ms)
	say "selftests"
	if ! build_selftests "$LOGS/build"; then
		cat "$LOGS/build"
		failed=$((failed + 1)) result="not built"
		row build "$t"
		return
	fi
	result=''
	row build "$t"

	# Two guests with one processor each, side by side. QEMU makes up a FAT disk
	# from a folder, as a volume that nobody here has formatted.
	file=fat:16:/src/tools/testing/selftests,if=none,id=vvfat,format=raw,readonly=on
	[[ $wanted != *" ops "* ]] || guest ops --fast -- ops options differ geometry lifecycle
	[[ $wanted != *" images "* ]] || guest images --fast \
		--qemu -drive --qemu "file=$file" --qemu -device --qemu virtio-blk-pci,drive=vvfat,serial=vvfat \
		-- badimg interop enospc tree
	harvest ops
	harvest images
	if [[ $wanted == *" limits "* ]]; then
		guest memory --fast --mem "$little" --scratch 2G -- --only stress/pressure stress
		part_panic
		harvest memory
	fi
	# Races want two processors.
	[[ $wanted != *" races "* ]] || guest races --cpus 2 -- --only /load/ stress
	harvest races
	[[ $wanted != *" races "* ]] || guest tasks --cpus 2 -- parallel lifecycle
	harvest tasks
	[[ $wanted != *" regress "* ]] || guest regress --cpus 2 -- regress
	harvest regress
	# What broken volumes have once led to.
	[[ $wanted != *" regress "* ]] || guest found --fast -- --only hostile/found hostile
	harvest found
}

start=$(now_ms)
[[ $wanted != *" lint "* ]] || part_lint
[[ $wanted != *" unit "* ]] || part_unit
[[ $wanted != *" detect "* ]] || part_detect
[[ $wanted != *" ops "* && $wanted != *" images "* && $wanted != *" limits "* && $wanted != *" races "* && $wanted != *" regress "* ]] || part_guests

printf '%s\n' '' 'part         time  tests'
printf '%s\n' "${table[@]}"
printf '%-8s %8s\n\n' total "$(_secs $(($(now_ms) - start)))"
totals
