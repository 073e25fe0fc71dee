package cli

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestWebAddress(t *testing.T) {
	for address, want := range map[string]string{
		"https://hub.example.org/device?code=A": "https://hub.example.org/device?code=A",
		"http://127.0.0.1:1/device":             "http://127.0.0.1:1/device",
		"":                                      "", "/device": "", "file:///etc/passwd": "", "javascript:alert(1)": "", "https://u:p@h/": "", "https:///x": "", "-x": "",
	} {
		if got := webAddress(address); got != want {
			t.Errorf("%q is %q", address, got)
		}
	}
}

// A page is opened where there is a screen, by what the system has for that, and by nothing else.
func TestBrowser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems have a screen always")
	}
	bin := t.TempDir()
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for _, p := range pairs {
				if v, ok := strings.CutPrefix(p, name+"="); ok {
					return v
				}
			}
			return ""
		}
	}
	opened := filepath.Join(bin, "opened")
	script := "#!/bin/sh\necho \"$@\" > " + opened + ".new && mv " + opened + ".new " + opened + "\n"
	if err := os.WriteFile(filepath.Join(bin, "xdg-open"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, e := range []func(string) string{env(), env("DISPLAY=:0", "SSH_CONNECTION=x"), env("DISPLAY=:0", "SSH_TTY=x")} {
		if browser(e) != nil {
			t.Error("a browser is opened where nobody sees it")
		}
	}
	open := browser(env("WAYLAND_DISPLAY=w"))
	if open == nil {
		t.Fatal("no browser is found")
	}
	if err := open("https://hub.example.org/device?code=BCDF-GHJK"); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		b, err := os.ReadFile(opened)
		if err == nil {
			if strings.TrimSpace(string(b)) != "https://hub.example.org/device?code=BCDF-GHJK" {
				t.Errorf("it opens %q", b)
			}
			return
		}
		if !errors.Is(err, os.ErrNotExist) || time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
