// Package promises proves, over the real programs, promises that no single room can: where each secret is and is not,
// what a Sandbox can see, that a Session goes on while the Hub is away, that every endpoint asks who comes, and that nobody
// but its Creator drives a Session, at the Hub and again at the Runner. Each search also looks for something that must be
// there, so that one that finds nothing has looked.
package promises
