// Package tmux drives one tmux pane in a Sandbox through tmux's control mode: the terminal of a Session.
//
// What is promised:
//
//   - A Terminal gives its sink Frames in the order of the pane's output. The first is a Snapshot; each Snapshot stands at
//     its exact place among the Deltas; after bytes were left out (a flood, a stalled transport, the end of the program) the
//     next Frame is a Snapshot. Written to a fresh terminal of the Frame's size, a Snapshot and what follows show the pane.
//   - Keys and Paste are applied at most once per (token, n), whole, in order. tmux itself remembers what was applied, so
//     that a Runner that was killed in between still gives the right answer.
//   - The transport is always drained; the memory held here is bounded whatever the pane prints.
//
// What is not: the tmux server lives in the Sandbox, where nothing is trusted. A program there can lie about its screen,
// or break the connection by printing control-mode lines; it can hurt its own Session's terminal and nothing else.
// tmux 3.3a keeps no hyperlinks and no cell colours that were made by erasing: a Snapshot lacks both. What tmux keeps and
// does not tell (the pen, character sets, bracketed paste, focus events, cursor style) is followed in the output, so a
// Snapshot has it if this Terminal saw it set. Sinks run on the reader's goroutine and must be quick.
//
// A viewer must not answer the terminal queries (DA, DSR, OSC 10, OSC 52 read and so on) that it finds in Frames: tmux
// has answered them.
package tmux
