//go:build linux

package bubblewrap

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"claude-hub/desktop/sandbox"
)

// image is the system of an Image, read-only. It is put together from its parts, since a mount needs a place to be
// mounted on, and an Image is never changed for that.
func (p *plan) image(spec sandbox.Spec, t tree) error {
	root, err := os.OpenRoot(t.root)
	if err != nil {
		return fmt.Errorf("open image: %w", err)
	}
	defer root.Close()
	own, err := people(root)
	if err != nil {
		return err
	}
	c := &composer{plan: p, root: root, host: t.root, points: []string{
		"/proc", "/dev", "/sys", "/tmp", "/run", "/var/tmp", home, workspace, guestPath, "/etc/resolv.conf", "/etc/hosts",
	}}
	for _, f := range own {
		c.points = append(c.points, f.path)
	}
	for _, m := range spec.Mounts {
		c.points = append(c.points, m.Guest)
	}
	p.kernel()
	if err := c.folder("/"); err != nil {
		return err
	}
	p.network()
	for _, f := range own {
		p.make(f)
	}
	p.add("--perms", "1777", "--tmpfs", "/tmp", "--perms", "0755", "--tmpfs", "/run", "--perms", "1777", "--tmpfs", "/var/tmp")
	p.add(given(spec.Mounts, home, workspace)...)
	return nil
}

// network are the files by which names are found: those of the machine, whose network it is.
func (p *plan) network() {
	for _, name := range []string{"/etc/resolv.conf", "/etc/hosts"} {
		p.add("--ro-bind-try", name, name)
	}
}

// writable is the system of a build.
func (p *plan) writable(spec sandbox.Spec, t tree) {
	p.add("--bind", t.root, "/")
	p.kernel()
	p.add("--bind", t.tmp, "/tmp", "--perms", "0755", "--tmpfs", "/run", "--perms", "0755", "--tmpfs", hubFolder)
	p.network()
	if p.single {
		p.make(file{aptConf, "APT::Sandbox::User \"root\";\n"})
	}
	p.add(given(spec.Mounts, workspace)...)
}

// composer gives a Sandbox the parts of an Image.
type composer struct {
	plan   *plan
	root   *os.Root
	host   string   // where root is
	points []string // where something else will be mounted
}

// below are the points inside a folder.
func (c *composer) below(dir string) []string {
	var found []string
	for _, p := range c.points {
		if strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/") {
			found = append(found, p)
		}
	}
	return found
}

// folder gives what is in a folder, one by one. What is neither file, folder nor link is left out.
func (c *composer) folder(dir string) error {
	f, err := c.root.Open(inRoot(dir))
	if err != nil {
		return fmt.Errorf("read image: %w", err)
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return fmt.Errorf("read image: %w", err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if err := c.entry(path.Join(dir, e.Name()), e.Type()); err != nil {
			return err
		}
	}
	return nil
}

func (c *composer) entry(name string, kind fs.FileMode) error {
	points := c.below(name)
	switch {
	case slices.Contains(c.points, name): // the mount makes its own place
	case len(points) > 0 && !kind.IsDir(): // mounts come here, and bwrap makes the folder
	case len(points) > 0 && !c.ready(points):
		c.plan.add("--perms", "0755", "--dir", name)
		return c.folder(name)
	case kind.IsDir() || kind.IsRegular():
		c.plan.add("--ro-bind", filepath.Join(c.host, name), name)
	case kind&fs.ModeSymlink != 0:
		target, err := c.root.Readlink(inRoot(name))
		if err != nil {
			return fmt.Errorf("read image: %w", err)
		}
		c.plan.add("--symlink", target, name)
	}
	return nil
}

// ready tells that each point is there already, with no link on the way: bwrap would follow one, out of the Sandbox.
func (c *composer) ready(points []string) bool {
	for _, p := range points {
		if slices.ContainsFunc(c.points, func(o string) bool { return strings.HasPrefix(p, o+"/") }) {
			continue // inside another mount
		}
		for at := p; at != "/"; at = path.Dir(at) {
			info, err := c.root.Lstat(inRoot(at))
			if err != nil || !info.IsDir() && (at != p || !info.Mode().IsRegular()) {
				return false
			}
		}
	}
	return true
}

func inRoot(name string) string {
	if name = strings.TrimPrefix(name, "/"); name == "" {
		return "."
	}
	return name
}

// ensured are the places of every root: they are made when an Image is, so that a Start seldom has to compose.
var ensured = struct{ folders, files []string }{
	[]string{"/proc", "/dev", "/sys", "/tmp", "/run", "/var/tmp", home, workspace, hubFolder, "/etc"},
	[]string{"/etc/resolv.conf", "/etc/hosts", "/etc/passwd", "/etc/group", "/etc/hostname"},
}

// ensure makes the places of a root, and those of mounts: real ones, whatever was there. No process may run in it.
func ensure(root *os.Root, mounts []sandbox.Mount) error {
	for _, name := range ensured.folders {
		if err := ensureFolder(root, inRoot(name)); err != nil {
			return err
		}
	}
	for _, name := range ensured.files {
		if err := ensureFile(root, inRoot(name)); err != nil {
			return err
		}
	}
	for _, m := range mounts {
		info, err := os.Stat(m.Host)
		if err != nil {
			return fmt.Errorf("look at mount: %w", err)
		}
		make := ensureFile
		if info.IsDir() {
			make = ensureFolder
		}
		if err := make(root, inRoot(m.Guest)); err != nil {
			return err
		}
	}
	return nil
}

func ensureFolder(root *os.Root, name string) error {
	if name == "." {
		return nil
	}
	if err := ensureFolder(root, path.Dir(name)); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = root.Remove(name)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("make place: %w", err)
	}
	mode := fs.FileMode(0o755)
	if name == "tmp" || name == "var/tmp" {
		mode = 0o777 | fs.ModeSticky
	}
	if err := root.Mkdir(name, 0o755); err != nil {
		return fmt.Errorf("make place: %w", err)
	}
	if err := root.Chmod(name, mode); err != nil {
		return fmt.Errorf("make place: %w", err)
	}
	return nil
}

func ensureFile(root *os.Root, name string) error {
	if err := ensureFolder(root, path.Dir(name)); err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && info.Mode().IsRegular() {
		return nil
	}
	if err == nil {
		err = root.RemoveAll(name)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("make place: %w", err)
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("make place: %w", err)
	}
	return f.Close()
}

// people are the lists of users and groups of an Image, with the Session's own in the place of who has its name or
// number there.
func people(root *os.Root) ([]file, error) {
	made := []file{{"/etc/hostname", "sandbox\n"}}
	for _, l := range []struct{ path, own string }{
		{"/etc/passwd", "claude:x:1000:1000:Claude:" + home + ":/bin/sh\n"},
		{"/etc/group", "claude:x:1000:\n"},
	} {
		text, err := readSmall(root, inRoot(l.path))
		if err != nil {
			return nil, err
		}
		var out strings.Builder
		for line := range strings.Lines(text) {
			fields := strings.Split(line, ":")
			if len(fields) < 3 || fields[0] == "claude" || fields[2] == "1000" || out.Len()+len(line)+len(l.own)+1 > maxInput {
				continue
			}
			out.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
		made = append(made, file{l.path, out.String() + l.own})
	}
	return made, nil
}

// readSmall is a file's text, or its beginning; "" for none.
func readSmall(root *os.Root, name string) (string, error) {
	info, err := root.Lstat(name)
	if errors.Is(err, os.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read image: %w", err)
	}
	f, err := root.Open(name)
	if err != nil {
		return "", fmt.Errorf("read image: %w", err)
	}
	defer f.Close()
	buf := make([]byte, maxInput)
	n, err := f.Read(buf)
	if err != nil && n == 0 {
		return "", nil // an empty file
	}
	return string(buf[:n]), nil
}
