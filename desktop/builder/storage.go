package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Kinds of claudehub.StorageItem that are the Builder's.
const (
	KindImage    = "image"
	KindBase     = "base"
	KindKept     = "kept"
	KindLeftover = "leftover"
)

// unusedFor is how long an Image that nothing uses stays.
const unusedFor = 14 * 24 * time.Hour

// ours tells whether an Image was made by a Builder.
func ours(img sandbox.Image) bool {
	return strings.HasPrefix(string(img), "env-") || strings.HasPrefix(string(img), "tools-") || strings.HasPrefix(string(img), "base-")
}

// unrecorded tells that no record names an Image.
func (b *Builder) unrecorded(img sandbox.Image) bool {
	free := true
	b.state.read(func(all *records) { free = !all.names(img) })
	return free
}

func (all *records) names(img sandbox.Image) bool {
	for _, r := range all.Bases {
		if r.Image == img {
			return true
		}
	}
	for _, r := range all.Tools {
		if r.Image == img {
			return true
		}
	}
	for _, r := range all.Images {
		if r.Image == img {
			return true
		}
	}
	return false
}

// describe says what an Image is.
func (all *records) describe(info sandbox.ImageInfo) claudehub.StorageItem {
	item := claudehub.StorageItem{Kind: KindLeftover, Name: string(info.Image), Bytes: info.Bytes}
	for _, r := range all.Tools {
		if r.Image == info.Image {
			item.Kind, item.Used = KindBase, r.Used
		}
	}
	for _, r := range all.Bases {
		if r.Image == info.Image {
			item.Kind, item.Name, item.Used = KindBase, r.Name, r.Used
		}
	}
	for hash, r := range all.Images {
		if r.Image == info.Image {
			item.Kind, item.Name, item.Used = KindImage, cmp.Or(r.Name, hash), r.Used
		}
	}
	return item
}

// sessions counts those that are made of an Image, or of one that lies on it.
func sessions(images []sandbox.ImageInfo, img sandbox.Image, inUse func(sandbox.Image) int) (n int) {
	if inUse == nil {
		return 0
	}
	for _, info := range images {
		if info.Image == img || info.On == img {
			n += inUse(info.Image)
		}
	}
	return n
}

// Storage tells what Images and kept Sandboxes take, the largest first. inUse tells how many Sessions are made of an
// Image; nil is none.
func (b *Builder) Storage(ctx context.Context, inUse func(sandbox.Image) int) ([]claudehub.StorageItem, error) {
	images, err := b.o.Backend.Images(ctx)
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	var items []claudehub.StorageItem
	b.state.read(func(all *records) {
		for _, info := range images {
			if !ours(info.Image) {
				continue
			}
			item := all.describe(info)
			item.Sessions = sessions(images, info.Image, inUse)
			items = append(items, item)
		}
	})
	for box := range b.keptBoxes() {
		item := claudehub.StorageItem{Kind: KindKept, Name: string(box)}
		if s, err := b.o.Backend.Stats(ctx, box); err == nil {
			item.Bytes = s.DiskBytes
		}
		items = append(items, item)
	}
	slices.SortFunc(items, func(a, b claudehub.StorageItem) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return items, nil
}

// Reclaim removes what nothing uses, of the kinds named, and tells what that gave back. While a build runs it leaves
// Images alone.
func (b *Builder) Reclaim(ctx context.Context, kinds []string, inUse func(sandbox.Image) int) (freed int64, err error) {
	var errs []error
	if slices.Contains(kinds, KindKept) {
		for _, id := range b.keptBuilds() {
			var bytes int64
			if k := b.kept(id); k != nil {
				if s, err := b.o.Backend.Stats(ctx, k.Sandbox); err == nil {
					bytes = s.DiskBytes
				}
			}
			if err := b.ReleaseKept(ctx, id); err != nil {
				errs = append(errs, err)
			} else {
				freed += bytes
			}
		}
	}
	n, err := b.removeImages(ctx, func(all *records, info sandbox.ImageInfo) bool {
		return slices.Contains(kinds, all.describe(info).Kind) && (inUse == nil || inUse(info.Image) == 0)
	})
	freed += n
	errs = append(errs, err)
	if slices.Contains(kinds, KindLeftover) {
		n, err := b.o.Backend.Reclaim(ctx)
		freed += n
		errs = append(errs, err)
	}
	return freed, errors.Join(errs...)
}

func (b *Builder) keptBuilds() (ids []claudehub.BuildID) {
	b.state.read(func(all *records) {
		for id, r := range all.Builds {
			if r.Kept != nil {
				ids = append(ids, id)
			}
		}
	})
	return ids
}

// removeImages removes those that gone says, and their records. One that a Sandbox is made of stays.
func (b *Builder) removeImages(ctx context.Context, gone func(*records, sandbox.ImageInfo) bool) (freed int64, err error) {
	if !b.using.TryLock() {
		return 0, nil // a build runs, and may be about to start from any
	}
	defer b.using.Unlock()
	images, err := b.o.Backend.Images(ctx)
	if err != nil {
		return 0, fmt.Errorf("list images: %w", err)
	}
	var chosen []sandbox.ImageInfo
	needed := map[sandbox.Image]bool{} // something that stays lies on it
	b.state.read(func(all *records) {
		for _, info := range images {
			if ours(info.Image) && gone(all, info) {
				chosen = append(chosen, info)
			} else {
				needed[info.On] = true
			}
		}
	})
	var errs []error
	removed := map[sandbox.Image]bool{}
	slices.SortStableFunc(chosen, func(x, y sandbox.ImageInfo) int { return cmp.Compare(y.On, x.On) }) // what lies on others first
	for _, info := range chosen {
		if needed[info.Image] {
			continue
		}
		if err := b.o.Backend.RemoveImage(ctx, info.Image); err != nil {
			needed[info.On] = true
			if claudehub.CodeOf(err) != claudehub.Conflict {
				errs = append(errs, err)
			}
			continue
		}
		removed[info.Image] = true
		freed += info.Bytes
	}
	if len(removed) > 0 {
		errs = append(errs, b.state.change(func(all *records) {
			there := map[sandbox.Image]bool{}
			for _, info := range images {
				there[info.Image] = !removed[info.Image]
			}
			all.reconcile(there)
		}))
	}
	return freed, errors.Join(errs...)
}

// Collect removes, by rule, what is not needed: the Image of an Environment's older version when a newer one is there,
// and what nobody used for 14 days. keep tells which recipe hashes Sessions are made of.
func (b *Builder) Collect(ctx context.Context, keep func(hash string) bool) (freed int64, err error) {
	now := b.o.Now()
	return b.removeImages(ctx, func(all *records, info sandbox.ImageInfo) bool {
		for hash, r := range all.Images {
			if r.Image == info.Image && keep != nil && keep(hash) {
				return false
			}
		}
		item := all.describe(info)
		switch item.Kind {
		case KindLeftover:
			return true
		case KindImage:
			return now.Sub(item.Used) > unusedFor || all.outdated(info.Image)
		}
		return now.Sub(item.Used) > unusedFor
	})
}

// outdated tells that each Environment of an Image has a newer one.
func (all *records) outdated(img sandbox.Image) bool {
	for hash, r := range all.Images {
		if r.Image != img {
			continue
		}
		for env, version := range r.Environments {
			newer := false
			for other, o := range all.Images {
				newer = newer || other != hash && o.Environments[env] > version
			}
			if !newer {
				return false
			}
		}
		if len(r.Environments) == 0 {
			return false
		}
	}
	return true
}
