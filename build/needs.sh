#!/usr/bin/env bash
# Says what programs are missing, in one line, and installs them where that is possible without a question: on Debian
# and Ubuntu, as root. Usage: needs.sh run|test|microvm
set -euo pipefail

missing=() packages=()
need() { # PROGRAM PACKAGE
  command -v "$1" >/dev/null 2>&1 || { missing+=("$1"); packages+=("$2"); }
}

need go golang-go
need node nodejs
need npm npm
need git git
if [ "$(uname -s)" = Linux ]; then
  need tmux tmux
  need bwrap bubblewrap
  [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -e /etc/pki/tls/certs/ca-bundle.crt ] || { missing+=(ca-certificates); packages+=(ca-certificates); }
fi
what=${1:-run}
if [ "$what" = microvm ]; then
  need qemu-system-x86_64 qemu-system-x86
  need mkfs.ext4 e2fsprogs
  need modprobe kmod
  need cpio cpio
  need ssh openssh-client
  what=test # the stories run here
fi
if [ "$what" = test ]; then
  [ "$(uname -s)" != Linux ] || need debootstrap debootstrap # for the base that Environments are built from
  command -v chromium >/dev/null 2>&1 || command -v google-chrome >/dev/null 2>&1 || { missing+=(chromium); packages+=(chromium); }
  ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || { missing+=(postgresql); packages+=(postgresql); }
  need gnome-keyring-daemon gnome-keyring
  need zsh zsh # completion is pressed for in the real shells
  need fish fish
  need pkill procps
  need sqlite3 sqlite3 # a story makes what is in the Hub's database old
  need dbus-run-session dbus
  command -v gcc >/dev/null 2>&1 || { missing+=(gcc); packages+=(build-essential); } # the race detector needs cgo
fi

if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing ${packages[*]}"
    apt-get update -qq >/dev/null
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
  elif command -v apt-get >/dev/null 2>&1; then
    echo "Missing: ${missing[*]}. Run: sudo apt-get install -y ${packages[*]}" >&2
    exit 1
  else
    echo "Missing: ${missing[*]}. Install them with your system's package manager, then run this again." >&2
    exit 1
  fi
fi

# The version that go.mod names; an older Go may fetch it by itself, where it is allowed to.
if ! go version >/dev/null 2>&1 || ! (cd "$(dirname "$0")/.." && go list -m >/dev/null 2>&1); then
  echo "Go $(sed -n 's/^go //p' "$(dirname "$0")/../go.mod") or newer is needed; this machine has: $(go version 2>/dev/null || echo none)." >&2
  exit 1
fi
major=$(node -p 'process.versions.node.split(".")[0]')
if [ "$major" -lt 20 ]; then
  echo "Node 20 or newer is needed; this machine has $(node --version)." >&2
  exit 1
fi
