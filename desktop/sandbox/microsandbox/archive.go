package microsandbox

import (
	"archive/tar"
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"

	"claude-hub/internal/claudehub"
)

// layer is a root filesystem's tar that was read from end to end.
type layer struct {
	digest string // sha256, in hex
	size   int64
}

// verify reads a tar to its end: msb takes a broken one without a word when it has seen its layer before, and a root
// without a shell would be noticed only by the first command.
func verify(ctx context.Context, file *os.File, progress func(int64)) (layer, error) {
	sum := sha256.New()
	in := &counted{ctx: ctx, r: bufio.NewReaderSize(file, 1<<20), told: progress}
	tee := io.TeeReader(in, sum)
	entries, shell := 0, false
	for r := tar.NewReader(tee); ; entries++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if ctx.Err() != nil {
				return layer{}, context.Cause(ctx)
			}
			return layer{}, claudehub.WithCause(claudehub.Invalid, err,
				"%s is no whole uncompressed tar: it breaks off or is damaged after %d entries. Make it again.", file.Name(), entries)
		}
		if strings.TrimPrefix(path.Clean("/"+h.Name), "/usr") == "/bin/sh" {
			shell = true
		}
	}
	// The padding behind the end of the archive counts, too.
	if _, err := io.Copy(io.Discard, tee); err != nil {
		return layer{}, fmt.Errorf("read root filesystem: %w", err)
	}
	if !shell {
		return layer{}, claudehub.Errorf(claudehub.Invalid, "The root filesystem %s has no /bin/sh, and a Sandbox needs one. Choose another base image.", file.Name())
	}
	return layer{hex.EncodeToString(sum.Sum(nil)), in.n}, nil
}

// counted ends with its context and tells how far it is.
type counted struct {
	ctx  context.Context //nolint:containedctx // a reader has nowhere else to be given one
	r    io.Reader
	n    int64
	told func(int64)
}

func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if c.told != nil {
		c.told(c.n)
	}
	return n, err
}

// writeArchive writes what "docker save" would: one layer, and two small files that name it.
func writeArchive(w io.Writer, ref string, l layer, content io.Reader) error {
	type history struct {
		CreatedBy string `json:"created_by"`
	}
	config, err := json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config":  map[string]any{"Cmd": []string{"/bin/true"}, "WorkingDir": "/"},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + l.digest}},
		"history": []history{{"claude-hub"}},
	})
	if err != nil {
		return fmt.Errorf("encode image: %w", err)
	}
	manifest, err := json.Marshal([]map[string]any{{"Config": "config.json", "RepoTags": []string{ref}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return fmt.Errorf("encode image: %w", err)
	}
	t := tar.NewWriter(w)
	put := func(name string, size int64, r io.Reader) error {
		if err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatGNU}); err != nil {
			return fmt.Errorf("write image: %w", err)
		}
		if _, err := io.Copy(t, r); err != nil {
			return fmt.Errorf("write image: %w", err)
		}
		return nil
	}
	return errors.Join(
		put("manifest.json", int64(len(manifest)), strings.NewReader(string(manifest))),
		put("config.json", int64(len(config)), strings.NewReader(string(config))),
		put("layer.tar", l.size, content),
		t.Close(),
	)
}
