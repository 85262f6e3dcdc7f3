# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# report.sh - counting tests; sourced by the scripts that run them, after vm/lib.sh

passed=0 failed=0 skipped=0

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

# count_ktap NAME FILE STATUS: add a report's tests to the totals; show what failed.
count_ktap() {
	local p f s list
	list=$(leaves "$2")
	p=$(grep -c '^pass ' <<<"$list") || true
	f=$(grep -c '^fail ' <<<"$list") || true
	s=$(grep -c '^skip ' <<<"$list") || true
	# The diagnostics before each failed test.
	awk '{ sub(/\r$/, "") }
		/^ *(not )?ok /{ if (/not ok/) printf "%s%s\n", b, $0; b = ""; next }
		/^ *#/ && !/^#   / && !/ took / { b = b $0 "\n" }' "$2"
	sed -n 's/^skip /  skipped: /p' <<<"$list" | sort | uniq -c | sed 's/^ *1 //'
	if [[ $(tail -n 1 <<<"$list") != end ]]; then
		say "$1: the report ends early"
		f=$((f + 1))
	elif (($3 != 0 && $3 != 4 && $3 != VM_EX_LOG && f == 0)); then
		say "$1: exit status $3"
		f=$((f + 1))
	fi
	passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
	# shellcheck disable=SC2034 # for the caller
	result="$p passed, $f failed, $s skipped"
}

# count_guest NAME JOB STATUS ERRORS: add a guest's tests; one more is its kernel's log.
# ERRORS is what running it has said.
count_guest() {
	local name=$1 job=$2 rc=$3
	((rc == 0 || rc == 1 || rc == 4 || rc == VM_EX_LOG)) || cat "$4" >&2
	mkdir -p "$job"
	[[ -e $job/output ]] || : >"$job/output"
	count_ktap "$name" "$job/output" "$rc"
	if [[ -e $job/faults ]]; then
		say "$name: the kernel's log tells of a fault:"
		cat "$job/faults"
		failed=$((failed + 1)) result+='; kernel log: fault'
	else
		passed=$((passed + 1)) result+='; kernel log: clean'
	fi
}

# check_lock CRATE: drop its lock file if that asks for versions that the root's Debian
# doesn't have.
check_lock() {
	[[ ! -e $1/Cargo.lock ]] ||
		"$VM_DIR/enter" cargo metadata --format-version 1 --manifest-path "$1/Cargo.toml" >/dev/null 2>&1 ||
		rm -f "$1/Cargo.lock"
}

# build_selftests LOG: exit status 1 if they can't be built; LOG says why.
build_selftests() {
	check_lock tools/testing/selftests
	"$VM_DIR/enter" cargo build --quiet --manifest-path tools/testing/selftests/Cargo.toml >"$1" 2>&1
}

# totals: the last line.
totals() {
	echo "$passed passed, $failed failed, $skipped skipped"
	((failed == 0 && passed > 0))
}
