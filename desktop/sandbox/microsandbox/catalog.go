package microsandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// The kinds of Image: msb has two things that a VM can be made of.
const (
	imported  = "image"    // an OCI image of one layer
	committed = "snapshot" // the changed part of a VM's disk, on top of an image
)

// catalogLock is held while records of Images are compared with those of Sandboxes. It is short: no msb is waited for.
const catalogLock = ".catalog"

// imageRecord is an Image that is whole: it is written last when one is made, and removed first.
type imageRecord struct {
	Image   sandbox.Image `json:"image"`
	Kind    string        `json:"kind"`
	Base    sandbox.Image `json:"base,omitempty"` // what a committed one lies on
	Layer   string        `json:"layer,omitempty"`
	Created time.Time     `json:"created"`
	// Forgotten is an imported one that was removed while committed ones lie on it: it goes with the last of them.
	Forgotten bool `json:"forgotten,omitempty"`
}

// handle is what msb calls it.
func (r imageRecord) handle() string {
	if r.Kind == committed {
		return string(r.Image)
	}
	return reference(r.Image)
}

// reference is an imported Image's name in msb's cache.
func reference(name sandbox.Image) string { return "claude-hub/" + string(name) + ":1" }

var imageShape = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

func checkImage(name sandbox.Image) error {
	if !imageShape.MatchString(string(name)) {
		return claudehub.Errorf(claudehub.Invalid, "%q is no Image's name: use 1 to 64 small letters, digits and '-', and no '-' first.", name)
	}
	return nil
}

func (b *Backend) imageFile(name sandbox.Image) string {
	return filepath.Join(b.state, "image", string(name)+".json")
}

// image finds an Image that Sandboxes can start from.
func (b *Backend) image(name sandbox.Image) (imageRecord, error) {
	if name == "" {
		return imageRecord{}, claudehub.Errorf(claudehub.Invalid, "A microVM starts from an image, and none was given. Build an Environment, and choose it for this Session.")
	}
	if err := checkImage(name); err != nil {
		return imageRecord{}, err
	}
	r, err := b.loadImage(name)
	if err != nil {
		return imageRecord{}, err
	}
	if r == nil || r.Forgotten {
		return imageRecord{}, claudehub.Errorf(claudehub.NotFound, "The image %s is not on this machine. Build the Environment again.", name)
	}
	return *r, nil
}

func (b *Backend) loadImage(name sandbox.Image) (*imageRecord, error) {
	raw, err := os.ReadFile(b.imageFile(name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read image record: %w", err)
	}
	var r imageRecord
	if json.Unmarshal(raw, &r) != nil || r.Image != name {
		return nil, nil //nolint:nilerr // as good as none: what it was of is a leftover
	}
	return &r, nil
}

// catalog reads all records, forgotten ones included.
func (b *Backend) catalog() (map[sandbox.Image]imageRecord, error) {
	entries, err := os.ReadDir(filepath.Join(b.state, "image"))
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	all := map[sandbox.Image]imageRecord{}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || checkImage(sandbox.Image(name)) != nil {
			continue
		}
		r, err := b.loadImage(sandbox.Image(name))
		if err != nil {
			return nil, err
		}
		if r != nil {
			all[r.Image] = *r
		}
	}
	return all, nil
}
