#!/bin/sh
# Writes one hook event, given on standard input, as a file of its own for the Runner to take. $1 is the event's name.
# It must never stall Claude Code or show an error: whatever fails, the event is lost and the exit status is 0.
exec 2>/dev/null
umask 077
dir=$CLAUDE_HUB_REPORT
now=$(date +%s%N)
case $now in
*[!0-9]* | '') now=$(date +%s)000000000 ;; # a date without nanoseconds
esac
new=$dir/.new-$now-$$
if [ -n "$dir" ] && cat >"$new"; then
	mv -f "$new" "$dir/$now-$$-$1.json" || rm -f "$new"
else
	rm -f "$new"
	cat >/dev/null # a writer that nobody reads would see an error
fi
exit 0
