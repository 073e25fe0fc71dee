#!/usr/bin/env bash
# Starts a Hub and a Runner on loopback and prints the sign-in link. Ctrl-C ends both; Sessions that are awake keep
# running, and the next start finds them. With --demo a stand-in answers instead of Anthropic.
# CLAUDE_HUB_HOME is where everything is kept; CLAUDE_HUB_PORT is the Hub's port.
set -euo pipefail
cd "$(dirname "$0")/.."

demo=
[ "${1:-}" = --demo ] && demo=yes
home=${CLAUDE_HUB_HOME:-$HOME/.claude-hub${demo:+-demo}}
port=${CLAUDE_HUB_PORT:-8080}
hub=http://127.0.0.1:$port
mkdir -p -m 700 "$home"

pids=()
finish() {
  trap - EXIT INT TERM
  [ ${#pids[@]} -eq 0 ] || kill "${pids[@]}" 2>/dev/null || true
  wait 2>/dev/null || true
}
trap finish EXIT
trap 'exit 0' INT TERM

# A line of a log appears once the program has said it; a program that ended says why in its log.
await() { # PID FILE PATTERN
  for _ in $(seq 300); do
    grep -m1 -o "$3" "$2" 2>/dev/null && return 0
    kill -0 "$1" 2>/dev/null || { cat "$2" >&2; return 1; }
    sleep 0.1
  done
  echo "No sign of life after 30 s; the log is $2." >&2
  return 1
}

runner=(bin/claude-hub-runner --dir "$home/runner")
notice=()
api=()
if [ -n "$demo" ]; then
  : >"$home/stand-in.out"
  bin/standin-anthropic --listen 127.0.0.1:0 --script build/demo.json >"$home/stand-in.out" 2>"$home/stand-in.log" &
  pids+=($!)
  url=$(await $! "$home/stand-in.out" 'http://127\.0\.0\.1:[0-9]*') || { cat "$home/stand-in.log" >&2; exit 1; }
  notice=(--notice 'Demo: the answers come from a stand-in for Anthropic, not from Claude.')
  api=(--anthropic-url "$url" --stand-in)
fi

: >"$home/hub.out"
bin/claude-hub serve --listen "127.0.0.1:$port" --data "$home/hub" "${notice[@]}" >"$home/hub.out" 2>"$home/hub.log" &
pids+=($!)
link=$(await $! "$home/hub.out" 'Sign in: .*') || { cat "$home/hub.log" >&2; exit 1; }

if ! "${runner[@]}" paired >/dev/null 2>&1; then
  # A Runner of that name may have lost its own state; it then gets a new token.
  { bin/claude-hub runner add --data "$home/hub" --name "$(hostname)" 2>/dev/null ||
    bin/claude-hub runner token --data "$home/hub" --name "$(hostname)"; } | "${runner[@]}" pair --hub "$hub"
fi
if ! "${runner[@]}" token status >/dev/null 2>&1; then
  if [ -n "$demo" ]; then
    printf 'sk-ant-oat01-stand-in-%s' "$(head -c 48 /dev/urandom | base64 | tr -dc A-Za-z0-9 | head -c 60)" | "${runner[@]}" token set --stdin
  elif [ -t 0 ]; then
    echo 'Sessions need your setup token: run `claude setup-token` elsewhere and paste what it prints, or press Enter to do it later.'
    "${runner[@]}" token set --optional || true
  else
    echo "Sessions need your setup token. Give it with: ${runner[*]} token set"
  fi
fi

"${runner[@]}" run "${api[@]}" 2>"$home/runner.log" &
pids+=($!)

cat <<END

  claude-hub runs at $hub${demo:+ (demo)}
  ${link}

  Logs: $home/hub.log and $home/runner.log. Ctrl-C ends Hub and Runner; Sessions stay.

END
# The first program that ends ends the others: half of claude-hub is of no use.
wait -n "${pids[@]}" || true
echo "One of the programs ended:" >&2
tail -n 3 "$home/hub.log" "$home/runner.log" >&2
exit 1
