// Package runner is the Runner: it makes each Session be what the Hub says is desired, and reports what it observed.
//
// Loops, one file each: link (the Hub's stream), status, outbox, and per Session one that reconciles (session.go), one
// that takes input (input.go) and one that uploads the screen (screen.go). Whatever was missed, the next look at the
// desired state repairs; what was reported is repeated until the Hub has stored it. The Hub being away stops nothing.
//
// It trusts the Hub with what is desired and asks again who may drive; it trusts nothing that comes out of a Sandbox.
package runner
