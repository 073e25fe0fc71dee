//go:build linux

package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Reaper starts children and collects every process whose parent we became, as PID 1 must. There is one per program,
// and a program that has one waits for its children in no other way: wait4 would give them to whoever asks first.
type Reaper struct {
	mu       sync.Mutex
	children map[int]*Child // by pid
}

// Child is what a Reaper started.
type Child struct {
	pid  int
	told chan int // gets the exit code once
}

// Pid is the child's process id.
func (c *Child) Pid() int { return c.pid }

// Exited gives the child's exit code, once; -1 when a signal ended it.
func (c *Child) Exited() <-chan int { return c.told }

// NewReaper makes a Reaper. Run must run before a child's end can be told.
func NewReaper() *Reaper { return &Reaper{children: map[int]*Child{}} }

// Run collects until ctx ends.
func (r *Reaper) Run(ctx context.Context) {
	died := make(chan os.Signal, 1) // one is enough: each round collects all
	signal.Notify(died, syscall.SIGCHLD)
	defer signal.Stop(died)
	for {
		for r.collect() {
		}
		select {
		case <-ctx.Done():
			return
		case <-died:
		}
	}
}

// collect takes one dead child, under the lock, so that Signal never names a pid that was given away.
func (r *Reaper) collect() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	var status syscall.WaitStatus
	pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
	if errors.Is(err, syscall.EINTR) {
		return true
	}
	if err != nil || pid <= 0 {
		return false
	}
	if child, ok := r.children[pid]; ok {
		delete(r.children, pid)
		code := -1
		if status.Exited() {
			code = status.ExitStatus()
		}
		child.told <- code
	}
	return true
}

// Spawn is a child for a Reaper to start: everything is given, nothing is inherited.
type Spawn struct {
	Path  string   // the file itself
	Args  []string // with the name as the first
	Env   []string
	Dir   string
	Files []*os.File // become descriptor 0 and up
	// Terminal says that Files[0] is a terminal that the child should control.
	Terminal bool
}

// Start starts a child in a session and group of its own.
func (r *Reaper) Start(s Spawn) (*Child, error) {
	files := make([]uintptr, len(s.Files))
	for i, f := range s.Files {
		files[i] = f.Fd()
	}
	attr := &syscall.ProcAttr{Dir: s.Dir, Env: s.Env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true}}
	if s.Terminal {
		attr.Sys.Setctty, attr.Sys.Ctty = true, 0
	}
	r.mu.Lock() // held over the fork: a child that ends at once must find itself listed
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(s.Path, s.Args, attr)
	if err != nil {
		return nil, err
	}
	child := &Child{pid: pid, told: make(chan int, 1)}
	r.children[pid] = child
	return child, nil
}

// Signal is delivered to the group of a child that has not ended.
func (r *Reaper) Signal(c *Child, sig syscall.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.children[c.pid] != c {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(-c.pid, sig); err != nil {
		return fmt.Errorf("signal process group: %w", err)
	}
	return nil
}
