// Package screen carries terminal bytes from one Session to many viewers.
//
// It promises order (a viewer gets a snapshot, then the deltas that follow it without a gap, or a new snapshot), bounds
// (what waits for a viewer is at most its window and one snapshot) and resync: a viewer that falls behind, or a message
// that was lost, is answered by a new snapshot, never by stale bytes. One slow viewer neither delays another nor makes
// memory grow. It also knows whose window sets the terminal's size, and hands each report on input to the terminal that
// it names.
//
// It does not look at credentials, except to ask the fleet who may drive, and it keeps nothing: what a viewer missed is
// asked from the Runner again. Callbacks of the bus are quick: all that is slow happens in the feed's own loop.
package screen
