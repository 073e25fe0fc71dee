package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// Bounds of a root filesystem. They are far above what images have, and below what would hurt the machine.
const (
	maxFiles = 2_000_000
	maxBytes = 200 << 30
	maxPath  = 4096 // of a file and of a link's target
	maxHops  = 40   // links on the way to a file
)

// content is where a file's bytes are.
type content interface{ open() (io.ReadCloser, error) }

// inode is a file; several names may share one.
type inode struct {
	kind     byte // a tar.Type…
	mode     int64
	uid, gid int
	modified time.Time
	target   string // of a symbolic link
	size     int64
	xattrs   map[string]string
	content  content

	written string // the first name it was written under
}

// node is one name.
type node struct {
	*inode
	children map[string]*node
	layer    int // which layer put it there
}

// tree is a root filesystem as the layers read so far make it.
type tree struct {
	root  *node
	layer int
	files int
	bytes int64
	left  int // devices and sockets that were left out
}

func newTree() *tree {
	return &tree{root: folder(0)}
}

func folder(layer int) *node {
	return &node{inode: &inode{kind: tar.TypeDir, mode: 0o755, modified: time.Unix(0, 0)}, children: map[string]*node{}, layer: layer}
}

var (
	errClimbs = errors.New("a path climbs out of the image")
	errBroken = errors.New("the image's files contradict each other")
	errTooBig = errors.New("the image is larger than can be")
)

// split is a path as parts from the root. A path that climbs is refused, not bent: its author meant somewhere else.
func split(name string) ([]string, error) {
	if len(name) > maxPath || strings.ContainsRune(name, 0) {
		return nil, fmt.Errorf("%w: a name of %d bytes", errBroken, len(name))
	}
	var parts []string
	for p := range strings.SplitSeq(name, "/") {
		switch p {
		case "", ".":
		case "..":
			return nil, fmt.Errorf("%w: %.200q", errClimbs, name)
		default:
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// dir finds or makes the folder of parts. Links on the way are followed as inside a root: a layer may put files into
// /bin, which a layer below it has as a link.
func (t *tree) dir(parts []string) (*node, error) {
	at, trail := t.root, []*node{}
	hops := 0
	for len(parts) > 0 {
		name := parts[0]
		parts = parts[1:]
		if name == ".." { // of a link's target
			if len(trail) > 0 {
				at, trail = trail[len(trail)-1], trail[:len(trail)-1]
			}
			continue
		}
		next := at.children[name]
		if next == nil {
			next = folder(t.layer)
			if err := t.count(0); err != nil {
				return nil, err
			}
			at.children[name] = next
		}
		switch next.kind {
		case tar.TypeDir:
			at, trail = next, append(trail, at)
		case tar.TypeSymlink:
			if hops++; hops > maxHops {
				return nil, fmt.Errorf("%w: links that lead in a circle", errBroken)
			}
			if path.IsAbs(next.target) {
				at, trail = t.root, trail[:0]
			}
			parts = append(targetParts(next.target), parts...)
		default:
			return nil, fmt.Errorf("%w: %.200q is a file and a folder", errBroken, name)
		}
	}
	return at, nil
}

func targetParts(target string) []string {
	var parts []string
	for p := range strings.SplitSeq(target, "/") {
		if p != "" && p != "." {
			parts = append(parts, p)
		}
	}
	return parts
}

// find is the node of a name, without following a last link; nil when there is none.
func (t *tree) find(parts []string) (*node, error) {
	if len(parts) == 0 {
		return t.root, nil
	}
	parent, err := t.existing(parts[:len(parts)-1])
	if err != nil || parent == nil {
		return nil, err
	}
	return parent.children[parts[len(parts)-1]], nil
}

// existing is dir without making anything; nil when it is not there.
func (t *tree) existing(parts []string) (*node, error) {
	at, trail := t.root, []*node{}
	hops := 0
	for len(parts) > 0 {
		name := parts[0]
		parts = parts[1:]
		if name == ".." {
			if len(trail) > 0 {
				at, trail = trail[len(trail)-1], trail[:len(trail)-1]
			}
			continue
		}
		next := at.children[name]
		switch {
		case next == nil:
			return nil, nil
		case next.kind == tar.TypeDir:
			at, trail = next, append(trail, at)
		case next.kind == tar.TypeSymlink:
			if hops++; hops > maxHops {
				return nil, fmt.Errorf("%w: links that lead in a circle", errBroken)
			}
			if path.IsAbs(next.target) {
				at, trail = t.root, trail[:0]
			}
			parts = append(targetParts(next.target), parts...)
		default:
			return nil, nil
		}
	}
	return at, nil
}

func (t *tree) count(size int64) error {
	t.files++
	if size < 0 || t.files > maxFiles || t.bytes+size > maxBytes {
		return fmt.Errorf("%w: more than %d files or %d GB", errTooBig, maxFiles, maxBytes>>30)
	}
	t.bytes += size
	return nil
}

// put gives a name to an inode, in the place of what had it.
func (t *tree) put(parts []string, i *inode) error {
	if len(parts) == 0 {
		if i.kind != tar.TypeDir {
			return fmt.Errorf("%w: the root is not a folder", errBroken)
		}
		t.root.inode, t.root.layer = i, t.layer
		return nil
	}
	parent, err := t.dir(parts[:len(parts)-1])
	if err != nil {
		return err
	}
	if err := t.count(i.size); err != nil {
		return err
	}
	name := parts[len(parts)-1]
	if old := parent.children[name]; old != nil && old.kind == tar.TypeDir && i.kind == tar.TypeDir {
		old.inode, old.layer = i, t.layer
		return nil
	}
	n := &node{inode: i, layer: t.layer}
	if i.kind == tar.TypeDir {
		n.children = map[string]*node{}
	}
	parent.children[name] = n
	return nil
}

// link gives an inode another name.
func (t *tree) link(parts []string, target string) error {
	to, err := split(target)
	if err != nil {
		return err
	}
	n, err := t.find(to)
	if err != nil {
		return err
	}
	if n == nil || n.kind == tar.TypeDir {
		return fmt.Errorf("%w: a hard link to %.200q, which is not there", errBroken, target)
	}
	if len(parts) == 0 {
		return fmt.Errorf("%w: the root is not a folder", errBroken)
	}
	parent, err := t.dir(parts[:len(parts)-1])
	if err != nil {
		return err
	}
	if err := t.count(0); err != nil {
		return err
	}
	parent.children[parts[len(parts)-1]] = &node{inode: n.inode, layer: t.layer}
	return nil
}

// Whiteouts, as layers write them: "this name is gone", and "this folder was emptied".
const (
	whiteout = ".wh."
	marker   = ".wh..wh."
	opaque   = ".wh..wh..opq"
)

// hide applies a whiteout. It hides what lower layers put there, never what its own layer did.
func (t *tree) hide(parts []string) error {
	name := parts[len(parts)-1]
	parent, err := t.existing(parts[:len(parts)-1])
	if err != nil || parent == nil {
		return err
	}
	if name == opaque {
		t.empty(parent)
		return nil
	}
	if strings.HasPrefix(name, marker) {
		return nil // notes of a storage driver to itself
	}
	gone := strings.TrimPrefix(name, whiteout)
	if n := parent.children[gone]; n != nil && n.layer < t.layer {
		delete(parent.children, gone)
	} else if n != nil && n.kind == tar.TypeDir {
		t.empty(n)
	}
	return nil
}

func (t *tree) empty(dir *node) {
	for name, n := range dir.children {
		if n.layer < t.layer {
			delete(dir.children, name)
		} else if n.kind == tar.TypeDir {
			t.empty(n)
		}
	}
}

// shell is the program that /bin/sh leads to; nil when there is none inside.
func (t *tree) shell() *node {
	parts := []string{"bin", "sh"}
	for range maxHops {
		n, err := t.find(parts)
		if err != nil || n == nil {
			return nil
		}
		if n.kind == tar.TypeReg && n.mode&0o111 != 0 {
			return n
		}
		if n.kind != tar.TypeSymlink {
			return nil
		}
		if path.IsAbs(n.target) {
			parts = targetParts(n.target)
		} else {
			parts = append(parts[:len(parts)-1:len(parts)-1], targetParts(n.target)...)
		}
		// What climbs above the root stays there, as in any root.
		if parts = targetParts(path.Clean("/" + strings.Join(parts, "/"))); len(parts) == 0 {
			return nil
		}
	}
	return nil
}
