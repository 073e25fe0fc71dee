// Package rig runs the real programs side by side on loopback, each with a state of its own in a temporary folder: a
// Hub, a Runner, and the stand-in for Anthropic. Benchmarks and Go tests of the whole product start here.
//
// It promises that Close leaves no process and no file behind.
package rig

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"claude-hub/internal/claudehub"
)

// Rig is one set of running programs.
type Rig struct {
	Home   string // everything lies here
	URL    string // the Hub's
	Person *http.Client
	// Via is where the Runner finds the Hub, when that is not URL: what stands between them sees all that passes.
	Via string

	bin       string
	token     string
	link      string // the newest sign-in token
	key       claudehub.Token
	anthropic string // the stand-in's address
	hub       *exec.Cmd
	runner    *exec.Cmd
	standIn   *exec.Cmd
}

// startTime is how long a program may take to say that it works.
const startTime = 30 * time.Second

// New starts a Hub. bin is the folder with the built programs; script is the stand-in's.
func New(ctx context.Context, bin string) (*Rig, error) {
	home, err := os.MkdirTemp("/tmp", "ch-rig-")
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	r := &Rig{
		Home: home, bin: bin, token: "sk-ant-oat01-stand-in-" + strings.Repeat("x", 70),
		Person: &http.Client{Jar: jar, Timeout: time.Minute},
	}
	port, err := freePort(ctx)
	if err != nil {
		return r, err
	}
	r.URL = fmt.Sprintf("http://127.0.0.1:%d", port)
	return r, r.StartHub(ctx)
}

func freePort(ctx context.Context) (int, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port, nil
}

// command is one of the built programs, with a small environment of its own.
func (r *Rig) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(r.bin, name), args...) //nolint:noctx // Close ends it, or the caller waits
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.Home, "LANG=C.UTF-8"}
	if level := os.Getenv("CLAUDE_HUB_LOG_LEVEL"); level != "" {
		cmd.Env = append(cmd.Env, "CLAUDE_HUB_LOG_LEVEL="+level)
	}
	cmd.Dir = r.Home
	return cmd
}

// start runs a program and waits for a line of its output that matches.
func (r *Rig) start(ctx context.Context, cmd *exec.Cmd, name string, line *regexp.Regexp) (string, error) {
	log, err := os.OpenFile(filepath.Join(r.Home, name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	found := make(chan string, 1)
	go func() { // ends with the program
		defer close(found)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if m := line.FindString(lines.Text()); m != "" {
				select {
				case found <- m:
				default:
				}
			}
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	select {
	case m, ok := <-found:
		if !ok {
			return "", fmt.Errorf("%s ended: %s", name, r.Log(name))
		}
		return m, nil
	case <-ctx.Done():
		return "", fmt.Errorf("%s does not start: %w: %s", name, ctx.Err(), r.Log(name))
	}
}

// Log is what a program wrote to its log, the last part of it.
func (r *Rig) Log(name string) string {
	b, _ := os.ReadFile(filepath.Join(r.Home, name+".log")) // absent is empty
	if len(b) > 4000 {
		b = b[len(b)-4000:]
	}
	return string(b)
}

var signInLine = regexp.MustCompile(`#chl_\S+`)

// StartHub starts the Hub, and signs the person in the first time.
func (r *Rig) StartHub(ctx context.Context) error {
	addr := strings.TrimPrefix(r.URL, "http://")
	r.hub = r.command("claude-hub", "serve", "--listen", addr, "--data", filepath.Join(r.Home, "hub"))
	link, err := r.start(ctx, r.hub, "hub", signInLine)
	if err != nil {
		return err
	}
	r.link = strings.TrimPrefix(link, "#")
	return r.Post(ctx, "/api/sign-in", map[string]string{"token": r.link}, nil)
}

// HubPID and RunnerPID name the processes, to measure them.
func (r *Rig) HubPID() int { return r.hub.Process.Pid }

// RunnerPID names the Runner's process.
func (r *Rig) RunnerPID() int { return r.runner.Process.Pid }

// StartRunner starts the stand-in and a Runner that is paired and has a token for it.
func (r *Rig) StartRunner(ctx context.Context, script string, args ...string) error {
	tokenFile := filepath.Join(r.Home, "token")
	if err := os.WriteFile(tokenFile, []byte(r.token), 0o600); err != nil {
		return err
	}
	var err error
	r.standIn = r.command("standin-anthropic", "--listen", "127.0.0.1:0", "--script", script, "--token-file", tokenFile)
	r.anthropic, err = r.start(ctx, r.standIn, "stand-in", regexp.MustCompile(`http://127\.0\.0\.1:\d+`))
	if err != nil {
		return err
	}
	key, err := r.AddRunner(ctx, "rig")
	if err != nil {
		return err
	}
	r.key = key
	if err := r.runOnce(key.Reveal(), r.runnerArgs("pair", "--hub", cmp.Or(r.Via, r.URL))...); err != nil {
		return err
	}
	if err := r.runOnce(r.token, r.runnerArgs("token", "set", "--stdin")...); err != nil {
		return err
	}
	run := r.runnerArgs("run", "--anthropic-url", r.anthropic, "--stand-in")
	if own := os.Getenv("CLAUDE_HUB_TEST_CLAUDE"); own != "" && !slices.Contains(args, "--claude") {
		run = append(run, "--claude", own)
	}
	args = append(run, args...)
	log, err := os.OpenFile(filepath.Join(r.Home, "runner.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	r.runner = r.command("claude-hub-runner", args...)
	r.runner.Stderr = log
	return r.runner.Start()
}

func (r *Rig) runnerArgs(args ...string) []string {
	return append([]string{"--dir", filepath.Join(r.Home, "r")}, args...)
}

// RunnerDir is the Runner's state folder.
func (r *Rig) RunnerDir() string { return filepath.Join(r.Home, "r") }

// StandInURL is where the stand-in for Anthropic listens.
func (r *Rig) StandInURL() string { return r.anthropic }

// Token is the setup token, which the stand-in knows.
func (r *Rig) Token() string { return r.token }

func (r *Rig) runOnce(stdin string, args ...string) error {
	cmd := r.command("claude-hub-runner", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("claude-hub-runner %s: %w: %s", args[2], err, out)
	}
	return nil
}

// AddRunner makes a Runner token.
func (r *Rig) AddRunner(ctx context.Context, name string) (claudehub.Token, error) {
	cmd := r.command("claude-hub", "runner", "add", "--data", filepath.Join(r.Home, "hub"), "--name", name)
	out, err := cmd.Output()
	if err != nil {
		return claudehub.Token{}, fmt.Errorf("claude-hub runner add: %w", err)
	}
	return claudehub.ParseToken(claudehub.RunnerToken, strings.TrimSpace(string(out)))
}

// Post and Get call the Hub's API as the person. out may be nil.
func (r *Rig) Post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	return r.do(req, out)
}

// Get reads from the Hub's API as the person.
func (r *Rig) Get(ctx context.Context, path string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+path, http.NoBody)
	if err != nil {
		return err
	}
	return r.do(req, out)
}

func (r *Rig) do(req *http.Request, out any) error {
	resp, err := r.Person.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", req.Method, req.URL.Path, resp.Status, b)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(b, out)
}

// Await waits until a Session is as wanted.
func (r *Rig) Await(ctx context.Context, id claudehub.SessionID, wanted func(claudehub.Session) bool) (claudehub.Session, error) {
	for {
		var s claudehub.Session
		if err := r.Get(ctx, "/api/sessions/"+string(id), &s); err != nil {
			return s, err
		}
		if wanted(s) {
			return s, nil
		}
		if f := s.Observed.Failure; f != nil {
			return s, fmt.Errorf("session failed: %s: %s (%s)", f.Step, f.Reason, f.Detail)
		}
		select {
		case <-ctx.Done():
			return s, fmt.Errorf("session is %s: %w", s.Observed.Phase, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// KillHub ends the Hub without warning.
func (r *Rig) KillHub() error { return kill(r.hub, syscall.SIGKILL) }

func kill(cmd *exec.Cmd, sig syscall.Signal) error {
	if cmd == nil || cmd.Process == nil || cmd.ProcessState != nil {
		return nil
	}
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return err
	}
	return nil
}

// Close ends everything and removes it.
func (r *Rig) Close() error {
	errs := []error{kill(r.runner, syscall.SIGTERM)}
	if r.runner != nil {
		errs = append(errs, r.runOnce("", r.runnerArgs("sandboxes", "stop")...))
	}
	errs = append(errs, kill(r.hub, syscall.SIGTERM), kill(r.standIn, syscall.SIGTERM), os.RemoveAll(r.Home))
	return errors.Join(errs...)
}
