//go:build linux

package bubblewrap_test

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
)

// entry is one file of a root filesystem that a test makes.
type entry struct {
	name string
	kind byte
	mode int64
	text string // content, or what a link leads to
	uid  int
}

// programs are what every test root has: this machine's own, with the libraries that they need.
var programs = []string{"cat", "chmod", "chown", "dd", "env", "grep", "head", "id", "ls", "mkdir", "mv", "readlink", "rm", "sleep", "stat", "touch", "tr", "cut", "sort", "xargs", "hostname", "seq", "setsid", "ln"}

// rootEntries are a small root filesystem.
func rootEntries(t testing.TB) []entry {
	t.Helper()
	seen := map[string]bool{}
	var all []entry
	add := func(e entry) {
		if !seen[e.name] {
			seen[e.name] = true
			all = append(all, e)
		}
	}
	var folder func(string)
	folder = func(name string) {
		if name == "." || seen[name] {
			return
		}
		folder(filepath.Dir(name))
		add(entry{name: name, kind: tar.TypeDir, mode: 0o755})
	}
	program := func(path, as string) {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(real)
		if err != nil {
			t.Fatal(err)
		}
		folder(filepath.Dir(as))
		add(entry{as, tar.TypeReg, 0o755, string(raw), 0})
		out, _ := exec.Command("ldd", real).Output() // a static program has none
		for word := range strings.FieldsSeq(string(out)) {
			if strings.HasPrefix(word, "/") && !seen[word[1:]] {
				lib, err := os.ReadFile(word)
				if err != nil {
					t.Fatal(err)
				}
				folder(filepath.Dir(word[1:]))
				add(entry{word[1:], tar.TypeReg, 0o755, string(lib), 0})
			}
		}
	}
	for _, d := range []string{"etc", "root", "home/node", "opt/own", "srv"} {
		folder(d)
	}
	program("/bin/sh", "bin/sh")
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		program(path, "usr/bin/"+name)
	}
	add(entry{"etc/passwd", tar.TypeReg, 0o644, "root:x:0:0:root:/root:/bin/sh\nnode:x:1000:1000:Node:/home/node:/bin/sh\nwww:x:33:33:www:/srv:/bin/sh\n", 0})
	add(entry{"etc/group", tar.TypeReg, 0o644, "root:x:0:\nnode:x:1000:\nwww:x:33:\n", 0})
	add(entry{"etc/resolv.conf", tar.TypeSymlink, 0o777, "../run/systemd/resolve/stub-resolv.conf", 0})
	add(entry{"etc/of-the-image", tar.TypeReg, 0o644, "image\n", 0})
	add(entry{"srv/of-www", tar.TypeReg, 0o640, "www\n", 33})
	add(entry{"home/node/of-node", tar.TypeReg, 0o644, "node\n", 1000})
	add(entry{"large", tar.TypeReg, 0o644, strings.Repeat("0123456789abcdef", 1<<16), 0})
	return all
}

func writeTar(t testing.TB, entries ...entry) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "rootfs.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := tar.NewWriter(f)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: e.mode, Uid: e.uid, Gid: e.uid, ModTime: time.Unix(1e9, 0)}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.text))
		} else {
			h.Linkname = e.text
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if e.kind == tar.TypeReg {
			if _, err := io.WriteString(w, e.text); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return f.Name()
}

// imported is a Backend with one Image, called base.
func imported(t testing.TB, more ...entry) (*bubblewrap.Backend, string) {
	t.Helper()
	state := stateFolder(t)
	b := backendAt(t, state)
	if err := b.Import(ctx(t), writeTar(t, append(rootEntries(t), more...)...), "base", nil); err != nil {
		t.Fatal(err)
	}
	return b, state
}

func imageNames(t testing.TB, b *bubblewrap.Backend) (names []sandbox.Image) {
	t.Helper()
	all, err := b.Images(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		if i.Bytes <= 0 || i.Created.IsZero() {
			t.Errorf("%+v", i)
		}
		names = append(names, i.Image)
	}
	return names
}

// TestWhatASandboxOfAnImageSees: the Image's system, and of the machine no more than how names are found.
func TestWhatASandboxOfAnImageSees(t *testing.T) {
	b, state := imported(t)
	claude := filepath.Join(t.TempDir(), "claude")
	if err := os.WriteFile(claude, []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	inner := t.TempDir()
	id := start(t, b, sandbox.Spec{Image: "base", Mounts: []sandbox.Mount{
		{Host: claude, Guest: "/opt/claude-hub/claude", ReadOnly: true}, {Host: inner, Guest: "/etc/new/place"}, {Host: inner, Guest: "/srv/deep/er", ReadOnly: true},
	}})
	for script, want := range map[string]string{
		"cat /etc/of-the-image /opt/claude-hub/claude": "image\nprogram",
		"id -un; id -u; hostname":                      "claude\n1000\nsandbox",
		"cut -d: -f1 /etc/passwd | tr '\\n' ' '":       "root www claude ",
		"cat /home/node/of-node; ls -A /home/claude":   "node",
		"ls /opt":         "claude-hub\nown",
		"cat /srv/of-www": "www",
		"ls -A /tmp /var/tmp /workspace | tr -d '\\n'": "/tmp:/var/tmp:/workspace:",
		"ls /etc | grep -c .":                          "7",
	} {
		if script == "cat /srv/of-www" && os.Getuid() == 0 {
			continue // it belongs to another user of the Image
		}
		if got := must(t, b, id, script); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
	}
	resolv, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		t.Fatal(err)
	}
	if got := must(t, b, id, "cat /etc/resolv.conf"); got != strings.TrimSuffix(string(resolv), "\n") {
		t.Errorf("names are found by %q", got)
	}
	for _, path := range []string{"/x", "/etc/of-the-image", "/etc/x", "/usr/bin/x", "/bin/sh", "/home/node/x", "/opt/x", "/opt/claude-hub/claude", "/root", "/etc/passwd", "/srv/deep/er/x"} {
		if r := sh(t, b, id, "echo x > "+path); r.code == 0 {
			t.Errorf("%s was written", path)
		}
	}
	must(t, b, id, "echo x > /etc/new/place/x && echo x > /workspace/x && echo x > /tmp/x && echo x > /home/claude/x && echo x > /run/x")
	for _, path := range []string{state, filepath.Join(state, ".images"), "/usr/share", "/usr/lib/locale", "/usr/local", "/etc/ssl", "/etc/apt", "/sys/kernel", fmt.Sprintf("/proc/%d", os.Getpid())} {
		if r := sh(t, b, id, "ls "+path); r.code == 0 {
			t.Errorf("it sees %s of the machine: %q", path, r.out)
		}
	}
	status := must(t, b, id, "cat /proc/self/status")
	for _, want := range []string{"CapEff:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestABuildIsRootOfItsOwnSystemAlone.
func TestABuildIsRootOfItsOwnSystemAlone(t *testing.T) {
	b, state := imported(t)
	must1 := t.TempDir()
	if err := os.WriteFile(filepath.Join(must1, "secret"), []byte("host"), 0o644); err != nil {
		t.Fatal(err)
	}
	id := start(t, b, sandbox.Spec{ID: "b", Image: "base", Build: true, Mounts: []sandbox.Mount{helper(t)}})
	other := start(t, b, sandbox.Spec{ID: "o", Image: "base", Build: true})
	must(t, b, other, "echo theirs > /srv/theirs; echo theirs > /tmp/theirs")
	if got := must(t, b, id, "id -u; echo $HOME; echo new > /etc/of-the-image; echo x > /usr/bin/x; mkdir /new; touch /tmp/x /run/x $HOME/x; cat /etc/of-the-image"); got != "0\n/root\nnew" {
		t.Errorf("got %q", got)
	}
	if os.Getuid() == 0 {
		if got := must(t, b, id, "touch /f; chown 33:44 /f; stat -c %u:%g /f /srv/of-www; stat -c %U /srv/of-www"); got != "33:44\n33:33\nwww" {
			t.Errorf("owners: %q", got)
		}
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(state, "b", "root", "f"), &st); err != nil || st.Uid < 1<<30 {
			t.Errorf("on the machine it belongs to %d, %v", st.Uid, err)
		}
	}
	for _, path := range []string{state, filepath.Join(state, ".images"), must1, "/usr/share", "/usr/local", "/etc/ssl", "/srv/theirs", "/tmp/theirs", "/sys/kernel"} {
		if r := sh(t, b, id, "ls "+path); r.code == 0 {
			t.Errorf("it sees %s: %q", path, r.out)
		}
	}
	for _, path := range []string{
		"/proc/sys/kernel/core_pattern", "/proc/sys/vm/swappiness", "/proc/sysrq-trigger", "/proc/sys/kernel/hostname", "/etc/resolv.conf", "/etc/hosts",
		"/.claude-hub/guest", "/dev/x", "/opt/helper",
	} {
		if r := sh(t, b, id, "echo x > "+path); r.code == 0 {
			t.Errorf("%s was written", path)
		}
	}
	if r := sh(t, b, id, "cat /proc/1/environ; readlink /proc/1/fd/0; head -c1 /proc/1/mem; ls /proc/1/root/"); r.code == 0 {
		t.Errorf("the agent can be looked into: %+v", r)
	}
	status := must(t, b, id, "cat /proc/self/status")
	caps := uint64(0)
	for line := range strings.Lines(status) {
		if v, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			var err error
			if caps, err = strconv.ParseUint(strings.TrimSpace(v), 16, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	allowed := uint64(0)
	for _, c := range []int{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETFCAP, unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SYS_CHROOT} {
		allowed |= 1 << c
	}
	if caps != allowed {
		t.Errorf("capabilities %x, want %x", caps, allowed)
	}
	for _, want := range []string{"NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, want) {
			t.Errorf("no %q", want)
		}
	}
	r := run(t, b, id, sandbox.Command{Path: "/opt/helper", TTY: true, Cols: 80, Rows: 24, Env: []string{"HUB_TEST_HELPER=attempts"}}, "")
	got := answers(strings.ReplaceAll(r.out, "\r", ""))
	denied, absent, family := unix.EPERM.Error(), unix.ENOSYS.Error(), unix.EAFNOSUPPORT.Error()
	for name, want := range map[string]string{
		"mount": denied, "umount": denied, "fsopen": denied, "unshare-user": denied, "clone-user": denied, "clone3": absent,
		"setns": denied, "bpf": denied, "perf": denied, "userfaultfd": denied, "keyctl": denied, "add_key": denied, "kexec": denied,
		"init_module": denied, "io_uring": absent, "sethostname": denied, "settime": denied, "unknown": absent, "x32": absent,
		"tiocsti": denied, "trace-agent": denied, "vsock": family, "packet": family, "netlink-audit": family, "inet": "ok",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
	if got["raw"] == "ok" {
		t.Error("a raw socket was opened")
	}
	// The Image is as it was.
	start(t, b, sandbox.Spec{ID: "s", Image: "base"})
	if got := must(t, b, "s", "cat /etc/of-the-image; ls /usr/bin/x 2>&1 | grep -c No"); got != "image\n1" {
		t.Errorf("the Image changed: %q", got)
	}
}

// TestMountsOfAnImageAreNotLedAstray: links in an Image, where mounts come, must not lead out of the Sandbox.
func TestMountsOfAnImageAreNotLedAstray(t *testing.T) {
	trap := t.TempDir()
	outside := filepath.Join(trap, "outside")
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", "/oldroot"} {
		to := prefix + outside
		evil := []entry{
			{"opt/claude-hub", tar.TypeSymlink, 0o777, to, 0}, {"workspace", tar.TypeSymlink, 0o777, to, 0}, {"tmp", tar.TypeSymlink, 0o777, to, 0},
			{"etc/hosts", tar.TypeSymlink, 0o777, to + "/hosts", 0}, {"etc/hostname", tar.TypeSymlink, 0o777, to + "/hostname", 0},
			{"proc", tar.TypeSymlink, 0o777, to, 0}, {"dev", tar.TypeSymlink, 0o777, to, 0}, {"run", tar.TypeSymlink, 0o777, to, 0},
			{".claude-hub", tar.TypeSymlink, 0o777, to, 0}, {"var", tar.TypeSymlink, 0o777, to, 0}, {"home/claude", tar.TypeSymlink, 0o777, to, 0},
			{"sys", tar.TypeSymlink, 0o777, to, 0}, {"etc/mtab", tar.TypeSymlink, 0o777, "/proc/mounts", 0},
		}
		state := stateFolder(t)
		b := backendAt(t, state)
		if err := b.Import(ctx(t), writeTar(t, append(rootEntries(t), evil...)...), "evil", nil); err != nil {
			t.Fatal(err)
		}
		for _, build := range []bool{false, true} {
			id := start(t, b, sandbox.Spec{ID: sandbox.ID(fmt.Sprintf("s%v", build)), Image: "evil", Build: build, Mounts: []sandbox.Mount{{Host: trap, Guest: "/opt/claude-hub/x"}, {Host: trap, Guest: "/opt/y/z"}}})
			must(t, b, id, "echo x > /tmp/x; echo x > /run/x; ls /opt/claude-hub/x/outside /opt/y/z/outside; cat /etc/hosts >/dev/null")
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) != 0 {
			t.Errorf("outside: %v, %v", left, err)
		}
	}
}

func TestImportRefusesWhatIsUnsafe(t *testing.T) {
	state := stateFolder(t)
	b := backendAt(t, state)
	outside := filepath.Join(filepath.Dir(state), "hub-test-outside")
	for name, entries := range map[string][]entry{
		"climbs":            {{"../../../hub-test-outside", tar.TypeReg, 0o644, "x", 0}},
		"absolute":          {{outside, tar.TypeReg, 0o644, "x", 0}},
		"through a link":    {{"d", tar.TypeSymlink, 0o777, "/tmp", 0}, {"d/hub-test-outside", tar.TypeReg, 0o644, "x", 0}},
		"a relative link":   {{"d", tar.TypeSymlink, 0o777, "../../../..", 0}, {"d/hub-test-outside", tar.TypeReg, 0o644, "x", 0}},
		"a hard link out":   {{"l", tar.TypeLink, 0o644, "../../../../../../etc/passwd", 0}},
		"an absolute one":   {{"l", tar.TypeLink, 0o644, "/etc/passwd", 0}},
		"through its link":  {{"e", tar.TypeSymlink, 0o777, "/etc", 0}, {"l", tar.TypeLink, 0o644, "e/passwd", 0}},
		"a device":          {{"null", tar.TypeChar, 0o666, "", 0}},
		"a disk":            {{"sda", tar.TypeBlock, 0o666, "", 0}},
		"twice":             {{"f", tar.TypeReg, 0o644, "x", 0}, {"f", tar.TypeReg, 0o644, "y", 0}},
		"over its own link": {{"f", tar.TypeSymlink, 0o777, "/tmp/hub-test-outside", 0}, {"f", tar.TypeReg, 0o644, "y", 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := b.Import(ctx(t), writeTar(t, entries...), "bad", nil); err == nil {
				t.Error("it was imported")
			}
			for _, p := range []string{outside, "/tmp/hub-test-outside", "/hub-test-outside"} {
				if _, err := os.Lstat(p); !errors.Is(err, os.ErrNotExist) {
					t.Errorf("%s is there", p)
					os.Remove(p)
				}
			}
			left, err := os.ReadDir(filepath.Join(state, ".images"))
			if err != nil || len(left) != 0 {
				t.Errorf("left: %v, %v", left, err)
			}
		})
	}
	whole := writeTar(t, rootEntries(t)...)
	raw, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	for name, bytes := range map[string][]byte{"cut off": raw[:len(raw)/2], "garbage": []byte(strings.Repeat("garbage ", 1000))} {
		path := filepath.Join(t.TempDir(), "x.tar")
		if err := os.WriteFile(path, bytes, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.Import(ctx(t), path, "bad", nil); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.Import(ctx(t), filepath.Join(t.TempDir(), "none"), "bad", nil); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("%v", err)
	}
	for _, bad := range []sandbox.Image{"", "../x", "A", "a/b", "-a", ".new-1"} {
		if err := b.Import(ctx(t), whole, bad, nil); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	cancelled, cancel := context.WithCancel(ctx(t))
	err = b.Import(cancelled, whole, "half", func(float64) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if names := imageNames(t, b); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
}

func TestCommitAndWhoUsesWhat(t *testing.T) {
	b, state := imported(t)
	var told []float64
	if err := b.Import(ctx(t), "not even read", "base", func(f float64) { told = append(told, f) }); err != nil {
		t.Errorf("a name that is there: %v", err)
	}
	id := start(t, b, sandbox.Spec{ID: "b", Image: "base", Build: true})
	must(t, b, id, "echo made > /made; rm -r /home/claude /workspace 2>/dev/null; rm -rf /var; ln -s /etc /var; chmod 000 /srv; touch /tmp/left; head -c 5000000 /dev/urandom > /own")
	if err := b.Commit(ctx(t), id, "made"); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("while it runs: %v", err)
	}
	if err := b.Stop(ctx(t), id, time.Second); err != nil {
		t.Fatal(err)
	}
	// A build that was stopped goes on with what it had.
	start(t, b, sandbox.Spec{ID: "b", Image: "base", Build: true})
	if got := must(t, b, id, "cat /made; echo again >> /made; ls /tmp"); got != "made\nleft" {
		t.Errorf("got %q", got)
	}
	if s, err := b.Stats(ctx(t), id); err != nil || s.DiskBytes < 5000000 || s.Processes == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.Stop(ctx(t), id, time.Second); err != nil {
		t.Fatal(err)
	}
	if s, err := b.Stats(ctx(t), id); err != nil || s.DiskBytes < 5000000 || s.Processes != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := b.Commit(ctx(t), id, "made"); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(ctx(t), id, "made"); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := b.Commit(ctx(t), id, "other"); claudehub.CodeOf(err) != claudehub.Conflict {
		t.Errorf("a build without a system: %v", err)
	}
	if err := b.Remove(ctx(t), id); err != nil {
		t.Fatal(err)
	}
	if got := imageNames(t, b); !slices.Equal(got, []sandbox.Image{"base", "made"}) {
		t.Errorf("got %v", got)
	}
	all, err := b.Images(ctx(t))
	if err != nil || all[1].Bytes < 5000000 || all[1].Bytes > all[0].Bytes/2+5000000+1<<20 {
		t.Errorf("what is the same is not shared: %+v, %v", all, err)
	}
	start(t, b, sandbox.Spec{ID: "s", Image: "made"})
	if got := must(t, b, "s", "cat /made; ls -A /tmp /workspace /var /home/claude | tr -d '\\n'"); got != "made\nagain\n/home/claude:/tmp:/var:tmp/workspace:" {
		t.Errorf("got %q", got)
	}
	for range 2 { // while it runs, and when it is stopped
		if err := b.RemoveImage(ctx(t), "made"); claudehub.CodeOf(err) != claudehub.Conflict {
			t.Errorf("%v", err)
		}
		if err := b.Stop(ctx(t), "s", 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.RemoveImage(ctx(t), "base"); err != nil {
		t.Errorf("%v", err)
	}
	start(t, b, sandbox.Spec{ID: "s", Image: "made"})
	if got := must(t, b, "s", "head -c 4 /large; cat /made"); got != "0123made\nagain" {
		t.Errorf("got %q", got)
	}
	if err := b.Remove(ctx(t), "s"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.RemoveImage(ctx(t), "made"), b.RemoveImage(ctx(t), "made")); err != nil {
		t.Fatal(err)
	}
	if err := b.Start(ctx(t), sandbox.Spec{ID: "s", Image: "made"}); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Join(state, ".images")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if infos, err := b.List(ctx(t)); err != nil || len(infos) != 0 {
		t.Errorf("left: %v, %v", infos, err)
	}
}

func TestReclaimRemovesWhatIsHalf(t *testing.T) {
	b, state := imported(t)
	for _, name := range []string{".new-123", ".old-123"} {
		dir := filepath.Join(state, ".images", name, "root", "locked")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f"), make([]byte, 1<<20), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0); err != nil {
			t.Fatal(err)
		}
	}
	if freed, err := b.Reclaim(ctx(t)); err != nil || freed < 2<<20 {
		t.Errorf("%d, %v", freed, err)
	}
	if got := imageNames(t, b); !slices.Equal(got, []sandbox.Image{"base"}) {
		t.Errorf("got %v", got)
	}
	if freed, err := b.Reclaim(ctx(t)); err != nil || freed != 0 {
		t.Errorf("%d, %v", freed, err)
	}
}

func TestPoliciesAndBuildsThatAreRefused(t *testing.T) {
	b, _ := imported(t)
	for name, spec := range map[string]sandbox.Spec{
		"internet":      {Network: sandbox.Network{Policy: claudehub.NetworkInternet}},
		"allow-list":    {Network: sandbox.Network{Policy: claudehub.NetworkAllowList, Allow: []string{"example.org"}}},
		"relay socket":  {Relay: sandbox.Relay{Socket: "/run/x"}},
		"no base":       {Build: true},
		"bad image":     {Image: "../base"},
		"negative CPUs": {Limits: sandbox.Limits{CPUs: -1}},
	} {
		spec.ID = "x"
		if err := b.Start(ctx(t), spec); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if infos, err := b.List(ctx(t)); err != nil || len(infos) != 0 {
		t.Errorf("left: %v, %v", infos, err)
	}
}

func TestPingDialAndRelay(t *testing.T) {
	b, state := imported(t)
	id := start(t, b, sandbox.Spec{Image: "base", Relay: sandbox.Relay{Port: 4321}, Network: sandbox.Network{Policy: claudehub.NetworkOpen}, Mounts: []sandbox.Mount{helper(t)}})
	if err := b.Ping(ctx(t), id); err != nil {
		t.Error(err)
	}
	if url, err := b.RelayURL(ctx(t), id); err != nil || url != "http://127.0.0.1:4321" {
		t.Errorf("%q, %v", url, err)
	}
	for _, network := range []string{"127.0.0.1:0", "[::1]:0"} {
		ln, err := net.Listen("tcp", network)
		if err != nil {
			t.Fatal(err)
		}
		port := uint16(ln.Addr().(*net.TCPAddr).Port)
		conn, err := b.Dial(ctx(t), id, port)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		ln.Close()
		if _, err := b.Dial(ctx(t), id, port); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("%v", err)
		}
	}
	if err := b.Stop(ctx(t), id, 0); err != nil {
		t.Fatal(err)
	}
	for _, id := range []sandbox.ID{id, "none", "../x"} {
		if err := b.Ping(ctx(t), id); err == nil {
			t.Errorf("%q answers", id)
		}
		if _, err := b.Dial(ctx(t), id, 80); err == nil {
			t.Errorf("%q answers", id)
		}
	}
	if _, err := b.RelayURL(ctx(t), "none"); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("%v", err)
	}
	slow, err := bubblewrap.New(bubblewrap.Options{State: state, Guest: guest, Answer: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	start(t, b, sandbox.Spec{ID: id})
	freeze(t, initOf(t, state, id))
	if err := slow.Ping(ctx(t), id); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("%v", err)
	}
	if err := syscall.Kill(initOf(t, state, id), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
}
