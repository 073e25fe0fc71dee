package secret_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"claude-hub/hub/secret"
	"claude-hub/internal/claudehub"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func keyset(t testing.TB) (string, *secret.Box) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyset.json")
	box, err := secret.Create(path)
	check(t, err)
	return path, box
}

var place = secret.Place{Owner: "per_1", Scope: "repo", Target: "example.org/a", Name: "NAME"}

func seal(t testing.TB, box *secret.Box, value string) []byte {
	t.Helper()
	sealed, err := box.Seal([]byte(value), place)
	check(t, err)
	return sealed
}

func opens(t testing.TB, box *secret.Box, sealed []byte, want string) {
	t.Helper()
	got, err := box.Open(sealed, place)
	if err != nil || string(got) != want {
		t.Errorf("opened %q, %v", got, err)
	}
}

func TestWhatIsSealedOpensInItsPlaceAlone(t *testing.T) {
	_, box := keyset(t)
	for _, value := range []string{"", "hunter2", strings.Repeat("long ", 20_000), "a\x00b"} {
		sealed := seal(t, box, value)
		if value != "" && bytes.Contains(sealed, []byte(value)) {
			t.Error("the value is in what was sealed")
		}
		opens(t, box, sealed, value)
		if again := seal(t, box, value); bytes.Equal(again, sealed) {
			t.Error("the same value is sealed to the same bytes")
		}
		for _, other := range []secret.Place{
			{}, {Owner: "per_2", Scope: "repo", Target: "example.org/a", Name: "NAME"}, {Owner: "per_1", Scope: "environment", Target: "example.org/a", Name: "NAME"},
			{Owner: "per_1", Scope: "repo", Target: "example.org/b", Name: "NAME"}, {Owner: "per_1", Scope: "repo", Target: "example.org/a", Name: "OTHER"},
			{Owner: "per_1r", Scope: "epo", Target: "example.org/a", Name: "NAME"}, // the same text, cut elsewhere
		} {
			if got, err := box.Open(sealed, other); err == nil {
				t.Errorf("in %+v it opens to %q", other, got)
			}
		}
		for i := range sealed {
			hurt := bytes.Clone(sealed)
			hurt[i] ^= 1
			if _, err := box.Open(hurt, place); err == nil {
				t.Fatalf("with a flipped bit in byte %d it opens", i)
			}
			if i > 60 {
				break
			}
		}
	}
}

func TestErrorsSayNothingOfValues(t *testing.T) {
	path, box := keyset(t)
	keys, err := os.ReadFile(path)
	check(t, err)
	_, other := keyset(t)
	_, err = other.Open(seal(t, box, "hunter2"), place)
	if claudehub.CodeOf(err) != claudehub.Unavailable || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("another keyset: %v", err)
	}
	// A damaged file may have whole keys in it.
	check(t, os.WriteFile(path, append([]byte("x"), keys...), 0o600))
	_, err = secret.Load(path)
	if claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(err.Error(), "damaged") || errors.Unwrap(err) != nil {
		t.Errorf("a damaged file: %v", err)
	}
	check(t, os.WriteFile(path, []byte("{}"), 0o600))
	if _, err := secret.Load(path); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("an empty file: %v", err)
	}
}

func TestTheFileIsForItsOwnerAlone(t *testing.T) {
	path, _ := keyset(t)
	info, err := os.Stat(path)
	check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("it is made with mode %v", info.Mode())
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o660, 0o644, 0o777} {
		check(t, os.Chmod(path, mode))
		_, err := secret.Load(path)
		if claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(claudehub.MessageOf(err), "chmod 600") {
			t.Errorf("mode %v: %v", mode, err)
		}
		if _, err := secret.Rotate(path); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("mode %v, rotated: %v", mode, err)
		}
	}
	check(t, os.Chmod(path, 0o400))
	if _, err := secret.Load(path); err != nil {
		t.Errorf("mode 0400: %v", err)
	}
	if _, err := secret.Load(filepath.Dir(path)); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("a folder: %v", err)
	}
	if _, err := secret.Load(path + ".none"); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("no file: %v", err)
	}
	if _, err := secret.Create(filepath.Join(path, "below")); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("below a file: %v", err)
	}
}

// Many processes may start at the same moment: they all get the one keyset that is there in the end.
func TestCreateNeverOverwrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keyset.json")
	boxes := make([]*secret.Box, 8)
	var wg sync.WaitGroup
	for i := range boxes {
		wg.Go(func() {
			var err error
			if boxes[i], err = secret.Create(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i, box := range boxes {
		opens(t, boxes[(i+1)%len(boxes)], seal(t, box, "x"), "x")
	}
	left, err := os.ReadDir(filepath.Dir(path))
	check(t, err)
	if len(left) != 1 {
		t.Errorf("%d files are left", len(left))
	}
}

func TestRotate(t *testing.T) {
	path, running := keyset(t)
	// What a rotation that was killed has left goes with the next.
	left := filepath.Join(filepath.Dir(path), ".keyset.json.next-123")
	check(t, os.WriteFile(left, []byte("x"), 0o600))
	t.Cleanup(func() {
		if _, err := os.Stat(left); err == nil {
			t.Error("a half rotation is left")
		}
	})
	old := seal(t, running, "old")
	first, err := os.ReadFile(path)
	check(t, err)
	rotated, err := secret.Rotate(path)
	check(t, err)
	opens(t, rotated, old, "old")
	// A process that runs meanwhile reads what was sealed with the new key, and seals with it from now on.
	opens(t, running, seal(t, rotated, "new"), "new")
	before := filepath.Join(t.TempDir(), "before.json")
	check(t, os.WriteFile(before, first, 0o600))
	stale, err := secret.Load(before)
	check(t, err)
	opens(t, stale, old, "old")
	if _, err := stale.Open(seal(t, running, "late"), place); err == nil {
		t.Error("the running process seals with the old key")
	}
	// The check tells the keysets apart.
	sealed, err := rotated.Check()
	check(t, err)
	if !running.IsOf(sealed) || stale.IsOf(sealed) || stale.IsOf(nil) {
		t.Error("the check does not tell the keysets apart")
	}
	// Through a link the file itself is replaced, and not the link.
	link := filepath.Join(t.TempDir(), "link.json")
	check(t, os.Symlink(path, link))
	if _, err := secret.Rotate(link); err != nil {
		t.Error(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v %v", info, err)
	}
	opens(t, running, old, "old")
}

// Rotations at the same moment, beside one that reads: no key is lost, and the file is whole at each look.
func TestRotateTogether(t *testing.T) {
	path, box := keyset(t)
	old := seal(t, box, "old")
	sealed := make([][]byte, 6)
	var wg sync.WaitGroup
	for i := range sealed {
		wg.Go(func() {
			b, err := secret.Rotate(path)
			if err != nil {
				t.Error(err)
				return
			}
			if sealed[i], err = b.Seal([]byte("x"), place); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			b, err := secret.Load(path)
			if err != nil {
				t.Error(err)
				return
			}
			opens(t, b, old, "old")
		})
	}
	wg.Wait()
	last, err := secret.Load(path)
	check(t, err)
	for _, s := range sealed {
		opens(t, last, s, "x")
	}
	opens(t, box, old, "old")
}

// The file that cannot be read any more is no reason to do without the keys that are known.
func TestARunningProcessGoesOnWithoutTheFile(t *testing.T) {
	path, box := keyset(t)
	old := seal(t, box, "old")
	check(t, os.Remove(path))
	opens(t, box, old, "old")
	opens(t, box, seal(t, box, "new"), "new")
	check(t, os.WriteFile(path, []byte("{"), 0o600))
	opens(t, box, seal(t, box, "new"), "new")
}
