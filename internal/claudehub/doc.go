// Package claudehub holds the nouns of claude-hub: ids, states, the rules about them, and error codes. It does no I/O
// and imports no other room, so that everything about what the product is can be read here alone.
package claudehub
