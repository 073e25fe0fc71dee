// Package hub is the hosted program: it builds the Hub's parts in order and runs them.
//
// It promises that a Hub is whole or does not start, with one sentence that says why; that it listens beyond loopback only
// where people sign in with GitHub and by TLS, its own or that of a proxy that is named; that GitHub's client secret is in
// no command line, log, error or dump; that a part that fails ends the others; and that stopping lets requests finish,
// frees the Runners' leases, and leaves the database closed. While it runs it keeps the head of the audit log outside of
// the database, and never over one that the log contradicts. What the parts do is theirs: web, fleet, screen, bus, store.
package hub
