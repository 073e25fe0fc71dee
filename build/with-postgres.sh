#!/usr/bin/env bash
# Runs a command with a private PostgreSQL in a temporary folder, and its address in CLAUDE_HUB_TEST_POSTGRES.
# Nothing is left behind, whichever way the command ends.
set -euo pipefail

bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1 || true)
[ -n "$bin" ] || bin=$(dirname "$(command -v initdb)")
dir=$(mktemp -d /tmp/ch-pg.XXXXXX)

# PostgreSQL refuses to run as root.
as=()
if [ "$(id -u)" = 0 ]; then
  id postgres >/dev/null 2>&1 || useradd --system --no-create-home postgres
  chown postgres "$dir"
  as=(setpriv --reuid=postgres --regid="$(id -g postgres)" --clear-groups)
fi
pg() { (cd "$dir" && "${as[@]}" env HOME="$dir" "$bin/$1" "${@:2}"); }

cleanup() {
  pg pg_ctl -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
  rm -rf "$dir"
}
trap cleanup EXIT

pg initdb -D "$dir/data" -U test --auth=trust --no-sync >/dev/null
# A socket and no port, so that any number of these run side by side.
pg pg_ctl -D "$dir/data" -w -l "$dir/log" -o "-c listen_addresses='' -c unix_socket_directories=$dir -c fsync=off -c max_connections=200" start >/dev/null
pg createdb -h "$dir" -U test test
export CLAUDE_HUB_TEST_POSTGRES="postgres://test@/test?host=$dir"
"$@"
