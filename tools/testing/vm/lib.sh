# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# lib.sh - what the scripts under tools/testing have in common. Source it; it
# sets the shell's error mode and these variables:
#
#   VM_DIR         this folder
#   RVFAT_SRC      the checkout
#   RVFAT_CACHE    where everything downloaded or built once is kept
#   RVFAT_SERIES   the kernel's series, 7.3
#   RVFAT_FLAVOUR  the flavour of Debian's kernel, cloud-amd64
#   VM_KERNEL      the cache's folder for this kernel (/kernel in the root)
#   VM_OUT         where the module for it is built, relative to the checkout
#   VM_TREE        the build tree it is built against, as seen in the root

set -euo pipefail

VM_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd -P)
# shellcheck disable=SC2034
RVFAT_SRC=${VM_DIR%/tools/testing/vm}
RVFAT_CACHE=${RVFAT_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rvfat}
[[ $RVFAT_CACHE == /* ]] || RVFAT_CACHE=$PWD/$RVFAT_CACHE
RVFAT_SERIES=${RVFAT_SERIES:-7.3}
RVFAT_FLAVOUR=${RVFAT_FLAVOUR:-cloud-amd64}
VM_KERNEL=$RVFAT_CACHE/kernel-$RVFAT_SERIES-$RVFAT_FLAVOUR
VM_OUT=build/module
[[ $RVFAT_SERIES-$RVFAT_FLAVOUR == 7.3-cloud-amd64 ]] || VM_OUT+=-$RVFAT_SERIES-$RVFAT_FLAVOUR
# shellcheck disable=SC2034
VM_TREE=/kernel/build
export RVFAT_CACHE RVFAT_SERIES RVFAT_FLAVOUR

# enter(1) dies with the process of this number if that is its parent.
export RVFAT_PARENT=$$

# Exit codes of run(1) that don't come from the command itself.
# shellcheck disable=SC2034 # used by those who source this file
VM_EX_LOG=121 VM_EX_DIED=122 VM_EX_HANG=123 VM_EX_TIMEOUT=124 VM_EX_SETUP=125

_stage_text='' _stage_start=0

now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo "${t:0:-3}"; }

_secs() { printf '%d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

say() { printf '%s\n' "$*" >&2; }

# die LINE [STATUS]: say in one line what is wrong and what to do about it.
die() {
	[[ -z $_stage_text ]] || { [[ -t 2 ]] && printf '\r\033[K' >&2; say "  $_stage_text: failed"; }
	_stage_text=''
	say "rvfat: error: $1"
	exit "${2:-1}"
}

# stage TEXT ... ok [NOTE]: name a step and, when it is over, its time.
stage() {
	_stage_text=$1
	_stage_start=$(now_ms)
	if [[ -t 2 ]]; then printf '  %s ...' "$1" >&2; else say "  $1 ..."; fi
}

ok() {
	[[ -t 2 ]] && printf '\r\033[K' >&2
	say "  $_stage_text: $(_secs $(($(now_ms) - _stage_start)))${1:+, $1}"
	_stage_text=''
}

# logged FILE CMD...: run a command with its output in FILE. Meanwhile show its
# last line on a terminal, or a sign of life every 20 seconds elsewhere.
logged() {
	local log=$1 pid rc=0 n=0 last
	shift
	mkdir -p "$(dirname "$log")"
	"$@" >"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.5
		n=$((n + 1))
		if [[ -t 2 ]]; then
			last=$(tail -n 1 "$log" 2>/dev/null | tr -d '\r' | cut -c 1-60) || last=
			printf '\r\033[K  %s ... %s  %s' "$_stage_text" \
				"$(_secs $(($(now_ms) - _stage_start)))" "$last" >&2
		elif ((n % 40 == 0)); then
			say "    still at it after $(_secs $(($(now_ms) - _stage_start)))"
		fi
	done
	wait "$pid" || rc=$?
	return "$rc"
}

# show_log FILE: the end of a log, for a step that failed.
show_log() {
	[[ -t 2 ]] && printf '\r\033[K' >&2
	say "--- end of $1:"
	tail -n "${2:-15}" "$1" >&2 || true
	say "---"
}

is_root() { [[ $(id -u) == 0 ]]; }

# Run "${NS[@]} CMD...": a command as (possibly mapped) root in private mount and
# process namespaces; the mounts and processes it makes end with it and with us.
# An array and no function, so that it works in the background, too: there a
# function would put a subshell in between that may live on.
NS_ARGS=(--mount --propagation private)
is_root || NS_ARGS+=(--user --map-root-user --map-auto)
# shellcheck disable=SC2034
NS=(setpriv --pdeathsig KILL unshare "${NS_ARGS[@]}" --pid --fork --kill-child)

# need_cache: the cache has to be there, and stays locked against its removal
# while this process and its children run.
need_cache() {
	[[ -e $RVFAT_CACHE/root.stamp && -e $VM_KERNEL/build.stamp ]] ||
		die "the cache $RVFAT_CACHE isn't complete: run 'make modules' first" "$VM_EX_SETUP"
	lock_cache -s
}

# lock_cache -s|-x: shared for users of the cache, exclusive for who changes it.
lock_cache() {
	[[ -z ${RVFAT_LOCKED:-} ]] || return 0
	exec {_lock_fd}>>"$RVFAT_CACHE/lock"
	if ! flock "$1" -n "$_lock_fd"; then
		say "  waiting for another user of $RVFAT_CACHE"
		flock "$1" "$_lock_fd"
	fi
	export RVFAT_LOCKED=1
}

# use_kernel NAME: from here on, instead of Debian's kernel, the one of our own with
# this name, which is built if need be. It stays as it is while this process runs.
use_kernel() {
	local fd
	"$VM_DIR/debug-kernel" "$1" || exit
	exec {fd}>>"$VM_KERNEL/$1.lock"
	flock -s "$fd"
	# shellcheck disable=SC2034
	VM_TREE=/kernel/$1 VM_OUT=build/$1/${VM_OUT#build/}
}

# sum STRING...: a short key for stamp files.
sum() { printf '%s\n' "$@" | sha256sum | cut -c 1-20; }
