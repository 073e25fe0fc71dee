// Package promises proves, over the real programs, promises that no single room can: where each secret is and is not,
// what a Sandbox can see, and that a Session goes on while the Hub is away. Each search also looks for something that
// must be there, so that one that finds nothing has looked.
package promises
