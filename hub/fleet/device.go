package fleet

import (
	"context"
	"strings"
	"time"
	"unicode"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

const (
	deviceLife      = 15 * time.Minute
	deviceWait      = 5 * time.Second // between two polls, at first
	deviceSlower    = 5 * time.Second // more, for who polls faster
	maxDevices      = 1000            // that wait for a person, on this Hub
	maxDevicesFrom  = 20              // of one address
	maxDeviceText   = 60              // runes
	cliTokenLife    = 90 * 24 * time.Hour
	verificationURI = "/device"
)

var (
	errNoDevice = claudehub.Errorf(claudehub.NotFound,
		"No device waits with that code. Compare it with what the device shows; a code is good once, for 15 minutes.")
	errDevicesFull = claudehub.Errorf(claudehub.TooMany, "Too many devices wait for their approval at present. Try again in some minutes.")
)

// Device is one that waits for a person's approval, as that person sees it. What it says of itself is its own word.
type Device struct {
	Client  wire.DeviceClient `json:"client" enum:"runner,cli"`
	Name    string            `json:"name"`
	Machine string            `json:"machine" doc:"system and processor"`
	Address string            `json:"address" doc:"where it asked from"`
	// Again tells that approval takes up the person's Runner called Name, with its Sessions.
	Again   bool      `json:"again"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`
}

// RequestDevice gives a device its codes (RFC 8628 §3.2). The addresses in the answer are paths: the caller puts the Hub's
// own before them.
func (f *Fleet) RequestDevice(ctx context.Context, ask wire.DeviceRequest) (wire.DeviceCode, error) {
	if ask.Client != wire.DeviceRunner && ask.Client != wire.DeviceCLI {
		return wire.DeviceCode{}, claudehub.Errorf(claudehub.Invalid, "A device is a %s or a %s.", wire.DeviceRunner, wire.DeviceCLI)
	}
	code := claudehub.NewToken(claudehub.DeviceToken)
	d := store.Device{Hash: code.Hash(), Client: ask.Client, Name: deviceText(ask.Name, "a machine without a name"),
		Machine: deviceText(ask.Machine, "unknown"), Address: clip(actorOf(ctx).Address, maxAddress), State: store.DevicePending, Wait: deviceWait}
	if id, err := claudehub.ParseRunnerID(ask.Again); err == nil && ask.Client == wire.DeviceRunner {
		d.Again = id
	}
	err := f.writeAgain(ctx, func(q store.Q) error {
		if err := q.LockDevices(ctx); err != nil {
			return err
		}
		d.UserCode, d.Created = newUserCode(), f.now()
		d.Expires = d.Created.Add(deviceLife)
		of, all, err := q.OpenDevices(ctx, d.Address, d.Created)
		switch {
		case err != nil:
			return err
		case of >= maxDevicesFrom || all >= maxDevices:
			return errDevicesFull
		}
		return q.AddDevice(ctx, d)
	})
	if err != nil {
		return wire.DeviceCode{}, err
	}
	return wire.DeviceCode{DeviceCode: code.Reveal(), UserCode: d.UserCode, VerificationURI: verificationURI,
		Complete: verificationURI + "?code=" + d.UserCode, ExpiresIn: int(deviceLife / time.Second), Interval: int(deviceWait / time.Second)}, nil
}

// deviceText makes one line of what a stranger says.
func deviceText(s, empty string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxDeviceText {
		s = string(runes[:maxDeviceText])
	}
	if s = strings.TrimSpace(s); s == "" {
		return empty
	}
	return s
}

// Device finds a device by what a person typed.
func (f *Fleet) Device(ctx context.Context, p claudehub.PersonID, typed string) (Device, error) {
	var out Device
	err := f.st.View(ctx, func(q store.Q) error {
		d, err := f.waiting(ctx, q, typed)
		if err != nil {
			return err
		}
		r, again, err := f.takesUp(ctx, q, p, d)
		out = publicDevice(d, r.Name, again)
		return err
	})
	return out, err
}

func publicDevice(d store.Device, runner string, again bool) Device {
	out := Device{Client: d.Client, Name: d.Name, Machine: d.Machine, Address: d.Address, Again: again, Created: d.Created, Expires: d.Expires}
	if again {
		out.Name = runner
	}
	return out
}

// waiting finds a device that waits. A code that nobody has, that was answered and that is over are alike.
func (f *Fleet) waiting(ctx context.Context, q store.Q, typed string) (store.Device, error) {
	code, ok := userCode(typed)
	if !ok {
		return store.Device{}, errNoDevice
	}
	d, err := q.WaitingDevice(ctx, code, f.now())
	return d, absent(err, errNoDevice)
}

// takesUp finds the Runner that a device says it was, if it is this person's.
func (f *Fleet) takesUp(ctx context.Context, q store.Q, p claudehub.PersonID, d store.Device) (r store.Runner, again bool, err error) {
	if d.Again == "" {
		return r, false, nil
	}
	r, err = q.Runner(ctx, d.Again)
	if err != nil {
		return store.Runner{}, false, absentIsFine(err)
	}
	if owns := mayOwn(p, r.Runner) == nil; owns {
		return r, true, nil
	}
	return store.Runner{}, false, nil
}

// ApproveDevice lets a device come for its token, under the name that the person gives it, or its own. A Runner that is
// taken up again keeps the name that it has.
func (f *Fleet) ApproveDevice(ctx context.Context, p claudehub.Person, typed, name string) (Device, error) {
	if name = strings.TrimSpace(name); name != "" {
		if err := validTokenName(name); err != nil {
			return Device{}, claudehub.Errorf(claudehub.Invalid, "A device's name is one line of 1 to %d characters.", claudehub.MaxTokenName)
		}
	}
	return f.answerDevice(ctx, p.ID, typed, "device.approve", func(q store.Q, d *store.Device) (Device, error) {
		d.State = store.DeviceApproved
		if name != "" {
			d.Name = name
		}
		r, again, err := f.takesUp(ctx, q, p.ID, *d)
		if err != nil {
			return Device{}, err
		}
		if d.Client == wire.DeviceCLI {
			err = roomForToken(ctx, q, p.ID)
		} else if !again {
			d.Name, err = freeName(ctx, q, p.ID, d.Name)
		}
		return publicDevice(*d, r.Name, again), err
	})
}

// DenyDevice refuses a device.
func (f *Fleet) DenyDevice(ctx context.Context, p claudehub.PersonID, typed string) error {
	_, err := f.answerDevice(ctx, p, typed, "device.deny", func(_ store.Q, d *store.Device) (Device, error) {
		d.State = store.DeviceDenied
		return Device{}, nil
	})
	return err
}

func (f *Fleet) answerDevice(ctx context.Context, p claudehub.PersonID, typed, action string, decide func(store.Q, *store.Device) (Device, error)) (Device, error) {
	ctx = asActor(ctx, p)
	var out Device
	err := f.st.Write(ctx, func(q store.Q) error {
		who, err := q.Person(ctx, p)
		if err != nil {
			return err
		}
		if err := f.mayEnter(who); err != nil {
			return err
		}
		d, err := f.waiting(ctx, q, typed)
		if err != nil {
			return err
		}
		if out, err = decide(q, &d); err != nil {
			return err
		}
		d.Person = p
		if err := q.AnswerDevice(ctx, d, f.now()); err != nil {
			return absent(err, errNoDevice)
		}
		return f.note(ctx, q, action, "", map[string]string{"client": string(d.Client), "name": d.Name, "machine": d.Machine, "from": d.Address})
	})
	if err != nil {
		return Device{}, err
	}
	return out, nil
}
