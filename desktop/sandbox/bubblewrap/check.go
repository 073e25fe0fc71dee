//go:build linux

package bubblewrap

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// maxSocketPath is what the system allows for the path of a unix socket.
const maxSocketPath = 107

// lowSpace is where the doctor begins to warn.
const lowSpace = 2 << 30

const trialTimeout = 15 * time.Second

// version is bwrap's.
type version struct{ major, minor int }

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

func (b *Backend) program() string {
	if b.bwrap != "" {
		return b.bwrap
	}
	return "bwrap"
}

func (b *Backend) askVersion(ctx context.Context) (version, error) {
	ctx, cancel := within(ctx, trialTimeout)
	defer cancel()
	r, err := process.Run(ctx, process.Command{Path: b.program(), Args: []string{"--version"}, Env: []string{}})
	if err != nil {
		return version{}, claudehub.WithCause(claudehub.Unavailable, err, "The program bwrap cannot be run. %s", installBwrap)
	}
	var v version
	if n, _ := fmt.Sscanf(string(r.Stdout), "bubblewrap %d.%d", &v.major, &v.minor); n != 2 {
		return version{}, claudehub.Errorf(claudehub.Unavailable, "%s is not bubblewrap: it says %q. %s", b.program(), firstLine(r.Stdout), installBwrap)
	}
	return v, nil
}

func firstLine(raw []byte) string {
	line, _, _ := strings.Cut(string(raw), "\n")
	return line
}

const installBwrap = "Install it: sudo apt-get install bubblewrap (or dnf, pacman: bubblewrap)."

// Check says whether Sandboxes can start here, and how to mend what keeps them from it.
func (b *Backend) Check(ctx context.Context) []sandbox.Finding {
	findings := b.glance(ctx)
	findings = append(findings, usable("git", "sudo apt-get install git"), usable("tmux", "sudo apt-get install tmux"),
		certificates(), b.limits(), checkScope(), b.space(), checkBuilds())
	for _, f := range findings {
		if f.Fatal && !f.OK {
			return findings // a trial would only say the same, less clearly
		}
	}
	return append(findings, b.trial(ctx))
}

// glance are the findings that cost next to nothing; Start looks at them each time.
func (b *Backend) glance(ctx context.Context) []sandbox.Finding {
	return []sandbox.Finding{b.checkBwrap(ctx), b.checkGuest(), checkNamespaces(), checkSeccomp(), b.checkPath()}
}

func good(name, format string, args ...any) sandbox.Finding {
	return sandbox.Finding{Name: name, OK: true, Detail: fmt.Sprintf(format, args...)}
}

func fatal(name, fix, format string, args ...any) sandbox.Finding {
	return sandbox.Finding{Name: name, Fatal: true, Detail: fmt.Sprintf(format, args...), Fix: fix}
}

func (b *Backend) checkBwrap(ctx context.Context) sandbox.Finding {
	path, err := process.Look(b.program(), os.Getenv("PATH"))
	if err != nil || unix.Access(path, unix.X_OK) != nil {
		return fatal("bubblewrap", installBwrap, "the program bwrap is not installed")
	}
	v, err := b.version(ctx)
	if err != nil {
		return fatal("bubblewrap", installBwrap, "%s", claudehub.MessageOf(err))
	}
	if !v.atLeast(0, 5) {
		return fatal("bubblewrap", "Install version 0.5 or newer from your distribution.", "%s is version %d.%d, which is too old", path, v.major, v.minor)
	}
	return good("bubblewrap", "%s, version %d.%d", path, v.major, v.minor)
}

func (b *Backend) checkGuest() sandbox.Finding {
	info, err := os.Stat(b.guest)
	if err != nil || info.IsDir() || unix.Access(b.guest, unix.X_OK) != nil {
		return fatal("guest program", "Install claude-hub-guest beside the Runner's program, or name its place with the option.",
			"%s is not there or cannot be executed", b.guest)
	}
	return good("guest program", "%s", b.guest)
}

// sysctl reads a kernel setting; "" when this kernel has none.
func sysctl(name string) string {
	raw, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(name, ".", "/"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(raw))
}

// appArmorProfile lets bwrap alone make user namespaces, where Ubuntu since 24.04 lets nobody.
const appArmorProfile = `printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap %s flags=(unconfined) {\n  userns,\n}\n' | sudo tee /etc/apparmor.d/bwrap && sudo apparmor_parser -r /etc/apparmor.d/bwrap`

func checkNamespaces() sandbox.Finding {
	const name = "user namespaces"
	if _, err := os.Stat("/proc/self/ns/user"); err != nil {
		return fatal(name, "Use a kernel with CONFIG_USER_NS.", "this kernel has none")
	}
	if n, err := strconv.Atoi(sysctl("user.max_user_namespaces")); err == nil && n == 0 {
		return fatal(name, "sudo sysctl -w user.max_user_namespaces=15000 (and put it in /etc/sysctl.d/ to keep it).", "they are switched off (user.max_user_namespaces is 0)")
	}
	if os.Geteuid() != 0 && sysctl("kernel.unprivileged_userns_clone") == "0" {
		return fatal(name, "sudo sysctl -w kernel.unprivileged_userns_clone=1 (and put it in /etc/sysctl.d/ to keep it).",
			"they are for root only (kernel.unprivileged_userns_clone is 0)")
	}
	return good(name, "allowed as far as the settings tell; the trial start proves it")
}

func checkSeccomp() sandbox.Finding {
	const name = "system call filter"
	if err := unix.Prctl(unix.PR_GET_SECCOMP, 0, 0, 0, 0); err != nil {
		return fatal(name, "Use a kernel with CONFIG_SECCOMP_FILTER.", "this kernel has no seccomp")
	}
	if _, err := filter(false, false); err != nil {
		return fatal(name, "Run claude-hub on amd64 or arm64.", "there is none for this machine's architecture")
	}
	return good(name, "available")
}

func (b *Backend) checkPath() sandbox.Finding {
	// A Session's id is as long as a UUID.
	n := len(b.state) + len("/agent.sock") + 1 + 36
	if n > maxSocketPath {
		return fatal("state folder", "Choose a state folder with a shorter path.",
			"sockets in %s would have paths of %d bytes, and the system allows %d", b.state, n, maxSocketPath)
	}
	return good("state folder", "%s", b.state)
}

// usable looks for a program where a Sandbox would find it.
func usable(program, install string) sandbox.Finding {
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if path := dir + "/" + program; unix.Access(path, unix.X_OK) == nil {
			return good(program, "%s", path)
		}
	}
	return sandbox.Finding{Name: program, Detail: program + " is not installed in /usr, and a Sandbox sees no other programs", Fix: install + "."}
}

func certificates() sandbox.Finding {
	for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem"} {
		if _, err := os.Stat(path); err == nil {
			return good("certificates", "%s", path)
		}
	}
	return sandbox.Finding{Name: "certificates", Detail: "there are no CA certificates, so that nothing in a Sandbox can use HTTPS", Fix: "sudo apt-get install ca-certificates."}
}

func (b *Backend) limits() sandbox.Finding {
	at := findBounds()
	processes := at.processes
	if processes == "" && rlimitCounts() {
		processes = "RLIMIT_NPROC"
	}
	if at.memory != "" && processes != "" && at.cpu != "" {
		return good("limits", "memory and CPUs by cgroup (%s), processes by %s", at.memory, processes)
	}
	var missing []string
	if at.cpu == "" {
		missing = append(missing, "CPUs")
	}
	if at.memory == "" {
		missing = append(missing, "memory")
	}
	if processes == "" {
		missing = append(missing, "number of processes")
	}
	return sandbox.Finding{
		Name:   "limits",
		Detail: "not in force: limits of " + strings.Join(missing, " and ") + "; no cgroup can be made here, so that one Sandbox can take what others need",
		Fix:    "Run the Runner as a systemd user service with Delegate=yes (systemd-run --user -p Delegate=yes …), or as root.",
	}
}

// checkBuilds tells what a setup script can do here.
func checkBuilds() sandbox.Finding {
	if os.Geteuid() == 0 {
		return good("builds", "a setup script is root, with %d users, in a system of its own", userCount)
	}
	return good("builds", "a setup script is root and has no other user: files stay root's whoever they are given to, and becoming another user fails. A Runner that is root has more")
}

// checkScope tells whether the guest can close the machine's abstract unix sockets to its Sandbox.
func checkScope() sandbox.Finding {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno == 0 && abi >= 6 {
		return good("abstract sockets", "closed to Sandboxes by Landlock")
	}
	return sandbox.Finding{
		Name:   "abstract sockets",
		Detail: "this kernel cannot close the machine's abstract unix sockets (those of an X server, for example) to Sandboxes",
		Fix:    "Use Linux 6.12 or newer with Landlock, or run the Runner on a machine without a desktop.",
	}
}

func (b *Backend) space() sandbox.Finding {
	var fs unix.Statfs_t
	if err := unix.Statfs(b.state, &fs); err != nil {
		return sandbox.Finding{Name: "disk space", Detail: "cannot be told: " + err.Error(), Fix: "Check the disk that holds " + b.state + "."}
	}
	free := int64(fs.Bavail) * fs.Bsize
	if free < lowSpace {
		return sandbox.Finding{Name: "disk space", Detail: fmt.Sprintf("%d MiB are free at %s", free>>20, b.state), Fix: "Free some: archive Sessions, or move the state folder to a larger disk."}
	}
	return good("disk space", "%d GiB are free at %s", free>>30, b.state)
}

// trial starts a Sandbox that ends at once, with everything that a real one gets.
func (b *Backend) trial(ctx context.Context) sandbox.Finding {
	const name = "trial start"
	ctx, cancel := context.WithTimeout(ctx, trialTimeout)
	defer cancel()
	v, err := b.version(ctx)
	if err != nil {
		return fatal(name, installBwrap, "%s", claudehub.MessageOf(err))
	}
	p, err := newPlan(v, sandbox.Spec{}, tree{}, b.guest, "-probe")
	if err != nil {
		return fatal(name, "Mend what it says, and try again.", "it could not be prepared: %v", err)
	}
	given, err := p.inputs()
	defer func() {
		for _, f := range given {
			f.Close()
		}
	}()
	if err != nil {
		return fatal(name, "Free some memory or descriptors, and try again.", "it could not be prepared: %v", err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fatal(name, "Mend /dev/null.", "%v", err)
	}
	defer null.Close()
	r, err := process.Run(ctx, process.Command{
		Path: b.program(), Args: p.args, Env: []string{}, Dir: "/",
		Files: append([]*os.File{null, null}, given...), // in the places of listener and info
	})
	if err == nil && r.Code == 0 {
		return good(name, "a Sandbox started and ended")
	}
	said := strings.TrimSpace(string(r.Stderr))
	if err != nil {
		said = err.Error()
	}
	fix := "See what bwrap says; issues in a container are mended by running claude-hub on the machine itself."
	if os.Geteuid() != 0 && sysctl("kernel.apparmor_restrict_unprivileged_userns") == "1" {
		path, lookErr := process.Look(b.program(), os.Getenv("PATH"))
		if lookErr != nil {
			path = "/usr/bin/bwrap"
		}
		fix = "AppArmor keeps bwrap from making user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1). Allow bwrap alone: " +
			fmt.Sprintf(appArmorProfile, path)
	}
	return fatal(name, fix, "it failed with code %d: %s", r.Code, lastLine(said))
}
