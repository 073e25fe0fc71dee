package client_test

import (
	"testing"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

func TestShareAndSuggest(t *testing.T) {
	s := newStage(t)
	ben := s.Person("ben")
	bens := s.as(t, ben)
	if _, err := bens.Session(s.ctx, s.sess.ID); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("before it is shared: %v", err)
	}
	found, err := s.client.FindPeople(s.ctx, "be")
	check(t, err)
	if len(found) != 1 || found[0].ID != ben.ID {
		t.Errorf("found are %+v", found)
	}
	shared, err := s.client.Share(s.ctx, s.sess.ID, "ben")
	check(t, err)
	if len(shared.Shared.People) != 1 || shared.Shared.People[0].ID != ben.ID {
		t.Errorf("it is shared with %+v", shared.Shared)
	}
	if seen, err := bens.Session(s.ctx, s.sess.ID); err != nil || seen.Access != claudehub.AccessParticipant {
		t.Errorf("ben has %q, %v", seen.Access, err)
	}
	_, err = bens.Sleep(s.ctx, s.sess.ID)
	wantCode(t, "a Participant's sleep", err, claudehub.Forbidden)
	_, err = s.client.ShareEveryone(s.ctx, s.sess.ID, true)
	wantCode(t, "everyone, without a repository", err, claudehub.Invalid)

	suggested, err := bens.Suggest(s.ctx, s.sess.ID, "try this")
	check(t, err)
	edited := "try that"
	prompt, err := s.client.AcceptSuggestion(s.ctx, suggested.ID, &edited)
	check(t, err)
	if prompt.Text != edited || prompt.Author != s.ann.ID {
		t.Errorf("it became %+v", prompt)
	}
	second, err := bens.Suggest(s.ctx, s.sess.ID, "or this")
	check(t, err)
	declined, err := s.client.DeclineSuggestion(s.ctx, second.ID, "not now")
	check(t, err)
	if declined.State != claudehub.SuggestionDeclined || declined.Why != "not now" {
		t.Errorf("it is %+v", declined)
	}
	third, err := bens.Suggest(s.ctx, s.sess.ID, "never mind")
	check(t, err)
	_, err = bens.WithdrawSuggestion(s.ctx, third.ID)
	check(t, err)
	all, err := s.client.Suggestions(s.ctx, s.sess.ID)
	check(t, err)
	if len(all) != 3 || all[0].State != claudehub.SuggestionAccepted || all[2].State != claudehub.SuggestionWithdrawn {
		t.Errorf("they are %+v", all)
	}

	_, err = s.client.Unshare(s.ctx, s.sess.ID, ben.ID)
	check(t, err)
	_, err = bens.Suggestions(s.ctx, s.sess.ID)
	wantCode(t, "after it was taken back", err, claudehub.NotFound)
	address, err := s.client.CreateLink(s.ctx, s.sess.ID)
	check(t, err)
	joined, err := bens.Join(s.ctx, address)
	check(t, err)
	if joined.ID != s.sess.ID || joined.Access != claudehub.AccessParticipant {
		t.Errorf("joined is %+v", joined)
	}
	_, err = s.client.RevokeLink(s.ctx, s.sess.ID)
	check(t, err)
	_, err = bens.Session(s.ctx, s.sess.ID)
	wantCode(t, "after the link ended", err, claudehub.NotFound)
	_, err = bens.Join(s.ctx, address)
	if err == nil {
		t.Error("a link that ended lets in")
	}
}

func TestDeviceIsAPersonsToApprove(t *testing.T) {
	s := newStage(t)
	device, err := client.New(s.URL, "")
	check(t, err)
	defer device.Close()
	code, err := device.RequestDevice(s.ctx, client.DeviceRequest{Client: "cli", Name: "laptop", Machine: "linux/amd64"})
	check(t, err)
	waits, err := s.client.Device(s.ctx, code.UserCode)
	check(t, err)
	if waits.Name != "laptop" || waits.Machine != "linux/amd64" || waits.Expires.IsZero() || waits.Again {
		t.Errorf("what waits is %+v", waits)
	}
	_, err = device.Device(s.ctx, code.UserCode)
	wantCode(t, "nobody asks what waits", err, claudehub.Unauthenticated)
	_, err = s.client.Device(s.ctx, "BBBB-BBBB")
	wantCode(t, "a wrong code", err, claudehub.NotFound)
	_, err = s.client.ApproveDevice(s.ctx, code.UserCode, "")
	check(t, err)
	got, err := device.AwaitDevice(s.ctx, code)
	check(t, err)
	mine, err := client.New(s.URL, got.Token)
	check(t, err)
	defer mine.Close()
	me, err := mine.Me(s.ctx)
	check(t, err)
	if me.ID != s.ann.ID || got.Login != me.Login {
		t.Errorf("it is %+v", me)
	}
}

func TestRevokeRunner(t *testing.T) {
	s := newStage(t)
	check(t, s.client.RevokeRunner(s.ctx, s.runner.ID))
	all, err := s.client.Runners(s.ctx)
	check(t, err)
	if len(all) != 1 || all[0].Revoked.IsZero() {
		t.Errorf("they are %+v", all)
	}
}
