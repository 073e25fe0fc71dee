//go:build linux

package bubblewrap

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// record is how a started Sandbox is found again.
type record struct {
	Version int       `json:"version"`
	Boot    string    `json:"boot"`
	Init    identity  `json:"init"`    // PID 1 of the Sandbox, as this machine numbers it
	Monitor identity  `json:"monitor"` // the bwrap process outside
	Started time.Time `json:"started"`
	Cgroups []string  `json:"cgroups,omitempty"`
	Memory  int64     `json:"memory,omitempty"` // its limit
}

const recordVersion = 1

// alive tells whether the Sandbox's PID 1 runs.
func (r *record) alive() bool {
	boot, err := bootID()
	return r != nil && err == nil && r.Boot == boot && r.Init.alive()
}

// box is one Sandbox's folder.
type box struct{ dir string }

func (b *Backend) box(id sandbox.ID) box { return box{filepath.Join(b.state, string(id))} }

func (x box) socket() string { return filepath.Join(x.dir, "agent.sock") }
func (x box) log() string    { return filepath.Join(x.dir, "log") }
func (x box) record() string { return filepath.Join(x.dir, "record.json") }

func (x box) exists() bool {
	_, err := os.Lstat(x.dir)
	return err == nil
}

var errCorrupt = errors.New("the record cannot be read")

// load reads the record: nil when there is none, which is so for a Sandbox that was stopped, or half started.
func (x box) load() (*record, error) {
	raw, err := os.ReadFile(x.record())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return nil, fmt.Errorf("%w: %w", errCorrupt, err)
	}
	if r.Version != recordVersion || r.Init.Pid <= 0 {
		return nil, fmt.Errorf("%w: version %d, pid %d", errCorrupt, r.Version, r.Init.Pid)
	}
	return &r, nil
}

// save writes the record so that after a crash it is there whole or not at all.
func (x box) save(r record) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	f, err := os.CreateTemp(x.dir, "record-*")
	if err != nil {
		return fmt.Errorf("write record: %w", err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), x.record())
	}
	if err != nil {
		os.Remove(f.Name()) // what matters has failed already
		return claudehub.WithCause(claudehub.Unavailable, err,
			"The Sandbox's record cannot be written to %s. Free some space there, or mend its permissions.", x.dir)
	}
	return nil
}

// forget removes what only a running Sandbox needs.
func (x box) forget() error {
	var errs []error
	for _, p := range []string{x.socket(), x.record()} {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, fmt.Errorf("forget sandbox: %w", err))
		}
	}
	return errors.Join(errs...)
}

// logTail is the end of what bwrap and the agent complained of.
func (x box) logTail() string {
	const most = 2 << 10
	f, err := os.Open(x.log())
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd) // from the start is as good
	}
	raw, _ := io.ReadAll(io.LimitReader(f, most)) // half a tail is better than none
	return string(raw)
}
