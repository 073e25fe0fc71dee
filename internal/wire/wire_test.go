package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

var update = flag.Bool("update", false, "write the golden files anew")

// messages has one of each message with every field set, so that a golden file shows the whole of it.
func messages() map[string]any {
	at := time.Date(2026, 11, 29, 12, 30, 0, 0, time.UTC)
	session, creator := claudehub.SessionID("ses_06h2gjs371u195tb6br6oefepg"), claudehub.PersonID("per_06h2gjq9stu09e5dbaskjlk780")
	life := strings.Repeat("l", wire.LifeLen)
	face := claudehub.Face{ID: creator, Login: "ada", Name: "Ada L.", Avatar: "https://example.org/ada.png"}
	prompt := claudehub.Prompt{
		ID: "pro_06h2gjs375o150pq0ajf5akcp0", Session: session, Author: creator, Text: "fix the test",
		State: claudehub.PromptQueued, Why: "a reason", Created: at, Updated: at, Expires: at.Add(claudehub.PromptLife),
		SuggestedBy: &face, Signature: []byte("signed"),
	}
	recipe := claudehub.Recipe{
		Base: claudehub.Base{Kind: claudehub.BaseRegistry, Ref: "debian:bookworm"}, Setup: "apt-get install -y jq", CPUs: 2, Memory: 4 << 30, Disk: 20 << 30,
		Network: claudehub.NetworkAllowList, Allow: []string{"*.example.org:443"},
	}
	environment := claudehub.EnvironmentRef{ID: "env_06h2gjs375o150pq0ajf5akcp0", Version: 3, Name: "tools"}
	failure := claudehub.Failure{Step: "Cloning", Reason: "why", Fix: "what to do", Detail: "output", Retry: true, Choice: "new_conversation"}
	build := claudehub.BuildID("bld_06h2gjs375o150pq0ajf5akcp0")
	step := claudehub.BuildStep{Name: "Base image", State: claudehub.StepCached, Detail: "sha256:1", Progress: 0.5, Started: at, Ended: at, LogFrom: 7}
	machine := wire.DesiredMachine{
		Seq: 8, Reclaim: 2, What: []string{"image"},
		Builds: []wire.DesiredBuild{{ID: build, Environment: environment, Recipe: recipe, Cancel: true, Again: true}},
	}
	desired := wire.DesiredSession{
		Seq: 7, ID: session, Creator: creator, By: creator, Title: "A title", Source: claudehub.Source{GitURL: "https://example.org/a", Branch: "main"},
		Desired: claudehub.WantAwake, Model: "opus", Effort: "high", Generation: 3, Conversation: 1, StopAt: at,
		Kind: claudehub.KindLook, Build: build, Environment: &wire.DesiredEnvironment{EnvironmentRef: environment, Recipe: recipe},
		Variables: "6a1f", Forwards: []claudehub.Forward{{Port: 3000, Same: true}},
		Prompts: []claudehub.Prompt{prompt},
	}
	observed := claudehub.Observed{
		Phase: claudehub.PhasePreparing, Activity: claudehub.Busy, Generation: 3,
		Step:    &claudehub.Step{Name: "Cloning", Detail: "objects", Progress: 0.5, Since: at, Deadline: at.Add(time.Minute)},
		Failure: &failure, Environment: &environment, Build: build,
		Figures: claudehub.Figures{CPU: 0.5, CPUs: 2, Memory: 1, MemoryLimit: 2, Disk: 3, DiskLimit: 4, Freed: 5},
		Ports:   []claudehub.Port{{Port: 3000, Process: "node", Listens: true, Local: "127.0.0.1:41234", Error: "why not"}},
		Checks:  []claudehub.Check{{Name: "clock", State: claudehub.CheckRepaired, Detail: "three hours"}}, Checked: at,
		Doing: "Bash: go test", Notice: "a notice", Noticed: at, SandboxLink: claudehub.Link{State: claudehub.LinkUp, Since: at}, Since: at,
	}
	report := wire.InputReport{Terminal: "t-1", Life: life, N: 4, State: wire.InputApplied, Why: "why"}
	return map[string]any{
		"snapshot":   wire.Snapshot{Seq: 9, Sessions: []wire.DesiredSession{desired}, Machine: machine},
		"machine":    machine,
		"desired":    desired,
		"input":      wire.Input{Session: session, Author: creator, Terminal: "t-1", Life: life, N: 4, Kind: wire.InputKeys, Data: []byte("ab\x03"), Signature: []byte("signed")},
		"resize":     wire.Resize{Session: session, Author: creator, Cols: 120, Rows: 36},
		"attach":     wire.Attach{Session: session, Feed: "feed", Snapshot: true, History: 100, Terminal: "t-1"},
		"detach":     wire.Detach{Session: session, Feed: "feed"},
		"superseded": wire.Superseded{By: "other-host"},
		"status": wire.Status{
			Machine: claudehub.Machine{
				Hostname: "mac-studio", OS: "darwin", Arch: "arm64", Version: "1", Claude: "2", Backend: "bubblewrap", Protocol: 1,
				CPUs: 8, Load: 1.5, MemoryTotal: 1, MemoryFree: 2, DiskTotal: 3, DiskFree: 4, SessionsMemory: 5, Awake: 1,
				MaxAwake: 3, Networks: []claudehub.NetworkPolicy{claudehub.NetworkOpen},
				Storage: claudehub.Storage{
					Sessions: 1, Archived: 2, Images: 3, Reclaimable: 4, Reclaimed: claudehub.Reclaimed{Request: 1, Freed: 2, Error: "why", At: at},
					Items: []claudehub.StorageItem{{Kind: "image", Name: "tools", Bytes: 5, Used: at, Sessions: 1}},
				},
				SetupToken: true, StandIn: true, Unowned: []string{"ses_x"}, Reported: at,
				Doctor: []claudehub.Finding{{Name: "bubblewrap", OK: false, Fatal: true, Detail: "missing", Fix: "install it"}},
			},
			Sessions: []wire.ObservedSession{{ID: session, Observed: observed}},
			Builds: []wire.ObservedBuild{{
				ID: build, Environment: environment.ID, Version: 3, Hash: recipe.Hash(), Session: session, State: claudehub.BuildFailed,
				Steps: []claudehub.BuildStep{step}, Failure: &failure, Line: 4, Kept: at,
			}},
		},
		"status-reply": wire.StatusReply{Gone: []claudehub.SessionID{session}, GoneBuilds: []claudehub.BuildID{build}},
		"variables":    wire.Variables{Revision: "6a1f", Items: []wire.Variable{{Name: "NAME", Value: "value", Secret: true}}},
		"log-reply":    wire.LogReply{Offset: 7},
		"new-token":    wire.NewToken{Token: "chr_…"},

		"device-request":       wire.DeviceRequest{Client: wire.DeviceRunner, Name: "mac-studio", Machine: "darwin/arm64", Again: "run_06h2gjs375o150pq0ajf5akcp0"},
		"device-code":          wire.DeviceCode{DeviceCode: "chd_…", UserCode: "BDFG-HJKL", VerificationURI: "https://hub/device", Complete: "https://hub/device?code=BDFG-HJKL", ExpiresIn: 900, Interval: 5},
		"device-token-request": wire.DeviceTokenRequest{DeviceCode: "chd_…"},
		"device-token":         wire.DeviceToken{Token: "chr_…", Login: "ada", Runner: "run_06h2gjs375o150pq0ajf5akcp0", Name: "mac-studio"},
		"devcontainer":         wire.Devcontainer{Path: ".devcontainer/devcontainer.json", JSON: "{}", Files: map[string]string{"tool/install.sh": "true"}},
		"events": wire.Events{Events: []wire.Event{{
			ID: "evt_06h2gjs375o150pq0ajf5akcp0", Session: session, Kind: wire.ReportPrompt, At: at, Prompt: prompt.ID,
			State: claudehub.PromptDone, Text: "text", Ended: true,
		}}},
		"events-reply": wire.EventsReply{Stored: []claudehub.EventID{"evt_06h2gjs375o150pq0ajf5akcp0"}},
		"terminal-up":  wire.TerminalUp{Type: "hello", Terminal: "t-1", Cols: 80, Rows: 24, Active: true, N: 1, Life: life, Data: "YQ==", Bytes: 9, ID: 2},
		"terminal-down": wire.TerminalDown{
			Type: "state", Input: &report, ID: 2, Why: "why", Code: claudehub.Forbidden,
			State: &wire.TerminalState{Drive: true, Owner: true, Cols: 80, Rows: 24, Viewers: 2, Watchers: []claudehub.Face{face}, Runner: observed.SandboxLink, Sandbox: observed.SandboxLink},
		},
	}
}

// TestGolden keeps the JSON of each message as it is: a change that the other side can notice shows here, and needs a line
// in the ledger.
func TestGolden(t *testing.T) {
	for name, m := range messages() {
		path := filepath.Join("testdata", name+".json")
		got, err := json.MarshalIndent(m, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		if *update {
			if err := os.WriteFile(path, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(string(want), string(got)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestOlderReadersSurviveNewFields: a field that one side does not know is no error to it.
func TestOlderReadersSurviveNewFields(t *testing.T) {
	var s wire.Snapshot
	if err := json.Unmarshal([]byte(`{"seq":1,"of_the_future":{"a":[1]},"sessions":[{"id":"x","new":true}]}`), &s); err != nil || s.Seq != 1 {
		t.Errorf("%+v, %v", s, err)
	}
}

func frames() []wire.Frame {
	life := strings.Repeat("a", wire.LifeLen)
	return []wire.Frame{
		{Kind: wire.FrameSnapshot, Fresh: true, Life: life, Seq: 1 << 52, Cols: 80, Rows: 24, Data: []byte("한글 é 🙂")},
		{Kind: wire.FrameDelta, Life: life, Seq: 1<<52 + 14, Cols: 80, Rows: 24, Data: []byte{0, 0xff, '\n'}},
		{Kind: wire.FrameReport, Life: life, Data: []byte("{}")},
		{Kind: wire.FrameDelta, Life: life, Data: []byte{}},
	}
}

func encode(t *testing.T, frames []wire.Frame) []byte {
	t.Helper()
	var b []byte
	for _, f := range frames {
		var err error
		if b, err = wire.AppendFrame(b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func readAll(r io.Reader) ([]wire.Frame, error) {
	var out []wire.Frame
	for {
		f, err := wire.ReadFrame(r)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, f)
	}
}

func TestFramesByteByByte(t *testing.T) {
	b := encode(t, frames())
	got, err := readAll(iotest.OneByteReader(bytes.NewReader(b)))
	if d := cmp.Diff(frames(), got); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
	// Cut anywhere, the whole ones are read and the half one is an error, unless the cut is between two.
	for n := range b {
		got, err := readAll(bytes.NewReader(b[:n]))
		if err == nil && len(encode(t, got)) != n {
			t.Errorf("cut at %d: %d frames and no error", n, len(got))
		}
	}
}

func TestFramesOutOfBounds(t *testing.T) {
	good := frames()[0]
	for name, f := range map[string]wire.Frame{
		"life":  {Kind: good.Kind, Life: "short"},
		"kind":  {Kind: 9, Life: good.Life},
		"large": {Kind: good.Kind, Life: good.Life, Data: make([]byte, wire.MaxFrame+1)},
	} {
		if _, err := wire.AppendFrame(nil, f); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
	b := encode(t, []wire.Frame{good})
	length := wire.FrameHeader - 4
	copy(b[length:], []byte{0xff, 0xff, 0xff, 0xff})
	if _, err := wire.ReadFrame(bytes.NewReader(b)); err == nil {
		t.Error("a frame of 4 GiB was read")
	}
}

func FuzzReadFrame(f *testing.F) {
	for _, fr := range frames() {
		b, err := wire.AppendFrame(nil, fr)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := readAll(bytes.NewReader(b))
		again := encode(t, got)
		if err == nil && len(again) != len(b) || len(again) > len(b) {
			t.Errorf("%d bytes became %d frames of %d bytes (%v)", len(b), len(got), len(again), err)
		}
	})
}

func TestSubjectsHoldOneToken(t *testing.T) {
	for _, id := range []string{"", "*", ">", "run_*", "run_06h2gjqaslp2l4cf595j3inqi.", "run_06h2gjqaslp2l4cf595j3inqik.>", "ses_06h2gjs371u195tb6br6oefepg"} {
		if s, err := wire.RunnerSubject(claudehub.RunnerID(id)); err == nil {
			t.Errorf("%q became the subject %q", id, s)
		}
	}
	if s, err := wire.RunnerSubject(claudehub.NewRunnerID()); err != nil || strings.Count(string(s), ".") != 2 {
		t.Errorf("%q, %v", s, err)
	}
	if s, err := wire.ScreenSubject(claudehub.NewSessionID()); err != nil || strings.Count(string(s), ".") != 2 {
		t.Errorf("%q, %v", s, err)
	}
}

func TestProtocolsThatDoNotFitSayWhichSideToUpdate(t *testing.T) {
	for protocol, want := range map[int]string{wire.OldestRunner - 1: "Update the Runner", wire.Protocol + 1: "Update the Hub", wire.Protocol: ""} {
		err := wire.CheckRunner(protocol)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(claudehub.MessageOf(err), want) {
			t.Errorf("protocol %d: %v", protocol, err)
		}
	}
}

// TestGoldenIsWhole: a field that no golden file shows could change unseen. Empty fields that are left out of the JSON are
// the ones that this finds.
func TestGoldenIsWhole(t *testing.T) {
	for name, m := range messages() {
		for _, path := range unset(reflect.ValueOf(m), name) {
			t.Errorf("%s is not set", path)
		}
	}
}

func unset(v reflect.Value, path string) []string {
	switch {
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return unset(v.Elem(), path)
	case v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() == reflect.Struct:
		return unset(v.Index(0), path+"[0]")
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		var out []string
		for i := range v.NumField() {
			out = append(out, unset(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
		return out
	case v.IsZero() && v.Kind() != reflect.Bool:
		return []string{path}
	}
	return nil
}
