//go:build linux

package bubblewrap_test

import (
	"archive/tar"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is a user without any right on this machine.
const nobody = 65534

// TestAnOrdinaryUsersRunner does the whole round as a user who is not root. Run by root, it becomes one.
func TestAnOrdinaryUsersRunner(t *testing.T) {
	folder, cmd := ordinaryRunner(t)
	state, work := filepath.Join(folder, "s"), filepath.Join(folder, "w")
	script := `
		id -u; grep -E 'CapEff|CapBnd|NoNewPrivs|Seccomp:' /proc/self/status
		echo made > /workspace/f; stat -c %U /workspace/f /
		(echo x > /proc/sys/kernel/core_pattern) && echo WRITTEN
		cat /proc/1/environ && echo READ
		for i in $(seq 60); do sleep 30 & done; echo STARTED
	`
	cmd.Env = append(cmd.Env, "HUB_TEST_SCRIPT="+script, "HUB_TEST_WORKSPACE="+work, "HUB_TEST_PROCESSES=30")
	want := os.Getuid()
	if os.Getuid() == 0 {
		want = nobody
	}
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	out := string(raw)
	t.Log(out)
	for _, text := range []string{
		"1000\n", "CapEff:\t0000000000000000\n", "CapBnd:\t0000000000000000\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "claude\nclaude\n",
		"Cannot fork", "code 2 <nil>\n", // the limit of processes, without a cgroup
	} {
		if !strings.Contains(out, text) {
			t.Errorf("no %q", text)
		}
	}
	for _, text := range []string{"WRITTEN", "READ", "STARTED"} {
		if strings.Contains(out, text) {
			t.Errorf("%s", text)
		}
	}
	var st syscall.Stat_t
	if err := syscall.Stat(filepath.Join(work, "f"), &st); err != nil {
		t.Fatal(err)
	}
	if int(st.Uid) != want {
		t.Errorf("the file belongs to %d", st.Uid)
	}
	entries, err := os.ReadDir(state)
	if err != nil || len(entries) != 1 {
		t.Errorf("left: %v, %v", entries, err)
	}
	if found := traces(t); len(found) != 0 {
		t.Errorf("left: %q", found)
	}
}

// ordinaryRunner is a Runner, to be started, of a user who is not root, with folders s and w of its own. Run by root, it
// becomes one.
func ordinaryRunner(t *testing.T) (folder string, cmd *exec.Cmd) {
	t.Helper()
	folder = stateFolder(t)
	state, work := filepath.Join(folder, "s"), filepath.Join(folder, "w")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "helper")
	copyFile(t, self, program)
	for _, dir := range []string{state, work} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if os.Getuid() == 0 {
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd = runnerCommand(t, state)
	cmd.Path, cmd.Dir = program, "/"
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return folder, cmd
}

// TestAnOrdinaryUsersBuild: it has root alone, and what package managers give away stays root's without a complaint.
func TestAnOrdinaryUsersBuild(t *testing.T) {
	folder, cmd := ordinaryRunner(t)
	raw, err := os.ReadFile(writeTar(t, append(rootEntries(t), entry{"locked", tar.TypeDir, 0, "", 0}, entry{"locked/f", tar.TypeReg, 0, "x", 0})...))
	if err != nil {
		t.Fatal(err)
	}
	rootfs := filepath.Join(folder, "rootfs.tar")
	if err := os.WriteFile(rootfs, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	script := `
		id -u; grep -E 'CapEff|NoNewPrivs|Seccomp:' /proc/self/status
		touch /f && chown 33:44 /f && stat -c %u:%g /f && cat $APT_CONFIG
		echo x > /usr/bin/new && ls /usr/bin/new && cat /locked/f
		(echo x > /proc/sys/kernel/core_pattern) && echo WRITTEN
		ls ` + folder + ` && echo SEEN
		exit 0
	`
	cmd.Env = append(cmd.Env, "HUB_TEST_SCRIPT="+script, "HUB_TEST_ROOTFS="+rootfs)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, text := range []string{"0\n", "NoNewPrivs:\t1\n", "Seccomp:\t2\n", "0:0\nAPT::Sandbox::User \"root\";\n", "/usr/bin/new\nx", "code 0 <nil>\n"} {
		if !strings.Contains(string(out), text) {
			t.Errorf("no %q in %s", text, out)
		}
	}
	for _, text := range []string{"WRITTEN", "SEEN"} {
		if strings.Contains(string(out), text) {
			t.Errorf("%s", text)
		}
	}
	if found := traces(t); len(found) != 0 {
		t.Errorf("left: %q", found)
	}
}

func copyFile(t testing.TB, from, to string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(dst, src); err != nil {
		t.Fatal(err)
	}
	if err := dst.Close(); err != nil {
		t.Fatal(err)
	}
}
