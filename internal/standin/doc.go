// Package standin is how a stand-in's program starts: it listens on loopback alone, says where and what it is, and serves
// until it is told to stop. A stand-in answers in place of an outside service, for tests and for the demo.
package standin
