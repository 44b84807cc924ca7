# What the lab is made of: sourced by build.sh and boot.sh.
# shellcheck shell=bash disable=SC2034

lab_cache=${PMCLUA_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pmclua/lab}

# Debian packages that the host needs, and one file of each by which it is recognised elsewhere.
host_packages=(
  qemu-system-arm:qemu-system-aarch64
  gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc
  mmdebstrap:mmdebstrap
  cpio:cpio
  e2fsprogs:mke2fs
  xz-utils:xz
  debian-archive-keyring:/usr/share/keyrings/debian-archive-keyring.gpg
)

# What is in the guest's /usr: what pmclua is built with and uses, a C and a C++ compiler for kernels from source, and
# two programs that are not ours to check against.
guest_packages=(
  luajit libluajit-5.1-dev lua-lpeg lua-argparse lua-dkjson lua-filesystem lua-busted
  libpfm4-dev libedit-dev libdw-dev libcapstone-dev libiberty-dev
  gcc g++ libc6-dev
  linux-perf strace util-linux valgrind
  busybox-static dash coreutils bash ncurses-base
)
guest_suite=bookworm

# OS kernels: what --kernel calls them, and the package that depends on the newest of that series.
guest_kernels=(6.12:linux-image-6.12-cloud-arm64 6.1:linux-image-cloud-arm64)
default_kernel=6.12

# Not unpacked: what only people read, and interpreters and compiler parts that nothing here runs.
guest_without=(
  ./usr/share/{doc,man,info,locale,i18n,zoneinfo,lintian,bug,perl,perl5,python3,gdb,gcc}
  './usr/lib/*/perl*' './usr/lib/python3*' './usr/lib/*/gconv' './usr/bin/perl*' './usr/bin/python*'
  '*/lto1' '*lto-dump*' '*ld.gold*' '*-dwp*' '*gprof*' '*/lib?san.*' '*/libhwasan*'
)
