//go:build linux

package bubblewrap_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/bubblewrap"
	"claude-hub/internal/claudehub"
)

func TestCheckFindsThisMachineFit(t *testing.T) {
	var names []string
	for _, f := range newBackend(t).Check(ctx(t)) {
		names = append(names, f.Name)
		if f.Detail == "" || !f.OK && f.Fix == "" {
			t.Errorf("%+v", f)
		}
		if !f.OK && f.Fatal {
			t.Errorf("%s: %s", f.Name, f.Detail)
		}
	}
	want := []string{
		"bubblewrap", "guest program", "user namespaces", "system call filter", "state folder", "git", "tmux",
		"certificates", "limits", "abstract sockets", "disk space", "builds", "trial start",
	}
	if !slices.Equal(names, want) {
		t.Errorf("looked at %q", names)
	}
}

// TestItRefusesWithReasonAndCure: what Check calls fatal, Start refuses in the same words.
func TestItRefusesWithReasonAndCure(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		bwrap, guest        string
		finding, says, cure string
	}{
		"no bwrap":       {filepath.Join(dir, "none"), guest, "bubblewrap", "not installed", "apt-get install bubblewrap"},
		"something else": {script("other", "echo hello"), guest, "bubblewrap", `it says "hello"`, "apt-get install bubblewrap"},
		"too old":        {script("old", "echo bubblewrap 0.3.3"), guest, "bubblewrap", "version 0.3", "Install version"},
		"no guest":       {"", filepath.Join(dir, "none"), "guest program", "is not there", "Install claude-hub-guest"},
		"a broken guest": {"", script("guest", "exit 9"), "trial start", "code 9", ""},
		"forbidden": {
			script("forbidden", `if [ "$1" = --version ]; then echo bubblewrap 0.9.0; else echo "bwrap: setting up uid map: Permission denied" >&2; exit 1; fi`), guest,
			"trial start", "Permission denied", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := bubblewrap.New(bubblewrap.Options{State: stateFolder(t), Bwrap: c.bwrap, Guest: c.guest})
			if err != nil {
				t.Fatal(err)
			}
			findings := b.Check(ctx(t))
			i := slices.IndexFunc(findings, func(f sandbox.Finding) bool { return f.Name == c.finding })
			if i < 0 {
				t.Fatalf("nothing about %s in %+v", c.finding, findings)
			}
			f := findings[i]
			if f.OK || !f.Fatal || !strings.Contains(f.Detail, c.says) || !strings.Contains(f.Fix, c.cure) || f.Fix == "" {
				t.Errorf("got %+v", f)
			}
			err = b.Start(ctx(t), sandbox.Spec{ID: "s"})
			if claudehub.CodeOf(err) != claudehub.Unavailable || !strings.Contains(claudehub.MessageOf(err), c.says) || !strings.Contains(claudehub.MessageOf(err), c.cure) {
				t.Errorf("start: %v", err)
			}
			if infos, err := b.List(ctx(t)); err != nil || len(infos) != 0 {
				t.Errorf("left: %v, %v", infos, err)
			}
		})
	}
}
