// Package bubblewrap is the sandbox.Backend for Linux machines without KVM: namespaces, no capabilities and a system
// call filter, set up by the bwrap program.
//
// Promised, on top of sandbox.Backend:
//   - What is not given is not there. A Sandbox sees /usr and its companions read-only, a few files of /etc, its mounts,
//     and empty private /tmp, /run and home folders; no other process, no other Sandbox, nothing of the Runner's.
//   - Start is complete or undone. Its agent runs nothing before the record that finds it again is on disk, and ends by
//     itself when the Runner dies before that. A process id is never trusted without its start time and the boot it was
//     seen in.
//   - A Sandbox that does not answer costs its own caller a deadline, and nobody else anything.
//   - It refuses, with the reason and the cure, where the kernel forbids what it needs. Check tells beforehand.
//
// Not promised: a boundary as strong as a microVM's (the kernel is shared), and no network policy but open: loopback,
// the LAN and the Internet are the machine's own. DNS settings are those of the moment of Start.
//
// The folder of the state holds, for each Sandbox: record.json, agent.sock, and log, which says why a start failed.
// One file lock, .lock, has a byte for each Sandbox: Start, Stop and Remove of the same one wait for each other, in all
// processes; the rest wait for nobody.
package bubblewrap
