// Package store keeps everything that the Hub must not lose, in SQLite or PostgreSQL, with one set of queries.
//
// It promises that a transaction is whole or absent, whatever dies; that times come back as they went in, to the
// microsecond, in UTC; that a driver's error becomes one of claudehub's codes; and that opening a database brings it to
// this version's tables or says in a sentence why not. It decides nothing: rules live in hub/fleet.
package store
