// Package microsandbox is the sandbox.Backend that gives each Sandbox a microVM of its own: KVM on Linux, Apple's
// hypervisor on a Mac. The program msb does the work; its version is pinned, because its database, its flags and its
// words are not promised to stay.
//
// Promised, on top of sandbox.Backend:
//   - A Sandbox's system (its image and what was changed in it) survives Stop and a crash. Another Spec of the same ID
//     makes it anew at the next Start; its mounts are the caller's and stay.
//   - What a command prints and what its Env holds passes nothing that writes it down: commands run in our own guest,
//     which calls the Runner over vsock. See ADR 0010.
//   - Nothing that looks at a Sandbox (List, Ping, Stats) starts a program on this machine or wakes a VM.
//   - Each call of msb has a deadline, and is for one Sandbox: a VM that hangs costs its own callers their deadlines, and
//     nobody else anything.
//
// Not promised: DNS cannot be filtered away from a Sandbox that may resolve names, and an allow-list is by name and
// address, not by content.
//
// The state folder holds
//
//	m/         msb's own home, MSB_HOME. It cannot be moved.
//	msb/       the program, where Install put it
//	guest      a copy of claude-hub-guest, which every VM mounts
//	box/ID/    record.json, x (the socket on which the guest calls), r (likewise, for the relay), x.lock, tmp/
//	image/     a record for each Image
//	lock/      one file for each Sandbox and Image that is being changed
//
// # Tests in real microVMs
//
// The tests named TestRig… need a machine with /dev/kvm, msb of the pinned version on PATH, and folders on a file system
// with user xattrs (ext4, xfs, btrfs). They run with CLAUDE_HUB_MICROVM=1 and are skipped without. Wanted in the
// environment: CLAUDE_HUB_BASE_TAR, an uncompressed tar of a root file system with sh, coreutils, tmux, git, curl and
// perl-base or python3; and CLAUDE_HUB_GUEST, the claude-hub-guest program (default: beside the test binary). TMPDIR
// says where they keep their state. CLAUDE_HUB_PATIENCE=20 multiplies every deadline; an emulated machine needs that.
// One VM has one CPU and 512 MB in them.
package microsandbox
