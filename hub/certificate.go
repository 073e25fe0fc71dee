package hub

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
)

// lookEvery bounds how often handshakes look whether the files changed.
const lookEvery = time.Second

// certificate is one from files, as they are now. A pair that cannot be used, such as one that is half replaced, does
// not displace the one that can.
type certificate struct {
	cert, key string
	log       *slog.Logger
	now       func() time.Time

	mu     sync.Mutex
	pair   *tls.Certificate
	stamps [2]fileStamp // of the files that were tried last
	looked time.Time
}

// fileStamp tells whether a file changed. Its time would not: what is written twice within a tick of the file system's
// clock has one time.
type fileStamp struct {
	mode fs.FileMode
	text [sha256.Size]byte
}

// openCertificate reads the files. For names that are not empty the certificate has to be good for them.
func openCertificate(cert, key, name string, log *slog.Logger) (*certificate, error) {
	c := &certificate{cert: cert, key: key, log: log, now: time.Now}
	c.mu.Lock()
	defer c.mu.Unlock()
	pair, err := c.loadLocked()
	if err != nil {
		return nil, err
	}
	if name != "" {
		if err := pair.Leaf.VerifyHostname(name); err != nil {
			return nil, claudehub.WithCause(claudehub.Invalid, err, "The certificate %s is not for %s, which the public URL (--public-url) names.", cert, name)
		}
	}
	c.warn(pair.Leaf)
	c.pair, c.looked = pair, c.now()
	return c, nil
}

func (c *certificate) warn(leaf *x509.Certificate) {
	if left := leaf.NotAfter.Sub(c.now()); left <= 0 {
		c.log.Error("the certificate has expired: browsers refuse it", "file", c.cert, "expired", leaf.NotAfter)
	} else if left < 7*24*time.Hour {
		c.log.Warn("the certificate expires soon", "file", c.cert, "expires", leaf.NotAfter)
	}
}

// get is asked at each handshake.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.now()
	if now.Sub(c.looked) < lookEvery {
		return c.pair, nil
	}
	c.looked = now
	if c.stampsNow() == c.stamps {
		return c.pair, nil
	}
	pair, err := c.loadLocked()
	if err != nil {
		c.log.Error("the certificate changed and cannot be used: the one from before goes on", "err", err)
		return c.pair, nil
	}
	c.pair = pair
	c.warn(pair.Leaf)
	c.log.Info("the certificate was read again", "file", c.cert, "expires", pair.Leaf.NotAfter)
	return c.pair, nil
}

// stampsNow follows links: that is how certificates are mostly replaced.
func (c *certificate) stampsNow() (out [2]fileStamp) {
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		out[i] = fileStamp{info.Mode(), sha256.Sum256(text)}
	}
	return out
}

func (c *certificate) loadLocked() (*tls.Certificate, error) {
	c.stamps = c.stampsNow() // before the files are read: what changes meanwhile is seen the next time
	info, err := os.Stat(c.key)
	if err != nil {
		return nil, c.unreadable(err, c.key)
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return nil, claudehub.Errorf(claudehub.Invalid, "Everybody on this machine can read the private key %s (its mode is %04o). Run chmod 600 on it.", c.key, mode)
	}
	certs, err := os.ReadFile(c.cert)
	if err != nil {
		return nil, c.unreadable(err, c.cert)
	}
	key, err := os.ReadFile(c.key)
	if err != nil {
		return nil, c.unreadable(err, c.key)
	}
	pair, err := tls.X509KeyPair(certs, key) // its errors quote nothing of the key
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Invalid, err, "The certificate %s and the private key %s cannot be used together.", c.cert, c.key)
	}
	return &pair, nil
}

func (c *certificate) unreadable(err error, path string) error {
	why := "cannot be read"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "is not there"
	case errors.Is(err, fs.ErrPermission):
		why = "cannot be read: permission is denied"
	}
	return claudehub.WithCause(claudehub.Invalid, err, "The file %s, which --tls-cert or --tls-key names, %s.", path, why)
}
