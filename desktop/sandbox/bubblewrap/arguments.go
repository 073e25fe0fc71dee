//go:build linux

package bubblewrap

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

const (
	// user is who everyone in a Session's Sandbox is. Outside it is the Runner's own user, root or not, so that the files
	// of mounted folders belong to the same person on both sides.
	user      = 1000
	home      = "/home/claude"
	workspace = "/workspace"
	hubFolder = "/.claude-hub"
	guestPath = hubFolder + "/guest"
	aptConf   = hubFolder + "/apt.conf"
	system    = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// environment is what every command finds. It holds nothing of ours.
func environment(build, many bool) [][2]string {
	if !build {
		return [][2]string{
			{"PATH", home + "/.local/bin:" + system}, {"HOME", home}, {"USER", "claude"}, {"LOGNAME", "claude"},
			{"SHELL", "/bin/sh"}, {"LANG", "C.UTF-8"}, {"TERM", "xterm-256color"}, {"TMPDIR", "/tmp"},
		}
	}
	e := [][2]string{
		{"PATH", system}, {"HOME", "/root"}, {"USER", "root"}, {"LOGNAME", "root"},
		{"SHELL", "/bin/sh"}, {"LANG", "C.UTF-8"}, {"TERM", "xterm-256color"}, {"TMPDIR", "/tmp"},
	}
	if !many { // apt would become a user that is not there
		e = append(e, [2]string{"APT_CONFIG", aptConf})
	}
	return e
}

// etc are the files of /etc that programs cannot do without. Folders with private keys beside the public ones are
// given by their public parts.
var etc = []string{
	"alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies", "gai.conf", "host.conf", "hosts",
	"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "pki/ca-trust",
	"pki/tls/cert.pem", "pki/tls/certs", "pki/tls/openssl.cnf", "protocols", "resolv.conf", "services", "shells",
	"ssl/cert.pem", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "xattr.conf",
}

type file struct{ path, text string }

// synthesized are files of /etc of our own making: who lives here is nobody's business.
var synthesized = []file{
	{"/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\n" +
		"claude:x:1000:1000:Claude:" + home + ":/bin/sh\n" +
		"nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
	{"/etc/group", "root:x:0:\ntty:x:5:\nclaude:x:1000:\nnogroup:x:65534:\n"},
	{"/etc/hostname", "sandbox\n"},
}

// roots are the folders beside /usr where programs live. On most systems they are links into it.
var roots = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}

// descriptors are the numbers in bwrap of what is passed to it. The listener is the first, where the guest expects it.
const (
	fdListener = 3 + iota
	fdInfo
	fdSeccomp
	fdFirstFile // of plan.files; then that of plan.many
)

// plan is what a Sandbox gets, in bwrap's words. Nothing that is not named here is there.
type plan struct {
	args  []string
	files []file // of our own making; bwrap reads them from descriptors
	// many asks to map many users, where a build needs them: bwrap waits for us to do it.
	many bool
	// single tells that a build has one user to give; see filter.
	single bool
	build  bool
}

func (p *plan) add(args ...string) { p.args = append(p.args, args...) }

// make puts a file of our own making at a path.
func (p *plan) make(f file) {
	p.add("--perms", "0644", "--ro-bind-data", strconv.Itoa(fdFirstFile+len(p.files)), f.path)
	p.files = append(p.files, f)
}

// tree is the system that a Sandbox starts from: the machine's own without a root.
type tree struct {
	root string // the root folder of an Image, or of a build
	tmp  string // of a build: its /tmp, which may be large
}

// newPlan is the whole of it.
func newPlan(v version, spec sandbox.Spec, t tree, guest string, guestArgs ...string) (*plan, error) {
	p := &plan{build: spec.Build, many: spec.Build && os.Geteuid() == 0, single: spec.Build && os.Geteuid() != 0}
	id := strconv.Itoa(user)
	if p.build {
		id = "0"
	}
	p.add("--unshare-all", "--unshare-user", "--share-net", "--uid", id, "--gid", id,
		"--hostname", "sandbox", "--cap-drop", "ALL", "--as-pid-1", "--clearenv")
	for _, c := range p.capabilities() {
		p.add("--cap-add", c)
	}
	if v.atLeast(0, 8) && !p.build { // it costs another user namespace, and that has one user; the filter forbids them too
		p.add("--disable-userns")
	}
	for _, e := range environment(p.build, p.many) {
		p.add("--setenv", e[0], e[1])
	}
	var err error
	switch {
	case p.build:
		p.writable(spec, t)
	case t.root != "":
		err = p.image(spec, t)
	default:
		p.machine(spec)
	}
	if err != nil {
		return nil, err
	}
	p.add("--ro-bind", guest, guestPath, "--remount-ro", "/dev")
	if !p.build {
		p.add("--remount-ro", "/")
	}
	if p.many {
		p.add("--userns-block-fd", strconv.Itoa(fdFirstFile+len(p.files)))
	}
	p.add("--info-fd", strconv.Itoa(fdInfo), "--seccomp", strconv.Itoa(fdSeccomp), "--chdir", "/", "--", guestPath)
	p.add(guestArgs...)
	return p, nil
}

// kernel mounts /proc and /dev.
func (p *plan) kernel() {
	p.add("--proc", "/proc")
	if os.Geteuid() == 0 {
		p.add(fromRoot()...)
	}
	p.add("--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm")
}

// machine is the system of this machine, as far as a Session's programs need it.
func (p *plan) machine(spec sandbox.Spec) {
	p.kernel()
	p.add("--ro-bind", "/usr", "/usr")
	for _, r := range roots {
		if target, err := os.Readlink(r); err == nil {
			p.add("--symlink", target, r)
		} else {
			p.add("--ro-bind-try", r, r)
		}
	}
	p.add("--perms", "0755", "--dir", "/etc")
	for _, name := range etc {
		p.add("--ro-bind-try", "/etc/"+name, "/etc/"+name)
	}
	for _, f := range synthesized {
		p.make(f)
	}
	p.add("--perms", "1777", "--tmpfs", "/tmp", "--perms", "0755", "--tmpfs", "/run",
		"--perms", "0755", "--dir", "/var", "--perms", "1777", "--tmpfs", "/var/tmp", "--perms", "0755", "--dir", "/home")
	p.add(given(spec.Mounts, home, workspace)...)
}

// fromRoot closes the parts of /proc through which root reads or changes the machine. A Sandbox has no capability, but
// under a Runner that is root it still has root's number, and for some of these files the kernel looks at nothing else:
// /proc/sys/kernel/core_pattern names a program that the kernel runs outside. (bwrap covers what it can write to
// itself, and misses those whose folder is not writable.)
func fromRoot() []string {
	var a []string
	for _, name := range []string{"sys", "sysrq-trigger", "bus", "fs", "irq", "acpi", "scsi", "mtrr"} {
		a = append(a, "--ro-bind-try", "/proc/"+name, "/proc/"+name)
	}
	for _, name := range []string{"kcore", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "pagetypeinfo", "slabinfo", "timer_list", "vmallocinfo"} {
		if _, err := os.Stat("/proc/" + name); err == nil {
			a = append(a, "--ro-bind", "/dev/null", "/proc/"+name)
		}
	}
	return a
}

// given are the mounts of the Spec, outer ones first, and empty folders where a command expects one and none was given.
func given(mounts []sandbox.Mount, places ...string) []string {
	all := slices.Clone(mounts)
	for _, place := range places {
		if !slices.ContainsFunc(all, func(m sandbox.Mount) bool { return m.Guest == place }) {
			all = append(all, sandbox.Mount{Guest: place})
		}
	}
	slices.SortStableFunc(all, func(a, b sandbox.Mount) int {
		return cmp.Or(cmp.Compare(strings.Count(a.Guest, "/"), strings.Count(b.Guest, "/")), cmp.Compare(a.Guest, b.Guest))
	})
	var a []string
	for _, m := range all {
		switch {
		case m.Host == "":
			a = append(a, "--perms", "0755", "--tmpfs", m.Guest)
		case m.ReadOnly:
			a = append(a, "--ro-bind", m.Host, m.Guest)
		default:
			a = append(a, "--bind", m.Host, m.Guest)
		}
	}
	return a
}

// ours are the places of a Sandbox that no mount may cover, with all below them.
var ours = []string{"/proc", "/dev", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", hubFolder}

// check refuses a Spec that could not work, or that would open what a Sandbox must not see.
func (b *Backend) check(spec sandbox.Spec) error {
	if err := checkID(spec.ID); err != nil {
		return err
	}
	if n := len(b.box(spec.ID).socket()); n > maxSocketPath {
		return claudehub.Errorf(claudehub.Invalid,
			"The state folder's path is too long: the socket %s has %d bytes, and the system allows %d. Choose a shorter state folder.",
			b.box(spec.ID).socket(), n, maxSocketPath)
	}
	seen := map[string]bool{}
	for _, m := range spec.Mounts {
		if err := b.checkMount(m); err != nil {
			return err
		}
		if seen[m.Guest] {
			return claudehub.Errorf(claudehub.Invalid, "Two mounts are for %s. Give each its own place.", m.Guest)
		}
		seen[m.Guest] = true
	}
	if l := spec.Limits; l.MemoryBytes < 0 || l.Processes < 0 || l.CPUs < 0 || l.DiskBytes < 0 {
		return claudehub.Errorf(claudehub.Invalid, "A limit cannot be negative. Zero means no limit.")
	}
	if p := spec.Network.Policy; p != "" && p != claudehub.NetworkOpen {
		return claudehub.Errorf(claudehub.Invalid,
			"bubblewrap cannot enforce the network policy %q: its Sandboxes share the machine's network. Set the Environment's network to \"open\", or use a Runner with microsandbox.", p)
	}
	if spec.Relay.Socket != "" && spec.Relay.Port == 0 {
		return claudehub.Errorf(claudehub.Invalid, "A bubblewrap Sandbox reaches its relay on a port of this machine's loopback, and none is given.")
	}
	if spec.Image != "" {
		return checkImage(spec.Image)
	}
	return nil
}

func (b *Backend) checkMount(m sandbox.Mount) error {
	if !filepath.IsAbs(m.Guest) || filepath.Clean(m.Guest) != m.Guest || m.Guest == "/" {
		return claudehub.Errorf(claudehub.Invalid, "%q is no place for a mount: give an absolute path without '.', '..' or a final '/'.", m.Guest)
	}
	for _, o := range ours {
		if m.Guest == o || strings.HasPrefix(m.Guest, o+"/") {
			return claudehub.Errorf(claudehub.Invalid, "Nothing can be mounted at %s: %s belongs to the Sandbox itself.", m.Guest, o)
		}
	}
	if !filepath.IsAbs(m.Host) {
		return claudehub.Errorf(claudehub.Invalid, "The mount for %s needs an absolute path of this machine, not %q.", m.Guest, m.Host)
	}
	host, err := filepath.EvalSymlinks(m.Host)
	if err != nil {
		return claudehub.WithCause(claudehub.NotFound, err, "%s, to be mounted at %s, is not there. Create it first.", m.Host, m.Guest)
	}
	state, err := filepath.EvalSymlinks(b.state)
	if err != nil {
		return fmt.Errorf("find state folder: %w", err)
	}
	if within, err := filepath.Rel(host, state); err == nil && within != ".." && !strings.HasPrefix(within, "../") {
		return claudehub.Errorf(claudehub.Invalid,
			"%s cannot be mounted: it holds the state of all Sandboxes (%s). Mount a folder inside it, or move the state.", m.Host, b.state)
	}
	if within, err := filepath.Rel(state, host); err == nil && within != ".." && !strings.HasPrefix(within, "../") {
		return claudehub.Errorf(claudehub.Invalid, "%s cannot be mounted: it is part of the state of all Sandboxes (%s).", m.Host, b.state)
	}
	return nil
}
