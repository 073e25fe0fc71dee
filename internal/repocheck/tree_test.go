package repocheck_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

func tracked(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestReadmeListsEveryRoom(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		if !readmeLists(readme, p.room()) {
			t.Errorf("README.md does not list `%s`", p.room())
		}
	}
}

var named = regexp.MustCompile("`([a-z.][A-Za-z0-9_./-]*/[A-Za-z0-9_./-]*)`")

func TestPathsInReadmeExist(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, m := range named.FindAllStringSubmatch(string(readme), -1) {
		if strings.HasPrefix(m[1], "bin/") || strings.HasPrefix(m[1], "bench/") {
			continue // made by the build
		}
		seen++
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			t.Errorf("README.md names %s, which does not exist", m[1])
		}
	}
	if seen == 0 {
		t.Error("no path was found in README.md: the pattern is wrong")
	}
}

// hosts and folders that must not be in the tree, written so that this file does not hold them.
var foreign = regexp.MustCompile(`(registry\.` + `npmjs|proxy\.` + `golang|deb\.` + `debian|"resolved": *"http|(^|[^A-Za-z0-9])/(wo` + `rk/(main|shared)|ro` + `ot)/)`)

func TestNothingOfThisMachineIsInTheTree(t *testing.T) {
	for _, name := range tracked(t) {
		body, err := os.ReadFile(filepath.Join(root, name))
		if err != nil || bytes.IndexByte(body, 0) >= 0 {
			continue // deleted, or not text
		}
		if m := foreign.Find(body); m != nil {
			t.Errorf("%s holds %q", name, m)
		}
	}
}
