package hub

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"log/slog"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
)

// writePair makes a certificate for a name, signed by itself, and writes it with its key.
func writePair(t *testing.T, cert, key, name string, ends time.Time) *x509.Certificate {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	number, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{SerialNumber: number, Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: ends, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, form, form, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	put(t, cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	put(t, key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// put replaces a file, as programs that renew certificates do.
func put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := writeWhole(path, text); err != nil {
		t.Fatal(err)
	}
	// As if all were written within one tick of the file system's clock.
	if err := os.Chtimes(path, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
}

func TestCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c.pem"), filepath.Join(dir, "k.pem")
	first := writePair(t, cert, key, "hub.example.org", time.Now().Add(24*time.Hour))
	var said bytes.Buffer
	c, err := openCertificate(cert, key, "hub.example.org", slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(), "expires soon") {
		t.Errorf("of one that ends tomorrow it says %q", said.String())
	}
	clock := time.Now()
	c.now = func() time.Time { return clock }
	serves := func(want *x509.Certificate, when string) {
		t.Helper()
		clock = clock.Add(2 * lookEvery)
		got, err := c.get(&tls.ClientHelloInfo{})
		if err != nil || !bytes.Equal(got.Certificate[0], want.Raw) {
			t.Errorf("%s it serves another certificate, %v", when, err)
		}
	}
	serves(first, "at first")

	half := filepath.Join(dir, "half.pem")
	second := writePair(t, half, key, "hub.example.org", time.Now().Add(240*time.Hour)) // the key alone has changed
	serves(first, "half way")
	if !strings.Contains(said.String(), "cannot be used") {
		t.Errorf("of half a pair it says %q", said.String())
	}
	b, err := os.ReadFile(half)
	if err != nil {
		t.Fatal(err)
	}
	put(t, cert, b)
	serves(second, "after a change")
	put(t, cert, []byte("noise"))
	serves(second, "after noise")
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	serves(second, "without a file")
	third := writePair(t, cert, key, "hub.example.org", time.Now().Add(240*time.Hour))
	if got, _ := c.get(nil); !bytes.Equal(got.Certificate[0], second.Raw) {
		t.Error("the files are looked at at each handshake")
	}
	serves(third, "after another change")

	fourth := writePair(t, cert, key, "hub.example.org", time.Now().Add(240*time.Hour))
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	serves(third, "while everybody can read the key")
	if err := os.Chmod(key, 0o600); err != nil {
		t.Fatal(err)
	}
	serves(fourth, "after the key's mode was mended")
}

func TestCertificateRefusals(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	later := time.Now().Add(240 * time.Hour)
	writePair(t, at("c"), at("k"), "hub.example.org", later)
	writePair(t, at("c2"), at("k2"), "hub.example.org", later)
	writePair(t, at("c3"), at("open"), "hub.example.org", later)
	if err := os.Chmod(at("open"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cert, key, host string
		words           []string
	}{
		"no file":        {at("none"), at("k"), "", []string{at("none"), "is not there"}},
		"no key":         {at("c"), at("none"), "", []string{at("none"), "is not there"}},
		"a folder":       {dir, at("k"), "", []string{dir, "cannot be read"}},
		"another's key":  {at("c"), at("k2"), "", []string{at("c"), at("k2"), "together"}},
		"key first":      {at("k"), at("c"), "", []string{"together"}},
		"a public key":   {at("c3"), at("open"), "", []string{"0644", "chmod 600"}},
		"another's name": {at("c"), at("k"), "other.example.org", []string{"other.example.org", "--public-url"}},
	} {
		_, err := openCertificate(c.cert, c.key, c.host, slog.New(slog.DiscardHandler))
		if claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(claudehub.MessageOf(err), w) {
				t.Errorf("%s: no %q in %q", name, w, claudehub.MessageOf(err))
			}
		}
	}
	var said bytes.Buffer
	writePair(t, at("c4"), at("k4"), "hub.example.org", time.Now().Add(-time.Hour))
	if _, err := openCertificate(at("c4"), at("k4"), "", slog.New(slog.NewTextHandler(&said, nil))); err != nil || !strings.Contains(said.String(), "has expired") {
		t.Errorf("one that ended: %v, %q", err, said.String())
	}
}
