package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

// The test binary is the program too, so that it can be killed.
const asProgram = "CLAUDE_HUB_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// hubProcess is a Hub in a process of its own.
type hubProcess struct {
	t      testing.TB
	cmd    *exec.Cmd
	out    *bufio.Reader
	said   []string
	link   string
	url    string
	stderr *bytes.Buffer
	took   time.Duration // to the first answer
}

func startHub(t testing.TB, args ...string) *hubProcess {
	t.Helper()
	began := time.Now()
	h := startProcess(t, nil, args...)
	link, ok := strings.CutPrefix(h.lines(1)[0], "Sign in: ")
	if !ok {
		t.Fatalf("it says %q", h.said)
	}
	h.link = link
	h.url, _, _ = strings.Cut(link, "/sign-in#")
	h.get("/healthz")
	h.took = time.Since(began)
	return h
}

// startProcess runs serve with more in its environment.
func startProcess(t testing.TB, env []string, args ...string) *hubProcess {
	t.Helper()
	h := &hubProcess{t: t, stderr: &bytes.Buffer{}}
	h.cmd = exec.Command(os.Args[0], append([]string{"serve"}, args...)...)
	h.cmd.Env = append(append(os.Environ(), env...), asProgram+"=1")
	h.cmd.Stderr = h.stderr
	out, err := h.cmd.StdoutPipe()
	check(t, err)
	h.out = bufio.NewReader(out)
	check(t, h.cmd.Start())
	t.Cleanup(func() { _ = h.cmd.Process.Kill() })
	return h
}

// lines are the first n that it says.
func (h *hubProcess) lines(n int) []string {
	h.t.Helper()
	for len(h.said) < n {
		line, err := h.out.ReadString('\n')
		if err != nil {
			_ = h.cmd.Wait()
			h.t.Fatalf("it says no more than %q (%v): %s", h.said, err, h.stderr)
		}
		h.said = append(h.said, strings.TrimSpace(line))
	}
	return h.said
}

// stop ends it as an operator does.
func (h *hubProcess) stop() {
	h.t.Helper()
	check(h.t, h.cmd.Process.Signal(syscall.SIGTERM))
	if err := h.cmd.Wait(); err != nil {
		h.t.Errorf("after SIGTERM: %v %s", err, h.stderr)
	}
}

func writeSecret(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	check(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
	return path
}

func (h *hubProcess) get(path string) {
	h.t.Helper()
	resp, err := http.Get(h.url + path)
	check(h.t, err)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		h.t.Fatalf("%s answers %s, %v", path, resp.Status, err)
	}
}

// signIn uses the link as the page does, and tells the status.
func signIn(t testing.TB, link string) int {
	t.Helper()
	url, token, _ := strings.Cut(link, "/sign-in#")
	body, err := json.Marshal(map[string]string{"token": token})
	check(t, err)
	resp, err := http.Post(url+"/api/sign-in", "application/json", bytes.NewReader(body))
	check(t, err)
	resp.Body.Close()
	return resp.StatusCode
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// command runs the program in this process.
func command(args ...string) (code int, stdout, stderr string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, err bytes.Buffer
	code = run(ctx, args, &out, &err)
	return code, out.String(), err.String()
}

func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hub")
	h := startHub(t, "--listen", "127.0.0.1:0", "--data", dir)
	if code := signIn(t, h.link); code/100 != 2 {
		t.Errorf("the printed link answers %d", code)
	}
	if code := signIn(t, h.link); code != http.StatusUnauthorized {
		t.Errorf("the used link answers %d", code)
	}
	code, out, stderr := command("sign-in-link", "--data", dir)
	if link, ok := strings.CutPrefix(strings.TrimSpace(out), "Sign in: "); code != 0 || !ok || signIn(t, link)/100 != 2 {
		t.Errorf("another link: %d %q", code, stderr)
	}
	code, out, stderr = command("runner", "add", "--data", dir, "--name", "box")
	token := strings.TrimSuffix(out, "\n")
	if _, err := claudehub.ParseToken(claudehub.RunnerToken, token); code != 0 || err != nil {
		t.Errorf("the token alone should be printed: %d %q", code, stderr)
	}
	if code, _, stderr = command("runner", "add", "--data", dir, "--name", "box"); code != 1 || !strings.Contains(stderr, "already") {
		t.Errorf("the same name: %d %q", code, stderr)
	}
	if code, out, _ = command("runner", "token", "--data", dir, "--name", "box"); code != 0 || out == token+"\n" {
		t.Errorf("a new token: %d", code)
	}
	if code, out, stderr = command("keyset", "rotate", "--data", dir); code != 0 || !strings.Contains(out, "0 Variables") {
		t.Errorf("rotate: %d %q %q", code, out, stderr)
	}
	if code, _, stderr = command("keyset", "reset", "--data", dir); code != 1 || !strings.Contains(stderr, "--delete-variables") {
		t.Errorf("reset: %d %q", code, stderr)
	}
	if code, _, stderr = command("healthcheck", "--data", dir); code != 0 {
		t.Errorf("healthcheck: %d %q", code, stderr)
	}
	if code, _, stderr = command("serve", "--data", dir, "--listen", "127.0.0.1:0"); code != 1 || !strings.Contains(stderr, "Another Hub") {
		t.Errorf("a second Hub: %d %q", code, stderr)
	}
	other := filepath.Join(t.TempDir(), "other")
	address := strings.TrimPrefix(h.url, "http://")
	if code, _, stderr = command("serve", "--data", other, "--listen", address); code != 1 || !oneSentence(stderr, address, "in use") {
		t.Errorf("a port in use: %d %q", code, stderr)
	}

	check(t, h.cmd.Process.Signal(syscall.SIGTERM))
	if err := h.cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v %s", err, h.stderr)
	}
	for i, line := range strings.Split(strings.TrimSpace(h.stderr.String()), "\n") {
		if !json.Valid([]byte(line)) {
			t.Errorf("line %d of the log is not JSON: %s", i, line)
		}
	}
	if _, secret, _ := strings.Cut(h.link, "#chl_"); strings.Contains(h.stderr.String(), secret) {
		t.Error("the link is in the log")
	}
	if code, _, stderr = command("healthcheck", "--data", dir); code != 1 || !strings.Contains(stderr, "does not answer") {
		t.Errorf("healthcheck of none: %d %q", code, stderr)
	}
}

func oneSentence(stderr string, words ...string) bool {
	if strings.Count(stderr, "\n") != 1 || strings.Contains(stderr, "goroutine") || !strings.HasPrefix(stderr, "claude-hub: ") {
		return false
	}
	for _, w := range words {
		if !strings.Contains(stderr, w) {
			return false
		}
	}
	return true
}

// A Hub that is killed starts again at once, with what it had.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	check(t, os.Chmod(dir, 0o700))
	for range 3 {
		h := startHub(t, "--data", dir, "--listen", "127.0.0.1:0")
		check(t, h.cmd.Process.Kill())
		_ = h.cmd.Wait() // killed: that is its error
		again := startHub(t, "--data", dir, "--listen", strings.TrimPrefix(h.url, "http://"))
		if code := signIn(t, h.link); code/100 != 2 {
			t.Errorf("a link from before answers %d", code)
		}
		check(t, again.cmd.Process.Signal(os.Interrupt))
		if err := again.cmd.Wait(); err != nil {
			t.Errorf("after SIGINT: %v", err)
		}
	}
}

func TestRefusalsAreOneSentence(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	check(t, os.WriteFile(file, []byte("x"), 0o600))
	broken := filepath.Join(dir, "broken")
	check(t, os.Mkdir(broken, 0o700))
	check(t, os.WriteFile(filepath.Join(broken, "hub.db"), bytes.Repeat([]byte("noise"), 1000), 0o600))
	toml := func(name, text string) string {
		path := filepath.Join(dir, name)
		check(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"everywhere":     {[]string{"serve", "--data", dir, "--listen", "0.0.0.0:8080"}, []string{"local mode"}},
		"data is a file": {[]string{"serve", "--data", file}, []string{file, "is a file"}},
		"corrupt":        {[]string{"serve", "--data", broken}, []string{"damaged", "backup"}},
		"level":          {[]string{"serve", "--data", dir, "--log-level", "loud"}, []string{"loud"}},
		"flag":           {[]string{"serve", "--nonsense"}, []string{"--nonsense"}},
		"verb":           {[]string{"nonsense"}, []string{"nonsense"}},
		"no name":        {[]string{"runner", "add", "--data", dir}, []string{"--name"}},
		"bad name":       {[]string{"runner", "add", "--data", dir, "--name", " "}, []string{"name"}},
		"no Hub yet":     {[]string{"sign-in-link", "--data", filepath.Join(dir, "new")}, []string{"--public-url"}},
		"no file":        {[]string{"--config", filepath.Join(dir, "none.toml"), "version"}, []string{"none.toml", "cannot be read"}},
		"no TOML":        {[]string{"--config", toml("a.toml", "database = \"x\npostgres://u:hunter2@h\""), "version"}, []string{"a.toml", "line 1"}},
		"unknown key":    {[]string{"--config", toml("b.toml", "lissen = \"x\""), "version"}, []string{"lissen", "listen"}},
		"no text":        {[]string{"--config", toml("c.toml", "listen = 8080"), "version"}, []string{"listen", "quotes"}},
	} {
		code, out, stderr := command(c.args...)
		if code != 1 || out != "" || !oneSentence(stderr, c.words...) {
			t.Errorf("%s: %d %q %q", name, code, out, stderr)
		}
		if strings.Contains(stderr, "hunter2") {
			t.Errorf("%s: the password of the file is shown", name)
		}
	}
}

// Flag before environment before file before default.
func TestWhichValueWins(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "hub.toml")
	check(t, os.WriteFile(config, []byte("# a comment\nlisten = \"1.1.1.1:1\"\nlog_level = \"file\"\n"), 0o600))
	refused := func(want string, args ...string) {
		t.Helper()
		_, _, stderr := command(append(args, "serve", "--data", dir)...)
		if !strings.Contains(stderr, want) {
			t.Errorf("no %q in %q", want, stderr)
		}
	}
	refused(`"file"`, "--config", config) // the level is looked at first
	t.Setenv("CLAUDE_HUB_LOG_LEVEL", "environment")
	refused(`"environment"`, "--config", config)
	t.Setenv("CLAUDE_HUB_LOG_LEVEL", "info")
	refused("1.1.1.1:1", "--config", config)
	t.Setenv("CLAUDE_HUB_CONFIG", config)
	refused("1.1.1.1:1")
	t.Setenv("CLAUDE_HUB_LISTEN", "2.2.2.2:2")
	refused("2.2.2.2:2")
	_, _, stderr := command("serve", "--data", dir, "--listen", "3.3.3.3:3")
	if !strings.Contains(stderr, "3.3.3.3:3") {
		t.Errorf("it says %q", stderr)
	}
}

func TestVersionAndHelp(t *testing.T) {
	if code, out, _ := command("version"); code != 0 || !strings.HasPrefix(out, "claude-hub ") {
		t.Errorf("%d %q", code, out)
	}
	for _, args := range [][]string{{"--help"}, {"serve", "--help"}} {
		if code, out, _ := command(args...); code != 0 || !strings.Contains(out, "Usage: claude-hub") {
			t.Errorf("%d %q", code, out)
		}
	}
}

// BenchmarkStart is from exec to the first answer, on an existing database; it reports the memory after.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	check(b, os.Chmod(dir, 0o700))
	var took time.Duration
	var rss int64
	n := 0
	for b.Loop() {
		h := startHub(b, "--data", dir, "--listen", "127.0.0.1:0")
		took += h.took
		rss += residentKB(b, h.cmd.Process.Pid)
		n++
		check(b, h.cmd.Process.Kill())
		_ = h.cmd.Wait()
	}
	b.ReportMetric(float64(took.Milliseconds())/float64(n), "ms/start")
	b.ReportMetric(float64(rss)/float64(n)/1024, "MB-resident")
}

func residentKB(tb testing.TB, pid int) int64 {
	tb.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(tb, err)
	var kb int64
	_, rest, _ := strings.Cut(string(b), "VmRSS:")
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		tb.Fatal(err)
	}
	return kb
}
