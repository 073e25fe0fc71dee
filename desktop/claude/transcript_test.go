package claude_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"claude-hub/desktop/claude"
)

const conversation = "0d4f4d44-6d0c-4f63-9a5e-0a8a4f0f1234"

func transcript(t testing.TB, content []byte) (claude.Transcript, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "projects", "-workspace", conversation+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if content != nil {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return claude.Transcript{ConfigDir: dir, Workspace: "/workspace", SessionID: conversation}, path
}

func TestTranscriptStates(t *testing.T) {
	huge := `{"a":"` + strings.Repeat("x", 5<<20) + `"}` + "\n"
	for name, c := range map[string]struct {
		content, after string
		state          claude.TranscriptState
		lines          int
	}{
		"whole":               {"{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}\n{\"b\":2}\n", claude.TranscriptOK, 0},
		"half line":           {"{\"a\":1}\n{\"b\":", "{\"a\":1}\n", claude.TranscriptBroken, 1},
		"half emoji":          {"{\"a\":1}\n{\"b\":\"\xf0\x9f\x99", "{\"a\":1}\n", claude.TranscriptBroken, 1},
		"zeros after a crash": {"{\"a\":1}\n" + strings.Repeat("\x00", 5000), "{\"a\":1}\n", claude.TranscriptBroken, 1},
		"two broken lines":    {"{\"a\":1}\n{\"b\n\"c\n", "{\"a\":1}\n", claude.TranscriptBroken, 2},
		"only the end lacks":  {"{\"a\":1}\n{\"b\":2}", "{\"a\":1}\n{\"b\":2}\n", claude.TranscriptBroken, 0},
		"broken in the middle": {"{\"a\":1}\n{\"b\":\n{\"c\":3}\n", "{\"a\":1}\n{\"b\":\n{\"c\":3}\n",
			claude.TranscriptOK, 0},
		"huge last line":       {"{\"a\":1}\n" + huge, "{\"a\":1}\n" + huge, claude.TranscriptOK, 0},
		"huge line cut":        {"{\"a\":1}\n" + huge[:4<<20], "{\"a\":1}\n", claude.TranscriptBroken, 1},
		"cut after a huge one": {huge + "{", huge, claude.TranscriptBroken, 1},
		"no object":            {"1\n", "1\n", claude.TranscriptMissing, 0},
		"empty":                {"", "", claude.TranscriptMissing, 0},
		"one half line":        {"{\"a\"", "{\"a\"", claude.TranscriptMissing, 0},
	} {
		t.Run(name, func(t *testing.T) {
			tr, path := transcript(t, []byte(c.content))
			got, err := tr.Check()
			if err != nil || got.State != c.state {
				t.Fatalf("%+v, %v", got, err)
			}
			m, err := tr.Repair()
			if err != nil || m.Changed != (c.state == claude.TranscriptBroken) || m.Lines != c.lines {
				t.Errorf("%+v, %v", m, err)
			}
			after, _ := os.ReadFile(path)
			if string(after) != c.after {
				t.Errorf("%d bytes left, want %d", len(after), len(c.after))
			}
			if m.Kept != "" {
				kept, err := os.ReadFile(filepath.Join(tr.ConfigDir, m.Kept))
				if err != nil || c.after+string(kept) != c.content || int64(len(kept)) != m.Bytes {
					t.Errorf("kept %d bytes, %v", len(kept), err)
				}
			} else if m.Bytes != 0 {
				t.Errorf("%d bytes dropped and not kept", m.Bytes)
			}
		})
	}
}

// TestFileWithoutAMessage: Claude Code writes lines of its own before anybody says anything.
func TestFileWithoutAMessage(t *testing.T) {
	own := `{"type":"mode","mode":"normal"}` + "\n" + `{"type":"ai-title","text":"{\"type\":\"user\"}"}` + "\n"
	for name, c := range map[string]struct {
		content string
		said    bool
	}{
		"own lines": {own, false},
		"empty":     {"", false},
		"a prompt":  {own + `{"type":"user","message":{}}` + "\n", true},
		"an answer": {own + `{"type":"assistant","message":{}}`, true},
		"long line": {own + `{"a":"` + strings.Repeat("x", 2<<20) + `"}` + "\n", true},
	} {
		tr, path := transcript(t, []byte(c.content))
		if said, err := tr.HasMessage(); said != c.said || err != nil {
			t.Errorf("%s: %t, %v", name, said, err)
		}
		if err := tr.Clear(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); (err == nil) != c.said {
			t.Errorf("%s: cleared: %v", name, err)
		}
		if err := tr.Clear(); err != nil {
			t.Errorf("%s, the second time: %v", name, err)
		}
	}
	absent, _ := transcript(t, nil)
	if said, err := absent.HasMessage(); said || err != nil {
		t.Errorf("absent: %t, %v", said, err)
	}
}

func TestAnswered(t *testing.T) {
	const (
		mode   = `{"type":"mode"}` + "\n"
		asked  = `{"type":"user","message":{"content":"\"type\":\"assistant\""}}` + "\n"
		answer = `{"type":"assistant","message":{}}` + "\n"
	)
	for name, c := range map[string]struct {
		content string
		from    int
		want    bool
	}{
		"own lines":              {mode, 0, false},
		"a prompt":               {mode + asked, 0, false},
		"an answer":              {mode + asked + answer + mode, 0, true},
		"a tool's result":        {asked + answer + asked, 0, false},
		"a half answer":          {asked + strings.TrimSpace(answer), 0, false},
		"the answer before":      {asked + answer + asked, len(asked + answer), false},
		"none since":             {asked + answer, len(asked + answer), false},
		"cut shorter since":      {asked + answer, 1 << 20, false},
		"after a very long line": {asked + `{"type":"user","x":"` + strings.Repeat("x", 2<<20) + "\"}\n" + answer, 0, true},
	} {
		tr, _ := transcript(t, []byte(c.content))
		if got, err := tr.Answered(int64(c.from)); got != c.want || err != nil {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
	absent, _ := transcript(t, nil)
	if got, err := absent.Answered(0); got || err != nil {
		t.Errorf("absent: %t, %v", got, err)
	}
}

func TestTranscriptMissingAndTraps(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	put(t, outside, "{\"a\":1}\n{\"half")
	for name, plant := range map[string]func(path string) error{
		"nothing": func(string) error { return nil },
		"link":    func(p string) error { return os.Symlink(outside, p) },
		"pipe":    func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder":  func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			tr, path := transcript(t, nil)
			if err := plant(path); err != nil {
				t.Fatal(err)
			}
			if c, err := tr.Check(); err != nil || c.State != claude.TranscriptMissing {
				t.Errorf("%+v, %v", c, err)
			}
			if m, err := tr.Repair(); err != nil || m.Changed {
				t.Errorf("%+v, %v", m, err)
			}
			if c, err := tr.Backup(t.TempDir()); err != nil || c.Size != 0 {
				t.Errorf("%+v, %v", c, err)
			}
			backup := t.TempDir()
			put(t, filepath.Join(backup, conversation+".jsonl"), "{\"a\":1}\n")
			if ok, err := tr.Restore(backup); err != nil || !ok {
				t.Errorf("%v, %v", ok, err)
			}
			if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
				t.Error(info, err)
			}
			if b, _ := os.ReadFile(outside); string(b) != "{\"a\":1}\n{\"half" {
				t.Errorf("outside is %q", b)
			}
		})
	}
	tr, _ := transcript(t, nil)
	tr.SessionID = "../../../etc/passwd"
	if _, err := tr.Check(); err == nil {
		t.Error("a path was taken for an id")
	}
	// A project folder that is a link out leads nowhere.
	tr, path := transcript(t, nil)
	if err := os.Remove(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	away := t.TempDir()
	put(t, filepath.Join(away, conversation+".jsonl"), "{\"a\":1}\n{")
	if err := os.Symlink(away, filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	_, _ = tr.Repair()
	if b, _ := os.ReadFile(filepath.Join(away, conversation+".jsonl")); string(b) != "{\"a\":1}\n{" {
		t.Error("a file outside was repaired")
	}
}

func TestBackupCopiesWhatIsNew(t *testing.T) {
	tr, path := transcript(t, []byte("{\"a\":1}\n{\"half"))
	to := t.TempDir()
	copied := func() string {
		b, err := os.ReadFile(filepath.Join(to, conversation+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	step := func(content string, want claude.Copied, copy string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := tr.Backup(to)
		if err != nil || got != want || copied() != copy {
			t.Errorf("%+v, %v; copy %q", got, err, copied())
		}
	}
	step("{\"a\":1}\n{\"half", claude.Copied{Bytes: 8, Size: 8}, "{\"a\":1}\n")
	step("{\"a\":1}\n{\"half\":2}\n", claude.Copied{Bytes: 11, Size: 19}, "{\"a\":1}\n{\"half\":2}\n")
	step("{\"a\":1}\n{\"half\":2}\n", claude.Copied{Size: 19}, "{\"a\":1}\n{\"half\":2}\n")
	step("{\"a\":1}\n", claude.Copied{Size: 19}, "{\"a\":1}\n{\"half\":2}\n") // a lost end is not copied
	step("", claude.Copied{Size: 19}, "{\"a\":1}\n{\"half\":2}\n")
	step("{\"new\":1}\n", claude.Copied{Bytes: 10, Size: 10, Rewritten: true}, "{\"new\":1}\n")
	if b, _ := os.ReadFile(filepath.Join(to, conversation+".previous.jsonl")); string(b) != "{\"a\":1}\n{\"half\":2}\n" {
		t.Errorf("previous %q", b)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if ok, err := tr.Restore(to); err != nil || !ok {
		t.Fatal(ok, err)
	}
	if b, _ := os.ReadFile(path); string(b) != "{\"new\":1}\n" {
		t.Errorf("restored %q", b)
	}
	if ok, err := tr.Restore(to); err != nil || ok {
		t.Error("a good transcript was replaced", err)
	}
}

// Repair keeps every whole line, is done after once, and what it kept plus what it dropped is what was there.
func FuzzRepair(f *testing.F) {
	f.Add([]byte("{\"a\":1}\n{\"b\":\"\xf0\x9f\x99"))
	f.Add([]byte("{}\n\n \n{\n{}"))
	f.Add([]byte("{}\r\n{}\r\n\x00\x00"))
	f.Fuzz(func(t *testing.T, content []byte) {
		tr, path := transcript(t, content)
		m, err := tr.Repair()
		if err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if wholeLines(after) != wholeLines(content) {
			t.Errorf("%d whole lines became %d", wholeLines(content), wholeLines(after))
		}
		if !bytes.HasPrefix(content, bytes.TrimSuffix(after, []byte("\n"))) {
			t.Errorf("%q became %q", content, after)
		}
		if m.Kept != "" {
			kept, err := os.ReadFile(filepath.Join(tr.ConfigDir, m.Kept))
			if err != nil || string(after)+string(kept) != string(content) {
				t.Errorf("%q and %q are not %q (%v)", after, kept, content, err)
			}
		}
		again, err := tr.Repair()
		if err != nil || again.Changed {
			t.Errorf("again: %+v, %v", again, err)
		}
		c, err := tr.Check()
		if err != nil || (wholeLines(content) > 0) != (c.State == claude.TranscriptOK) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

func wholeLines(b []byte) int {
	n := 0
	for _, line := range bytes.Split(b, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '{' && json.Valid(line) {
			n++
		}
	}
	return n
}
