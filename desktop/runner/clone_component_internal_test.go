//go:build linux

package runner

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// gitServer serves a repository with one file over HTTP, hangs in the middle, or has none.
type gitServer struct {
	*httptest.Server
	mu     sync.Mutex
	absent bool
	hang   bool
	hung   chan struct{} // closed when a request hangs
}

func newGitServer(t *testing.T) *gitServer {
	t.Helper()
	dir := t.TempDir()
	script := `git init -q -b main work && cd work && echo text > file && echo "{}" > .devcontainer.json && git add . &&
		git -c user.name=a -c user.email=a@example.org commit -q -m one && git clone -q --bare . ../repo.git && git -C ../repo.git update-server-info`
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	g := &gitServer{hung: make(chan struct{})}
	files := http.FileServer(http.Dir(dir))
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		absent, hang := g.absent, g.hang && strings.Contains(r.URL.Path, "/objects/")
		if hang {
			g.hang = false // one request is enough
			close(g.hung)
		}
		g.mu.Unlock()
		switch {
		case absent:
			http.NotFound(w, r)
		case hang:
			<-r.Context().Done()
		default:
			files.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		g.CloseClientConnections()
		g.Close()
	})
	return g
}

func (g *gitServer) set(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
}

func TestCloneFailsAndIsRetried(t *testing.T) {
	c := newComputer(t)
	git := newGitServer(t)
	git.absent = true
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Source.GitURL = git.URL + "/repo.git" })
	o := c.hub.awaitPhase(t, id, claudehub.PhaseFailed)
	if f := o.Failure; f.Step != stepClone || f.Fix == "" || !f.Retry || !strings.Contains(f.Reason, "no git repository") {
		t.Errorf("failed as %+v", f)
	}
	workspace := filepath.Join(c.cfg.Dir, "sessions", string(id), "workspace")
	if left, err := os.ReadDir(workspace); err != nil || len(left) != 0 {
		t.Errorf("left of the clone: %v, %v", left, err)
	}
	git.set(func() { git.absent = false })
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Generation++ })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if got := c.run(id, "cat /workspace/file && git -C /workspace status --porcelain"); got != "text" {
		t.Errorf("cloned: %q", got)
	}
	c.hub.told(t, "its devcontainer", func() bool {
		for _, e := range c.hub.events {
			var d wire.Devcontainer
			if e.Kind == wire.ReportDevcontainer && json.Unmarshal([]byte(e.Text), &d) == nil && d.Path == ".devcontainer.json" && d.JSON == "{}\n" {
				return true
			}
		}
		return false
	})
}

// TestCancelInMidClone ends the step at once; what it left is wiped by the next, and work is not.
func TestCancelInMidClone(t *testing.T) {
	c := newComputer(t)
	git := newGitServer(t)
	git.hang = true
	c.start()
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Source.GitURL = git.URL + "/repo.git" })
	<-git.hung
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep; d.Generation++ })
	c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	c.nothingRuns(id)
	workspace := filepath.Join(c.cfg.Dir, "sessions", string(id), "workspace")
	if err := os.WriteFile(filepath.Join(workspace, "half"), nil, 0o600); err != nil { // as a clone cut harder leaves
		t.Fatal(err)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAwake; d.Generation++ })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if got := c.run(id, "cd /workspace && ls && echo mine > new"); got != "file" {
		t.Errorf("the workspace has %q", got)
	}
	// The Runner's memory goes: what is there is work now.
	c.kill()
	for _, name := range []string{"runner.db", "runner.db-wal", "runner.db-shm"} {
		if err := os.Remove(filepath.Join(c.cfg.Dir, name)); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	c.hub.mu.Lock()
	delete(c.hub.seen, id)
	c.hub.mu.Unlock()
	c.start()
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	if got := c.run(id, "cat /workspace/new"); got != "mine" {
		t.Errorf("after the Runner's memory was lost, the work is %q", got)
	}
}
