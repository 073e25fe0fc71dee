// Package process starts the operating system's processes; no other room does.
//
// Promised: every child has a process group of its own, so that ending it ends what it started; a cancelled context
// interrupts the group, waits a bounded grace, and kills it; captured output is bounded; a grandchild that inherited
// an output pipe cannot hold a caller up; a detached child survives this program.
//
// Not promised: that a child which left its group (setsid) is found. Who needs that uses a PID namespace.
//
// Run is for commands whose output is wanted whole, Start for streams, Detach for what outlives us, and Reaper for a
// program that is PID 1 and must collect strangers too.
package process
