#!/usr/bin/env bash
# The microVM suite: boots the emulated machine, runs the component tests of the microsandbox Backend and the end-to-end
# stories in it, and turns it off. Usage: suite.sh [all|core|components|STORY]...
# MICROVM_RUN is where logs and the way in are kept; MICROVM_KEEP=yes leaves the machine on, for a look inside:
#   ssh -F $MICROVM_RUN/config machine
set -euo pipefail
cd "$(dirname "$0")/../.."
run=${MICROVM_RUN:-$(mktemp -d /tmp/microvm.XXXXXX)}
all=(main-job sleep-wake kill relay-reach environment-build build-fails variables two-vms-one-wedged machine-sleep reclaim footprint port wake-by-hand)
core='main-job build-fails' # what fits into 20 minutes, with the making of the machine
wanted=${*:-all}
[ "$wanted" != core ] || wanted=$core

machine=build/microvm/machine.sh
finish() {
  if [ "${MICROVM_KEEP:-}" = yes ]; then
    echo "The machine stays on: ssh -F $run/config machine; $machine down $run"
  else
    $machine down "$run"
    [ -n "${MICROVM_RUN:-}" ] || rm -rf "$run"
  fi
}

began=$SECONDS
if ! ssh -F "$run/config" -O check machine 2>/dev/null; then
  $machine up "$run"
fi
trap finish EXIT
trap 'exit 130' INT TERM
echo "The machine is up after $((SECONDS - began)) s."

passed=0 failed=0 lost=()
count() { # NAME RC
  if [ "$2" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) lost+=("$1"); fi
}

components() {
  local tests=$run/microsandbox package=./desktop/sandbox/microsandbox rc=0 name verdict
  mkdir -p "$tests"
  CGO_ENABLED=0 go test -c -o "$tests/microsandbox.test" $package
  [ ! -d ${package#./}/testdata ] || cp -r ${package#./}/testdata "$tests/"
  cp bin/claude-hub-guest "$tests/"
  $machine put "$run" "$tests" /srv/microsandbox
  $machine sh "$run" 'cd /srv/microsandbox && CLAUDE_HUB_MICROVM=1 CLAUDE_HUB_BASE_TAR=/opt/base/rootfs.tar CLAUDE_HUB_PATIENCE=20 \
    timeout 2700 ./microsandbox.test -test.v -test.timeout 44m' </dev/null | tee "$run/components.log" || rc=$?
  while read -r verdict name; do # what is skipped here is run nowhere
    [ "$verdict" = PASS: ] && count "$name" 0 || count "$name" 1
  done < <(sed -nE 's/^--- (PASS:|FAIL:|SKIP:) ([^ ]+).*/\1 \2/p' "$run/components.log")
  [ "$rc" = 0 ] || grep -q '^--- FAIL' "$run/components.log" || count 'the component tests' "$rc"
}

# play NAME...: runs stories and says "passed NAME" or "failed NAME" of each.
play() {
  local report=$run/stories.json
  rm -f "$report"
  (cd frontend && CLAUDE_HUB_MACHINE=$run CLAUDE_HUB_STORIES_REPORT=$report node e2e/run.mjs "$@") >&2 || true
  [ -e "$report" ] || { printf 'failed %s\n' "$@"; return; }
  node -p 'JSON.parse(require("fs").readFileSync(process.argv[1])).testResults.map((f) =>
    (f.status === "passed" ? "passed " : "failed ") + require("path").basename(f.name, ".test.ts")).join("\n")' "$report"
}

# An emulated VM may hang for good, whatever is done in it. So a story that failed is played once more, from its beginning,
# and the result says so.
stories() { # NAME...
  local state name again=()
  $machine put "$run" bin /srv/bin
  while read -r state name; do
    if [ "$state" = passed ]; then count "$name" 0; else again+=("$name"); fi
  done < <(play "$@")
  [ ${#again[@]} -gt 0 ] || return 0
  while read -r state name; do
    if [ "$state" = passed ]; then
      echo "passed at the second try: $name"
      count "$name" 0
    else
      count "$name" 1
    fi
  done < <(play "${again[@]}")
}

# In one piece, so that bash has read it all: whoever edits this file while it runs for two hours changes the next run only.
{
  names=()
  for w in $wanted; do
    case $w in
    all) components; names+=("${all[@]}") ;;
    components) components ;;
    *) names+=("$w") ;;
    esac
  done
  [ ${#names[@]} = 0 ] || stories "${names[@]}"

  for name in "${lost[@]}"; do echo "failed: $name"; done
  echo "$passed passed, $failed failed (microVM suite, $((SECONDS - began)) s)"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
  exit
}
