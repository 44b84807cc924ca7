#!/bin/bash
# Makes the parts of the lab that every boot shares, in the cache, once for each recipe (this file and
# config.sh):
#   usr.ext4                the guest's /usr
#   sysroot/                its headers and libraries, to cross-compile against
#   busybox                 the guest's, linked statically: it runs before /usr is there
#   linux-V, modules-V/     OS kernel of series V, and the drivers that it needs to reach /usr
# Invariant: the cache's folder for a recipe is whole or absent.
#
# Runs as an ordinary user. Debian packages are downloaded and unpacked, never installed: no program of
# theirs runs here, and the host's apt is asked for its sources alone.
set -eu
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=config.sh
. "$here/config.sh"
PATH=$PATH:/usr/sbin:/sbin

# Drivers in the order in which they must be loaded; one that is built in is not there to be copied.
drivers=(virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci virtio_blk virtio_console)

# Prints the host packages that are missing, one a line.
missing_packages() {
  local entry file
  for entry in "${host_packages[@]}"; do
    file=${entry#*:}
    [ -e "$file" ] || command -v "$file" >/dev/null || echo "${entry%%:*}"
  done
}

# The cache's folder for this recipe.
parts_folder() {
  echo "$lab_cache/$(cat "$here/build.sh" "$here/config.sh" | sha256sum | cut -c1-16)"
}

# The host's own list of Debian mirrors where it has the guest's release; else mmdebstrap's, Debian's.
debian_sources() {
  local file
  for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
    if grep -qs "^[^#].*$guest_suite" "$file"; then echo "$file"; return; fi
  done
}

# Mirrors are now and then in the middle of an update: once more, then give up.
try_twice() {
  "$@" && return 0
  sleep 20
  "$@"
}

# Downloads and unpacks everything into root.tar and OS kernel packages.
download() {
  local include kernels
  include=$(IFS=,; echo "${guest_packages[*]}")
  kernels=${guest_kernels[*]#*:}
  rm -rf root.tar linux-image-*
  # shellcheck disable=SC2016 # the hooks are expanded by the shell of mmdebstrap
  mmdebstrap --quiet --mode=chrootless --variant=extract --skip=check/chrootless \
    --architectures=arm64 --include="$include" \
    --setup-hook='cd "$1" && for d in bin sbin lib; do mkdir -p usr/$d && ln -s usr/$d $d; done' \
    --extract-hook='export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG
      for kernel in '"$kernels"'; do
        package=$(apt-cache depends "$kernel" | sed -n "s/^ *Depends: //p" | head -n 1)
        (cd '"'$PWD'"' && mkdir "$kernel" && cd "$kernel" &&
          apt-get -qq -o APT::Sandbox::User=root download "$package") || exit 1
      done' \
    "$guest_suite" root.tar "$(debian_sources)"
}

# unpack_kernel SERIES PACKAGE: linux-SERIES and modules-SERIES/.
unpack_kernel() {
  local driver file number=10
  dpkg-deb --fsys-tarfile "$2"/*.deb | tar -x -C "$2" --wildcards './boot/vmlinuz-*' './lib/modules/*/virtio*'
  mv "$2"/boot/vmlinuz-* "linux-$1"
  mkdir "modules-$1"
  for driver in "${drivers[@]}"; do
    file=$(find "$2/lib" -name "$driver.ko" -o -name "$driver.ko.xz")
    case $file in
      *.xz) xz -dc "$file" >"modules-$1/$number-$driver.ko" ;;
      *.ko) cp "$file" "modules-$1/$number-$driver.ko" ;;
    esac
    number=$((number + 1))
  done
  rm -r "$2"
}

# What postinst scripts would have made.
finish_usr() {
  mkdir -p sysroot/usr/local
  ln -sf gcc sysroot/usr/bin/cc
  ln -sf g++ sysroot/usr/bin/c++
  ln -sf dash sysroot/usr/bin/sh
}

# Fills the current folder.
make_parts() {
  local entry without=()
  if ! try_twice download >log 2>&1; then
    tail -n 5 log >&2
    echo "lab: cannot download Debian's arm64 packages" >&2
    return 77
  fi
  rm log
  for entry in "${guest_kernels[@]}"; do unpack_kernel "${entry%%:*}" "${entry#*:}"; done
  for entry in "${guest_without[@]}"; do without+=("--exclude=$entry"); done
  mkdir sysroot
  tar -x -f root.tar -C sysroot --wildcards "${without[@]}" ./usr
  rm root.tar
  finish_usr
  cp sysroot/usr/bin/busybox busybox
  mke2fs -q -t ext4 -O ^has_journal -m 0 -d sysroot/usr usr.ext4 "$(($(du -sm sysroot | cut -f1) * 5 / 4))M" >/dev/null
  rm -r sysroot/usr/bin sysroot/usr/sbin sysroot/usr/share
  ln -s usr/lib sysroot/lib
}

build() {
  local parts missing
  parts=$(parts_folder)
  if [ -d "$parts" ]; then touch "$parts"; return; fi
  missing=$(missing_packages)
  if [ -n "$missing" ]; then
    echo "lab: needs packages that are not installed: apt-get install ${missing//$'\n'/ }" >&2
    return 77
  fi
  mkdir -p "$lab_cache"
  exec {lock}>"$lab_cache/lock"
  flock "$lock"
  [ ! -d "$parts" ] || return 0
  echo "lab: downloading and unpacking the guest into $parts (once, about 200 MB)" >&2
  making=$(mktemp -d "$lab_cache/making.XXXXXX")
  trap 'rm -rf "$making"' EXIT
  (cd "$making" && make_parts)
  chmod 755 "$making"
  mv "$making" "$parts"
  # Older recipes that nobody has used for two weeks.
  find "$lab_cache" -mindepth 1 -maxdepth 1 -type d -mtime +14 -exec rm -rf {} +
}

case ${1:-} in
  packages) printf "%s\n" "${host_packages[@]%%:*}" ;;
  missing) missing_packages ;;
  folder) parts_folder ;;
  '') build ;;
  *) echo "usage: build.sh [packages | missing | folder]" >&2; exit 2 ;;
esac
