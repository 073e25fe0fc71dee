package github

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// maxBody is far above anything that GitHub answers here, and below what x/oauth2 would cut off without a word.
const maxBody = 256 << 10

var errTooLarge = errors.New("the answer is too large")

func ownTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    5 * time.Second,
		IdleConnTimeout:        30 * time.Second,
		MaxIdleConnsPerHost:    4,
		MaxConnsPerHost:        16,
		MaxResponseHeaderBytes: 64 << 10,
	}
}

// bounded asks for JSON and reads no endless answer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Accept") == "" { // the token endpoint answers with a form otherwise
		r = r.Clone(r.Context())
		r.Header.Set("Accept", "application/json")
	}
	res, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if res.ContentLength > maxBody {
		res.Body.Close()
		return nil, errTooLarge
	}
	res.Body = &boundedBody{res.Body, maxBody}
	return res, nil
}

type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left == 0 {
		// One byte more tells an answer of exactly the bound from a longer one.
		var one [1]byte
		n, err := b.ReadCloser.Read(one[:])
		if n > 0 {
			return 0, errTooLarge
		}
		return 0, err
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
