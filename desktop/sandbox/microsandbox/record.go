package microsandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// record is what we know of a Sandbox that msb would not tell, or not without being started.
type record struct {
	Version int           `json:"version"`
	Made    string        `json:"made"` // hash of what the VM was made from; "" while it is being made
	Image   sandbox.Image `json:"image"`
	Relay   sandbox.Relay `json:"relay"`
	Memory  int64         `json:"memory"`
	Pid     int           `json:"pid,omitempty"` // of the VM, when it was last started; proven by its command line
	Started time.Time     `json:"started"`
}

const recordVersion = 1

// box is one Sandbox's folder.
type box struct{ dir string }

func (b *Backend) box(id sandbox.ID) box { return box{filepath.Join(b.state, "box", string(id))} }

func (x box) record() string { return filepath.Join(x.dir, "record.json") }
func (x box) socket() string { return filepath.Join(x.dir, "x") }
func (x box) relay() string  { return filepath.Join(x.dir, "r") }
func (x box) lock() string   { return filepath.Join(x.dir, "x.lock") }
func (x box) tmp() string    { return filepath.Join(x.dir, "tmp") }

func (x box) exists() bool {
	_, err := os.Lstat(x.dir)
	return err == nil
}

// load reads the record. It is nil when there is none, or none that can be read: then the VM's name alone tells what it is.
func (x box) load() (*record, error) {
	raw, err := os.ReadFile(x.record())
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read record: %w", err)
	}
	var r record
	if json.Unmarshal(raw, &r) != nil || r.Version != recordVersion {
		return nil, nil //nolint:nilerr // see above
	}
	return &r, nil
}

func (x box) save(r record) error {
	r.Version = recordVersion
	return saveJSON(x.record(), r)
}

// saveJSON writes a file so that after a crash it is there whole or not at all.
func saveJSON(path string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode record: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".record-*")
	if err != nil {
		return noRecord(path, err)
	}
	_, err = f.Write(raw)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name()) // what matters has failed already
		return noRecord(path, err)
	}
	return nil
}

func noRecord(path string, err error) error {
	return claudehub.WithCause(claudehub.Unavailable, err,
		"A record cannot be written to %s. Free some space there, or mend its permissions.", filepath.Dir(path))
}
