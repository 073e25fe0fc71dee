// Package secret seals what the database must not hold in clear, with a keyset that is kept in a file outside of it.
//
// It promises that what was sealed for one place (owner, scope, target, name) opens in no other; that a keyset file is
// for its owner alone or refused; that one that is there is never overwritten but by Rotate, which only adds to it, so
// that everything that was ever sealed still opens; and that neither a key nor a value is in an error. A file that
// another process rotated is read again when it is needed.
package secret
