#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# check.sh - all tests: lints, host tests, and the selftests in guests
#
# Usage: tools/testing/check.sh [OPTION]... [PART]...
#
#   PART          lint unit ops images races regress (all of them)
#   --fs NAME     test this file system type instead of rvfat, such as vfat
#   --kernel NAME in guests with this debug kernel (see vm/debug-kernel --help); the
#                 parts are then detect ops images races regress, in sizes for a slow
#                 machine
#   --seconds N   time of the parallel test (60; on a debug kernel 30)
#   --ops N       operations in each random sequence (3000; 300)
#   --scale N     size of the tree test, in per cent (100; 10)
#
# The last line is "N passed, N failed, N skipped"; it counts lints, host tests, the
# leaves of the guests' KTAP, and for each guest whether its kernel's log is clean.
# Logs are in build/check or build/NAME/check. `make check` builds the module first,
# `make check-debug` kernel and module.

# shellcheck source-path=SCRIPTDIR source=vm/lib.sh
. "$(dirname "$0")/vm/lib.sh"
cd "$RVFAT_SRC"

PARTS=(lint unit ops images races regress)
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
size=(--seconds "${seconds:-60}" --ops "${ops:-3000}" --scale "${scale:-100}")
if [[ -n $kernel ]]; then
	# KASAN and lockdep under TCG are slow.
	PARTS=(detect ops images races regress)
	need_cache
	use_kernel "$kernel"
	LOGS=$RVFAT_SRC/build/$kernel/check
	run_opts=(--quiet --kernel "$kernel" --mem 3G --idle 1200 --timeout 5400)
	size=(--seconds "${seconds:-30}" --ops "${ops:-300}" --scale "${scale:-10}" --patience 8)
fi
(($#)) || set -- "${PARTS[@]}"
for part in "$@"; do
	[[ " ${PARTS[*]} " == *" $part "* ]] || die "check: no part $part; there are: ${PARTS[*]}" 2
done
wanted=" $* "

mkdir -p "$LOGS"
rm -rf "${LOGS:?}"/*
passed=0 failed=0 skipped=0
table=()

# leaves FILE: "pass|fail|skip NAME" for each test of a KTAP report that has none
# below it, then "end" if each plan was kept.
leaves() {
	awk '
		{ sub(/\r$/, "") }
		/^ *KTAP version 1$/ { d = indent(); seen[d] = 0; plan[d] = -1; next }
		/^ *1\.\.[0-9]+/ { d = indent(); n = $1; sub(/.*\.\./, "", n); plan[d] = n; next }
		/^ *(not )?ok [0-9]+/ {
			d = indent()
			seen[d]++
			if (seen[d + 2] > 0) {
				if (seen[d + 2] != plan[d + 2]) short = 1
				for (i in seen) if (i > d) seen[i] = 0
				next
			}
			name = $0
			sub(/^ *(not )?ok [0-9]+ */, "", name)
			print ($1 == "not" ? "fail" : name ~ /# SKIP/ ? "skip" : "pass"), name
		}
		/^Bail out!/ { short = 1 }
		END { if (!short && (0 in plan) && plan[0] == seen[0]) print "end" }
		function indent() { match($0, /^ */); return RLENGTH }' "$1"
}

# count_ktap PART FILE STATUS: add a report's tests to the totals; show what failed.
count_ktap() {
	local p f s list
	list=$(leaves "$2")
	p=$(grep -c '^pass ' <<<"$list") || true
	f=$(grep -c '^fail ' <<<"$list") || true
	s=$(grep -c '^skip ' <<<"$list") || true
	# The diagnostics before each failed leaf.
	awk '/^ *(not )?ok /{ if (/not ok/) printf "%s%s\n", b, $0; b = ""; next } /^ *#/ && !/ took / { b = b $0 "\n" }' "$2"
	sed -n 's/^skip /  skipped: /p' <<<"$list"
	if [[ $(tail -n 1 <<<"$list") != end ]]; then
		say "$1: the report ends early"
		f=$((f + 1))
	elif (($3 != 0 && $3 != 4 && $3 != VM_EX_LOG && f == 0)); then
		say "$1: exit status $3"
		f=$((f + 1))
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	result="$p passed, $f failed, $s skipped"
}

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

# Drop a crate's lock file if it asks for versions that the root's Debian doesn't have.
check_lock() {
	[[ ! -e $1/Cargo.lock ]] ||
		"$VM_DIR/enter" cargo metadata --format-version 1 --manifest-path "$1/Cargo.toml" >/dev/null 2>&1 ||
		rm -f "$1/Cargo.lock"
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

# harvest PART: wait for a guest and count its tests; one more is its kernel's log.
harvest() {
	local part=$1 rc=0
	[[ -n ${guest_pid[$part]:-} ]] || return 0
	wait "${guest_pid[$part]}" || rc=$?
	((rc == 0 || rc == 1 || rc == 4 || rc == VM_EX_LOG)) || cat "$LOGS/$part.err"
	cp "$LOGS/$part.job/output" "$LOGS/$part" 2>/dev/null || : >"$LOGS/$part"
	count_ktap "$part" "$LOGS/$part" "$rc"
	if [[ -e $LOGS/$part.job/faults ]]; then
		say "$part: the kernel's log tells of a fault:"
		cat "$LOGS/$part.job/faults"
		failed=$((failed + 1)) result+='; kernel log: fault'
	else
		passed=$((passed + 1)) result+='; kernel log: clean'
	fi
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

part_guests() {
	local t rc=0 file
	t=$(now_ms)
	say "selftests"
	check_lock tools/testing/selftests
	"$VM_DIR/enter" cargo build --quiet --manifest-path tools/testing/selftests/Cargo.toml >"$LOGS/build" 2>&1 || rc=$?
	if ((rc)); then
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
	# Races want two processors.
	[[ $wanted != *" races "* ]] || guest races --cpus 2 -- parallel lifecycle
	harvest races
	[[ $wanted != *" regress "* ]] || guest regress --cpus 2 -- regress
	harvest regress
}

start=$(now_ms)
[[ $wanted != *" lint "* ]] || part_lint
[[ $wanted != *" unit "* ]] || part_unit
[[ $wanted != *" detect "* ]] || part_detect
[[ $wanted != *" ops "* && $wanted != *" images "* && $wanted != *" races "* && $wanted != *" regress "* ]] || part_guests

printf '%s\n' '' 'part         time  tests'
printf '%s\n' "${table[@]}"
printf '%-8s %8s\n\n' total "$(_secs $(($(now_ms) - start)))"
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
