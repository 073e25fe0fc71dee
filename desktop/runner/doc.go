// Package runner is the Runner: it makes each Session, each build and the machine be what the Hub says is desired, and
// reports what it observed.
//
// Loops, one file each: link (the Hub's stream), the token for it (rotate.go), status, outbox, builds with an upload per log,
// figures, disk (quota.go), storage, the watch for the machine's sleep, and per Session one that reconciles (session.go), one
// that takes input (input.go), one that uploads the screen (screen.go) and one that keeps its ports (ports.go). Whatever was
// missed, the next look at the desired state repairs; what was reported is repeated until the Hub has stored it. The Hub
// being away stops nothing, but for what only it has: the Variables of a Session that wakes.
//
// A token that the Hub refuses ends the link and nothing else: what runs is tended on, until the Runner is paired again. A
// Runner that starts so leaves every Session as it finds it: another machine may have its pairing.
//
// It trusts the Hub with what is desired and asks again who may drive; it trusts nothing that comes out of a Sandbox: its
// trees are measured and removed within bounds and without following links, what it prints is read up to a bound, and
// what it says of itself decides nothing that must not be wrong.
//
// A failed Session takes nothing of the machine but its disk. Variables are in memory alone, from a wake to the next
// sleep. Nothing that a person made is removed unasked: what nobody owns is shown.
package runner
