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
// With an Image a Sandbox sees that system in place of the machine's, read-only, and of the machine only how names are
// found (/etc/resolv.conf, /etc/hosts). A build has a copy of its own and is root there: it has the capabilities that
// package managers need, over its own files and processes; the filter is a Session's, but for chroot. Under a Runner that
// is root it has 65536 users, none of which is one of the machine's but root; under any other it has root alone, and
// giving a file away succeeds without an effect. What an Image has in the place of a mount (a link, say) is never followed.
//
// Not promised: a boundary as strong as a microVM's (the kernel is shared), and no network policy but open: loopback,
// the LAN and the Internet are the machine's own, so that another policy is refused. DNS settings are those of the moment
// of Start. Limits.DiskBytes is not enforced: a Session's system does not grow, and who builds watches Stats.
//
// The folder of the state holds, for each Sandbox: record.json, agent.sock, origin.json, which says what it is made of,
// and log, which says why a start failed; for a build its root and tmp; and in .images each Image, whose large files are
// hard links to those of the Image that it was built on. One file lock, .lock, has a byte for each Sandbox and Image:
// Start, Stop and Remove of the same one wait for each other, in all processes; the rest wait for nobody.
package bubblewrap
