package image

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"claude-hub/internal/claudehub"
)

// maxLayers bounds an image; docker's own bound is 127.
const maxLayers = 512

// image flattens an image of whatever origin. key names it in the cache.
func (f *fetch) image(ctx context.Context, img v1.Image, key, source string, total int64) (Rootfs, error) {
	if r, ok := f.cached(key); ok {
		return r, nil
	}
	config, err := img.ConfigFile()
	if err != nil {
		return Rootfs{}, err
	}
	if config.OS != "" && config.OS != "linux" || config.Architecture != "" && config.Architecture != arch() {
		return Rootfs{}, wrongArch(f.base, config.OS, config.Architecture)
	}
	layers, err := img.Layers()
	if err != nil {
		return Rootfs{}, err
	}
	if len(layers) > maxLayers || len(layers) != len(config.RootFS.DiffIDs) {
		return Rootfs{}, fmt.Errorf("%w: %d layers, and digests for %d", errBroken, len(layers), len(config.RootFS.DiffIDs))
	}
	if err := f.room(total); err != nil {
		return Rootfs{}, err
	}
	t := newTree()
	report := f.paced("Fetching")
	for i, l := range layers {
		file, err := f.layer(ctx, l, config.RootFS.DiffIDs[i], func() { report(min(f.moved.Load(), total), total) })
		if err != nil {
			return Rootfs{}, fmt.Errorf("layer %d: %w", i+1, err)
		}
		defer file.Close()
		if err := t.addLayer(file, func() error { return context.Cause(ctx) }); err != nil {
			return Rootfs{}, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	return f.finish(ctx, key, t, Rootfs{Source: source, Env: config.Config.Env, Arch: arch()})
}

// layer brings one layer, uncompressed and checked, into a file.
func (f *fetch) layer(ctx context.Context, l v1.Layer, want v1.Hash, report func()) (file *os.File, err error) {
	in, err := l.Uncompressed()
	if err != nil {
		return nil, damaged(err)
	}
	defer in.Close()
	if file, err = os.CreateTemp(f.work, "layer-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	sum := sha256.New()
	got := &reported{r: in, then: func(n int) {
		if f.base.Kind == claudehub.BaseArchive {
			f.moved.Add(int64(n))
		}
		report()
	}}
	if err := copyBounded(ctx, io.MultiWriter(file, sum), got); err != nil {
		return nil, damaged(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); want.Algorithm != "sha256" || got != want.Hex {
		return nil, fmt.Errorf("%w: it has %s, and should have %s", errMismatch, got, want)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return file, nil
}

type reported struct {
	r    io.Reader
	then func(int)
}

func (r *reported) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.then(n)
	return n, err
}

// damaged marks errors that come of wrong bytes, and not of bytes that did not come.
func damaged(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.As(err, &corrupt) ||
		strings.Contains(err.Error(), "error verifying") || strings.Contains(err.Error(), "does not match expected size") {
		return fmt.Errorf("%w: %w", errMismatch, err)
	}
	return err
}
