#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# mutations.sh - whether the tests notice when the driver is broken on purpose
#
# Usage: tools/testing/mutations.sh [OPTION]... [NAME]...
#
#   NAME       only the mutations with this in their names (all of them)
#   --quick    none that needs a debug kernel or a power-cut run
#   --control  also run each test on the driver as it is: it has to pass there
#
# A mutation is a patch in tools/testing/mutations: a line that says what is broken,
# and one that names the test which has to fail: "Test: KIND WORD...", where KIND is
#
#   selftest  the suite of the path WORD (suite/group/test), on the stock kernel
#   debug     the same on the debug kernel
#   crash     power cuts in the workloads WORD...
#   unit      the host tests
#
# The driver is built in a copy of the tree, build/mutations/src. Each mutation is a
# test; it passes if the mutation was noticed. The last line is "N passed, N failed, N
# skipped". Logs are in build/mutations.

# shellcheck source-path=SCRIPTDIR source=vm/lib.sh
. "$(dirname "$0")/vm/lib.sh"
# shellcheck source=report.sh
. "$(dirname "$0")/report.sh"
cd "$RVFAT_SRC"

quick=0 control=0 words=()
while (($#)); do
	case $1 in
	--quick | --control) declare "${1#--}=1" ;;
	--help | -h) sed -n '4,/^$/s/^# \{0,1\}//p' "$0" && exit 0 ;;
	-*) die "mutations: unknown option $1, see --help" 2 ;;
	*) words+=("$1") ;;
	esac
	shift
done
need_cache

DIR=$RVFAT_SRC/build/mutations
COPY=$DIR/src

# The driver as it is. Its files are newer than what was built from others.
restore() {
	rm -rf "$COPY/rust"
	cp -r rust "$COPY/"
}

# The tree without what was built, and the programs that run in guests.
copy_tree() {
	mkdir -p "$COPY"
	rm -rf "$COPY"/{rust,tools}
	tar -c --exclude=./build --exclude=./.git . | tar -x -C "$COPY"
	restore
	mkdir -p "$COPY/build"
	"$COPY/tools/testing/vm/enter" cargo build -q \
		--manifest-path tools/testing/selftests/Cargo.toml >"$DIR/selftests.log" 2>&1 ||
		{ show_log "$DIR/selftests.log" && die "can't build the selftests"; }
}

# selftest PATH [OPTION OF run]...: exit status 0 if all passed, 1 if a test failed.
selftest() {
	local path=$1 log=$1
	shift
	log=$DIR/${log//\//-}.guest
	"$COPY/tools/testing/vm/run" --mem 1500M --timeout 900 --idle 400 "$@" -- \
		"/src/build/cargo/debug/rvfat-selftest --fs rvfat --patience 8 --only $path ${path%%/*}" >"$log" 2>&1
	if grep -q '^ *not ok' "$log" || grep -q 'the kernel.s log has' "$log"; then
		cat "$log"
		return 1
	fi
	grep -q '^# [1-9][0-9]* passed, 0 failed' "$log" || { cat "$log" && return 2; }
}

# run_test KIND WORD...: exit status 0 if the test passed, 1 if it failed, else it did not run.
run_test() {
	local kind=$1 rc=0
	shift
	case $kind in
	selftest) selftest "$1" --fast ;;
	debug)
		"$COPY/tools/testing/vm/build" --kernel debug modules || return 2
		selftest "$1" --kernel debug --fast
		rc=$?
		((rc != 2)) || rc=1
		return "$rc"
		;;
	crash)
		"$COPY/tools/testing/crash/crash.sh" --points 6000 --every 1000000 "$@" || rc=$?
		return "$rc"
		;;
	unit) "$COPY/tools/testing/vm/enter" cargo test -q --manifest-path tools/testing/unit/Cargo.toml || return 1 ;;
	*) return 2 ;;
	esac
}

build_module() { "$COPY/tools/testing/vm/build" modules; }

# mutation FILE: run one.
mutation() {
	local patch=$1 name test rc=0 log t
	name=$(basename "$patch" .patch)
	log=$DIR/$name.log
	read -r -a test < <(sed -n 's/^Test: //p' "$patch")
	t=$(now_ms)
	if ((quick)) && [[ ${test[0]} == debug || ${test[0]} == crash ]]; then
		echo "ok - $name # SKIP ${test[0]} is left out by --quick"
		skipped=$((skipped + 1))
		return
	fi
	if ! patch -s -p1 -d "$COPY" <"$patch" >"$log" 2>&1; then
		echo "not ok - $name: the patch does not apply: $log"
		failed=$((failed + 1))
	elif [[ ${test[0]} != unit ]] && ! build_module >>"$log" 2>&1; then
		echo "not ok - $name: the driver does not build with it: $log"
		failed=$((failed + 1))
	else
		run_test "${test[@]}" >>"$log" 2>&1 || rc=$?
		if ((rc == 1)); then
			echo "ok - $name: noticed by ${test[*]} ($(_secs $(($(now_ms) - t))))"
			passed=$((passed + 1))
		else
			echo "not ok - $name: not noticed by ${test[*]} (status $rc): $log"
			failed=$((failed + 1))
		fi
	fi
	restore
}

# Each test on the driver as it is.
controls() {
	local line test rc
	build_module >"$DIR/control.log" 2>&1 || die "can't build the driver: see $DIR/control.log"
	while read -r line; do
		read -r -a test <<<"$line"
		rc=0
		run_test "${test[@]}" >"$DIR/control-${line//[\/ ]/-}.log" 2>&1 || rc=$?
		if ((rc == 0)); then
			echo "ok - control: $line passes"
			passed=$((passed + 1))
		else
			echo "not ok - control: $line fails without a mutation (status $rc)"
			failed=$((failed + 1))
		fi
	done < <(cat "${patches[@]}" | sed -n 's/^Test: //p' | sort -u)
}

patches=()
for file in tools/testing/mutations/*.patch; do
	wanted=$((${#words[@]} == 0))
	for word in "${words[@]}"; do [[ $(basename "$file") != *"$word"* ]] || wanted=1; done
	((!wanted)) || patches+=("$file")
done
((${#patches[@]})) || die "mutations: there is none of that name" 2
mkdir -p "$DIR"
copy_tree
((!control)) || controls
for file in "${patches[@]}"; do mutation "$file"; done
totals
