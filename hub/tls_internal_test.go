package hub

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

const testName = "hub.example.org"

// secureHub is a Hub with a certificate of its own, and a browser that knows the name and trusts a certificate.
type secureHub struct {
	t       *testing.T
	hub     *Hub
	address string
	plain   string // the address for plain HTTP
}

func startSecure(t *testing.T, change func(*Config)) *secureHub {
	t.Helper()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &secureHub{t: t, plain: plain.Addr().String()}
	plain.Close()
	cfg := Config{Store: Store{Data: t.TempDir()}, Listen: "127.0.0.1:0", LogLevel: "info", Reach: Reach{HTTPListen: s.plain}, PublicURL: "https://" + testName}
	change(&cfg)
	h, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s.hub = h
	ln, err := Listen(t.Context(), cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	s.address = ln.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

type answered struct {
	status int
	header http.Header
	major  int // of HTTP
}

// transport finds the name at the Hub.
func (s *secureHub) transport(conf *tls.Config) *http.Transport {
	conf.ServerName = testName
	return &http.Transport{TLSClientConfig: conf, DisableKeepAlives: true, ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
		}}
}

// get asks for a path by https, as the name.
func (s *secureHub) get(path string, conf *tls.Config) (answered, error) {
	tr := s.transport(conf)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "https://"+testName+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return answered{}, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return answered{resp.StatusCode, resp.Header, resp.ProtoMajor}, err
}

func trust(certs ...*x509.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	for _, c := range certs {
		pool.AddCert(c)
	}
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
}

func TestServesByTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	first := writePair(t, cert, key, testName, time.Now().Add(240*time.Hour))
	s := startSecure(t, func(c *Config) { c.TLSCert, c.TLSKey = cert, key })

	resp, err := s.get("/healthz", trust(first))
	if err != nil || resp.status != http.StatusOK {
		t.Fatal(resp, err)
	}
	if h := resp.header.Get("Strict-Transport-Security"); !strings.HasPrefix(h, "max-age=") {
		t.Errorf("HSTS is %q", h)
	}
	if resp.major != 2 {
		t.Errorf("it speaks HTTP/%d", resp.major)
	}
	old := trust(first)
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, err := s.get("/healthz", old); err == nil {
		t.Error("TLS 1.1 is spoken")
	}

	second := writePair(t, cert, key, testName, time.Now().Add(240*time.Hour))
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err = s.get("/healthz", trust(second)); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the new certificate is not served:", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := s.get("/healthz", trust(first)); err == nil {
		t.Error("the old certificate is served too")
	}
}

func TestPlainHTTPSendsOn(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	writePair(t, cert, key, testName, time.Now().Add(240*time.Hour))
	s := startSecure(t, func(c *Config) { c.TLSCert, c.TLSKey = cert, key })
	raw := func(request string) string {
		t.Helper()
		var conn net.Conn
		deadline := time.Now().Add(10 * time.Second)
		for {
			var err error
			if conn, err = net.Dial("tcp", s.plain); err == nil {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Millisecond)
		}
		defer conn.Close()
		_ = conn.SetDeadline(deadline)
		if _, err := io.WriteString(conn, request+"\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(conn)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	const ours = "\r\nLocation: https://" + testName
	for request, want := range map[string]string{
		"GET /sessions?x=1 HTTP/1.1\r\nHost: h":               ours + "/sessions?x=1\r\n",
		"GET //evil.example/ HTTP/1.1\r\nHost: h":             ours + "//evil.example/\r\n",
		"GET / HTTP/1.1\r\nHost: evil.example":                ours + "/\r\n",
		"GET http://evil.example/a HTTP/1.1\r\nHost: h":       ours + "/a\r\n",
		"GET evil:80 HTTP/1.1\r\nHost: h":                     ours + "/\r\n",
		"POST /api/sign-in HTTP/1.1\r\nHost: h":               "HTTP/1.1 403",
		"GET /api/me HTTP/1.1\r\nHost: h\r\nAuthorization: x": "HTTP/1.1 403",
	} {
		if got := raw(request); !strings.Contains(got, want) && !strings.HasPrefix(got, "HTTP/1.1 400") || strings.Contains(got, "Strict-Transport") {
			t.Errorf("%q: %q", request, got)
		}
	}
}

// ACME's own place is what is left of plain HTTP to autocert, for names of ours alone.
func TestAnACMEDirectoryOfOthersIsRefused(t *testing.T) {
	cfg := Config{Store: Store{Data: t.TempDir()}, Reach: Reach{ACME: []string{testName}}, PublicURL: "https://" + testName}
	s, err := tlsFor(cfg, slog.New(slog.DiscardHandler))
	if err != nil || s.conf.MinVersion != tls.VersionTLS12 {
		t.Fatal(err, s)
	}
	if _, err := s.conf.GetCertificate(&tls.ClientHelloInfo{ServerName: "other.example.org"}); err == nil {
		t.Error("a certificate for a name of a stranger is asked for")
	}
	w := httptest.NewRecorder()
	s.plain(sendOn("https://"+testName)).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://other.example.org/.well-known/acme-challenge/x", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("a challenge for a stranger's name answers %d", w.Code)
	}
	dir := filepath.Join(cfg.Data, "acme")
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info, err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := tlsFor(cfg, slog.New(slog.DiscardHandler)); claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(claudehub.MessageOf(err), "chmod 700") {
		t.Errorf("a directory that others can look into: %v", err)
	}
}

func TestPlainHTTPWhereAnotherIs(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	writePair(t, cert, key, testName, time.Now().Add(240*time.Hour))
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cfg := Config{Store: Store{Data: t.TempDir()}, Listen: "127.0.0.1:0", LogLevel: "info",
		Reach: Reach{TLSCert: cert, TLSKey: key, HTTPListen: taken.Addr().String()}}
	h, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ln, err := Listen(t.Context(), cfg.Listen)
	if err != nil {
		t.Fatal(err)
	}
	err = h.Run(t.Context(), ln)
	if msg := claudehub.MessageOf(err); claudehub.CodeOf(err) != claudehub.Conflict || !strings.Contains(msg, "in use") || !strings.Contains(msg, "--http-listen") {
		t.Errorf("it ends with %v", err)
	}
}
