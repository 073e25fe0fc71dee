package keychain_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/keychain"
	"claude-hub/internal/claudehub"
)

// inBus marks this test binary, run again below a session bus of its own.
const inBus = "CLAUDE_HUB_TEST_IN_BUS"

func noBus(t *testing.T) {
	t.Helper()
	t.Setenv("DBUS_SESSION_BUS_ADDRESS", "")
	t.Setenv("XDG_RUNTIME_DIR", "")
}

func open(t *testing.T, o keychain.Options) *keychain.Store {
	t.Helper()
	s, err := keychain.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// roundTrip is what every kind of place must do.
func roundTrip(t *testing.T, o keychain.Options) {
	t.Helper()
	ctx := t.Context()
	s := open(t, o)
	get := func(name, want string) {
		t.Helper()
		got, err := open(t, o).Get(ctx, name)
		if err != nil || got != want {
			t.Errorf("Get(%s) = %d bytes, %v; want %d bytes", name, len(got), err, len(want))
		}
	}
	set := func(name, value string) {
		t.Helper()
		if err := s.Set(ctx, name, value); err != nil {
			t.Fatal(err)
		}
	}
	get("setup-token", "")
	set("setup-token", "first test value")
	set("runner-token", "another test value")
	set("setup-token", "second\x00test value é")
	get("setup-token", "second\x00test value é")
	get("runner-token", "another test value")
	if err := s.Delete(ctx, "setup-token"); err != nil {
		t.Error(err)
	}
	if err := s.Delete(ctx, "setup-token"); err != nil {
		t.Errorf("the second time: %v", err)
	}
	get("setup-token", "")
	get("runner-token", "another test value")
	for _, bad := range []string{"", "../up", "UPPER", "a/b", strings.Repeat("x", 100)} {
		if err := s.Set(ctx, bad, "v"); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("Set(%q): %v", bad, err)
		}
	}
}

func TestFiles(t *testing.T) {
	noBus(t)
	o := keychain.Options{Dir: filepath.Join(t.TempDir(), "keys")}
	roundTrip(t, o)
	err := filepath.Walk(o.Dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestFilesThatOthersCanReachAreRefused(t *testing.T) {
	noBus(t)
	for name, spoil := range map[string]func(path string) error{
		"readable": func(path string) error { return os.Chmod(path, 0o644) },
		"link": func(path string) error {
			if err := os.Rename(path, path+"-real"); err != nil {
				return err
			}
			return os.Symlink(path+"-real", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := keychain.Options{Dir: filepath.Join(t.TempDir(), "keys")}
			s := open(t, o)
			if err := s.Set(t.Context(), "setup-token", "test-value-not-to-be-shown"); err != nil {
				t.Fatal(err)
			}
			if err := spoil(filepath.Join(o.Dir, "setup-token")); err != nil {
				t.Fatal(err)
			}
			_, err := s.Get(t.Context(), "setup-token")
			if claudehub.CodeOf(err) != claudehub.Invalid {
				t.Errorf("Get: %v", err)
			}
			if err != nil && strings.Contains(err.Error(), "not-to-be-shown") {
				t.Error("the error holds the secret")
			}
		})
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := keychain.Open(t.Context(), keychain.Options{Dir: dir}); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("a folder that others can read: %v", err)
	}
}

// TestSecretService runs this binary again below a real bus with a real GNOME Keyring.
func TestSecretService(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"run", ".local/share/keyrings"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	script := `printf test-password | gnome-keyring-daemon --unlock --components=secrets >/dev/null && "$0" -test.run '^TestInBus$' -test.v`
	cmd := exec.CommandContext(ctx, "dbus-run-session", "--", "bash", "-c", script, os.Args[0])
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_DATA_HOME=" + home + "/.local/share",
		"XDG_RUNTIME_DIR=" + home + "/run", inBus + "=" + home,
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), "--- PASS: TestInBus") {
		t.Fatalf("%v\n%s", err, out.String())
	}
	// The value is nowhere in clear.
	grep := exec.CommandContext(ctx, "grep", "-r", "another test value", home)
	if found, err := grep.CombinedOutput(); err == nil {
		t.Errorf("a secret is on the disk in clear: %s", found)
	}
}

// TestInBus is TestSecretService's other half. By itself it says so and does nothing: there is no bus to test.
func TestInBus(t *testing.T) {
	home := os.Getenv(inBus)
	if home == "" {
		return
	}
	defer killKeyring(t)
	o := keychain.Options{Dir: filepath.Join(home, "keys"), Scope: "one"}
	roundTrip(t, o)
	if where := open(t, o).Where(); !strings.Contains(where, "keychain") {
		t.Errorf("secrets are kept in %s", where)
	}
	// Another Runner of the same person has secrets of its own.
	other := open(t, keychain.Options{Dir: filepath.Join(home, "keys2"), Scope: "two"})
	if got, err := other.Get(t.Context(), "runner-token"); err != nil || got != "" {
		t.Errorf("another scope: %d bytes, %v", len(got), err)
	}
	// Without the desktop it is said, and not looked for elsewhere.
	noBus(t)
	if _, err := keychain.Open(t.Context(), o); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("without a bus: %v", err)
	}
}

// killKeyring ends the daemon, which outlives its bus.
func killKeyring(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "busctl", "--address="+os.Getenv("DBUS_SESSION_BUS_ADDRESS"), "status", "org.freedesktop.secrets").Output()
	if err != nil {
		return // it is found by its bus's end
	}
	for line := range strings.Lines(string(out)) {
		if pid, ok := strings.CutPrefix(strings.TrimSpace(line), "PID="); ok {
			if err := exec.CommandContext(t.Context(), "kill", pid).Run(); err != nil {
				t.Log(fmt.Errorf("end the keyring: %w", err))
			}
		}
	}
}
