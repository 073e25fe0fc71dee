package mod

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Spool is the folder in which one Session's reports wait.
type Spool struct{ Dir string }

const (
	// maxNames bounds one look at the folder. A Sandbox that floods it is slow to itself.
	maxNames = 20_000
	// pollTime is how often the folder is looked at without being told. A VM's shared folder may tell nothing.
	pollTime = time.Second
	// staleTime is when a half-written report is given up: its hook was killed.
	staleTime = time.Minute
)

// Next returns the oldest report that waits. It is returned again until it is removed. What is no report is thrown away
// on the way.
func (s Spool) Next(ctx context.Context) (Event, bool, error) {
	root, err := s.open()
	if err != nil {
		return Event{}, false, err
	}
	defer root.Close()
	names, err := waiting(root)
	if err != nil {
		return Event{}, false, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return Event{}, false, err
		}
		e, err := read(root, name)
		switch {
		case err == nil:
			return e, true, nil
		case errors.Is(err, fs.ErrNotExist):
			continue
		case !errors.Is(err, errNoReport) && !errors.Is(err, fs.ErrPermission):
			return Event{}, false, err
		}
		_ = root.RemoveAll(name) // if it stays, it is passed over again
	}
	return Event{}, false, nil
}

// open also takes the folder back when the Sandbox, which may own it, has shut us out.
func (s Spool) open() (*os.Root, error) {
	if info, err := os.Lstat(s.Dir); err == nil && info.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
		if err := os.Chmod(s.Dir, 0o700); err != nil {
			return nil, fmt.Errorf("open spool: %w", err)
		}
	}
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	return root, nil
}

// Remove ends an event's wait. Removing one twice succeeds.
func (s Spool) Remove(ctx context.Context, e Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !fileName.MatchString(e.Key) {
		return fmt.Errorf("remove report: %q is no key", e.Key)
	}
	root, err := s.open()
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Remove(e.Key); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove report: %w", err)
	}
	return nil
}

// Wait returns when a report waits, at once if one does already.
func (s Spool) Wait(ctx context.Context) error {
	told, stop := s.watch()
	defer stop()
	poll := time.NewTicker(pollTime)
	defer poll.Stop()
	for {
		if s.any() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-told:
		case <-poll.C:
		}
	}
}

// watch tells of changes, if this system can; the poll is there for the rest.
func (s Spool) watch() (<-chan fsnotify.Event, func()) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, func() {} // too many watches, say
	}
	stop := func() { _ = w.Close() } // nothing more to be done about it
	if err := w.Add(s.Dir); err != nil {
		return nil, stop
	}
	return w.Events, stop
}

// any tells whether a report waits. A folder that cannot be read has none; Next says why.
func (s Spool) any() bool {
	root, err := s.open()
	if err != nil {
		return false
	}
	defer root.Close()
	names, err := waiting(root)
	return err == nil && len(names) > 0
}

// waiting lists the reports by age, and removes half-written ones that nobody will finish.
func waiting(root *os.Root) ([]string, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	defer dir.Close()
	all, err := dir.Readdirnames(maxNames)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("list spool: %w", err)
	}
	var names []string
	for _, name := range all {
		info, err := root.Lstat(name)
		switch {
		case err != nil:
		case fileName.MatchString(name) && info.Mode().IsRegular():
			names = append(names, name)
		case !strings.HasPrefix(name, ".new-"), time.Since(info.ModTime()) > staleTime:
			_ = root.RemoveAll(name) // it is looked at again next time
		}
	}
	slices.Sort(names)
	return names, nil
}

// errNoReport marks what is in the folder and is no report.
var errNoReport = errors.New("no report")

func read(root *os.Root, name string) (Event, error) {
	m := fileName.FindStringSubmatch(name)
	e := Event{Key: name, Name: m[2]}
	info, err := root.Lstat(name)
	if err != nil {
		return e, err
	}
	if !info.Mode().IsRegular() {
		return e, errNoReport
	}
	// A pipe put here in between would make a plain open wait.
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return e, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || !info.Mode().IsRegular() {
		return e, errors.Join(err, errNoReport)
	}
	e.At = info.ModTime().UTC()
	if now := time.Now().UTC(); e.At.After(now) {
		e.At = now // the Sandbox may set any time
	}
	if info.Size() > maxFile {
		e.Truncated = true
		return e, nil
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return e, err
	}
	if err := e.fill(b); err != nil {
		return e, fmt.Errorf("%w: %w", errNoReport, err)
	}
	return e, nil
}
