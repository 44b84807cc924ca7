#!/bin/bash
# pmclua in the lab: builds it for the guest and boots the guest with it.
#
#   lab.sh                                      what `make lab` runs: script $SCRIPT $ARGS if it is set,
#                                               else prompt
#   lab.sh prompt [options]                     pmclua's prompt; Ctrl-D leaves and powers off. Without a
#                                               terminal: runs the script on standard input
#   lab.sh script [options] -- SCRIPT [ARG…]    one script, as if it ran here. The files that it names are
#                                               copied (names.lua), and every argument that names a file
#                                               or folder
#   lab.sh run [options] -- COMMAND [ARG…]      any command; pmclua is in its PATH
#   lab.sh test [SPEC…]                         these specs, or the suite, on both versions of Linux; the
#                                               last line has the totals
#   lab.sh build                                only builds
# Options are those of boot.sh. Exits with the command's status; 77 if the lab cannot be built here.
#
# The guest sees this source tree at the same path, with a build/ made for the guest.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
build=$top/build/arm64
cross=aarch64-linux-gnu-
# shellcheck source-path=SCRIPTDIR source=config.sh
. "$here/config.sh"
# Specs have a home of their own; the parts of the lab are where they were.
export PMCLUA_LAB_CACHE=$lab_cache

# More than this is said, and more than that is a mistake, such as an argument that is the home folder.
copy_notice_mb=64 copy_limit_mb=256

build_for_guest() {
  local sysroot
  "$here/build.sh"
  if ! command -v "${cross}gcc" >/dev/null; then
    echo "lab: there is no ${cross}gcc to build pmclua for the guest: apt-get install gcc-aarch64-linux-gnu" >&2
    exit 77
  fi
  sysroot=$("$here/build.sh" folder)/sysroot
  mkdir -p "$build"
  # Two labs may start at once; make would have both write the same files.
  flock "$build" make -s -C "$top" -f Makefile -f tests/lab/lab.mk BUILD=build/arm64 SYSROOT="$sysroot" \
    CROSS="$cross" CFLAGS="-O2 -g --sysroot=$sysroot" all lab-programs lab-layer >&2
}

# The source tree, without what is built or kept here: boot.sh's options that bring it along.
tree_options() {
  local path
  for path in "$top"/* "$top/.busted"; do
    case $path in "$top/build" | "$top/pmclua") ;; *) printf '%s\n' --copy "$path" ;; esac
  done
}

# in_guest [boot.sh's arguments]
in_guest() {
  local tree
  mapfile -t tree < <(tree_options)
  "$here/boot.sh" --layer "$build/layer" "${tree[@]}" "$@"
}

# check_sizes PATH…: says what is brought along where that is much; fails where it is too much.
check_sizes() {
  local total
  [ $# -gt 0 ] || return 0
  total=$(du -cms -- "$@" 2>/dev/null | tail -n 1 | cut -f1)
  [ "${total:-0}" -gt "$copy_notice_mb" ] || return 0
  echo "lab: $total MB are brought along:" >&2
  du -ms -- "$@" 2>/dev/null | sort -rn | head -n 5 | sed 's/^\([0-9]*\)\t/  \1 MB  /' >&2
  [ "$total" -le "$copy_limit_mb" ] || { echo "lab: that is more than $copy_limit_mb MB" >&2; return 1; }
}

# script [boot.sh's options] -- SCRIPT [ARG…]
script() {
  local options=() copies=() word
  while [ $# -gt 0 ] && [ "$1" != -- ]; do options+=("$1"); shift; done
  [ $# -gt 1 ] || { echo "usage: lab.sh script [options] -- SCRIPT [ARG…]" >&2; return 2; }
  shift
  if [ -f "$1" ]; then mapfile -d '' -t copies < <(luajit "$here/names.lua" "$1"); fi
  for word in "${@:2}"; do if [ -e "$word" ]; then copies+=("$word"); fi; done
  check_sizes "${copies[@]}" || return 2
  for word in "${copies[@]}"; do options+=(--copy "$word"); done
  in_guest --timeout 3600 "${options[@]}" -- pmclua "$@"
}

# Of tests/spec, what meets the OS kernel and is soon done: the rest is the same Lua on every machine, or
# compiles much, and instructions are few in here.
machine_specs=(core_group group runner target target_cpus monitor explain inherit)

# guest_specs KERNEL SPEC…
guest_specs() {
  local kernel=$1
  shift
  echo "the lab: OS kernel $kernel, QEMU's Neoverse N1 with 2 cycles an instruction"
  # With programs at the same addresses each time QEMU translates them once: twice as fast. And the paranoia
  # of most machines, not this distribution's.
  in_guest --kernel "$kernel" --timeout 840 --sysctl kernel.randomize_va_space=0 \
    --sysctl kernel.perf_event_paranoid=2 -- pmclua "$top/tests/support/specs.lua" lab "$@"
}

# Of the lab itself, as seen from here.
host_specs() {
  echo "the lab seen from this machine"
  make -s -C "$top" all >&2
  "$top/build/pmclua" "$top/tests/support/specs.lua" lab "$here/host"
}

# Prints the sum of the totals of COUNT parts: one that has none has failed.
sum_totals() {
  sed -n 's/^\[lab\] passed \([0-9]*\), failed \([0-9]*\), skipped \([0-9]*\)$/\1 \2 \3/p' "$2" |
    awk -v parts="$1" '{ p += $1; f += $2; s += $3 }
      END {
        if (NR < parts) printf "FAILED: %d of %d parts ended before their totals\n", parts - NR, parts
        printf "[lab] passed %d, failed %d, skipped %d\n", p, f + parts - NR, s
      }'
}

# Without SPECs: both OS kernels run the lab's specs, the newer one in another guest those of tests/spec that meet
# the machine, and this machine those of the lab itself. As many at the same time as there are CPUs, or
# PMCLUA_LAB_AT_ONCE says. One line of totals.
test_all() {
  local log machine=() failed name me parts
  me="'$here/lab.sh'"
  if [ $# -gt 0 ]; then
    parts=("$me guest-specs 6.12$(printf " '%s'" "$@")" "$me guest-specs 6.1$(printf " '%s'" "$@")")
  else
    for name in "${machine_specs[@]}"; do machine+=("$top/tests/spec/${name}_spec.lua"); done
    parts=("$me host-specs" "$me guest-specs 6.12 '$here/spec'" "$me guest-specs 6.1 '$here/spec'"
      "$me guest-specs 6.12$(printf " '%s'" "${machine[@]}")")
  fi
  log=$(mktemp "${TMPDIR:-/tmp}/pmclua-lab-test.XXXXXX")
  # shellcheck disable=SC2064 # as it is now
  trap "rm -f '$log'" EXIT
  "$here/../beside" -j "${PMCLUA_LAB_AT_ONCE:-$(nproc)}" "${parts[@]}" 2>&1 | tee "$log"
  failed=${PIPESTATUS[0]}
  sum_totals ${#parts[@]} "$log"
  return "$failed"
}

# shellcheck disable=SC2086 # ARGS is words
if [ $# = 0 ]; then
  if [ -n "${SCRIPT:-}" ]; then set -- script -- "$SCRIPT" ${ARGS:-}; else set -- prompt; fi
fi
action=$1
shift
build_for_guest
case $action in
  build) ;;
  prompt) if [ -t 0 ]; then in_guest --terminal "$@" -- pmclua; else in_guest --stdin "$@" -- pmclua; fi ;;
  script) script "$@" ;;
  run) in_guest "$@" ;;
  guest-specs) guest_specs "$@" ;;
  host-specs) host_specs ;;
  test) test_all "$@" ;;
  *) echo "lab: no action '$action'" >&2; exit 2 ;;
esac
