package web

import (
	"context"
	"errors"
	"strings"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

type deviceCodeOut struct {
	Cache string `header:"Cache-Control"`
	Body  wire.DeviceCode
}

func (s *server) requestDevice(ctx context.Context, in *struct{ Body wire.DeviceRequest }) (*deviceCodeOut, error) {
	code, err := s.fleet.RequestDevice(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	for _, uri := range []*string{&code.VerificationURI, &code.Complete} {
		*uri = s.absolute(ctx, *uri)
	}
	return &deviceCodeOut{noStore, code}, nil
}

// absolute makes an address of this Hub out of a path, for who is not at it.
func (s *server) absolute(ctx context.Context, path string) string {
	if !strings.HasPrefix(path, "/") {
		return path
	}
	host := recordOf(ctx).host
	switch {
	case s.origin != "":
		return s.origin + path
	case s.opt.TLS:
		return "https://" + host + path
	}
	return "http://" + host + path
}

type deviceTokenOut struct {
	Cache string `header:"Cache-Control"`
	Body  wire.DeviceToken
}

// pollDevice answers a device that waits, in the words of RFC 8628.
func (s *server) pollDevice(ctx context.Context, in *struct{ Body wire.DeviceTokenRequest }) (*deviceTokenOut, error) {
	// One that is malformed is the zero token, which is nobody's: it is answered as one that nobody knows.
	token, _ := claudehub.ParseToken(claudehub.DeviceToken, in.Body.DeviceCode)
	got, err := s.fleet.PollDevice(ctx, token)
	if err != nil {
		return nil, err
	}
	return &deviceTokenOut{noStore, got}, nil
}

// pending tells a device that only has to wait: that is no failure.
func pending(err error) bool {
	var d *fleet.DeviceError
	return errors.As(err, &d) && (d.Word == wire.DevicePending || d.Word == wire.DeviceSlow)
}

type deviceOut struct{ Body fleet.Device }

func oneDevice(d fleet.Device, err error) (*deviceOut, error) {
	if err != nil {
		return nil, err
	}
	return &deviceOut{d}, nil
}

// DevicePath names a device that waits, by the code that it shows.
type DevicePath struct {
	Code string `path:"user_code" maxLength:"64"`
}

func (s *server) getDevice(ctx context.Context, c personCaller, in *DevicePath) (*deviceOut, error) {
	return oneDevice(s.fleet.Device(ctx, c.ID, in.Code))
}

// Approval is the body of approve-device.
type Approval struct {
	Name string `json:"name,omitempty" maxLength:"200" doc:"what the Runner shall be called, when it is not what the machine calls itself"`
}

func (s *server) approveDevice(ctx context.Context, c personCaller, in *struct {
	DevicePath
	Body *Approval
}) (*deviceOut, error) {
	name := ""
	if in.Body != nil {
		name = in.Body.Name
	}
	return oneDevice(s.fleet.ApproveDevice(ctx, c.Person, in.Code, name))
}

func (s *server) denyDevice(ctx context.Context, c personCaller, in *DevicePath) (*Empty, error) {
	return &Empty{}, s.fleet.DenyDevice(ctx, c.ID, in.Code)
}

// wrongCode tells an answer that was got by guessing from one that only has another reason.
func wrongCode(err error) bool {
	switch claudehub.CodeOf(err) {
	case claudehub.NotFound, claudehub.Unauthenticated, claudehub.Forbidden, claudehub.Expired, claudehub.Invalid:
		return !pending(err)
	}
	return false
}
