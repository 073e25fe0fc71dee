package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"claude-hub/internal/claudehub"
)

const maxConfig = 16 << 20

// Seed says what the configuration must hold before Claude Code is launched.
type Seed struct {
	// Workspace is the working directory, as the Sandbox sees it. It is trusted: the Sandbox is the boundary.
	Workspace string
	// Theme is Claude Code's colour theme for a folder that has none; "" is "dark".
	Theme string
}

// Seeded tells what writing the seed found.
type Seeded struct {
	// Broken names files that could not be read as JSON objects and were replaced; the old ones lie beside them.
	Broken []string
}

// WriteSeed makes Claude Code start at its prompt, with nothing asked. In a folder that has been used, only the keys
// that this needs are set: what the person changed stays. A file that a kill left half written is set aside and begun
// afresh.
func WriteSeed(dir string, s Seed) (Seeded, error) {
	f, err := openFolder(dir)
	if err != nil {
		return Seeded{}, seedError(err, dir)
	}
	defer f.close()
	var found Seeded
	for name, fill := range map[string]func(object){".claude.json": s.global, "settings.json": s.settings} {
		broken, err := f.merge(name, fill)
		if err != nil {
			return found, seedError(err, dir)
		}
		if broken {
			found.Broken = append(found.Broken, name)
		}
	}
	return found, nil
}

// object is a JSON object whose values are kept as they are, numbers with all their digits.
type object map[string]any

func (o object) child(key string) object {
	c, ok := o[key].(map[string]any)
	if !ok {
		c = map[string]any{}
		o[key] = c
	}
	return c
}

func (o object) missing(key string, value any) {
	if _, ok := o[key]; !ok {
		o[key] = value
	}
}

func (s Seed) global(o object) {
	o["hasCompletedOnboarding"] = true
	o["bypassPermissionsModeAccepted"] = true
	theme := s.Theme
	if theme == "" {
		theme = "dark"
	}
	o.missing("theme", theme)
	project := o.child("projects").child(s.Workspace)
	project["hasTrustDialogAccepted"] = true
	project["hasCompletedProjectOnboarding"] = true
}

func (s Seed) settings(o object) {
	o["skipDangerousModePermissionPrompt"] = true
	// Which renderer is used depends on the account unless it is said. The classic one keeps a scrollback in tmux and
	// leaves the mouse to the terminal. Who prefers the other chooses it with /tui, and that is kept.
	o.missing("tui", "default")
}

// merge changes a JSON object in a file. It is not written when it is right already.
func (f folder) merge(name string, fill func(object)) (broken bool, err error) {
	o := object{}
	old, err := f.read(name, maxConfig)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, errNotFile), errors.Is(err, errTooLarge):
		broken = true
	case err != nil:
		return false, err
	default:
		o, broken = parseObject(old)
	}
	if broken {
		if err := f.setAside(name, "broken"); err != nil {
			return true, fmt.Errorf("set %s aside: %w", name, err)
		}
		o = object{}
	}
	before, err := json.Marshal(o)
	if err != nil {
		return broken, err
	}
	fill(o)
	b, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return broken, err
	}
	if after, err := json.Marshal(o); err == nil && bytes.Equal(before, after) && len(old) > 0 {
		return broken, nil // Claude Code's own way of writing it stays
	}
	if err := f.write(name, b); err != nil {
		return broken, fmt.Errorf("write %s: %w", name, err)
	}
	return broken, nil
}

// parseObject reads a JSON object. An empty file, which a kill can leave, counts as a broken one.
func parseObject(b []byte) (o object, broken bool) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&o); err != nil || o == nil || d.More() {
		return object{}, true
	}
	return o, false
}

func seedError(err error, dir string) error {
	return claudehub.WithCause(claudehub.Unavailable, err, "Claude Code's configuration in %s could not be written. Check that the disk is not full and that the folder belongs to the user who runs the Runner.", dir)
}
