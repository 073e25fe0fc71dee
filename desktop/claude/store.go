package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"claude-hub/internal/claudehub"
)

// Program is a Claude Code that is ready to be mounted and run.
type Program struct {
	Version  string
	Platform Platform
	// Dir is the read-only folder to mount; Path is the program in it. A program of the owner's has no Dir.
	Dir, Path string
}

// Progress tells how far a fetch is.
type Progress struct {
	Step string // in the person's words
	// Done lies between 0 and 1; -1 when it cannot be told.
	Done float64
}

// Options configure a Store.
type Options struct {
	Dir     string  // where programs are kept; made when missing
	Release Release // zero is Pinned
	// Local is the path of the owner's own Claude Code. It is used instead of a fetched one.
	Local string
	// NPM is the npm client; "" looks on the PATH.
	NPM string
	// Timeout bounds a fetch; zero is fifteen minutes.
	Timeout time.Duration
}

// Store keeps the Claude Code programs of this machine.
type Store struct {
	o Options

	mu      sync.Mutex // guards flights
	flights map[Platform]*flight
}

// NewStore makes a Store.
func NewStore(o Options) *Store {
	if o.Release.Version == "" {
		o.Release = Pinned()
	}
	if o.Timeout <= 0 {
		o.Timeout = 15 * time.Minute
	}
	return &Store{o: o, flights: map[Platform]*flight{}}
}

// Program returns the program for a platform, and fetches it when it is not there. Callers who ask at the same time
// share one fetch; it goes on until the last of them has gone. Progress may be nil; it is called from another goroutine.
func (s *Store) Program(ctx context.Context, p Platform, progress func(Progress)) (Program, error) {
	if s.o.Local != "" {
		return s.local(ctx, p)
	}
	if s.o.Release.Integrity[p] == "" {
		return Program{}, claudehub.Errorf(claudehub.Unavailable, "Claude Code %s has no build for %s.", s.o.Release.Version, p)
	}
	if program, err := s.kept(p); err == nil {
		return program, nil
	} else if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDamaged) {
		return Program{}, storeError(err, s.o.Dir)
	}
	return s.share(ctx, p, progress)
}

// Verify reads a kept program whole and compares its checksum. A damaged one is removed, so that the next Program
// fetches it again.
func (s *Store) Verify(ctx context.Context, p Platform) error {
	program, err := s.kept(p)
	if err != nil {
		return err
	}
	err = s.checkWhole(ctx, program)
	if !errors.Is(err, errDamaged) {
		return err
	}
	if err := removeReadOnly(program.Dir); err != nil {
		return fmt.Errorf("remove the damaged program: %w", err)
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "The Claude Code program on this machine was damaged and has been removed. It is fetched again when it is needed.")
}

func (s *Store) folder(p Platform) string {
	return filepath.Join(s.o.Dir, s.o.Release.Version+"-"+string(p))
}

// flight is one fetch and those who wait for it.
type flight struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when program and err are set

	program Program
	err     error

	mu        sync.Mutex // guards what is below
	listeners map[int]func(Progress)
	next      int
	last      Progress
}

func (s *Store) share(ctx context.Context, p Platform, progress func(Progress)) (Program, error) {
	f, id := s.board(ctx, p, progress)
	select {
	case <-f.done:
		return f.program, f.err
	case <-ctx.Done():
		s.leave(p, f, id)
		return Program{}, ctx.Err()
	}
}

// board joins the fetch of a platform, or begins it.
func (s *Store) board(ctx context.Context, p Platform, progress func(Progress)) (*flight, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[p]
	if f == nil {
		// The fetch outlives the caller who began it, while another still waits.
		fetchCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.o.Timeout)
		f = &flight{cancel: cancel, done: make(chan struct{}), listeners: map[int]func(Progress){}}
		s.flights[p] = f
		go s.fly(fetchCtx, p, f)
	}
	return f, f.listen(progress)
}

func (s *Store) fly(ctx context.Context, p Platform, f *flight) {
	defer f.cancel()
	f.program, f.err = s.fetch(ctx, p, f.tell)
	s.mu.Lock()
	if s.flights[p] == f {
		delete(s.flights, p)
	}
	s.mu.Unlock()
	close(f.done)
}

// leave ends the fetch when its last caller has gone. Who comes next begins a new one, which waits for the lock that
// the ending one still holds.
func (s *Store) leave(p Platform, f *flight, id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.forget(id) == 0 {
		f.cancel()
		if s.flights[p] == f {
			delete(s.flights, p)
		}
	}
}

func (f *flight) listen(progress func(Progress)) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	f.listeners[f.next] = progress
	if progress != nil && f.last.Step != "" {
		progress(f.last)
	}
	return f.next
}

func (f *flight) forget(id int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.listeners, id)
	return len(f.listeners)
}

func (f *flight) tell(p Progress) {
	f.mu.Lock()
	f.last = p
	var tell []func(Progress)
	for _, l := range f.listeners {
		if l != nil {
			tell = append(tell, l)
		}
	}
	f.mu.Unlock()
	for _, l := range tell {
		l(p)
	}
}

// storeError gives an error of the disk its sentence.
func storeError(err error, dir string) error {
	var e *claudehub.Error
	switch {
	case err == nil || errors.As(err, &e) || errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return claudehub.WithCause(claudehub.Unavailable, err, "Fetching Claude Code took too long and was stopped. Check the network and try again.")
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return claudehub.WithCause(claudehub.Unavailable, err, "The disk is full. Claude Code needs 400 MB in %s; free some space and try again.", dir)
	case errors.Is(err, fs.ErrPermission):
		return claudehub.WithCause(claudehub.Unavailable, err, "The folder %s cannot be written. Make it belong to the user who runs the Runner.", dir)
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "Claude Code could not be put into %s. The log has the details.", dir)
}

// removeReadOnly removes a folder of ours whose mode forbids it.
func removeReadOnly(dir string) error {
	if err := os.Chmod(dir, 0o700); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}
