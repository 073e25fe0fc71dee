package fleet_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func (r *rig) from(address string) *rig {
	out := *r
	out.ctx = fleet.WithActor(r.ctx, fleet.Actor{Kind: claudehub.ActorNobody, Address: address})
	return &out
}

func (r *rig) request(ask wire.DeviceRequest) (wire.DeviceCode, claudehub.Token) {
	r.t.Helper()
	code, err := r.RequestDevice(r.ctx, ask)
	check(r.t, err)
	token, err := claudehub.ParseToken(claudehub.DeviceToken, code.DeviceCode)
	check(r.t, err)
	return code, token
}

func (r *rig) mine() claudehub.Person {
	r.t.Helper()
	p, err := r.st.Read().Person(r.ctx, r.me)
	check(r.t, err)
	return p
}

// polls checks the word that a device is answered with.
func (r *rig) polls(what string, code claudehub.Token, word string) {
	r.t.Helper()
	got, err := r.PollDevice(r.ctx, code)
	var refused *fleet.DeviceError
	var sentence *claudehub.Error
	if !errors.As(err, &refused) || refused.Word != word || !errors.As(err, &sentence) || got.Token != "" {
		r.t.Errorf("%s: %+v, %v; want %s", what, got, err, word)
	}
}

var laptop = wire.DeviceRequest{Client: wire.DeviceRunner, Name: "laptop", Machine: "darwin/arm64"}

func TestPairARunner(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		code, device := r.from("192.0.2.9").request(laptop)
		if len(code.UserCode) != 9 || code.VerificationURI != "/device" || code.Complete != "/device?code="+code.UserCode || code.ExpiresIn != 900 || code.Interval != 5 {
			t.Errorf("the code is %+v", code)
		}
		r.polls("before", device, wire.DevicePending)
		d, err := r.Device(r.ctx, r.me, " "+strings.ToLower(strings.ReplaceAll(code.UserCode, "-", " "))+" ")
		check(t, err)
		if d.Client != wire.DeviceRunner || d.Name != "laptop" || d.Machine != "darwin/arm64" || d.Address != "192.0.2.9" || d.Again || d.Expires.Sub(d.Created) != 15*time.Minute {
			t.Errorf("the device is %+v", d)
		}
		d, err = r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		check(t, err)
		if d.Name != "laptop 2" { // the person has a laptop
			t.Errorf("approved as %+v", d)
		}
		_, again := r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		wantCode(t, "approved twice", again, claudehub.NotFound)
		wantCode(t, "denied after", r.DenyDevice(r.ctx, r.me, code.UserCode), claudehub.NotFound)
		got, err := r.PollDevice(r.ctx, device) // as soon as it likes
		check(t, err)
		token, err := claudehub.ParseToken(claudehub.RunnerToken, got.Token)
		check(t, err)
		id, err := r.AuthenticateRunner(r.ctx, token)
		check(t, err)
		if string(id) != got.Runner || got.Name != "laptop 2" || got.Login != "local" {
			t.Errorf("it got %+v", got)
		}
		r.polls("a second time", device, wire.DeviceExpired)
		r.polls("one that nobody has", claudehub.NewToken(claudehub.DeviceToken), wire.DeviceExpired)
		all, err := r.Runners(r.ctx, r.me)
		check(t, err)
		if len(all) != 2 {
			t.Errorf("the Runners are %+v", all)
		}
		if got := r.wantNotes("device.approve", 1)[0]; got.Actor != string(r.me) || got.Detail["from"] != "192.0.2.9" {
			t.Errorf("noted as %+v", got)
		}
	})
}

func TestPairingTakesARunnerUpAgain(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := r.create(fleet.NewSession{Title: "stays"})
		_, old, err := r.NewRunnerToken(r.ctx, r.me, "laptop")
		check(t, err)
		check(t, r.RevokeRunner(r.ctx, r.mine(), r.runner))
		ask := laptop
		ask.Name, ask.Again = "another name", string(r.runner)
		code, device := r.request(ask)
		if d, err := r.Device(r.ctx, r.me, code.UserCode); err != nil || !d.Again || d.Name != "laptop" {
			t.Errorf("the device is %+v, %v", d, err)
		}
		if d, err := r.Device(r.ctx, r.stranger, code.UserCode); err != nil || d.Again || d.Name != "another name" {
			t.Errorf("to a stranger it is %+v, %v", d, err)
		}
		if d, err := r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "a third"); err != nil || !d.Again || d.Name != "laptop" {
			t.Errorf("approved as %+v, %v", d, err)
		}
		got, err := r.PollDevice(r.ctx, device)
		check(t, err)
		if got.Runner != string(r.runner) || got.Name != "laptop" {
			t.Errorf("it got %+v", got)
		}
		token, err := claudehub.ParseToken(claudehub.RunnerToken, got.Token)
		check(t, err)
		r.opens("its new token", token, true)
		r.opens("its old one", old, false)
		check(t, r.AcquireLease(r.ctx, r.runner, "one-instance", "mac", false))
		if r.desiredOf(s.ID).Title != "stays" {
			t.Error("its Session is another")
		}
		all, err := r.Runners(r.ctx, r.me)
		check(t, err)
		if len(all) != 1 || !all[0].Revoked.IsZero() {
			t.Errorf("the Runners are %+v", all)
		}

		// A stranger's approval makes one of their own.
		code, device = r.request(ask)
		p, err := r.st.Read().Person(r.ctx, r.stranger)
		check(t, err)
		_, err = r.ApproveDevice(r.ctx, p, code.UserCode, "")
		check(t, err)
		if got, err := r.PollDevice(r.ctx, device); err != nil || got.Runner == string(r.runner) || got.Name != "another name" {
			t.Errorf("a stranger's got %+v, %v", got, err)
		}
		r.opens("the owner's", token, true)
	})
}

func TestSignInOfTheCLI(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		code, device := r.request(wire.DeviceRequest{Client: wire.DeviceCLI, Name: "box", Machine: "linux/amd64"})
		_, err := r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "my\nbox")
		wantCode(t, "a name of two lines", err, claudehub.Invalid)
		_, err = r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "my box")
		check(t, err)
		got, err := r.PollDevice(r.ctx, device)
		check(t, err)
		token, err := claudehub.ParseToken(claudehub.APITokenKind, got.Token)
		check(t, err)
		p, made, err := r.AuthenticateToken(r.ctx, token)
		check(t, err)
		if p.ID != r.me || got.Runner != "" || made.Name != "my box" || len(made.Scopes) != len(claudehub.Scopes) || made.Expires.Sub(made.Created).Round(time.Hour) != 90*24*time.Hour {
			t.Errorf("it got %+v, which is %+v", got, made)
		}
	})
}

func TestPollingTooFast(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		_, device := r.request(laptop)
		after := func(d time.Duration, word string) {
			t.Helper()
			r.clock.move(d)
			r.polls(fmt.Sprint("after ", d), device, word)
		}
		after(0, wire.DevicePending)
		after(5*time.Second, wire.DevicePending)
		after(4*time.Second, wire.DeviceSlow) // ten from now on
		after(9*time.Second, wire.DeviceSlow) // fifteen
		after(15*time.Second, wire.DevicePending)
		after(14*time.Second, wire.DeviceSlow) // twenty
		after(20*time.Second, wire.DevicePending)
		after(20*time.Second, wire.DevicePending)
		after(15*time.Minute, wire.DeviceExpired)
		after(24*time.Hour, wire.DeviceExpired)
		r.Tidy(r.ctx)
		after(time.Minute, wire.DeviceExpired)
	})
}

func TestDeviceIsRefused(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		code, device := r.request(laptop)
		check(t, r.DenyDevice(r.ctx, r.me, code.UserCode))
		r.polls("declined", device, wire.DeviceDenied)
		_, err := r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		wantCode(t, "approved after", err, claudehub.NotFound)
		r.wantNotes("device.deny", 1)

		code, device = r.request(laptop)
		r.clock.move(15 * time.Minute)
		_, late := r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		_, look := r.Device(r.ctx, r.me, code.UserCode)
		_, unknown := r.Device(r.ctx, r.me, "BBBB-BBBB")
		_, odd := r.Device(r.ctx, r.me, "AAAA-AAAA")
		for what, err := range map[string]error{"late": late, "look": look, "unknown": unknown, "odd": odd} {
			wantCode(t, what, err, claudehub.NotFound)
			if err.Error() != unknown.Error() {
				t.Errorf("%s: %q tells what is known", what, err)
			}
		}
		r.polls("late", device, wire.DeviceExpired)

		// Approved, but not come for in time.
		code, device = r.request(laptop)
		_, err = r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		check(t, err)
		r.clock.move(15 * time.Minute)
		r.polls("approved, late", device, wire.DeviceExpired)

		// Approved by somebody who is not here any more.
		code, device = r.request(laptop)
		_, err = r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		check(t, err)
		check(t, r.st.Write(r.ctx, func(q store.Q) error { return q.SetRemoved(r.ctx, r.me, r.clock.now()) }))
		r.polls("approved by who left", device, wire.DeviceDenied)
		code, _ = r.request(laptop)
		gone := r.mine()
		_, err = r.ApproveDevice(r.ctx, gone, code.UserCode, "")
		wantCode(t, "approved by who left", err, claudehub.Unauthenticated)
	})
}

func TestSignedOutPeopleApproveNothing(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		code, device := r.request(laptop)
		p, err := r.st.Read().Person(r.ctx, r.stranger)
		check(t, err)
		_, err = r.ApproveDevice(r.ctx, p, code.UserCode, "")
		check(t, err)
		check(t, r.SignOutPerson(r.ctx, r.mine(), r.stranger))
		r.polls("what they approved", device, wire.DeviceDenied)
	})
}

func TestDeviceIsUsedOnce(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		code, device := r.request(laptop)
		_, err := r.ApproveDevice(r.ctx, r.mine(), code.UserCode, "")
		check(t, err)
		var all sync.WaitGroup
		var got atomic.Int32
		for range 8 {
			all.Go(func() {
				if _, err := r.PollDevice(r.ctx, device); err == nil {
					got.Add(1)
				} else if word := new(fleet.DeviceError); !errors.As(err, &word) || word.Word != wire.DeviceExpired {
					t.Errorf("the others: %v", err)
				}
			})
		}
		all.Wait()
		if n := got.Load(); n != 1 {
			t.Errorf("%d got a token", n)
		}
		if runners, err := r.Runners(r.ctx, r.me); err != nil || len(runners) != 2 {
			t.Errorf("%d Runners, %v", len(runners), err)
		}
	})
}

func TestDevicesAreBounded(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		var all sync.WaitGroup
		var made atomic.Int32
		one := r.from("192.0.2.1")
		for range fleet.MaxDevicesFrom + 10 {
			all.Go(func() {
				if _, err := one.RequestDevice(one.ctx, laptop); err == nil {
					made.Add(1)
				} else {
					wantCode(t, "too many", err, claudehub.TooMany)
				}
			})
		}
		all.Wait()
		if n := made.Load(); n != fleet.MaxDevicesFrom {
			t.Errorf("%d devices of one address", n)
		}
		check(t, r.st.Write(r.ctx, func(q store.Q) error {
			for i := range fleet.MaxDevices - fleet.MaxDevicesFrom - 1 {
				now := r.clock.now()
				d := store.Device{Hash: claudehub.NewNonce(), UserCode: claudehub.NewNonce(), Client: wire.DeviceCLI, Address: fmt.Sprint(i),
					State: store.DevicePending, Created: now, Expires: now.Add(time.Minute)}
				if err := q.AddDevice(r.ctx, d); err != nil {
					return err
				}
			}
			return nil
		}))
		two := r.from("192.0.2.2")
		two.request(laptop)
		_, err := two.RequestDevice(two.ctx, laptop)
		wantCode(t, "one more than the Hub takes", err, claudehub.TooMany)
		r.clock.move(time.Minute)
		two.request(laptop)
		for _, ask := range []wire.DeviceRequest{{Client: "phone"}, {}} {
			_, err := two.RequestDevice(two.ctx, ask)
			wantCode(t, "an odd client", err, claudehub.Invalid)
		}
		odd := two.from("192.0.2.3")
		code, _ := odd.request(wire.DeviceRequest{Client: wire.DeviceRunner, Name: "\x00\u202e" + strings.Repeat("ä\n", 1000), Machine: "\xff", Again: "run_no"})
		d, err := odd.Device(odd.ctx, r.me, code.UserCode)
		check(t, err)
		if len([]rune(d.Name)) > 60 || !strings.HasPrefix(d.Name, "ä ä") || d.Machine != "unknown" {
			t.Errorf("the device is %+v", d)
		}
	})
}

func FuzzUserCode(f *testing.F) {
	for _, s := range []string{"BDFG-HJKL", "bdfg hjkl", "bdfg–hjkl", " b d f g h j k l ", "AAAA-AAAA", "", "BDFG-HJKLM", "ﬀBCDFG", "\xffBDFG-HJK"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		code, ok := fleet.UserCode(s)
		if !ok {
			if code != "" {
				t.Errorf("%q is refused, with %q", s, code)
			}
			return
		}
		if len(code) != 9 || code[4] != '-' || strings.Trim(code, "BCDFGHJKLMNPQRSTVWXZ-") != "" {
			t.Errorf("%q is %q", s, code)
		}
		for _, as := range []string{code, strings.ToLower(code), code[:4] + code[5:], " " + code + " "} {
			if again, ok := fleet.UserCode(as); !ok || again != code {
				t.Errorf("%q is %q, and that as %q is %q", s, code, as, again)
			}
		}
	})
}

func TestUserCodes(t *testing.T) {
	seen := map[string]bool{}
	letters := map[rune]bool{}
	for range 2000 {
		code := fleet.NewUserCode()
		if got, ok := fleet.UserCode(code); !ok || got != code || seen[code] {
			t.Fatalf("%q is read as %q, or was made before", code, got)
		}
		seen[code] = true
		for _, r := range code {
			letters[r] = true
		}
	}
	if len(letters) != 21 {
		t.Errorf("%d different letters", len(letters))
	}
}
