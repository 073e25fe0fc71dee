// Package wire holds the messages between Hub, Runner and browser, their bounds, and the ledger of protocol versions.
//
// It promises that each message has one Go type, that a golden file shows its JSON, and that a message from a stranger is
// decoded within its bound or refused. It knows nothing about who may send what.
package wire
