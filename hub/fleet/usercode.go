package fleet

import (
	"crypto/rand"
	"math/big"
	"strings"
	"unicode"
)

// A user code is eight letters that cannot be mistaken for one another, and that spell no word: 20^8 of them, of which at
// most maxDevices are good at a time, for 15 minutes.
const (
	codeLetters = "BCDFGHJKLMNPQRSTVWXZ"
	codeLength  = 8
	maxTyped    = 64 // bytes of what a person types
)

func newUserCode() string {
	b := make([]byte, codeLength)
	for i := range b {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(codeLetters))))
		if err != nil {
			panic("no random numbers: " + err.Error()) // never fails: it ends the program instead (crypto/rand)
		}
		b[i] = codeLetters[n.Int64()]
	}
	return string(b[:4]) + "-" + string(b[4:])
}

// userCode reads what a person typed: in any case, with or without spaces and hyphens.
func userCode(typed string) (code string, ok bool) {
	if len(typed) > maxTyped {
		return "", false
	}
	var b strings.Builder
	for _, r := range typed {
		switch r = unicode.ToUpper(r); {
		case unicode.IsSpace(r) || unicode.Is(unicode.Dash, r):
		case r < unicode.MaxASCII && strings.ContainsRune(codeLetters, r) && b.Len() < codeLength:
			b.WriteRune(r)
		default:
			return "", false
		}
	}
	s := b.String()
	if len(s) != codeLength {
		return "", false
	}
	return s[:4] + "-" + s[4:], true
}
