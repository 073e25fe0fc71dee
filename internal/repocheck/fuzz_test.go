package repocheck_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A module with one target that holds, one that does not, and one that is not built on this platform.
var fuzzed = map[string]string{
	"go.mod":              "module x\n\ngo 1.26\n",
	"good/good.go":        "package good\n",
	"good/good_test.go":   "package good\n\nimport \"testing\"\n\nfunc FuzzHolds(f *testing.F) {\n\tf.Add(\"a\")\n\tf.Fuzz(func(t *testing.T, s string) {})\n}\n",
	"bad/bad.go":          "package bad\n",
	"bad/bad_test.go":     "package bad_test\n\nimport \"testing\"\n\nfunc FuzzBreaks(f *testing.F) {\n\tf.Add(1)\n\tf.Fuzz(func(t *testing.T, n int) {\n\t\tif n != 1 {\n\t\t\tt.Fatalf(\"broken by %d\", n)\n\t\t}\n\t})\n}\n",
	"other/other.go":      "package other\n",
	"other/other_test.go": "//go:build plan9\n\npackage other\n\nimport \"testing\"\n\nfunc FuzzElsewhere(f *testing.F) {}\n",
	"plain/plain.go":      "package plain\n",
	"plain/plain_test.go": "package plain\n\nimport \"testing\"\n\nfunc TestFuzz(t *testing.T) {}\n",
}

// TestFuzzFindsTheTargetsAndWhatBreaks: build/fuzz.sh runs what there is, and fails with what failed.
func TestFuzzFindsTheTargetsAndWhatBreaks(t *testing.T) {
	dir := t.TempDir()
	script, err := os.ReadFile(filepath.Join(root, "build/fuzz.sh"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"build/fuzz.sh": string(script)}
	for name, body := range fuzzed {
		files[name] = body
	}
	for name, body := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	run := func(env ...string) (string, int) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "build/fuzz.sh"))
		cmd.Env = append(os.Environ(), append(env, "GOFLAGS=")...)
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	for _, c := range []struct {
		env, says []string
		rc        int
	}{
		{[]string{"FUZZTIME=1s", "FUZZONLY=."}, []string{"ok   good FuzzHolds", "FAIL bad FuzzBreaks", "broken by", "bad/testdata/fuzz/FuzzBreaks/", "1 passed, 1 failed"}, 1},
		{[]string{"FUZZTIME=1s", "FUZZONLY=Holds"}, []string{"1 passed, 0 failed"}, 0},
		{[]string{"FUZZTIME=1s", "FUZZONLY=Nothing"}, []string{"no target"}, 1},
		{[]string{"FUZZTIME=0s", "FUZZONLY=."}, []string{"FUZZTIME is"}, 2},
	} {
		out, rc := run(c.env...)
		if rc != c.rc {
			t.Errorf("%v: it ended with %d, want %d: %s", c.env, rc, c.rc, out)
		}
		for _, s := range c.says {
			if !strings.Contains(out, s) {
				t.Errorf("%v: it does not say %q: %s", c.env, s, out)
			}
		}
		if strings.Contains(out, "Elsewhere") || strings.Contains(out, "plain") {
			t.Errorf("%v: it speaks of what is no target: %s", c.env, out)
		}
	}
	if kept, err := filepath.Glob(filepath.Join(dir, "bad/testdata/fuzz/FuzzBreaks/*")); err != nil || len(kept) != 1 {
		t.Errorf("the input that failed is kept: %v, %v", kept, err)
	}
}
