// Package hub is the hosted program: it builds the Hub's parts in order and runs them.
//
// It promises that a Hub is whole or does not start, with one sentence that says why; that a part that fails ends the
// others; and that stopping lets requests finish, frees the Runners' leases, and leaves the database closed. What the
// parts do is theirs: web, fleet, screen, bus, store.
package hub
