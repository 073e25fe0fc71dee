package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"claude-hub/internal/wire"
)

func repository(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

const devcontainerJSON = `{
	// a comment with "./not-a-name"
	"image": "debian:bookworm", /* and "./another" */
	"features": { "./tools": {}, "./../../etc": {}, "ghcr.example/x/y:1": {}, },
	"postCreateCommand": "./post.sh",
}`

func TestDevcontainerIsRead(t *testing.T) {
	dir := repository(t, map[string]string{
		".devcontainer/devcontainer.json":               devcontainerJSON,
		".devcontainer/tools/install.sh":                "apt-get install -y jq",
		".devcontainer/tools/devcontainer-feature.json": `{"id":"tools"}`,
		".devcontainer/post.sh":                         "make deps",
		".devcontainer/other/devcontainer.json":         "{}",
		"not-a-name":                                    "x",
	})
	d, err := readDevcontainer(dir)
	must(t, err)
	if d == nil || d.Path != ".devcontainer/devcontainer.json" || d.JSON != devcontainerJSON {
		t.Fatalf("%+v", d)
	}
	want := map[string]string{"tools/install.sh": "apt-get install -y jq", "tools/devcontainer-feature.json": `{"id":"tools"}`, "post.sh": "make deps"}
	if len(d.Files) != len(want) {
		t.Errorf("files %v", d.Files)
	}
	for name, text := range want {
		if d.Files[name] != text {
			t.Errorf("%s is %q", name, d.Files[name])
		}
	}
}

// TestDevcontainerOfAStranger: links, pipes and huge files are passed over, and none is waited for.
func TestDevcontainerOfAStranger(t *testing.T) {
	outside := repository(t, map[string]string{"secret": "secret", "devcontainer.json": "{}", "d/install.sh": "secret"})
	dir := repository(t, map[string]string{
		".devcontainer/b/devcontainer.json": `{"features": {"./linked": {}, "./pipe": {}, "./large": {}, "./folder": {}, "./binary": {}}}`,
		".devcontainer/b/large":             strings.Repeat("x", wire.MaxDevcontainerFile+1),
		".devcontainer/b/binary":            "a\x00b",
	})
	must(t, os.Symlink(filepath.Join(outside, "devcontainer.json"), filepath.Join(dir, ".devcontainer", "devcontainer.json")))
	must(t, os.Symlink("../../.devcontainer/b/devcontainer.json", filepath.Join(dir, ".devcontainer.json")))
	must(t, os.Symlink(outside, filepath.Join(dir, ".devcontainer", "a")))
	must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(dir, ".devcontainer", "b", "linked")))
	must(t, os.Symlink(filepath.Join(outside, "d"), filepath.Join(dir, ".devcontainer", "b", "folder")))
	must(t, unix.Mkfifo(filepath.Join(dir, ".devcontainer", "b", "pipe"), 0o600))
	d, err := readDevcontainer(dir)
	must(t, err)
	if d == nil || d.Path != ".devcontainer/b/devcontainer.json" || len(d.Files) != 0 {
		t.Errorf("%+v", d)
	}
	if d, err := readDevcontainer(t.TempDir()); err != nil || d != nil {
		t.Errorf("of an empty workspace: %+v, %v", d, err)
	}
}

func FuzzNamedFiles(f *testing.F) {
	f.Add(devcontainerJSON)
	f.Add(`"./a/../../b" "./" "/* \" */ // "`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range namedFiles(text) {
			if !filepath.IsLocal(name) {
				t.Errorf("%q leads outside", name)
			}
		}
	})
}

// TestDevcontainerIsToldOnce: the same content is told once, another again.
func TestDevcontainerIsToldOnce(t *testing.T) {
	s := testSession(t, wire.DesiredSession{})
	file := filepath.Join(s.volume("workspace"), ".devcontainer.json")
	must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	for i, text := range []string{`{"image":"a"}`, `{"image":"a"}`, `{"image":"b"}`} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
		s.reportDevcontainer(t.Context())
		waiting, err := s.on.state.Waiting(t.Context())
		must(t, err)
		if want := []int{1, 1, 2}[i]; len(waiting) != want || waiting[0].Kind != wire.ReportDevcontainer {
			t.Errorf("round %d: %d events", i, len(waiting))
		}
	}
}
