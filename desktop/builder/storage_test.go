//go:build linux

package builder_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"claude-hub/desktop/builder"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func (y *yard) must(r builder.Request) sandbox.Image {
	y.t.Helper()
	img, err := y.Ensure(soon(y.t), r)
	if err != nil {
		y.t.Fatal(err)
	}
	return img
}

func TestOldVersionsAreCollected(t *testing.T) {
	var late atomic.Int64
	y := newYard(t, func(o *builder.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
	})
	first, _ := request(recipe("echo 1"))
	second, _ := request(recipe("echo 2"))
	second.Environment = first.Environment
	second.Environment.Version = 2
	other, _ := request(recipe("echo other"))
	one, two, three := y.must(first), y.must(second), y.must(other)
	hash := first.Recipe.Hash()
	if _, err := y.Collect(soon(t), func(h string) bool { return h == hash }); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(y.images(), one) {
		t.Error("a version that a Session uses was removed")
	}
	freed, err := y.Collect(soon(t), func(string) bool { return false })
	if err != nil || freed <= 0 {
		t.Fatalf("%d, %v", freed, err)
	}
	if got := y.images(); slices.Contains(got, one) || !slices.Contains(got, two) || !slices.Contains(got, three) {
		t.Errorf("left: %v", got)
	}
	late.Store(int64(13 * 24 * time.Hour))
	y.Used(other.Recipe.Hash())
	late.Store(int64(15 * 24 * time.Hour))
	if _, err := y.Collect(soon(t), func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if got := y.images(); slices.Contains(got, two) || !slices.Contains(got, three) || len(got) != 1 {
		t.Errorf("left: %v", got)
	}
	// It is built again from nothing.
	y.must(second)
}

func TestStorageAndReclaim(t *testing.T) {
	y := newYard(t)
	used, _ := request(recipe("head -c 3000000 /dev/urandom > /three-megabytes"))
	used.Environment.Name = "Used"
	free, _ := request(recipe("head -c 2000000 /dev/urandom > /two-megabytes"))
	free.Environment.Name = "Free"
	img, spare := y.must(used), y.must(free)
	if err := y.backend.Start(soon(t), sandbox.Spec{ID: "session", Image: img}); err != nil {
		t.Fatal(err)
	}
	if err := y.backend.Stop(soon(t), "session", 0); err != nil {
		t.Fatal(err)
	}
	inUse := func(i sandbox.Image) int {
		if i == img {
			return 1
		}
		return 0
	}
	items, err := y.Storage(soon(t), inUse)
	if err != nil || len(items) != 3 {
		t.Fatalf("%+v, %v", items, err)
	}
	for _, i := range items {
		switch i.Name {
		case "Used":
			if i.Kind != builder.KindImage || i.Sessions != 1 || i.Bytes < 3000000 || i.Used.IsZero() {
				t.Errorf("%+v", i)
			}
		case "Free":
			if i.Kind != builder.KindImage || i.Sessions != 0 || i.Bytes < 2000000 {
				t.Errorf("%+v", i)
			}
		case root:
			if i.Kind != builder.KindBase || i.Bytes < 10<<20 {
				t.Errorf("%+v", i)
			}
		default:
			t.Errorf("%+v", i)
		}
	}
	// Without a word from the Runner, the Backend itself still refuses what a Sandbox is made of.
	for _, who := range []func(sandbox.Image) int{inUse, nil} {
		freed, err := y.Reclaim(soon(t), []string{builder.KindImage}, who)
		if err != nil || who != nil && freed < 2000000 {
			t.Errorf("%d, %v", freed, err)
		}
	}
	if got := y.images(); slices.Contains(got, spare) || !slices.Contains(got, img) || len(got) != 2 {
		t.Errorf("left: %v", got)
	}
	if freed, err := y.Reclaim(soon(t), []string{builder.KindBase, builder.KindKept, builder.KindLeftover}, inUse); err != nil || freed < 1<<20 {
		t.Errorf("%d, %v", freed, err)
	}
	if got := y.images(); !slices.Equal(got, []sandbox.Image{img}) {
		t.Errorf("left: %v", got)
	}
	again, _ := request(used.Recipe)
	if got := y.must(again); got != img {
		t.Errorf("got %q", got)
	}
	y.must(free2(free))
}

// layered tells of a Backend's Images that those of Environments lie on the base, as microVMs' disks do.
type layered struct{ sandbox.Backend }

func (l layered) Images(ctx context.Context) ([]sandbox.ImageInfo, error) {
	infos, err := l.Backend.Images(ctx)
	for i := range infos {
		if i > 0 {
			infos[i].On = infos[0].Image
		}
	}
	return infos, err
}

// TestABaseStaysUnderWhatLiesOnIt: removing it would give nothing back, and the next build would have to fetch it again.
func TestABaseStaysUnderWhatLiesOnIt(t *testing.T) {
	y := newYard(t, func(o *builder.Options) { o.Backend = layered{o.Backend} })
	one, _ := request(recipe("echo one"))
	two, _ := request(recipe("echo two"))
	kept, gone := y.must(one), y.must(two)
	inUse := func(i sandbox.Image) int {
		if i == kept {
			return 3
		}
		return 0
	}
	items, err := y.Storage(soon(t), inUse)
	if err != nil || len(items) != 3 {
		t.Fatalf("%+v, %v", items, err)
	}
	base := slices.IndexFunc(items, func(i claudehub.StorageItem) bool { return i.Kind == builder.KindBase })
	if items[base].Sessions != 3 {
		t.Errorf("%+v", items[base])
	}
	all := []string{builder.KindBase, builder.KindImage}
	if freed, err := y.Reclaim(soon(t), all, inUse); err != nil || freed <= 0 || freed >= items[base].Bytes {
		t.Errorf("%d of %d, %v", freed, items[base].Bytes, err)
	}
	if got := y.images(); len(got) != 2 || slices.Contains(got, gone) {
		t.Errorf("left: %v", got)
	}
	if freed, err := y.Reclaim(soon(t), all, nil); err != nil || freed < items[base].Bytes {
		t.Errorf("%d of %d, %v", freed, items[base].Bytes, err)
	}
	if got := y.images(); len(got) != 0 {
		t.Errorf("left: %v", got)
	}
}

func free2(r builder.Request) builder.Request {
	r.ID = claudehub.NewBuildID()
	return r
}
