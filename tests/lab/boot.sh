#!/bin/bash
# Runs one command in the lab as if it ran here: with its output and errors on separate streams, its exit
# status and the same working folder. Each call boots once; several may run at once.
#
#   boot.sh [options] -- COMMAND [ARGUMENT…]
#     --kernel 6.12|6.1     version of Linux
#     --smp N               CPUs (1)
#     --memory MB           (1024)
#     --timeout SECONDS     real time for boot and command (300; 0: none); then exits with 124 and prints the
#                           guest's last output
#     --shift N             2^N cycles an instruction (1)
#     --sysctl NAME=VALUE   set before the command starts; kernel.perf_user_access=1 is always set
#     --copy PATH           a file or a folder, which has the same path in the guest
#     --layer FOLDER        its contents are laid over the guest's root; its usr/local is /usr/local
#     --stdin               pass on standard input, read to its end first; otherwise there is none
#     --terminal            the command gets this terminal, and no time limit
#
# What the command writes stays in the guest and is lost with it. Exits with the command's status; 124 after
# the time limit, 125 if the guest ended without reporting a status, 77 if the lab cannot be built here.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=config.sh
. "$here/config.sh"

fail() { echo "lab: $*" >&2; exit 2; }

kernel=$default_kernel smp=1 memory=1024 timeout=300 shift=1 settings=(kernel.perf_user_access=1)
copies=() layers=() standard_input="" terminal=""
while [ $# -gt 0 ]; do
  case $1 in
    --kernel) kernel=$2; shift 2 ;;
    --smp) smp=$2; shift 2 ;;
    --memory) memory=$2; shift 2 ;;
    --timeout) timeout=$2; shift 2 ;;
    --shift) shift=$2; shift 2 ;;
    --sysctl) settings+=("$2"); shift 2 ;;
    --copy) copies+=("$(realpath -s "$2")"); shift 2 ;;
    --layer) layers+=("$2"); shift 2 ;;
    --stdin) standard_input=1; shift ;;
    --terminal) terminal=1 timeout=0; shift ;;
    --) shift; break ;;
    *) fail "unknown option $1" ;;
  esac
done
[ $# -gt 0 ] || fail "no command"
[[ " ${guest_kernels[*]%%:*} " = *" $kernel "* ]] || fail "no OS kernel $kernel: there are ${guest_kernels[*]%%:*}"

"$here/build.sh"
parts=$("$here/build.sh" folder)
run=$(mktemp -d "${TMPDIR:-/tmp}/pmclua-lab.XXXXXX")
children=()
# shellcheck disable=SC2317 # reached by the trap
cleanup() {
  [ ${#children[@]} -eq 0 ] || kill "${children[@]}" 2>/dev/null || true
  rm -rf "$run"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# Single quotes, which every shell reads alike.
quote() { printf "'%s' " "${1//\'/\'\\\'\'}"; }

# The guest's files but for /usr, in $run/root.
make_root() {
  local root=$run/root argument
  mkdir -p "$root"/{proc,sys,dev,usr,etc,root,run,var/tmp,tmp,busybox.d,lab,local} "$root/usr/local" "$root$PWD"
  ln -s usr/bin usr/sbin usr/lib "$root"
  ln -s /proc/mounts "$root/etc/mtab"
  cp "$here/init" "$root/init"
  cp "$parts/busybox" "$root/busybox"
  cp -r "$parts/modules-$kernel" "$root/modules"
  printf '%s\n' root:x:0:0::/root:/bin/sh nobody:x:65534:65534::/tmp:/bin/sh >"$root/etc/passwd"
  printf '%s\n' root:x:0: nogroup:x:65534: >"$root/etc/group"
  printf '%s\n' "${settings[@]}" >"$root/lab/settings"
  if [ -n "$standard_input" ]; then cat; fi >"$root/lab/input"
  [ -z "$terminal" ] || touch "$root/lab/terminal"
  {
    echo "cd $(quote "$PWD")"
    echo "export TERM=$(quote "${TERM:-dumb}")"
    [ -z "$terminal" ] || stty size | sed "s/\\(.*\\) \\(.*\\)/stty rows \\1 cols \\2/"
    printf "exec "; for argument in "$@"; do quote "$argument"; done; echo
  } >"$root/lab/job"
}

check_copies() {
  local path
  for path in "${copies[@]}"; do
    [ -e "$path" ] || fail "no file or folder $path"
    [[ $path != /usr/* ]] || fail "$path: the guest's /usr is its own"
  done
}

# The names of what --copy asks for, and of the folders above, NUL after each, from /.
list_copies() {
  local path above
  for path in "${copies[@]}"; do
    above=$path
    while above=$(dirname "$above"); [ "$above" != / ]; do printf '%s\0' ".$above"; done | tac -s ''
    (cd / && find ".$path" -print0)
  done
}

pack_folder() {
  (cd "$1" && find . -print0 | cpio --quiet -0 -o -H newc -R 0:0)
}

pack_root() {
  local layer
  pack_folder "$run/root"
  for layer in "${layers[@]}"; do pack_folder "$layer"; done
  [ ${#copies[@]} -eq 0 ] || pack_copies
}

# Who else works in a folder may remove and write files while it is packed: those that are gone are left out.
pack_copies() {
  (cd / && export LC_ALL=C && list_copies | cpio --quiet -0 -o -H newc -R 0:0) 2>"$run/problems" || true
  if grep -v -e 'No such file or directory' -e ' grew, ' -e ' shrunk by ' "$run/problems" >&2; then fail "not all could be packed"; fi
}

# shellcheck disable=SC2054 # the commas are QEMU's
boot() {
  local limit=() ports
  [ "$timeout" = 0 ] || limit=(timeout --kill-after=5 "$timeout")
  if [ -n "$terminal" ]; then
    ports=(-chardev stdio,id=terminal,signal=off -device virtconsole,chardev=terminal)
  else
    ports=(-chardev file,id=output,path="$run/output" -device virtserialport,chardev=output,name=output
      -chardev file,id=errors,path="$run/errors" -device virtserialport,chardev=errors,name=errors)
  fi
  "${limit[@]}" qemu-system-aarch64 -M virt -cpu neoverse-n1 -icount "shift=$shift" -smp "$smp" -m "$memory" \
    -nic none -display none -monitor none -no-reboot -serial "file:$run/console" \
    -kernel "$parts/linux-$kernel" -initrd "$run/initrd" \
    -append "console=ttyAMA0 quiet rdinit=/init panic=-1" \
    -drive "file=$parts/usr.ext4,if=none,id=usr,format=raw,readonly=on" -device virtio-blk-pci,drive=usr \
    -device virtio-serial-pci "${ports[@]}" \
    -chardev "file,id=status,path=$run/status" -device virtserialport,chardev=status,name=status <&0 &
  children+=($!)
  wait $!
}

check_copies
make_root "$@"
pack_root >"$run/initrd"
rm -r "$run/root"
mkfifo "$run/output" "$run/errors"
cat "$run/output" & readers=($!)
cat "$run/errors" >&2 & readers+=($!)
children+=("${readers[@]}")
# Held open, so that a QEMU that never opens them does not leave the readers waiting.
exec 8>"$run/output" 9>"$run/errors"
ended=0
boot || ended=$?
exec 8>&- 9>&-
wait "${readers[@]}" || true
if [ -s "$run/status" ]; then exit "$(cat "$run/status")"; fi
if [ $ended = 124 ]; then echo "lab: not done after $timeout s; the guest's console ends:" >&2
else echo "lab: the guest ended by itself; its console ends:" >&2; ended=125; fi
tail -n 20 "$run/console" >&2 || true
exit $ended
