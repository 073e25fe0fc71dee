package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	deviceInterval = 5 * time.Second // where the Hub names none, and what slow_down adds (RFC 8628)
	maxInterval    = time.Minute
)

// RequestDevice asks for a code that a person types into the Hub's pages. No credential is needed. It is not tried again
// by itself: each try is a code more.
func (c *Client) RequestDevice(ctx context.Context, r DeviceRequest) (out DeviceCode, err error) {
	err = c.call(ctx, http.MethodPost, wire.DeviceCodePath, false, r, &out)
	return out, err
}

// AwaitDevice asks at the Hub's pace whether a person has approved the code, until one has, or has denied it, or it is
// too late. A Hub that is away for a while is waited for.
func (c *Client) AwaitDevice(ctx context.Context, code DeviceCode) (DeviceToken, error) {
	interval := deviceInterval
	if code.Interval > 0 {
		interval = time.Duration(code.Interval) * time.Second
	}
	if code.ExpiresIn > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, time.Duration(code.ExpiresIn)*time.Second, errDeviceLate)
		defer cancel()
	}
	wait := interval
	for {
		select {
		case <-ctx.Done():
			return DeviceToken{}, context.Cause(ctx)
		case <-time.After(wait):
		}
		var out DeviceToken
		err := c.call(ctx, http.MethodPost, wire.DeviceTokenPath, false, wire.DeviceTokenRequest{DeviceCode: code.DeviceCode}, &out)
		switch word := wordOf(err); {
		case err == nil:
			return out, nil
		case ctx.Err() != nil:
			return DeviceToken{}, context.Cause(ctx)
		case word == wire.DevicePending:
			wait = interval
		case word == wire.DeviceSlow:
			interval = min(interval+deviceInterval, maxInterval)
			wait = interval
		case claudehub.CodeOf(err) == claudehub.Unavailable || claudehub.CodeOf(err) == claudehub.TooMany:
			wait = max(min(2*wait, maxInterval), RetryAfter(err))
		default:
			return DeviceToken{}, err
		}
	}
}

var errDeviceLate = claudehub.Errorf(claudehub.Expired, "Nobody approved the code in time. Start again for a new one.")

// wordOf is the word of the device flow in an error, if there is one.
func wordOf(err error) string {
	var s *Status
	if errors.As(err, &s) {
		return s.Word
	}
	return ""
}

// Device is what waits for a person's approval behind a code.
type Device struct {
	Client  wire.DeviceClient `json:"client"`
	Name    string            `json:"name"`
	Machine string            `json:"machine"`
	Address string            `json:"address"`
	Again   bool              `json:"again"` // it takes up the Runner of that name
	Created time.Time         `json:"created"`
	Expires time.Time         `json:"expires"`
}

func devicePath(userCode, verb string) string { return "/api/device" + segment(userCode) + verb }

// Device is what waits behind a code. A signed-in person alone may ask, approve and deny; each try at a code counts.
func (c *Client) Device(ctx context.Context, userCode string) (out Device, err error) {
	err = c.call(ctx, http.MethodGet, devicePath(userCode, ""), false, nil, &out)
	return out, err
}

// ApproveDevice lets it in as the person's own. With a name, a Runner is called that.
func (c *Client) ApproveDevice(ctx context.Context, userCode, name string) (out Device, err error) {
	in := map[string]string{}
	if name != "" {
		in["name"] = name
	}
	err = c.call(ctx, http.MethodPost, devicePath(userCode, "/approve"), false, in, &out)
	return out, err
}

// DenyDevice sends it away.
func (c *Client) DenyDevice(ctx context.Context, userCode string) error {
	return c.call(ctx, http.MethodPost, devicePath(userCode, "/deny"), false, nil, nil)
}
