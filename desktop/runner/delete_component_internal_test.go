//go:build linux

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// TestDelete: nothing of a Session is left on the disk or in the Runner's memory, what it gave back is said, and links in
// its workspace led nowhere.
func TestDelete(t *testing.T) {
	c := newComputer(t)
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	outside := filepath.Join(c.cfg.Dir, "outside")
	must(t, os.MkdirAll(outside, 0o700))
	must(t, os.WriteFile(filepath.Join(outside, "kept"), []byte("kept"), 0o600))
	c.run(id, "head -c 30000000 /dev/urandom > /workspace/file; ln -s "+outside+" /workspace/link; mkdir -p /claude/closed/in; chmod 500 /claude/closed")
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantDeleted, 2 })
	o := c.hub.await(t, id, "deleted", func(o claudehub.Observed) bool { return o.Phase == claudehub.PhaseDeleted })
	if o.Generation != 2 || o.Figures.Freed < 30_000_000 || o.Figures.Freed > 60_000_000 || o.Figures.Disk != 0 {
		t.Errorf("%+v", o)
	}
	if _, err := os.Lstat(filepath.Join(sessionsDir(c.cfg.Dir), string(id))); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "kept")); err != nil {
		t.Error(err)
	}
	until(t, "forgotten", func() bool {
		records, err := c.state.Records(t.Context())
		boxes, listErr := c.backend.List(t.Context())
		return err == nil && listErr == nil && len(records) == 0 && len(boxes) == 0
	})
	c.kill()
	c.start() // a wish that is repeated, as after a lost answer, is fulfilled again
	c.hub.mu.Lock()
	delete(c.hub.seen, id)
	c.hub.mu.Unlock()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired, d.Generation = claudehub.WantDeleted, 2 })
	c.hub.await(t, id, "deleted again", func(o claudehub.Observed) bool { return o.Phase == claudehub.PhaseDeleted })
}

// TestUnknownSessionsAreShown: a folder of a Session that the Hub does not know is shown, kept, and removed when a person
// asks; so are images that nothing uses. What Sessions use stays.
func TestUnknownSessionsAreShown(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) { r.parts.storageRest = 10 * time.Millisecond }
	stray := string(claudehub.NewSessionID())
	dir := filepath.Join(sessionsDir(c.cfg.Dir), stray, "workspace")
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, "work"), make([]byte, 5<<20), 0o600))
	c.start()
	used, unused := environment(built("echo used > /used")), environment(built("echo unused > /unused"))
	c.hub.wishMachine(func(m *wire.DesiredMachine) {
		for _, e := range []*wire.DesiredEnvironment{used, unused} {
			m.Builds = append(m.Builds, wire.DesiredBuild{ID: claudehub.NewBuildID(), Environment: e.EnvironmentRef, Recipe: e.Recipe})
		}
	})
	id := c.session()
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Environment = used })
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	kinds := func(m claudehub.Machine, kind string) (items []claudehub.StorageItem) {
		for _, i := range m.Storage.Items {
			if i.Kind == kind {
				items = append(items, i)
			}
		}
		return items
	}
	m := c.hub.awaitCard(t, "what is there", func(m claudehub.Machine) bool {
		images := kinds(m, "image")
		return len(images) == 2 && images[0].Sessions+images[1].Sessions == 1 && len(kinds(m, "unowned")) == 1
	})
	if s := kinds(m, "unowned")[0]; s.Name != stray || s.Bytes < 5<<20 || m.Storage.Reclaimable < s.Bytes || m.Storage.Images == 0 {
		t.Errorf("%+v", m.Storage)
	}
	if _, err := os.Stat(filepath.Join(dir, "work")); err != nil {
		t.Fatalf("removed unasked: %v", err)
	}
	c.hub.wishMachine(func(m *wire.DesiredMachine) { m.Reclaim, m.What = 1, []string{"image", "unowned"} })
	m = c.hub.awaitCard(t, "reclaimed", func(m claudehub.Machine) bool { return m.Storage.Reclaimed.Request == 1 })
	if r := m.Storage.Reclaimed; r.Error != "" || r.Freed < 5<<20 || r.At.IsZero() {
		t.Errorf("%+v", r)
	}
	if _, err := os.Lstat(filepath.Dir(dir)); !os.IsNotExist(err) {
		t.Errorf("the unknown Session's folder: %v", err)
	}
	if left := kinds(m, "image"); len(left) != 1 || left[0].Sessions != 1 || slices.Contains(m.Unowned, string(id)) {
		t.Errorf("left: %+v, unowned %v", left, m.Unowned)
	}
	if got := c.run(id, "cat /used"); got != "used" {
		t.Errorf("the Session has %q", got)
	}
	c.kill()
	c.start() // a Reclaim that was done is not done again
	c.hub.awaitCard(t, "remembered", func(m claudehub.Machine) bool {
		return m.Storage.Reclaimed.Request == 1 && m.Storage.Reclaimed.Freed > 0
	})
}
