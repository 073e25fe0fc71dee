package image

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// portion is a piece of a layer's file.
type portion struct {
	file      *os.File
	from, len int64
}

func (p portion) open() (io.ReadCloser, error) {
	return io.NopCloser(io.NewSectionReader(p.file, p.from, p.len)), nil
}

// counter knows how far a tar was read, which says where a file's bytes begin.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// addLayer lays an uncompressed layer, whole in a file, over what is there. alive is asked now and then.
func (t *tree) addLayer(file *os.File, alive func() error) error {
	t.layer++
	at := &counter{r: bufio.NewReaderSize(file, 256<<10)}
	tr := tar.NewReader(at)
	for i := 0; ; i++ {
		if i%512 == 0 {
			if err := alive(); err != nil {
				return err
			}
		}
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %s", errBroken, err.Error()) // its own end is no cut: the digest was right
		}
		if err := t.add(h, portion{file, at.n, h.Size}); err != nil {
			return err
		}
	}
}

// add applies one entry of a layer.
func (t *tree) add(h *tar.Header, bytes content) error {
	parts, err := split(h.Name)
	if err != nil {
		return err
	}
	if len(parts) > 0 && strings.HasPrefix(parts[len(parts)-1], whiteout) {
		return t.hide(parts)
	}
	i := &inode{
		kind: h.Typeflag, mode: h.Mode & 0o7777, uid: h.Uid, gid: h.Gid, modified: h.ModTime, xattrs: kept(h.PAXRecords),
	}
	switch h.Typeflag {
	case tar.TypeDir:
	case tar.TypeReg:
		i.size, i.content = h.Size, bytes
	case tar.TypeSymlink:
		if len(h.Linkname) > maxPath || h.Linkname == "" {
			return fmt.Errorf("%w: a link to a name of %d bytes", errBroken, len(h.Linkname))
		}
		i.target = h.Linkname
	case tar.TypeLink:
		return t.link(parts, h.Linkname)
	case tar.TypeFifo:
	case tar.TypeChar, tar.TypeBlock:
		t.left++
		return nil
	case tar.TypeXGlobalHeader:
		return nil
	default:
		return fmt.Errorf("%w: an entry of the unknown kind %q", errBroken, h.Typeflag)
	}
	if i.uid < 0 || i.gid < 0 {
		return fmt.Errorf("%w: an owner below zero", errBroken)
	}
	return t.put(parts, i)
}

const xattrPrefix = "SCHILY.xattr."

// maxXattrs bounds what one file's extended attributes may take.
const maxXattrs = 64 << 10

// kept are the extended attributes that belong to a file's content. What a machine's security module wrote does not.
func kept(records map[string]string) map[string]string {
	var m map[string]string
	size := 0
	for k, v := range records {
		name, ok := strings.CutPrefix(k, xattrPrefix)
		if !ok || name != "security.capability" && !strings.HasPrefix(name, "user.") {
			continue
		}
		if size += len(k) + len(v); size > maxXattrs {
			continue
		}
		if m == nil {
			m = map[string]string{}
		}
		m[name] = v
	}
	return m
}
