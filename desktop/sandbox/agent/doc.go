// Package agent is how the Runner speaks to the program that runs commands inside a Sandbox, and that program's half.
//
// The wire is microsandbox's own (its generation 7), so that the one Client serves both Backends; Server is ours and is
// PID 1 of a bubblewrap Sandbox. A frame is
//
//	len u32 BE | id u32 BE | flags u8 | CBOR {v: generation, t: type, p: CBOR payload}
//
// where len counts what follows it. On connecting, the agent sends two u32 BE (the ids the client may use: first, and
// one past the last) and a core.ready frame; the client sends nothing before that.
//
// One connection per purpose. A connection that carries an exec carries only that one, and this is the whole flow
// control: a reader that stalls fills its Process's buffer (256 KiB for each stream), then the socket, and then the
// command itself waits, as on any pipe. Nobody else shares that connection, so nobody else waits, and the exit code,
// which always follows the output, has nothing to overtake. Towards the Sandbox, signals and resizes follow the input
// bytes already written; the Server takes one MiB that the command has not read before it stops taking more. A Signal
// that cannot be sent in time fails, and Close always works: the Server watches for the hang-up even then.
// (A relay that serves all its clients from one reader, as microsandbox's does, needs readers that never stall.)
//
// Ids start at a random place of the range, and frames with an unknown id are dropped: a relay that reuses a range at
// once may deliver what was meant for the client before.
//
// Frames come from a stranger on either side: sizes are bounded before anything is allocated.
package agent
