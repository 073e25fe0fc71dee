package github

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	gh "github.com/google/go-github/v93/github"
	"golang.org/x/oauth2"

	"claude-hub/internal/claudehub"
)

// Outage is the cause of an error with the code unavailable: GitHub could not be asked. It says nothing about a person.
type Outage struct {
	Endpoint   string        // what was asked
	Status     int           // 0 when no whole answer came
	What       string        // what happened, in this package's own words
	RetryAfter time.Duration // GitHub's wish, at most an hour; 0 when it said nothing
	quick      bool          // worth asking again at once
	cause      error         // of the context alone
}

func (o *Outage) Error() string {
	if o.Status != 0 {
		return fmt.Sprintf("ask GitHub for %s: %s (status %d)", o.Endpoint, o.What, o.Status)
	}
	return fmt.Sprintf("ask GitHub for %s: %s", o.Endpoint, o.What)
}

// Unwrap returns the context's error when the caller left or the time was over.
func (o *Outage) Unwrap() error { return o.cause }

// AsOutage returns the outage under an error, if it is one.
func AsOutage(err error) (*Outage, bool) {
	var o *Outage
	ok := errors.As(err, &o)
	return o, ok
}

const maxRetryAfter = time.Hour

func unavailable(o *Outage) error {
	return claudehub.WithCause(claudehub.Unavailable, o, "GitHub does not answer as it should at present. Whoever is signed in stays signed in; try again in a minute.")
}

// refusal is GitHub's own "no" to one call.
type refusal struct {
	endpoint string
	status   int
}

func (r *refusal) Error() string {
	return fmt.Sprintf("GitHub refuses %s (status %d)", r.endpoint, r.status)
}

// strange makes an outage of a refusal that GitHub never gives there: more likely the address is wrong.
func (r *refusal) strange() *Outage {
	return &Outage{Endpoint: r.endpoint, Status: r.status, What: "that is no answer of GitHub's; the configured address may be wrong"}
}

// classify turns what a call returned into nil, a refusal or an Outage; nothing of GitHub's text is kept.
func classify(ctx context.Context, endpoint string, err error) error {
	if err == nil {
		return nil
	}
	o := &Outage{Endpoint: endpoint}
	var limit *gh.RateLimitError
	var burst *gh.AbuseRateLimitError
	var two *gh.TwoFactorAuthError
	var res *gh.ErrorResponse
	var redirect *gh.RedirectionError
	var accepted *gh.AcceptedError
	switch {
	case errors.As(err, &limit):
		o.What, o.RetryAfter = "its rate limit is reached", retryAfter(limit.Response)
	case errors.As(err, &burst):
		o.What, o.RetryAfter = "its limit on bursts is reached", retryAfter(burst.Response)
	case errors.As(err, &two):
		return &refusal{endpoint, http.StatusUnauthorized}
	case errors.As(err, &res):
		return answered(o, res)
	case errors.As(err, &redirect):
		o.What, o.Status = "it sends us elsewhere", redirect.StatusCode
	case errors.As(err, &accepted):
		o.What, o.Status = "its answer is not there yet", http.StatusAccepted
	default:
		broken(ctx, o, err)
	}
	return o
}

// answered reads a status. A refusal counts only in GitHub's form: a proxy's 404 would throw everybody out.
func answered(o *Outage, res *gh.ErrorResponse) error {
	status := res.Response.StatusCode
	wait := retryAfter(res.Response)
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusUnprocessableEntity:
		if res.Message != "" && wait == 0 {
			return &refusal{o.Endpoint, status}
		}
	}
	statusOutage(o, status, wait)
	if res.Message == "" && status < http.StatusInternalServerError {
		o.What = "the answer is not in GitHub's form; something else may be in the way"
	}
	return o
}

func statusOutage(o *Outage, status int, wait time.Duration) {
	o.What, o.Status, o.RetryAfter = "it answers with an error", status, wait
	switch status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		o.quick = wait == 0
	case http.StatusTooManyRequests, http.StatusForbidden:
		o.What = "its rate limit is reached"
	}
}

func retryAfter(res *http.Response) time.Duration {
	if res == nil {
		return 0
	}
	wait := time.Duration(0)
	if n, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && n > 0 {
		wait = min(time.Duration(n), maxRetryAfter/time.Second) * time.Second
	} else if n, err := strconv.ParseInt(res.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil && res.Header.Get("X-RateLimit-Remaining") == "0" {
		wait = min(max(time.Until(time.Unix(n, 0)), time.Second), maxRetryAfter)
	}
	return wait
}

// broken describes an answer that did not come whole. Only texts that the far end cannot choose are taken over.
func broken(ctx context.Context, o *Outage, err error) {
	var timeout net.Error
	var op *net.OpError
	var dns *net.DNSError
	var errno syscall.Errno
	var cert *tls.CertificateVerificationError
	switch {
	case ctx.Err() != nil:
		o.What, o.cause = "the time for it is over", ctx.Err()
		if errors.Is(ctx.Err(), context.Canceled) {
			o.What = "the asker left"
		}
	case errors.Is(err, errTooLarge):
		o.What = "the answer is too large"
	case errors.As(err, &timeout) && timeout.Timeout():
		o.What, o.cause = "no answer came in time", context.DeadlineExceeded
	case errors.As(err, &cert):
		o.What = "its certificate is not good: " + cert.Err.Error()
	case errors.As(err, &dns):
		o.What, o.quick = "its name cannot be looked up: "+dns.Err, true
	case errors.As(err, &errno):
		o.What, o.quick = "the connection failed: "+errno.Error(), true
	case errors.As(err, &op):
		o.What, o.quick = "the connection failed", true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		o.What, o.quick = "the connection was cut", true
	default:
		o.What = "the answer is malformed"
	}
}

// tokenCodes are the words of the token endpoint that this package acts on.
const (
	codeBad         = "bad_verification_code"
	codeGrant       = "invalid_grant"
	codeRefresh     = "bad_refresh_token"
	codeClient      = "incorrect_client_credentials"
	codeClientRFC   = "invalid_client"
	codeRedirect    = "redirect_uri_mismatch"
	codeUnverified  = "unverified_user_email"
	codeSuspended   = "application_suspended"
	maxTokenCodeLen = 40
)

// classifyToken is classify for the token endpoint: it returns the endpoint's word, or an Outage.
func classifyToken(ctx context.Context, err error) (word string, outage error) {
	if err == nil {
		return "", nil
	}
	o := &Outage{Endpoint: "a token"}
	var re *oauth2.RetrieveError
	if !errors.As(err, &re) {
		broken(ctx, o, err)
		o.quick = false
		return "", o
	}
	status := re.Response.StatusCode
	if status >= http.StatusInternalServerError || status == http.StatusTooManyRequests || !plainWord(re.ErrorCode) {
		statusOutage(o, status, retryAfter(re.Response))
		o.quick = false
		return "", o
	}
	return re.ErrorCode, nil
}

func plainWord(s string) bool {
	if s == "" || len(s) > maxTokenCodeLen {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && r != '_' {
			return false
		}
	}
	return true
}
