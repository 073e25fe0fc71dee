#!/usr/bin/env bash
# Runs every fuzz target of the module for a short, fixed time. A package's test program is built once, with what fuzzing
# steers by compiled in, and says itself which targets it has. Each run begins with the seeds in the tree alone, so that it
# is the same on every machine; an input that fails is kept in the package's testdata/fuzz: commit it with the repair.
#   FUZZTIME=2s   how long each target runs: a number with s, m or h
#   FUZZONLY=.    a pattern that the targets' names match
set -euo pipefail
cd "$(dirname "$0")/.."

given=${FUZZTIME:-2s}
only=${FUZZONLY:-.}
[[ $given =~ ^([1-9][0-9]*)([smh])$ ]] || { echo "FUZZTIME is a number with s, m or h, such as 2s; it is \"$given\"." >&2; exit 2; }
seconds=${BASH_REMATCH[1]}
case ${BASH_REMATCH[2]} in m) seconds=$((seconds * 60)) ;; h) seconds=$((seconds * 3600)) ;; esac
grace=60 # beyond that: an input that hangs
more=100 # inputs beside the seeds, for who came to no verdict by the clock

bound=$(command -v timeout || command -v gtimeout) || { echo "Missing: timeout. Install GNU coreutils, then run this again." >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Packages whose test files of this platform speak of a target; which targets there are is asked of the built program.
packages() {
  go list -f '{{$d := .Dir}}{{$p := .ImportPath}}{{range .TestGoFiles}}{{$p}} {{$d}} {{.}}{{"\n"}}{{end}}{{range .XTestGoFiles}}{{$p}} {{$d}} {{.}}{{"\n"}}{{end}}' ./... |
    while read -r package dir file; do
      ! grep '^func Fuzz' "$dir/$file" | grep -qE -- "$only" || echo "$package $dir"
    done | sort -u
}

passed=0 failed=0
verdict() { # ok|FAIL NAME WHAT
  printf '%-4s %-75s %s\n' "$1" "$2" "$3"
  if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

run() { # PACKAGE DIR PROGRAM TARGET HOW-LONG DEADLINE; its output is in $work/log
  (cd "$2" && "$bound" --kill-after=5 "$6" "$3" -test.run='^$' -test.fuzz="^$4\$" -test.fuzztime="$5" \
    -test.fuzzminimizetime=20x -test.fuzzcachedir="$work/corpus/$1") >"$work/log" 2>&1 </dev/null
}

began() { grep -q 'now fuzzing' "$work/log"; }

# Go up to 1.26 may take the end of the time for a failure (golang/go#75804). A target that fails writes its input down.
raced() { grep -qE '^ +context deadline exceeded$' "$work/log" && ! grep -q 'Failing input written to' "$work/log"; }

fuzz() { # PACKAGE DIR PROGRAM TARGET
  local name="${1#*/} $4" rc=0 seeds
  run "$@" "${seconds}s" $((seconds + grace)) || rc=$?
  if { [ $rc = 0 ] && ! began; } || { [ $rc = 1 ] && raced; }; then # by the clock it came to no verdict: now by the number of inputs
    seeds=$(sed -nE 's/.*baseline coverage: [0-9]+\/([0-9]+) .*/\1/p' "$work/log" | tail -n 1)
    rc=0
    run "$@" $((${seeds:-0} + more))x $((seconds + 2 * grace)) || rc=$?
  fi
  if [ $rc != 0 ]; then
    case $rc in 124 | 137) echo "It did not end in time." >>"$work/log" ;; esac
    verdict FAIL "$name" "exit $rc"
  elif ! began; then
    verdict FAIL "$name" "it did not get past its seeds"
  else
    verdict ok "$name" "$(sed -nE 's/.*execs: ([0-9]+) .*/\1 inputs/p' "$work/log" | tail -n 1)"
    return
  fi
  sed -E "s#^( *Failing input written to )#\1${1#*/}/#; s/^/     /" "$work/log" | tail -n 60
}

found=$(packages)
[ -n "$found" ] || { echo "There is no target that matches $only." >&2; exit 1; }
while read -r package dir; do
  program="$work/program"
  if ! go test -c -fuzz=. -o "$program" "$package" >"$work/log" 2>&1; then
    verdict FAIL "${package#*/}" "it does not build"
    sed 's/^/     /' "$work/log"
    continue
  fi
  targets=$(cd "$dir" && "$program" -test.list '^Fuzz' </dev/null | grep '^Fuzz' || true)
  [ -n "$targets" ] || verdict FAIL "${package#*/}" "its test files speak of targets, and its program lists none"
  for target in $targets; do
    [[ ! $target =~ $only ]] || fuzz "$package" "$dir" "$program" "$target"
  done
done <<<"$found"

echo "$passed passed, $failed failed"
[ $failed = 0 ] && [ $passed -gt 0 ]
