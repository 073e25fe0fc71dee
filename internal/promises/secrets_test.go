//go:build linux

package promises_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"claude-hub/internal/rig"
)

func only(r *rig.Rig, what string) map[string]string {
	return map[string]string{what: r.Secrets()[what]}
}

// TestSetupTokenNeverLeaves is promise 4: after Turns, a sleep and a wake, the setup token is in the keychain's file and
// in the environment of processes in the Sandbox, and nowhere else on the machine that is ours.
func TestSetupTokenNeverLeaves(t *testing.T) {
	s := theScene(t)
	token := only(s.Rig, "setup token")
	t.Run("disk", func(t *testing.T) {
		kept := map[string][]string{}
		eachFile(t, s.Home, func(path string, mode fs.FileMode, b []byte) {
			for _, what := range find(b, s.Secrets()) {
				kept[what] = append(kept[what], strings.TrimPrefix(path, s.Home+"/"))
				if mode.Perm() != 0o600 {
					t.Errorf("%s has mode %o", path, mode.Perm())
				}
			}
		})
		// The keychain's own files, on a machine without one.
		want := map[string][]string{"setup token": {"r/keys/setup-token"}, "Runner token": {"r/keys/runner-token"}}
		if diff := cmp.Diff(want, kept); diff != "" {
			t.Errorf("credentials on disk (-want +got):\n%s", diff)
		}
	})
	t.Run("arguments", func(t *testing.T) {
		eachProcess(t, "cmdline", func(pid string, b []byte) {
			if len(find(b, token)) > 0 {
				t.Errorf("process %s has it among its arguments", pid)
			}
		})
	})
	t.Run("environments", func(t *testing.T) {
		own, err := os.Readlink("/proc/self/ns/pid")
		if err != nil {
			t.Fatal(err)
		}
		inside := 0
		eachProcess(t, "environ", func(pid string, b []byte) {
			if len(find(b, token)) == 0 {
				return
			}
			ns, err := os.Readlink(filepath.Join("/proc", pid, "ns/pid"))
			if err == nil && ns == own {
				t.Errorf("process %s, in no Sandbox, has it in its environment", pid)
			}
			inside++
		})
		if inside == 0 {
			t.Error("Claude does not have it: the search does not see")
		}
	})
	t.Run("the Hub's memory", func(t *testing.T) {
		found, err := searchMemory(s.HubPID(), map[string]string{"setup token": token["setup token"], "title": title})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(found, "setup token") {
			t.Error("the Hub has it in its memory")
		}
		if !slices.Contains(found, "title") {
			t.Error("the search does not see what the Hub must know")
		}
	})
	t.Run("the wire", func(t *testing.T) {
		said := s.wire.bytes()
		if len(find(said, token)) > 0 {
			t.Error("it passed between Runner and Hub")
		}
		if len(find(said, only(s.Rig, "Runner token"))) == 0 || len(find(said, map[string]string{"t": title})) == 0 {
			t.Error("the recorder does not see what must pass")
		}
	})
	t.Run("tmux's messages", func(t *testing.T) {
		said := s.inSandbox(t, `for s in /tmp/claude-hub-*; do tmux -S "$s" show-messages; tmux -S "$s" list-buffers; tmux -S "$s" capture-pane -p -S -; done`)
		if len(find(said, token)) > 0 {
			t.Errorf("tmux shows it")
		}
		if !strings.Contains(string(said), inTheBox) {
			t.Errorf("tmux shows nothing of the Session: %s", said)
		}
	})
}

// TestTokensAreHashedAtRest is promise 7, of the Hub's folder.
func TestTokensAreHashedAtRest(t *testing.T) {
	s := theScene(t)
	secrets := s.Secrets()
	if len(secrets) < 5 {
		t.Fatalf("%d secrets are known", len(secrets))
	}
	known := false
	eachFile(t, filepath.Join(s.Home, "hub"), func(path string, mode fs.FileMode, b []byte) {
		if found := find(b, secrets); len(found) > 0 {
			t.Errorf("%s has in clear: %v", path, found)
		}
		if mode.Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %o", path, mode.Perm())
		}
		known = known || strings.Contains(string(b), title)
	})
	if !known {
		t.Error("the search does not see what the Hub must have stored")
	}
}

// TestNoSecretInLogs: at the level that says most, of a whole run, no program's log has a credential.
func TestNoSecretInLogs(t *testing.T) {
	s := theScene(t)
	for _, name := range []string{"hub", "runner", "stand-in"} {
		b, err := os.ReadFile(filepath.Join(s.Home, name+".log"))
		if err != nil {
			t.Fatal(err)
		}
		if found := find(b, s.Secrets()); len(found) > 0 {
			t.Errorf("the %s's log has: %v", name, found)
		}
		if name != "stand-in" && !strings.Contains(string(b), `DEBUG`) {
			t.Errorf("the %s did not log at the level that says most", name)
		}
	}
}
