package secret

import (
	"encoding/binary"
	"sync"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"

	"claude-hub/internal/claudehub"
)

// Place says what a value is the value of. It is bound to the sealed value: under another place it does not open.
type Place struct {
	Owner, Scope, Target, Name string
}

func (p Place) data() []byte {
	out := []byte("claude-hub")
	for _, s := range []string{p.Owner, p.Scope, p.Target, p.Name} {
		out = binary.AppendUvarint(out, uint64(len(s)))
		out = append(out, s...)
	}
	return out
}

// Box seals and opens with the keyset of a file.
type Box struct {
	path string

	mu   sync.Mutex
	keys tink.AEAD
	read stamp // of the file that keys are from
}

// Load reads a keyset file; NotFound when there is none.
func Load(path string) (*Box, error) {
	b := &Box{path: path}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b, b.loadLocked()
}

// Create makes a keyset file with one key. When there is one, that counts.
func Create(path string) (*Box, error) {
	if err := makeFile(path); err != nil {
		return nil, err
	}
	return Load(path)
}

func (b *Box) loadLocked() error {
	handle, read, err := readFile(b.path)
	if err != nil {
		return err
	}
	keys, err := primitive(handle, b.path)
	if err != nil {
		return err
	}
	b.keys, b.read = keys, read
	return nil
}

func primitive(handle *keyset.Handle, path string) (tink.AEAD, error) {
	keys, err := aead.New(handle)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Invalid, err, "The keyset %s cannot be used: its keys are not for sealing values. "+
			"Put a copy of the Hub's own keyset in its place.", path)
	}
	return keys, nil
}

// fresh gives the keys of the file as it is now. A file that cannot be read at the moment is no reason to do without
// the keys that are known.
func (b *Box) fresh() (keys tink.AEAD, changed bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now, err := stampOf(b.path); err != nil || now == b.read {
		return b.keys, false
	}
	err := b.loadLocked()
	return b.keys, err == nil
}

func (b *Box) known() tink.AEAD {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.keys
}

// Seal encrypts a value for its place, with the newest key.
func (b *Box) Seal(value []byte, of Place) ([]byte, error) {
	keys, _ := b.fresh()
	sealed, err := keys.Encrypt(value, of.data())
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Internal, err, "A value could not be encrypted. The log has the details.")
	}
	return sealed, nil
}

// Open decrypts what was sealed for that place.
func (b *Box) Open(sealed []byte, of Place) ([]byte, error) {
	value, err := b.known().Decrypt(sealed, of.data())
	if err == nil {
		return value, nil
	}
	if keys, changed := b.fresh(); changed {
		if value, err = keys.Decrypt(sealed, of.data()); err == nil {
			return value, nil
		}
	}
	return nil, claudehub.WithCause(claudehub.Unavailable, err, "A stored value does not open with the keyset %s. "+
		"Put the keyset that it was sealed with in its place, from a backup or from the Hub that rotated it.", b.path)
}
