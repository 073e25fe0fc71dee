package hub

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"claude-hub/hub/fleet"
	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/hub/store/storetest"
	"claude-hub/internal/claudehub"
)

// hubOn is a Hub's inner parts on a database and a keyset, and its person.
type hubOn struct {
	t     *testing.T
	cfg   Store
	parts *parts
	fleet *fleet.Fleet
	me    claudehub.PersonID
}

func openOn(t *testing.T, cfg Store) (*hubOn, error) {
	t.Helper()
	p, err := openParts(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	box, err := openKeyset(t.Context(), cfg.keyset(), p.store, p.log)
	if err != nil {
		return nil, err
	}
	h := &hubOn{t: t, cfg: cfg, parts: p, fleet: p.withSecrets(box)}
	person, err := h.fleet.LocalPerson(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h.me = person.ID
	return h, nil
}

func mustOpen(t *testing.T, cfg Store) *hubOn {
	t.Helper()
	h, err := openOn(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

const repo = "example.org/owner/app"

func (h *hubOn) set(name, value string) {
	h.t.Helper()
	if _, err := h.fleet.SetRepoVariable(h.t.Context(), h.me, repo, name, value, false); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hubOn) want(values map[string]string) {
	h.t.Helper()
	all, err := h.fleet.RepoVariables(h.t.Context(), h.me, repo)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, v := range all {
		if v.Value != values[v.Name] {
			h.t.Errorf("%s is %q instead of %q", v.Name, v.Value, values[v.Name])
		}
	}
	if len(all) != len(values) {
		h.t.Errorf("%d Variables instead of %d", len(all), len(values))
	}
}

func eachConfig(t *testing.T, test func(t *testing.T, cfg Store)) {
	t.Run("sqlite", func(t *testing.T) { test(t, Store{Data: t.TempDir()}) })
	t.Run("postgres", func(t *testing.T) { test(t, Store{Data: t.TempDir(), Database: storetest.PostgresDSN(t)}) })
}

func refusedKeyset(t *testing.T, cfg Store, words ...string) {
	t.Helper()
	before, _ := os.ReadFile(cfg.keyset())
	_, err := openOn(t, cfg)
	if claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("the error is %v", err)
	}
	for _, w := range words {
		if !strings.Contains(claudehub.MessageOf(err), w) {
			t.Errorf("no %q in %q", w, claudehub.MessageOf(err))
		}
	}
	if after, _ := os.ReadFile(cfg.keyset()); string(after) != string(before) {
		t.Error("the keyset file was changed")
	}
}

func TestOnlyTheRightKeysetWillDo(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Store) {
		h := mustOpen(t, cfg)
		h.set("NAME", "value")
		right, err := os.ReadFile(cfg.keyset())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(cfg.keyset()); err != nil {
			t.Fatal(err)
		}
		refusedKeyset(t, cfg, "is missing", "backup", "--keyset", "keyset reset")
		if _, err := os.Stat(cfg.keyset()); err == nil {
			t.Error("another keyset was made")
		}
		if _, err := secret.Create(cfg.keyset()); err != nil {
			t.Fatal(err)
		}
		refusedKeyset(t, cfg, "is not the one", "Nothing was changed")
		if err := os.WriteFile(cfg.keyset(), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		refusedKeyset(t, cfg, "damaged", "backup")
		if err := os.WriteFile(cfg.keyset(), right, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(cfg.keyset(), 0o644); err != nil {
			t.Fatal(err)
		}
		refusedKeyset(t, cfg, "open to others", "chmod 600")
		elsewhere := cfg
		elsewhere.Keyset = filepath.Join(t.TempDir(), "keys.json")
		if err := os.WriteFile(elsewhere.Keyset, right, 0o600); err != nil {
			t.Fatal(err)
		}
		mustOpen(t, elsewhere).want(map[string]string{"NAME": "value"})
	})
}

func TestRotateKeyset(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Store) {
		running := mustOpen(t, cfg)
		want := map[string]string{}
		for i := range 20 {
			name, value := fmt.Sprint("N", i), strings.Repeat("v", 100*i)
			running.set(name, value)
			want[name] = value
		}
		old, err := os.ReadFile(cfg.keyset())
		if err != nil {
			t.Fatal(err)
		}
		admin, err := OpenAdmin(t.Context(), cfg, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer admin.Close()
		// Interrupted after the file and before the rows, and repeated.
		if _, err := secret.Rotate(cfg.keyset()); err != nil {
			t.Fatal(err)
		}
		running.want(want)
		mustOpen(t, cfg).want(want)
		for range 2 {
			n, err := admin.RotateKeyset(t.Context())
			if err != nil || n != len(want) {
				t.Fatalf("%d Variables are sealed anew, %v", n, err)
			}
			running.want(want)
			running.set("LATER", "x")
			want["LATER"] = "x"
		}
		mustOpen(t, cfg).want(want)
		// The keyset from before opens nothing of it, and is refused.
		stale := cfg
		stale.Keyset = filepath.Join(t.TempDir(), "old.json")
		if err := os.WriteFile(stale.Keyset, old, 0o600); err != nil {
			t.Fatal(err)
		}
		refusedKeyset(t, stale, "is not the one")
	})
}

// A rotation whose transaction fails leaves every row as it was, and all of it opens.
func TestRotateKeysetIsWholeOrAbsent(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Store) {
		h := mustOpen(t, cfg)
		h.set("A", "a")
		h.set("B", "b")
		// A row that no key opens, as a damaged database may have.
		broken := store.Variable{Owner: h.me, Scope: store.ScopeRepo, Target: "example.org/z", Sealed: []byte("broken"), Revision: "r",
			Variable: claudehub.Variable{Name: "C", By: h.me}}
		put := func(ctx context.Context, fn func(store.Q) error) {
			if err := h.parts.store.Write(ctx, fn); err != nil {
				t.Fatal(err)
			}
		}
		put(t.Context(), func(q store.Q) error { return q.PutVariable(t.Context(), broken) })
		before, err := h.parts.store.Read().AllVariables(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		admin := &Admin{cfg: cfg, parts: h.parts}
		if _, err := admin.RotateKeyset(t.Context()); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("the error is %v", err)
		}
		after, err := h.parts.store.Read().AllVariables(t.Context())
		if err != nil || len(after) != len(before) {
			t.Fatal(err, len(after))
		}
		for i := range after {
			if string(after[i].Sealed) != string(before[i].Sealed) {
				t.Errorf("%s was sealed anew", after[i].Name)
			}
		}
		mustOpen(t, cfg).want(map[string]string{"A": "a", "B": "b"})
	})
}

func TestResetKeysetStartsAnew(t *testing.T) {
	eachConfig(t, func(t *testing.T, cfg Store) {
		h := mustOpen(t, cfg)
		h.set("A", "a")
		if err := os.Remove(cfg.keyset()); err != nil {
			t.Fatal(err)
		}
		refusedKeyset(t, cfg, "is missing")
		admin := &Admin{cfg: cfg, parts: h.parts}
		if n, err := admin.ResetKeyset(t.Context()); n != 1 || err != nil {
			t.Errorf("%d Variables are deleted, %v", n, err)
		}
		h = mustOpen(t, cfg)
		h.want(nil)
		h.set("A", "anew")
		mustOpen(t, cfg).want(map[string]string{"A": "anew"})
	})
}

const rotateEnv = "HUB_TEST_ROTATE"

// TestKilledRotation kills a process in the middle of its rotations, several times, beside a Hub that writes: whatever is
// left, every Variable opens, for the Hub that runs and for one that starts.
func TestKilledRotation(t *testing.T) {
	if data := os.Getenv(rotateEnv); data != "" {
		rotateUntilKilled(t, Store{Data: data, Database: os.Getenv(rotateEnv + "_DATABASE")})
		return
	}
	eachConfig(t, func(t *testing.T, cfg Store) {
		running := mustOpen(t, cfg)
		want := map[string]string{}
		for round := range 4 {
			for i := range 10 {
				name := fmt.Sprint("R", round, "N", i)
				want[name] = strings.Repeat(name, 50)
				running.set(name, want[name])
			}
			rotateAndKill(t, cfg, 1+2*round, func() {
				running.set("MEANWHILE", fmt.Sprint(round))
				want["MEANWHILE"] = fmt.Sprint(round)
			})
			running.want(want)
			mustOpen(t, cfg).want(want)
		}
	})
}

// rotateAndKill kills the child after it has said so many lines, somewhere in its next rotation.
func rotateAndKill(t *testing.T, cfg Store, lines int, meanwhile func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilledRotation$")
	cmd.Env = append(os.Environ(), rotateEnv+"="+cfg.Data, rotateEnv+"_DATABASE="+cfg.Database)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	scan := bufio.NewScanner(out)
	for n := 0; scan.Scan(); n++ {
		if scan.Text() != "rotated" {
			t.Errorf("the child said %q", scan.Text())
		}
		if n == 0 {
			meanwhile()
		}
		if n+1 == lines {
			_ = cmd.Process.Kill()
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the child ended with %v", err)
	}
}

func rotateUntilKilled(t *testing.T, cfg Store) {
	admin, err := OpenAdmin(context.Background(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := admin.RotateKeyset(context.Background()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("rotated")
	}
}
