#!/usr/bin/env bash
# Asks whether what the product is made of has known faults: govulncheck and npm audit. Where a database cannot be reached
# this says so in one line, and does the closest that can run: retracted and deprecated direct dependencies, and whether
# what is here is what was locked. A finding fails. So does a tool that broke: a check that did not run to its end has
# found nothing out. A database that cannot be reached does not fail.
#   GOVULNCHECK=govulncheck   the program
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=0 away=0
ok() { printf 'ok    %s: %s\n' "$1" "$2"; }
unreached() { away=$((away + 1)); printf 'away  %s: %s\n' "$1" "$2"; }
found() { failed=$((failed + 1)); printf 'FOUND %s: %s\n' "$1" "$2"; }
broken() { failed=$((failed + 1)); printf 'BROKE %s: %s\n' "$1" "$2"; }
details() { sed 's/^/      /' "$@" | tail -n 200; }

judged() { # NAME "clean|found|away|broken SENTENCE"; ends with 0 unless it is away
  case $2 in
    clean\ *) ok "$1" "${2#* }" ;;
    found\ *) found "$1" "${2#* }" ;;
    away\ *) unreached "$1" "cannot be reached: ${2#* }"; return 1 ;;
    *) broken "$1" "${2#* }" ;;
  esac
}

# What Go's programs say when nobody answers. A certificate that is not trusted is not among it: that may be an attack.
nobody='no such host|connection refused|connection reset|network is unreachable|no route to host|i/o timeout|connection timed out|server misbehaving|TLS handshake timeout'

go_vulnerabilities() {
  local rc=0
  "${GOVULNCHECK:-govulncheck}" ./... >"$work/out" 2>"$work/err" </dev/null || rc=$?
  if [ $rc = 0 ]; then
    ok govulncheck "no known vulnerability in what is called"
  elif [ $rc = 3 ]; then
    found govulncheck "vulnerable code is called"
    details "$work/out"
  elif [ $rc = 1 ] && grep -qE "^govulncheck: fetching vulnerabilities: .*($nobody|returned unexpected status: (40[1345678]|429|5..))" "$work/err"; then
    unreached govulncheck "Go's vulnerability database cannot be reached: $(head -n 1 "$work/err")"
    return 1
  else
    broken govulncheck "it ended with $rc"
    details "$work/out" "$work/err"
  fi
}

# The direct dependencies, by the module proxy: is a version in use retracted by its author, or the module deprecated?
go_retracted() {
  local direct rc=0 mode="go list -retracted"
  if [ "$(go env GOPROXY)" = off ]; then # then go says nothing of it, and nothing found is not an answer
    unreached "$mode" "the module proxy is switched off"
    return
  fi
  direct=$(go mod edit -json | node -e 'for (const r of JSON.parse(require("fs").readFileSync(0)).Require ?? []) if (!r.Indirect) console.log(r.Path)')
  # shellcheck disable=SC2086 # one word each
  go list -e -m -u -retracted -f '{{with .Error}}ERROR {{.Err}}{{else}}{{if .Retracted}}BAD {{.Path}} {{.Version}} is retracted: {{.Retracted}}{{else if .Deprecated}}BAD {{.Path}} is deprecated: {{.Deprecated}}{{else}}GOOD {{.Path}}{{end}}{{end}}' \
    $direct >"$work/out" 2>"$work/err" </dev/null || rc=$?
  if [ $rc != 0 ] || grep '^ERROR ' "$work/out" | grep -qvE "$nobody"; then
    broken "$mode" "it ended with $rc"
    details "$work/out" "$work/err"
  elif grep -q '^BAD ' "$work/out"; then
    found "$mode" "$(grep -c '^BAD ' "$work/out") of the direct dependencies"
    sed -n 's/^BAD //p' "$work/out" | details
  elif grep -q '^ERROR ' "$work/out"; then
    unreached "$mode" "the module proxy cannot be reached: $(grep -m 1 '^ERROR ' "$work/out" | cut -c 7-)"
  elif [ "$(grep -c '^GOOD ' "$work/out")" != "$(wc -w <<<"$direct")" ]; then
    broken "$mode" "it did not answer for each of $(wc -w <<<"$direct") modules"
  else
    ok "$mode" "none of $(wc -w <<<"$direct") direct dependencies is retracted or deprecated"
  fi
}

go_verify() {
  if go mod verify >"$work/out" 2>&1 </dev/null; then
    ok "go mod verify" "$(tail -n 1 "$work/out")"
  else
    found "go mod verify" "a module is not what go.sum says, or could not be looked at"
    details "$work/out"
  fi
}

npm_asks() { # audit|signatures ARGUMENT...
  local kind=$1 rc=0
  shift
  (cd frontend && npm "$@" --omit=dev --json --fetch-retries=0) >"$work/out" 2>"$work/err" </dev/null || rc=$?
  judged "npm $*" "$(node "$here/build/npm-said.mjs" "$kind" $rc "$work/out")"
}

npm_installed() {
  local rc=0
  (cd frontend && npm ls --omit=dev --all) >"$work/out" 2>"$work/err" </dev/null || rc=$?
  if [ $rc = 0 ]; then
    ok "npm ls" "what is installed is what package-lock.json says"
  else
    found "npm ls" "what is installed is not what package-lock.json says"
    details "$work/err"
  fi
  # Also without any network: npm writes into the lock what was deprecated then, and the hash that it installs by.
  rc=0
  node -e '
    const lock = JSON.parse(require("fs").readFileSync("frontend/package-lock.json"))
    for (const [at, p] of Object.entries(lock.packages)) {
      if (at === "" || p.dev || p.link) continue
      if (!p.integrity) console.log(`${at} has no hash`)
      if (p.deprecated) console.log(`${at} is deprecated: ${p.deprecated}`)
    }' >"$work/out" 2>&1 || rc=$?
  if [ $rc != 0 ]; then
    broken package-lock.json "it could not be read"
    details "$work/out"
  elif [ -s "$work/out" ]; then
    found package-lock.json "$(wc -l <"$work/out") of the production dependencies"
    details "$work/out"
  else
    ok package-lock.json "every production dependency has its hash, and none was deprecated when it was locked"
  fi
}

npm_deprecated() {
  local rc one answer asked=0 bad=$failed
  while read -r one; do
    rc=0
    (cd "$work" && npm view "$one" name deprecated --json --fetch-retries=0) >"$work/out" 2>"$work/err" </dev/null || rc=$?
    answer=$(node "$here/build/npm-said.mjs" view $rc "$work/out")
    case $answer in
      clean\ *) asked=$((asked + 1)) ;;
      away\ *) judged "npm view" "$answer" || return 0 ;; # the next would not answer either
      *) judged "npm view $one" "$answer" ;;
    esac
  done < <(node -e '
    const read = (name) => JSON.parse(require("fs").readFileSync(`frontend/${name}`))
    const locked = read("package-lock.json").packages
    for (const name of Object.keys(read("package.json").dependencies)) console.log(`${name}@${locked[`node_modules/${name}`].version}`)')
  if [ $asked = 0 ] && [ "$bad" = $failed ]; then
    broken "npm view" "no dependency was asked about"
  elif [ "$bad" = $failed ]; then
    ok "npm view" "the registry calls none of $asked direct dependencies deprecated"
  fi
}

go_vulnerabilities || { go_retracted; go_verify; }
npm_asks audit audit || npm_asks signatures audit signatures || { npm_installed; npm_deprecated; }

echo "$failed found or broke, $away could not be reached"
[ $failed = 0 ]
