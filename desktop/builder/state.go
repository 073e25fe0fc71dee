package builder

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// records are what must be known after a restart. They hold no secret: a recipe's hash, not its script.
type records struct {
	Version int `json:"version"`
	// Bases are base images by what identified them.
	Bases map[string]baseRecord `json:"bases"`
	// Tools are the Images with tools, by the base Image and the list of tools.
	Tools map[string]toolsRecord `json:"tools"`
	// Images are the results, by recipe hash.
	Images map[string]imageRecord            `json:"images"`
	Builds map[claudehub.BuildID]buildRecord `json:"builds"`
}

type baseRecord struct {
	Image  sandbox.Image `json:"image"`
	Name   string        `json:"name"` // for people
	Digest string        `json:"digest"`
	Env    []string      `json:"env,omitempty"`
	Used   time.Time     `json:"used"`
}

type toolsRecord struct {
	Image   sandbox.Image `json:"image"`
	Missing []string      `json:"missing,omitempty"` // what could not be had
	Detail  string        `json:"detail"`
	Used    time.Time     `json:"used"`
}

type imageRecord struct {
	Image sandbox.Image `json:"image"`
	Env   []string      `json:"env,omitempty"`
	// Environments are those that it was built for, with the newest version.
	Environments map[claudehub.EnvironmentID]int `json:"environments"`
	Name         string                          `json:"name"` // for people
	Created      time.Time                       `json:"created"`
	Used         time.Time                       `json:"used,omitzero"`
}

type buildRecord struct {
	Observed wire.ObservedBuild `json:"observed"`
	// Log is the build whose log it is: another's when it joined that.
	Log   claudehub.BuildID `json:"log"`
	Began time.Time         `json:"began"`
	// Kept is the Sandbox that is kept, and what it is made of.
	Kept *keptRecord `json:"kept,omitempty"`
}

type keptRecord struct {
	Sandbox sandbox.ID              `json:"sandbox"`
	Image   sandbox.Image           `json:"image"`
	CPUs    int                     `json:"cpus"`
	Memory  int64                   `json:"memory"`
	Disk    int64                   `json:"disk"`
	Network claudehub.NetworkPolicy `json:"network"`
	Allow   []string                `json:"allow,omitempty"`
}

// maxBuilds is how many builds are remembered, with their logs.
const maxBuilds = 200

const recordsVersion = 1

// state is the records, in memory and on the disk.
type state struct {
	path string

	mu sync.Mutex
	r  records
}

func openState(path string) (*state, error) {
	s := &state{path: path}
	raw, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("read records of builds: %w", err)
	default:
		// Records that cannot be read cost a rebuild: what they named is found as leftovers.
		if json.Unmarshal(raw, &s.r) != nil || s.r.Version != recordsVersion {
			s.r = records{}
		}
	}
	s.r.Version = recordsVersion
	if s.r.Bases == nil {
		s.r.Bases = map[string]baseRecord{}
	}
	if s.r.Tools == nil {
		s.r.Tools = map[string]toolsRecord{}
	}
	if s.r.Images == nil {
		s.r.Images = map[string]imageRecord{}
	}
	if s.r.Builds == nil {
		s.r.Builds = map[claudehub.BuildID]buildRecord{}
	}
	return s, nil
}

// change alters the records and writes them down, whole or not at all.
func (s *state) change(f func(*records)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.r)
	raw, err := json.MarshalIndent(s.r, "", " ")
	if err != nil {
		return fmt.Errorf("encode records of builds: %w", err)
	}
	half, err := os.CreateTemp(filepath.Dir(s.path), "state-*")
	if err != nil {
		return fmt.Errorf("write records of builds: %w", err)
	}
	_, err = half.Write(raw)
	err = errors.Join(err, half.Sync(), half.Close())
	if err == nil {
		err = os.Rename(half.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(half.Name()) // what matters has failed already
		return fmt.Errorf("write records of builds: %w", err)
	}
	return nil
}

// read gives the records to f, which must not keep them.
func (s *state) read(f func(*records)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.r)
}

func (s *state) image(hash string) (r imageRecord, ok bool) {
	s.read(func(all *records) { r, ok = all.Images[hash] })
	r.Env = slices.Clone(r.Env)
	return r, ok
}

func (s *state) base(key string) (r baseRecord, ok bool) {
	if key == "" {
		return r, false
	}
	s.read(func(all *records) { r, ok = all.Bases[key] })
	return r, ok
}

func (s *state) tools(key string) (r toolsRecord, ok bool) {
	s.read(func(all *records) { r, ok = all.Tools[key] })
	return r, ok
}

// final is a build that has ended; nil for one that has not, or is not known.
func (s *state) final(id claudehub.BuildID) (found *buildRecord) {
	s.read(func(all *records) {
		if r, ok := all.Builds[id]; ok && r.Observed.State.Final() {
			found = &r
		}
	})
	return found
}

func (s *state) build(id claudehub.BuildID) (r buildRecord, ok bool) {
	s.read(func(all *records) { r, ok = all.Builds[id] })
	return r, ok
}

func (s *state) use(hash string, now time.Time) error {
	return s.change(func(all *records) {
		if r, ok := all.Images[hash]; ok {
			r.Used = now
			all.Images[hash] = r
		}
	})
}

// forgetOld drops the oldest builds beyond the bound, and returns them. Kept ones stay.
func (all *records) forgetOld() []claudehub.BuildID {
	ids := slices.SortedFunc(maps.Keys(all.Builds), func(a, b claudehub.BuildID) int {
		return all.Builds[a].Began.Compare(all.Builds[b].Began)
	})
	var gone []claudehub.BuildID
	for _, id := range ids {
		if len(all.Builds) <= maxBuilds {
			break
		}
		if b := all.Builds[id]; b.Kept == nil && b.Observed.State.Final() {
			delete(all.Builds, id)
			gone = append(gone, id)
		}
	}
	return gone
}
