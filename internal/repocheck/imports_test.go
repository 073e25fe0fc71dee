package repocheck_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "claude-hub/"

// houses are the two programs and what they share. A room imports rooms below it in its own list, and those of internal
// nouns; never a room above, and never the other house: the Hub and the Runner meet on the wire alone.
var houses = [][]string{
	{"hub/cmd/claude-hub", "client/cli", "client", "hub", "hub/web", "hub/screen", "hub/fleet", "hub/fleet/policy", "hub/devcontainer", "hub/github", "hub/store", "hub/secret", "hub/bus"},
	{
		"desktop/cmd/claude-hub-runner", "desktop/runner", "desktop/builder", "desktop/tmux", "desktop/claude", "desktop/mod",
		"desktop/keychain", "desktop/cmd/claude-hub-guest", "desktop/sandbox/microsandbox", "desktop/sandbox/bubblewrap", "desktop/sandbox/image",
		"desktop/sandbox/agent", "desktop/sandbox", "desktop/process",
	},
}

// nouns are for everybody, and import downwards too.
var nouns = []string{"internal/redact", "internal/wire", "internal/claudehub"}

// testRooms may import anything and are imported by tests and by their own programs only.
var testRooms = []string{
	"internal/promises", "internal/rig", "internal/runnertest", "internal/standin", "internal/cmd", "internal/promises", "internal/repocheck",
	"hub/store/storetest", "desktop/claude/claudetest",
}

type pkg struct {
	ImportPath, Dir, Doc string
	Imports              []string
}

func (p pkg) room() string { return strings.TrimPrefix(p.ImportPath, module) }

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Dir,Doc,Imports", module+"...").Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	if len(all) < 10 {
		t.Fatalf("go list found %d packages", len(all))
	}
	return all
}

func TestImportsRunOneWay(t *testing.T) {
	for _, p := range packages(t) {
		if inTestRoom(p.room()) {
			continue
		}
		list, at := place(p.room())
		if at < 0 {
			t.Errorf("%s stands in no list of this test: give it its place", p.room())
			continue
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, module)
			if ours && !allowed(list, at, to) {
				t.Errorf("%s imports %s, which is above it, in the other house, or for tests", p.room(), to)
			}
		}
	}
}

func place(room string) (list []string, at int) {
	for _, list := range append(houses, nouns) {
		if i := slices.Index(list, room); i >= 0 {
			return list, i
		}
	}
	return nil, -1
}

func allowed(list []string, at int, to string) bool {
	if i := slices.Index(list, to); i >= 0 {
		return i > at
	}
	return slices.Contains(nouns, to) && !slices.Equal(list, nouns)
}

func inTestRoom(room string) bool {
	return slices.ContainsFunc(testRooms, func(r string) bool { return room == r || strings.HasPrefix(room, r+"/") })
}

// TestTheCheckBites gives the rule what it must refuse.
func TestTheCheckBites(t *testing.T) {
	for _, c := range []struct {
		from, to string
		want     bool
	}{
		{"hub/web", "hub/fleet", true},
		{"hub/fleet", "hub/web", false},
		{"hub/fleet", "desktop/runner", false},
		{"desktop/runner", "hub/store", false},
		{"desktop/runner", "internal/wire", true},
		{"internal/claudehub", "internal/wire", false},
		{"internal/wire", "internal/claudehub", true},
		{"hub/store", "internal/rig", false},
	} {
		list, at := place(c.from)
		if got := allowed(list, at, c.to); got != c.want {
			t.Errorf("%s → %s: allowed is %t, want %t", c.from, c.to, got, c.want)
		}
	}
}

func TestEveryRoomHasOnePackageDoc(t *testing.T) {
	for _, p := range packages(t) {
		want := "Package "
		if strings.Contains(p.room(), "cmd/") {
			want = "Command "
		}
		if !strings.HasPrefix(p.Doc, want) {
			t.Errorf("%s: its package doc is %q; it starts with %q and says what is promised", p.room(), p.Doc, want)
		}
	}
}

func readmeLists(readme []byte, room string) bool {
	lines := bufio.NewScanner(bytes.NewReader(readme))
	for lines.Scan() {
		if strings.Contains(lines.Text(), "`"+room+"`") {
			return true
		}
	}
	return false
}
