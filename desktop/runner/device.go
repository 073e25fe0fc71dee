package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// PairRequest is what a machine asks a Hub for, by the device flow (RFC 8628).
type PairRequest struct {
	Hub   string // its address
	Name  string // what the person shall see
	Again string // the Runner id that this machine had there; "" for none
	// Show is called with each code that the person shall approve.
	Show func(wire.DeviceCode)
}

// Bounds of the device flow, whatever the Hub says.
const (
	pollDefault = 5 * time.Second
	pollSlower  = 5 * time.Second // for each slow_down
	pollMost    = time.Minute
	codeLeast   = time.Minute
	codeMost    = time.Hour
	pairTries   = 2 // codes, one after the other
)

// Pair shows a code and waits until a person approves it at the Hub. A code that nobody approves in time is followed by one
// more.
func Pair(ctx context.Context, r PairRequest) (wire.DeviceToken, error) {
	base, err := hubURL(r.Hub)
	if err != nil {
		return wire.DeviceToken{}, err
	}
	client := &http.Client{Transport: transport(0), Timeout: requestTime, CheckRedirect: noRedirect}
	defer client.CloseIdleConnections()
	f := &deviceFlow{base: base, client: client, wait: func(ctx context.Context, d time.Duration) { newSignal().wait(ctx, d) }, now: time.Now}
	return f.run(ctx, r)
}

type deviceFlow struct {
	base   *url.URL
	client *http.Client
	wait   func(context.Context, time.Duration)
	now    func() time.Time
}

// deviceWord is the Hub's answer to a poll that gives no token.
type deviceWord string

func (f *deviceFlow) run(ctx context.Context, r PairRequest) (wire.DeviceToken, error) {
	for range pairTries {
		code, err := f.code(ctx, r)
		if err != nil {
			return wire.DeviceToken{}, err
		}
		r.Show(code)
		token, word, err := f.poll(ctx, code)
		switch {
		case err != nil:
			return wire.DeviceToken{}, err
		case word == "":
			return token, nil
		case word == wire.DeviceDenied:
			return token, claudehub.Errorf(claudehub.Forbidden, "The pairing was declined at the Hub. Nothing was changed here. Run claude-hub-runner pair again if that was a mistake.")
		}
	}
	return wire.DeviceToken{}, claudehub.Errorf(claudehub.Expired, "Nobody approved this Runner in time. Run claude-hub-runner pair again when you have the Hub open in a browser.")
}

// code asks for one.
func (f *deviceFlow) code(ctx context.Context, r PairRequest) (wire.DeviceCode, error) {
	var code wire.DeviceCode
	resp, err := f.post(ctx, wire.DeviceCodePath, wire.DeviceRequest{
		Client: wire.DeviceRunner, Name: r.Name, Machine: runtime.GOOS + "/" + runtime.GOARCH, Again: r.Again,
	})
	if err != nil {
		return code, err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusMethodNotAllowed:
		return code, claudehub.Errorf(claudehub.NotFound, "%s does not pair Runners by a code: it is no Hub, or an old one. "+
			"An old one makes a token with claude-hub runner add, for claude-hub-runner pair --token-stdin.", f.base.Host)
	case resp.StatusCode/100 != 2:
		return code, refusal(resp)
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxSmallFile)).Decode(&code); err != nil {
		return code, claudehub.WithCause(claudehub.Unavailable, err, "What %s answers is not what a Hub says.", f.base.Host)
	}
	return code, checkCode(code)
}

var userCode = regexp.MustCompile(`^[A-Z0-9]{2,12}(-[A-Z0-9]{2,12}){0,3}$`)

// checkCode refuses what would not be safe to show on a terminal, or to open in a browser.
func checkCode(code wire.DeviceCode) error {
	bad := claudehub.Errorf(claudehub.Invalid, "The Hub's code for this Runner cannot be shown. Update the Hub or the Runner.")
	if code.DeviceCode == "" || !userCode.MatchString(code.UserCode) {
		return bad
	}
	for _, link := range []string{code.VerificationURI, code.Complete} {
		u, err := url.Parse(link)
		if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) || u.String() != link {
			return bad
		}
	}
	return nil
}

// poll asks at the Hub's pace until there is an answer, or the code is too old.
func (f *deviceFlow) poll(ctx context.Context, code wire.DeviceCode) (wire.DeviceToken, deviceWord, error) {
	pace := clampTime(time.Duration(code.Interval)*time.Second, time.Second, pollMost)
	if code.Interval <= 0 {
		pace = pollDefault
	}
	end := f.now().Add(clampTime(time.Duration(code.ExpiresIn)*time.Second, codeLeast, codeMost))
	for rest := pace; ; {
		f.wait(ctx, rest)
		if err := ctx.Err(); err != nil {
			return wire.DeviceToken{}, "", err
		}
		if !f.now().Before(end) {
			return wire.DeviceToken{}, wire.DeviceExpired, nil
		}
		token, word, after, err := f.once(ctx, code.DeviceCode)
		switch {
		case claudehub.CodeOf(err) == claudehub.Unavailable, claudehub.CodeOf(err) == claudehub.TooMany:
			rest = max(min(2*rest, pollMost), after) // the Hub is away, or wants peace: ever more seldom
		case err != nil || word == "" || word == wire.DeviceDenied || word == wire.DeviceExpired:
			return token, word, err
		case word == wire.DeviceSlow:
			pace = min(pace+pollSlower, pollMost)
			rest = pace
		default: // authorization_pending
			rest = pace
		}
	}
}

// once asks what became of a code. after is how long the Hub wants to be left alone.
func (f *deviceFlow) once(ctx context.Context, code string) (token wire.DeviceToken, word deviceWord, after time.Duration, err error) {
	resp, err := f.post(ctx, wire.DeviceTokenPath, wire.DeviceTokenRequest{DeviceCode: code})
	if err != nil {
		return token, "", 0, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxSmallFile))
	if err != nil {
		return token, "", 0, claudehub.WithCause(claudehub.Unavailable, err, "The Hub's answer was cut short.")
	}
	if resp.StatusCode == http.StatusBadRequest {
		var said struct {
			Error deviceWord `json:"error"`
		}
		if json.Unmarshal(body, &said) == nil {
			switch said.Error {
			case wire.DevicePending, wire.DeviceSlow, wire.DeviceExpired, wire.DeviceDenied:
				return token, said.Error, 0, nil
			}
		}
	}
	if resp.StatusCode/100 != 2 {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After")) // 0 for a date or none
		resp.Body = io.NopCloser(bytes.NewReader(body))
		return token, "", time.Duration(clampInt(seconds, 0, 600)) * time.Second, refusal(resp)
	}
	if err := json.Unmarshal(body, &token); err != nil {
		return token, "", 0, claudehub.WithCause(claudehub.Invalid, err, "The Hub approved this Runner, and its answer cannot be read. Update the Runner, and pair it again.")
	}
	_, err = claudehub.ParseToken(claudehub.RunnerToken, token.Token)
	if _, bad := claudehub.ParseRunnerID(token.Runner); err != nil || bad != nil {
		return wire.DeviceToken{}, "", 0, claudehub.Errorf(claudehub.Invalid, "The Hub approved this Runner, and gave it nothing that it could use. Update the Hub or the Runner, and pair it again.")
	}
	token.Name, token.Login = oneLine(token.Name), oneLine(token.Login) // they are shown on a terminal
	return token, "", 0, nil
}

func (f *deviceFlow) post(ctx context.Context, path string, in any) (*http.Response, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(f.base.String(), "/")+path, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("ask the Hub: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The Hub at %s does not answer.", f.base.Host)
	}
	return resp, nil
}

func clampTime(d, least, most time.Duration) time.Duration { return min(max(d, least), most) }

func clampInt(n, least, most int) int { return min(max(n, least), most) }
