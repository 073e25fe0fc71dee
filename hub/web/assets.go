package web

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"claude-hub/internal/claudehub"
)

// The pattern also matches dist.md, so that there is always something to embed.
//
//go:embed all:dist*
var built embed.FS

const notBuilt = `<!doctype html><html lang="en"><meta charset="utf-8"><title>claude-hub</title>
<h1>The pages are not in this program</h1><p>Run <code>make build</code> and start the Hub again.</p></html>
`

// pages serves the front end: files by name, and index.html for every address that the app itself knows.
type pages struct {
	files map[string]page
	index []byte
	tls   bool
}

type page struct {
	data      []byte
	kind, tag string
	forever   bool // its name changes with its content
}

func newPages(tls bool) (*pages, error) {
	dist, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, err
	}
	return pagesOf(dist, tls)
}

func pagesOf(dist fs.FS, tls bool) (*pages, error) {
	p := &pages{files: map[string]page{}, index: []byte(notBuilt), tls: tls}
	if _, err := fs.Stat(dist, "index.html"); err != nil {
		return p, nil //nolint:nilerr // the front end was not built: the page says so
	}
	err := fs.WalkDir(dist, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(dist, name)
		if err != nil {
			return err
		}
		if name == "index.html" {
			p.index = b
			return nil
		}
		sum := sha256.Sum256(b)
		kind := mime.TypeByExtension(path.Ext(name))
		if kind == "" {
			kind = "application/octet-stream"
		}
		p.files["/"+name] = page{data: b, kind: kind, tag: `"` + hex.EncodeToString(sum[:8]) + `"`, forever: strings.HasPrefix(name, "assets/")}
		return nil
	})
	return p, err
}

func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if f, ok := p.files[r.URL.Path]; ok {
		p.file(w, r, f)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/assets/") || path.Ext(r.URL.Path) != "" {
		writeError(w, r, claudehub.Errorf(claudehub.NotFound, "There is no such file. Reload the page: the Hub may be newer than it."))
		return
	}
	nonce := newStyleNonce()
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy(nonce))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store") // each has its own nonce, and a new Hub has new files
	_, _ = w.Write(bytes.ReplaceAll(p.index, []byte("__CSP_NONCE__"), []byte(nonce)))
}

func (p *pages) file(w http.ResponseWriter, r *http.Request, f page) {
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("ETag", f.tag)
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	} else {
		h.Set("Cache-Control", "no-cache")
	}
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	_, _ = w.Write(f.data)
}

func newStyleNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the program instead (crypto/rand)
	return base64.StdEncoding.EncodeToString(b[:])
}

// rest answers what no route of the table has: pages, and 404 below the API.
func (s *server) rest() route {
	e := endpoint{Operation: huma.Operation{Path: "/"}, limit: bodyLimit, stream: s.opt.Dev != ""}
	return route{endpoint: e, who: anyone, handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/api/"), strings.HasPrefix(r.URL.Path, "/runner/"),
			r.Method != http.MethodGet && r.Method != http.MethodHead:
			writeError(w, r, errNothing(r.Method))
		default:
			if s.opt.Dev != "" {
				w.Header().Del("Content-Security-Policy")
			}
			s.pages.ServeHTTP(w, r)
		}
	})}
}
