package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"claude-hub/internal/claudehub"
)

// identifyLimit bounds the question which image a name stands for.
const identifyLimit = 60 * time.Second

// silence is how long a registry may send nothing.
const silence = 90 * time.Second

// patient has deadlines for connecting, for the wait for an answer, and for silence within one. moved counts bytes.
type patient struct {
	*http.Transport
	moved *atomic.Int64
}

func newTransport(moved *atomic.Int64) patient {
	return patient{moved: moved, Transport: &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:   20 * time.Second,
		ResponseHeaderTimeout: 60 * time.Second,
		IdleConnTimeout:       10 * time.Second,
		ForceAttemptHTTP2:     true,
	}}
}

func (t patient) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.Transport.RoundTrip(r)
	if err == nil {
		b := &body{ReadCloser: resp.Body, moved: t.moved}
		b.timer = time.AfterFunc(silence, b.stall)
		resp.Body = b
	}
	return resp, err
}

// body ends when nothing comes.
type body struct {
	io.ReadCloser
	timer   *time.Timer
	moved   *atomic.Int64
	stalled atomic.Bool
}

func (b *body) stall() {
	b.stalled.Store(true)
	b.ReadCloser.Close()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.moved.Add(int64(n))
	switch {
	case b.stalled.Load():
		return n, errStalled
	case err != nil:
		b.timer.Stop()
	default:
		b.timer.Reset(silence)
	}
	return n, err
}

func (b *body) Close() error {
	b.timer.Stop()
	return b.ReadCloser.Close()
}

// found is an image that a registry has for this machine.
type found struct {
	image  v1.Image
	digest v1.Hash
}

// ask finds the image that a reference means here. The image's layers come through t, which the caller closes.
func ask(ctx context.Context, base claudehub.Base, t http.RoundTripper) (found, error) {
	ref, err := name.ParseReference(base.Ref)
	if err != nil {
		return found{}, claudehub.WithCause(claudehub.Invalid, err, "%q is not an image's name. It looks like debian:bookworm or registry.example.org/team/image:tag.", base.Ref)
	}
	desc, err := remote.Get(ref, remote.WithContext(ctx), remote.WithTransport(t),
		remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch()}))
	if err != nil {
		return found{}, err
	}
	if desc.MediaType.IsIndex() {
		return fromIndex(base, desc)
	}
	img, err := desc.Image()
	if err != nil {
		return found{}, err
	}
	return found{img, desc.Digest}, nil
}

// fromIndex chooses this machine's image from one for many.
func fromIndex(base claudehub.Base, desc *remote.Descriptor) (found, error) {
	index, err := desc.ImageIndex()
	if err != nil {
		return found{}, err
	}
	return choose(base, index)
}

// choose takes this machine's image from an index. An index may name an index; two deep is as far as any goes.
func choose(base claudehub.Base, index v1.ImageIndex) (found, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return found{}, err
	}
	var offered []string
	for _, m := range manifest.Manifests {
		switch p := m.Platform; {
		case m.MediaType.IsIndex() && len(manifest.Manifests) == 1:
			inner, err := index.ImageIndex(m.Digest)
			if err != nil {
				return found{}, err
			}
			if inner == nil {
				continue
			}
			return choose(base, inner)
		case !m.MediaType.IsImage():
		case p == nil || p.OS == "linux" && p.Architecture == arch() || p.OS == "" && p.Architecture == "":
			img, err := index.Image(m.Digest)
			if err != nil {
				return found{}, err
			}
			return found{img, m.Digest}, nil
		case p.OS != "unknown":
			offered = append(offered, p.OS+"/"+p.Architecture)
		}
	}
	if len(offered) == 0 {
		return found{}, fmt.Errorf("%w: an index without an image", errBroken)
	}
	return found{}, claudehub.Errorf(claudehub.Invalid, "The image %s is not made for linux/%s, which this Runner's machine needs, but for %s. Choose one that is.",
		base.Ref, arch(), strings.Join(offered[:min(len(offered), 8)], ", "))
}

func (f *fetch) registry(ctx context.Context) (Rootfs, error) {
	t := newTransport(&f.moved)
	defer t.CloseIdleConnections()
	f.progress(Progress{Step: "Asking the registry"})
	img, err := ask(ctx, f.base, t)
	if err != nil {
		return Rootfs{}, err
	}
	manifest, err := img.image.Manifest()
	if err != nil {
		return Rootfs{}, err
	}
	total, err := sizeOfLayers(manifest)
	if err != nil {
		return Rootfs{}, err
	}
	f.moved.Store(0)
	return f.image(ctx, img.image, "registry-"+img.digest.Hex[:min(len(img.digest.Hex), 64)], img.digest.String(), total)
}

func sizeOfLayers(m *v1.Manifest) (total int64, err error) {
	for _, l := range m.Layers {
		if total += l.Size; l.Size < 0 || total > maxBytes {
			return 0, errTooBig
		}
	}
	return total, nil
}

// Identify names what a base is at this moment, without fetching it: when the name is the same later, so is the base. It
// is "" for one that cannot be known but by reading it whole.
func Identify(ctx context.Context, base claudehub.Base) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, identifyLimit)
	defer cancel()
	switch base.Kind {
	case claudehub.BaseRegistry:
		t := newTransport(new(atomic.Int64))
		defer t.CloseIdleConnections()
		img, err := ask(ctx, base, t)
		if err != nil {
			return "", explain(ctx, base, err)
		}
		return img.digest.String(), nil
	case claudehub.BaseArchive:
		id, err := identifyFile(base.Ref)
		if err != nil {
			return "", explain(ctx, base, err)
		}
		return id, nil
	case claudehub.BaseDirectory:
		return "", nil
	}
	return "", errors.New("only a base of its own can be identified")
}
