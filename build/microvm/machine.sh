#!/usr/bin/env bash
# The emulated machine: boots it, comes in, turns it off. No hardware virtualisation is needed: QEMU emulates a processor
# that has it.
#   machine.sh up RUN             boots; RUN is a new folder for this run: logs, and config for `ssh -F RUN/config machine`
#   machine.sh down RUN           turns it off
#   machine.sh sh RUN COMMAND     runs a command line in it
#   machine.sh put RUN FOLDER TO  copies a folder's contents into a folder of it
# The machine's disk is the same at each boot: what a run writes is gone afterwards. It has one network card, which takes
# ssh from this machine's loopback and leads nowhere. What shall be reached from inside, ssh carries: `ssh -O forward -R`.
# MICROVM_MEMORY is its memory in MB, MICROVM_CPUS how many processors it has: more than one lose interrupts between them
# under QEMU 7.2, and a VM, or the machine, then hangs or ends. RUN/monitor is QEMU's own.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
memory=${MICROVM_MEMORY:-6144}
cpus=${MICROVM_CPUS:-1}
# What TCG cannot emulate is left out of the model, so that it does not warn of each.
model=EPYC,+svm,+npt,-rdseed,-sha-ni,-fxsr-opt,-misalignsse,-3dnowprefetch,-osvw,-topoext,-nrip-save,-xsavec

say() { printf 'microvm: %s\n' "$*" >&2; }
into() { ssh -F "$run/config" machine "$@"; }
alive() { kill -0 "$(cat "$run/qemu.pid")" 2>/dev/null; }

free_port() {
  local port
  while port=$(shuf -n 1 -i 20000-29999); do
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

config() { # PORT
  cat <<END
Host machine
  HostName 127.0.0.1
  Port $1
  User root
  IdentityFile $made/key
  IdentitiesOnly yes
  UserKnownHostsFile $made/known_hosts
  HostKeyAlias machine
  ControlMaster auto
  ControlPath $run/ctl
  ControlPersist yes
  ConnectTimeout 60
  ServerAliveInterval 0
  LogLevel ERROR
END
}

boot() {
  local port
  port=$(free_port)
  config "$port" >"$run/config"
  TMPDIR=$run setsid qemu-system-x86_64 -machine q35 -accel tcg,thread=multi,tb-size=1024 -cpu "$model" -smp "$cpus" -m "$memory" \
    -nodefaults -no-reboot -display none -monitor "unix:$run/monitor,server=on,wait=off" -kernel "$made/vmlinuz" -initrd "$made/initramfs.gz" \
    -append 'console=ttyS0 quiet mitigations=off tsc=unstable' \
    -drive "file=$made/disk.img,format=raw,if=virtio,cache=unsafe,snapshot=on" \
    -netdev "user,id=n,restrict=on,hostfwd=tcp:127.0.0.1:$port-10.0.2.15:22" -device virtio-net-pci,netdev=n,romfile= \
    -device virtio-rng-pci -serial "file:$run/console.log" </dev/null >"$run/qemu.log" 2>&1 &
  echo $! >"$run/qemu.pid"
}

up() {
  made=$("$here/build.sh" machine)
  mkdir -p "$run"
  run=$(cd "$run" && pwd)
  boot
  for _ in $(seq 1800); do
    if grep -q 'microvm: up' "$run/console.log" 2>/dev/null; then
      into true 2>/dev/null && return 0 # sshd starts right after
    fi
    alive || break
    sleep 0.1
  done
  say 'the machine does not come up:'
  tail -n 20 "$run/qemu.log" "$run/console.log" >&2
  down
  return 1
}

down() {
  alive || return 0
  timeout 20 ssh -F "$run/config" machine busybox poweroff 2>/dev/null || true
  for _ in $(seq 100); do alive || break; sleep 0.1; done
  ssh -F "$run/config" -O exit machine 2>/dev/null || true
  kill -9 "$(cat "$run/qemu.pid")" 2>/dev/null || true
}

verb=${1:-} run=${2:-}
[ -n "$run" ] || { sed -n '4,8p' "$0" >&2; exit 2; }
shift 2
case $verb in
up | down) "$verb" ;;
sh) into "$@" ;;
put) tar -C "$1" -cf - . | into "mkdir -p '$2' && tar -xf - -C '$2'" ;;
*) sed -n '4,8p' "$0" >&2; exit 2 ;;
esac
