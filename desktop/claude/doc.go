// Package claude knows Claude Code: how the pinned version comes onto this machine, which configuration skips its
// first-run questions, how it is launched, what a setup token looks like, how its transcripts break and are mended, and
// how to read from its screen whether it can take a prompt.
//
// It promises:
//   - a program that it hands out has the checksum that this source names, or is the one that the owner named;
//   - what lies in a Session's configuration folder is a stranger's, for the Sandbox writes there: no symbolic link is
//     followed, every read is bounded, and nothing outside the folder is ever written;
//   - a repaired transcript never loses a whole line, and what was cut off is kept beside it;
//   - a setup token is never in an argument, and prints as a placeholder.
//
// It starts no Session: the Runner does, with what it finds here.
//
// # What was seen of Claude Code 2.1.197
//
// Transcripts: it appends to the file as it is. When the last line has no end, because a kill cut it or because the
// newline alone is missing, the first record of the resumed conversation is glued to it and both are lost at the next
// resume, so such a file must be mended before each launch. A broken line elsewhere is skipped without a word. An empty
// or missing transcript ends "--resume" at once with exit status 1.
//
// Screen: the settings key "tui" chooses the renderer ("default" is the classic one; the full-screen one has no
// scrollback and takes the mouse). "esc to interrupt" stands in the footer while it works. An answer is shown
// line by line. Escape before the first output puts the prompt's text back into the input box; pasting then would join
// the two. With a status line, or below 72 columns, the footer leaves "esc to interrupt" out, and an answer that pauses in
// mid-text then shows no sign at all that it is not over (ScreenUnknown). Text pasted while a dialog is open is lost, and
// the Enter after it takes the dialog's first choice.
//
// Processes: two of many, both busy with large pastes when tmux was ended, went on without a terminal for half an hour,
// each with half a core, until SIGTERM. Ending tmux is not enough to be rid of Claude Code: end its process.
package claude
