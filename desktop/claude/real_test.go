package claude_test

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/desktop/claude/claudetest"
	"claude-hub/internal/standin/anthropic"
)

// real is Claude Code itself, talking to the stand-in.
type real struct {
	t         *testing.T
	program   string
	dir       string
	config    string
	workspace string
	server    *anthropic.Server
	url       string
}

func newReal(t *testing.T, script string) real {
	t.Helper()
	s, err := anthropic.ParseScript([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	server, err := anthropic.New(anthropic.Options{Script: s, Token: goodToken})
	if err != nil {
		t.Fatal(err)
	}
	h := httptest.NewServer(server.Handler())
	t.Cleanup(func() { h.CloseClientConnections(); h.Close() })
	dir := t.TempDir()
	r := real{t, claudetest.Program(t), dir, filepath.Join(dir, "config"), filepath.Join(dir, "workspace"), server, h.URL}
	for _, d := range []string{r.config, r.workspace} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := claude.WriteSeed(r.config, claude.Seed{Workspace: r.workspace}); err != nil {
		t.Fatal(err)
	}
	return r
}

// ask gives Claude Code one prompt, as Launch starts it, and returns what it printed.
func (r real) ask(prompt string, resume bool) (string, error) {
	r.t.Helper()
	token, err := claude.ParseToken(goodToken)
	if err != nil {
		r.t.Fatal(err)
	}
	argv, env := claude.Launch{
		Program: r.program, SessionID: conversation, Resume: resume, Model: "opus", Effort: "high",
		ConfigDir: r.config, Token: token, BaseURL: r.url, Env: []string{"HOME=" + r.dir, "PATH=" + os.Getenv("PATH")},
	}.Command()
	ctx, cancel := context.WithTimeout(r.t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], append(argv[1:], "-p", prompt)...)
	cmd.Dir, cmd.Env = r.workspace, env
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r real) must(prompt string, resume bool) string {
	r.t.Helper()
	out, err := r.ask(prompt, resume)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, out)
	}
	return out
}

func (r real) transcript() (claude.Transcript, string) {
	tr := claude.Transcript{ConfigDir: r.config, Workspace: r.workspace, SessionID: conversation}
	found, err := filepath.Glob(filepath.Join(r.config, "projects", "*", conversation+".jsonl"))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("%q, %v", found, err)
	}
	return tr, found[0]
}

// A tool runs, its result comes back, and model and effort arrive as Launch said.
func TestRealToolTurn(t *testing.T) {
	r := newReal(t, `{"expect":{"model":"opus","effort":"^high$"},"rules":[{"contains":"run it","steps":[{"say":"Running."},
		{"tool":"Bash","input":{"command":"echo tool-$((40+2))","description":"count"}},{"say":"It printed ${result}"}]}]}`)
	if out := r.must("run it", false); out != "It printed tool-42" {
		t.Errorf("said %q", out)
	}
	log := r.server.Log()
	if len(log.Failures) != 0 || len(log.Prompts) != 1 || log.Prompts[0].Starts != 1 || log.Prompts[0].Requests != 2 {
		t.Errorf("%+v", log)
	}
}

// However the end of a transcript broke, after Repair the conversation is resumed with every whole line, and what is
// said next is kept whole.
func TestRealResumeAfterRepair(t *testing.T) {
	r := newReal(t, `{}`)
	r.must("first 🙂 question", false)
	tr, path := r.transcript()
	if c, err := tr.Check(); err != nil || c.State != claude.TranscriptOK {
		t.Fatalf("%+v, %v", c, err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	emoji := strings.LastIndex(string(whole), "🙂")
	for name, broken := range map[string]string{
		"half a record":    string(whole) + `{"type":"user","message":{"role":"us`,
		"half an emoji":    string(whole[:emoji+2]),
		"no last newline":  strings.TrimSuffix(string(whole), "\n"),
		"zeros at the end": string(whole) + strings.Repeat("\x00", 4096),
	} {
		t.Run(name, func(t *testing.T) {
			put(t, path, broken)
			if m, err := tr.Repair(); err != nil || !m.Changed {
				t.Fatalf("%+v, %v", m, err)
			}
			r.must("second question after "+name, true)
			if c, err := tr.Check(); err != nil || c.State != claude.TranscriptOK {
				t.Errorf("%+v, %v", c, err)
			}
			after, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(strings.TrimSpace(string(after)), "\n") {
				if wholeLines([]byte(line)) != 1 {
					t.Errorf("line %d is not whole: %.80q", i+1, line)
				}
			}
			last := r.server.Log().Requests
			if q := last[len(last)-1]; q.Turns != 2 || !strings.HasPrefix(q.Prompt, "second question") {
				t.Errorf("the API saw %d texts, the last %q", q.Turns, q.Prompt)
			}
		})
	}
}

// Without a transcript, Claude Code refuses; Restore from the copy brings the conversation back.
func TestRealResumeMissingAndRestored(t *testing.T) {
	r := newReal(t, `{}`)
	r.must("first question", false)
	tr, path := r.transcript()
	backup := t.TempDir()
	if c, err := tr.Backup(backup); err != nil || c.Bytes == 0 {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if out, err := r.ask("again", true); err == nil || !strings.Contains(out, "No conversation found") {
		t.Errorf("%q, %v", out, err)
	}
	if ok, err := tr.Restore(backup); err != nil || !ok {
		t.Fatal(ok, err)
	}
	r.must("again", true)
	last := r.server.Log().Requests
	if q := last[len(last)-1]; q.Turns != 2 {
		t.Errorf("the API saw %d texts", q.Turns)
	}
}

// The fetched program passes the whole check and says the version that is pinned.
func TestRealVersion(t *testing.T) {
	path := claudetest.Program(t)
	p, err := claude.NewStore(claude.Options{Local: path}).Program(t.Context(), claude.LinuxX64, nil)
	if err != nil || p.Version != claude.Version {
		t.Errorf("%+v, %v", p, err)
	}
}
