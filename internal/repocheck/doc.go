// Package repocheck is the repository testing itself: imports run one way, every room has one package doc and a line in
// the README, paths that the README names exist, and nothing in the tree names a package registry's host or a machine's
// folder. It also tests the scripts that CI trusts: that what fuzzing finds fails, and that a vulnerability, a database
// that cannot be reached and a tool that broke are told apart; that every test, story and file that the threat model
// names exists; and that the token formats in SECURITY.md are those of the tokens that are made. It has tests only.
package repocheck
