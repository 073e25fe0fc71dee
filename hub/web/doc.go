// Package web is the Hub's HTTP side: the API for people, the Runner's side, the terminal's WebSocket, and the pages.
//
// It promises that every route stands in one table (routes.go) with the principal that it serves, and that none can be
// registered without; that all errors leave through one function, as RFC 9457 problems with a sentence for the person and
// nothing of what lay underneath; that no credential and no query gets into a log; and that every request is bounded in
// size and time. It decides nothing about Sessions: that is hub/fleet.
//
// Long-lived answers (streams, terminals) end with the context of Serve.
package web
