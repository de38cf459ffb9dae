#!/bin/sh
# Installs Fairlead on Linux and macOS: the program, its man page, completions and, for root on a system with systemd, its unit.
#
#   sh install.sh [--yes] [--dry-run] [--uninstall] [--prefix DIR] [--version VERSION]
#
# It says what it will do and asks before it does it. It checks the SHA-256 sum of what it downloads, always, and the signature
# of the sums if minisign is installed. It starts nothing, and leaves config and outbox alone.
#
# FAIRLEAD_BASE_URL: where the files of the release are, instead of GitHub. https://, http:// or file://.
# FAIRLEAD_PUBLIC_KEY: the minisign key to check with, for a mirror that signs its own sums.
set -eu

VERSION=0.2.0
# `make release` puts the project's public key here, from packaging/minisign.pub. In the repository it is empty.
PUBLIC_KEY=

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

usage() {
  echo "usage: sh install.sh [--yes] [--dry-run] [--uninstall] [--prefix DIR] [--version VERSION]"
}

parse_arguments() {
  yes=no dry_run=no action=install prefix=
  while [ $# -gt 0 ]; do
    case $1 in
      --yes | -y) yes=yes ;;
      --dry-run) dry_run=yes ;;
      --uninstall) action=uninstall ;;
      --prefix | --version)
        [ $# -ge 2 ] || fail "$1 needs a value"
        if [ "$1" = --prefix ]; then prefix=$2; else VERSION=${2#v}; fi
        shift
        ;;
      --help | -h)
        usage
        exit 0
        ;;
      *) fail "unknown option $1. $(usage)" ;;
    esac
    shift
  done
  if [ -z "$prefix" ]; then
    if [ "$(id -u)" = 0 ]; then prefix=/usr/local; else prefix=$HOME/.local; fi
  fi
  case $prefix in
    /*) ;;
    *) fail "--prefix must begin with a slash: $prefix" ;;
  esac
  base=${FAIRLEAD_BASE_URL:-https://github.com/fairlead/fairlead/releases/download/v$VERSION}
  base=${base%/}
  key=${FAIRLEAD_PUBLIC_KEY:-$PUBLIC_KEY}
}

# Prints the name of the build for this machine.
find_target() {
  case $(uname -m) in
    x86_64 | amd64) arch=x64 ;;
    aarch64 | arm64) arch=arm64 ;;
    *) fail "there is no build for $(uname -m), only for x86_64 and arm64" ;;
  esac
  case $(uname -s) in
    Linux)
      libc=$(find_libc)
      echo "linux-$arch$libc"
      ;;
    Darwin)
      # A shell under Rosetta says x86_64.
      if [ "$(sysctl -n hw.optional.arm64 2>/dev/null || echo 0)" = 1 ]; then arch=arm64; fi
      echo "darwin-$arch"
      ;;
    *) fail "there is no build for $(uname -s), only for Linux and macOS" ;;
  esac
}

# Prints -musl for musl, and nothing for glibc. A system with glibc may have musl's loader as well.
find_libc() {
  glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null || true)
  if [ -n "$glibc" ]; then
    minor=${glibc#glibc 2.}
    if [ "${minor%%.*}" -lt 34 ]; then
      fail "$glibc is too old: Fairlead needs glibc 2.34 or later, as in Debian 12, Ubuntu 22.04 or RHEL 9"
    fi
  elif ls /lib/ld-musl-*.so.1 >/dev/null 2>&1; then
    echo -musl
  else
    fail "this system has neither glibc nor musl; see docs/install/source.md to build Fairlead yourself"
  fi
}

# The files below the prefix, each with what it is in the tarball.
list_files() {
  cat <<END
bin/fairlead fairlead
share/man/man1/fairlead.1 fairlead.1
share/bash-completion/completions/fairlead completions/fairlead.bash
share/zsh/site-functions/_fairlead completions/_fairlead
share/fish/vendor_completions.d/fairlead.fish completions/fairlead.fish
share/doc/fairlead/LICENSE LICENSE
share/doc/fairlead/THIRD-PARTY-NOTICES.txt THIRD-PARTY-NOTICES.txt
share/doc/fairlead/config.example.yaml config.example.yaml
END
  if wants_unit; then
    echo lib/systemd/system/fairlead.service fairlead.service
    echo lib/sysusers.d/fairlead.conf fairlead.sysusers.conf
  fi
}

# The unit runs the daemon as a user of its own, which only root can set up.
wants_unit() {
  [ "$(id -u)" = 0 ] && command -v systemctl >/dev/null 2>&1
}

say_plan() {
  if [ "$action" = uninstall ]; then
    echo "This removes these files from $prefix, if they exist:"
  else
    echo "This installs Fairlead $VERSION for $target into $prefix."
    echo
    echo "It downloads fairlead-$VERSION-$target.tar.gz"
    echo "from $base,"
    echo "verifies its checksum with SHA256SUMS, $(say_signature),"
    echo "and writes these files:"
  fi
  list_files | while read -r path _; do echo "  $prefix/$path"; done
  if [ "$action" = uninstall ]; then
    echo "Configs and outboxes stay."
  else
    echo "It starts nothing."
  fi
}

say_signature() {
  if [ -z "$key" ]; then
    echo "does not check a signature (this copy of install.sh has no public key)"
  elif command -v minisign >/dev/null 2>&1; then
    echo "whose signature it checks with minisign"
  else
    echo "does not check a signature (minisign is not installed)"
  fi
}

# The terminal, because a script that is piped into sh is the standard input itself.
ask() {
  [ "$yes" = no ] || return 0
  if ! (: </dev/tty) 2>/dev/null; then fail "there is no terminal to ask on: add --yes"; fi
  printf 'Continue? [y/N] ' >/dev/tty
  read -r answer </dev/tty
  case $answer in
    y | Y | yes) ;;
    *) fail "nothing was changed" ;;
  esac
}

# Downloads a file of the release into the current folder.
get() {
  case $base in
    file://*) cp "${base#file://}/$1" "$1" 2>/dev/null || fail "cannot copy $base/$1" ;;
    *)
      if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --output "$1" "$base/$1" || fail "cannot download $base/$1"
      elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$1" "$base/$1" || fail "cannot download $base/$1"
      else
        fail "there is neither curl nor wget to download with"
      fi
      ;;
  esac
}

check_signature() {
  [ -n "$key" ] || return 0
  command -v minisign >/dev/null 2>&1 || return 0
  get SHA256SUMS.minisig
  minisign -V -q -P "$key" -m SHA256SUMS >&2 || fail "the signature of $base/SHA256SUMS is wrong: nothing was installed"
}

check_sum() {
  wanted=$(sed -n "s/^\([0-9a-f]\{64\}\) [ *]$1\$/\1/p" SHA256SUMS)
  [ -n "$wanted" ] || fail "$base/SHA256SUMS has no sum of $1"
  found=$(sum_of "$1")
  [ "$found" = "$wanted" ] ||
    fail "$1 is not the file of the release: its SHA-256 is $found, and SHA256SUMS has $wanted. Nothing was installed"
}

sum_of() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif command -v shasum >/dev/null 2>&1; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    openssl dgst -sha256 "$1" | sed 's/.*= //'
  fi
}

# A new file takes the place of the old one at once: the old program may be running.
put() {
  mkdir -p "$(dirname "$1")"
  cp "$2" "$1.new"
  case $1 in
    */bin/*) chmod 0755 "$1.new" ;;
    *) chmod 0644 "$1.new" ;;
  esac
  mv -f "$1.new" "$1"
}

install_files() {
  work=$(mktemp -d) unpacked=
  trap 'rm -rf "$work" ${unpacked:+"$unpacked"}' EXIT
  trap 'exit 1' HUP INT TERM
  cd "$work"
  tarball=fairlead-$VERSION-$target.tar.gz
  get SHA256SUMS
  check_signature
  get "$tarball"
  check_sum "$tarball"
  # Below the prefix: /tmp may be mounted noexec, and the program is run before it replaces anything.
  mkdir -p "$prefix/bin"
  unpacked=$(mktemp -d "$prefix/bin/.fairlead.XXXXXX")
  tar -xzf "$tarball" -C "$unpacked"
  cd "$unpacked/fairlead-$VERSION-$target"
  if [ -f fairlead.service ]; then
    sed "s#/usr/bin/fairlead#$prefix/bin/fairlead#g" fairlead.service >unit
    mv unit fairlead.service
  fi
  # Before anything is replaced.
  ./fairlead version >/dev/null ||
    fail "the program does not run on this machine, see above: nothing was installed. Alpine needs: apk add libstdc++"
  list_files | while read -r path from; do put "$prefix/$path" "$from"; done
  say_next
}

say_next() {
  echo "Installed: $("$prefix/bin/fairlead" --version)"
  case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) echo "$prefix/bin is not in your PATH." ;;
  esac
  if wants_unit; then
    echo "To run it as a service: docs/install/systemd.md. The unit is $prefix/lib/systemd/system/fairlead.service."
  fi
  echo "Next: fairlead help"
}

uninstall_files() {
  list_files | while read -r path _; do rm -f "$prefix/$path"; done
  if [ -d "$prefix/share/doc/fairlead" ]; then rmdir "$prefix/share/doc/fairlead" 2>/dev/null || true; fi
  echo "Removed."
}

main() {
  parse_arguments "$@"
  if [ "$action" = install ]; then target=$(find_target); fi
  say_plan
  [ "$dry_run" = no ] || exit 0
  ask
  "${action}_files"
}

# The last line, so that a download that was cut off does nothing.
main "$@"
