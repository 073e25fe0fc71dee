#!/usr/bin/env bash
# Makes what the microVM suite runs on, in stages that are kept. A stage is made anew when what it is made from changes.
#   build.sh base       a Debian for Sandboxes; prints its folder: rootfs/, rootfs.tar, archive.tar
#   build.sh machine    the emulated machine; prints its folder: kernel, initramfs, disk, key
# CLAUDE_HUB_MICROVM_CACHE is where it is kept.
set -euo pipefail
shopt -s inherit_errexit
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${CLAUDE_HUB_MICROVM_CACHE:-$HOME/.cache/claude-hub-microvm}

suite=bookworm
base_packages=tmux,git,gh,ca-certificates,curl,procps,locales
machine_packages=busybox-static,openssh-server,iproute2,procps,kmod,psmisc,ca-certificates,curl,git,tmux,python3-minimal
architecture=amd64

say() { printf 'microvm: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# stage NAME INPUT...: the folder of a stage, made by make_NAME in an empty one when it is not there. Older makings of it go.
stage() {
  local name=$1 key dir
  key=$( (declare -f "make_$1" clean; printf '%s\n' "$suite" "${@:2}") | sha256sum | cut -c1-16)
  dir=$cache/$name-$key
  if [ ! -e "$dir/.done" ]; then
    say "making $name"
    rm -rf "$cache/$name"-* 
    mkdir -p "$dir"
    (cd "$dir" && "make_$name") >"$cache/$name.log" 2>&1 & # bash heeds -e in there, as it would not left of "||"
    wait $! || { tail -n 20 "$cache/$name.log" >&2; rm -rf "$dir"; die "making $name failed; the log is $cache/$name.log"; }
    touch "$dir/.done"
  fi
  echo "$dir"
}

# The mirror that this machine's own apt uses, where it has the suite; otherwise debootstrap's own choice.
mirror() {
  apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
    awk -v s="$suite" '$1 == s && !found { print $2; found = 1 }'
}

# debian FOLDER PACKAGES: a small Debian.
debian() {
  mkdir -p "$cache/packages"
  debootstrap --variant=minbase --arch=$architecture --cache-dir="$cache/packages" --include="$2" "$suite" "$1" $(mirror)
  clean "$1"
}

clean() { # what only costs space
  rm -rf "$1"/var/cache/apt/* "$1"/var/lib/apt/lists/* "$1"/usr/share/{doc,man,info}/* "$1"/var/log/*
  find "$1/usr/share/locale" -mindepth 1 -maxdepth 1 -type d -exec rm -rf {} +
}

# The base of Sandboxes: as a folder, as a plain tar of it, and as "docker save" writes an image.
make_base() {
  debian "$PWD/rootfs" "$base_packages"
  tar -C rootfs --numeric-owner --exclude='./dev/*' -cf rootfs.tar .
  local digest
  digest=$(sha256sum rootfs.tar | cut -d' ' -f1)
  cat >config.json <<END
{"architecture":"$architecture","os":"linux","config":{"Env":["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin","LANG=C.UTF-8"],"Cmd":["/bin/bash"],"WorkingDir":"/"},"rootfs":{"type":"layers","diff_ids":["sha256:$digest"]},"history":[{"created_by":"build/microvm"}]}
END
  echo '[{"Config":"config.json","RepoTags":["claude-hub/base:1"],"Layers":["rootfs.tar"]}]' >manifest.json
  tar -cf archive.tar manifest.json config.json rootfs.tar
}

kernel_package() {
  apt-cache depends linux-image-cloud-$architecture 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1
}

# The kernel with its modules, and an initramfs that mounts the disk and hands over to it.
make_kernel() {
  local version m
  apt-get download -qq "$kernel" busybox-static
  for p in *.deb; do dpkg-deb -x "$p" x; done
  version=$(ls x/lib/modules)
  depmod -b x "$version"
  mv x/boot/vmlinuz-* vmlinuz
  mv x/lib/modules modules
  mkdir -p initramfs/{bin,modules,dev,disk} lib
  cp x/bin/busybox initramfs/bin/
  ln -s ../modules lib/modules # as modprobe wants it
  for m in virtio_pci virtio_blk ext4; do modprobe -d "$PWD" -S "$version" --show-depends "$m"; done |
    awk '$1 == "insmod" && !seen[$2]++ { print $2 }' | while read -r m; do
    cp "$m" initramfs/modules/
    basename "$m"
  done >initramfs/order
  cat >initramfs/init <<'END'
#!/bin/busybox sh
/bin/busybox mount -t devtmpfs dev /dev
while read -r m; do /bin/busybox insmod /modules/$m; done </order
/bin/busybox mount -t ext4 /dev/vda /disk && exec /bin/busybox switch_root /disk /bin/busybox init
echo "microvm: the disk cannot be mounted"
/bin/busybox poweroff -f
END
  chmod +x initramfs/init
  (cd initramfs && find . | cpio -o -H newc --quiet | gzip -1) >initramfs.gz
  rm -rf x initramfs lib ./*.deb
}

make_system() { debian "$PWD/rootfs" "$machine_packages"; }

# msb and Claude Code, as their vendors pack them.
make_msb() {
  npm pack --silent "@superradcompany/microsandbox-linux-x64-gnu@$msb_version"
  tar -xzf ./*.tgz --strip-components=1
  rm -f ./*.tgz ./*.node
  chmod +x bin/msb
}

# The disk: the system with the kernel's modules, msb, Claude Code, the base, and a key to come in with.
make_disk() {
  local tree=$PWD/tree
  cp -al "$system/rootfs" tree
  cp -al "$kernel_dir/modules" tree/lib/modules
  cp -al "$msb" tree/opt/msb
  ln -s /opt/msb/bin/msb tree/usr/local/bin/msb
  mkdir -p tree/opt/claude tree/opt/base tree/srv
  cp "$claude" tree/opt/claude/claude
  chmod 755 tree/opt/claude/claude
  cp -al "$base"/*.tar "$base/rootfs" tree/opt/base/
  install -m 755 "$here/boot" tree/sbin/boot
  # The file is written whole: the system's own may be a link into another stage.
  rm -f tree/etc/{inittab,hostname,hosts,resolv.conf}
  printf '%s\n' '::sysinit:/sbin/boot' '::respawn:/usr/sbin/sshd -D' '::shutdown:/bin/sync' >tree/etc/inittab
  echo machine >tree/etc/hostname
  echo '127.0.0.1 localhost machine' >tree/etc/hosts
  : >tree/etc/resolv.conf
  cat >tree/etc/ssh/sshd_config.d/machine.conf <<'END'
MaxSessions 500
MaxStartups 100
PasswordAuthentication no
PermitRootLogin prohibit-password
PrintMotd no
UseDNS no
END
  ssh-keygen -q -t ed25519 -N '' -C claude-hub-microvm -f key
  rm -f tree/etc/ssh/ssh_host_*
  ssh-keygen -q -t ed25519 -N '' -C machine -f tree/etc/ssh/ssh_host_ed25519_key
  sed 's/^/machine /' tree/etc/ssh/ssh_host_ed25519_key.pub >known_hosts
  mkdir -p -m 700 tree/root/.ssh
  cp key.pub tree/root/.ssh/authorized_keys
  truncate -s 24G disk.img
  mkfs.ext4 -q -F -O ^has_journal -d "$tree" disk.img
  rm -rf tree
  cp -l "$kernel_dir"/{vmlinuz,initramfs.gz} .
}

# The version that the Runner itself wants.
msb_version() {
  sed -nE 's/^const Pinned = "([0-9.]+)"$/\1/p' "$root/desktop/sandbox/microsandbox/msb.go"
}

claude_program() {
  echo "${CLAUDE_HUB_TEST_CLAUDE:-$("$root/bin/claude-hub-runner" --dir "$HOME/.cache/claude-hub-test" claude)}"
}

base() { stage base "$base_packages" "$(declare -f debian)"; }

machine() {
  kernel=$(kernel_package)
  [ -n "$kernel" ] || { apt-get update -qq >/dev/null; kernel=$(kernel_package); }
  [ -n "$kernel" ] || die "apt knows no linux-image-cloud-$architecture; the machine is made from Debian's packages."
  msb_version=$(msb_version)
  [ -n "$msb_version" ] || die "the version of msb cannot be read from desktop/sandbox/microsandbox."
  claude=$(claude_program)
  base=$(base)
  kernel_dir=$(stage kernel "$kernel")
  system=$(stage system "$machine_packages" "$(declare -f debian)")
  msb=$(stage msb "$msb_version")
  stage disk "$base" "$kernel_dir" "$system" "$msb" "$claude" "$(stat -c %s "$claude")" "$(sha256sum <"$here/boot")"
}

case ${1:-} in base | machine) ;; *) sed -n '2,5p' "$0" >&2; exit 2 ;; esac
[ "$(uname -s)-$(uname -m)" = Linux-x86_64 ] || die "the emulated machine is made on Linux on x86-64 alone."
[ "$(id -u)" = 0 ] || die "debootstrap needs root: run this as root once; what it makes is kept in $cache."
mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9
"$1"
