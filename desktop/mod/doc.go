// Package mod holds the plugin hub-report that every Session's Claude Code is started with, and reads what it reports.
//
// The plugin's hooks write each event as a file of its own into a folder that the Sandbox shares with the Runner, under a
// name that sorts by time; a file appears whole or not at all. The Runner may be away: what is written waits for it. The
// hooks never stall Claude Code for more than their few seconds, whatever happens to the folder.
//
// Spool takes events in order and promises that each is given until it is removed. The folder belongs to the Sandbox, so
// nothing in it is trusted: links are not followed, sizes are bounded, and what is no event is thrown away. An event can
// be forged by anything in the Sandbox. It says what Claude Code does; it proves nothing.
//
// Not promised: an event survives the machine's own crash (nothing is synced), a full disk, or a hook that was killed. So
// who counts on an event must also look at the screen and at the transcript.
//
// # What was seen of Claude Code 2.1.197
//
// Start: SessionStart (source startup, resume, compact) comes about when the input box is drawn, 0.05 to 0.3 s after it,
// and does not say that input is taken. Text pasted before, at, or right after it is never lost once the box is drawn, but
// an Enter within about a second of the start is often swallowed: the text then stays in the box, and a later Enter
// submits it. Text typed before the box is drawn stays, too, most of the time.
//
// Pastes: with bracketed paste and a separate Enter the prompt field holds the whole text, at 17 KB, 300 KB and 5 MB
// alike, though the box shows "[Pasted text #1 +138 lines]" (or "[Pasted text #1]" for one long line). The box shows it
// after 0.15 s at 17 KB, 1 s at 300 KB, 5 s at 1 MB, and longer than a minute at 5 MB on two busy cores; an Enter before
// that is swallowed, so it must wait until the box shows the paste. When a paste's end marker is lost, keys go into the
// paste without showing; sending ESC [ 201 ~ mends it, and nothing is lost.
//
// Turn: UserPromptSubmit (prompt, prompt_id), PreToolUse and PostToolUse per tool, Stop (last_assistant_message). A prompt
// that was typed while busy gives its UserPromptSubmit when its turn comes; several such come as one Turn with one
// UserPromptSubmit each and one Stop.
//
// The screen and the reports are not in step: UserPromptSubmit comes before the screen shows any work, and Stop after the
// screen shows the end ("running stop hook"). Where Claude is starved of processor time, as in a VM on an emulated machine,
// up to ten seconds lie between them, in which the screen rests; and the transcript has the answer seconds after Stop.
//
// Interrupt: Escape gives NO event, neither Stop nor another, while an answer streams and when a question is declined.
// Escape before any output even puts the prompt's text back into the input box, after its UserPromptSubmit. The screen
// ("Interrupted") and the transcript ("[Request interrupted by user]") are what tells.
//
// Errors: a Turn that fails ends with StopFailure in place of Stop; error is authentication_failed (401, after a retry,
// some 2 s), rate_limit (429, at once), and last_assistant_message holds the text on the screen. 500 and 529 are tried
// again up to ten times, with waits that grow to half a minute; meanwhile nothing is reported.
//
// Questions: a dialog gives PreToolUse (AskUserQuestion, ExitPlanMode) and at once PermissionRequest with the same tool,
// although permissions are skipped; six seconds later Notification with notification_type permission_prompt ("Claude needs
// your permission", "Claude Code needs your approval for the plan"). Its answer gives PostToolUse. Sixty seconds after a
// Stop without input comes Notification idle_prompt ("Claude is waiting for your input").
//
// Others: SubagentStop for each subagent; PreCompact (trigger manual or auto), then SessionStart with source compact. The
// end gives SessionEnd with reason prompt_input_exit (/exit, Ctrl-C twice, Ctrl-D) or other (a signal, or a resume that
// failed); kill -9 gives none.
package mod
