#!/bin/sh
# A plain shell in Claude Code's place, for what can only be measured with one: raw echo, raw floods. It answers to
# --version and shows an input box at its start, which is what the Runner waits for.
if [ "$1" = --version ]; then
  echo '2.1.197 (Claude Code)'
  exit
fi
rule='────────────────────'
printf 'This is a shell in the place of Claude Code.\n\n%s\n❯ \n%s\n  ? for shortcuts\n' "$rule" "$rule"
PS1='$ ' exec sh -i
