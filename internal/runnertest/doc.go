// Package runnertest gives tests a whole Hub on a loopback port and a fake Runner: the far end of a real connection, by
// real HTTP and real Server-Sent Events, with the real store, bus and fleet behind.
//
// It promises that the fake Runner keeps the Runner's side of the protocol (sequence numbers, lives, input applied once
// and in order), so that what a test sees in a browser is the Hub's doing. It runs no Claude Code and no Sandbox.
package runnertest
