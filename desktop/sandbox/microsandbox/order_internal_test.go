package microsandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

func TestNetworkInWordsOfMsb(t *testing.T) {
	for name, c := range map[string]struct {
		network sandbox.Network
		relay   uint16
		want    string
	}{
		"open":           {sandbox.Network{Policy: claudehub.NetworkOpen}, 0, "--net all --no-dns-rebind-protection"},
		"none said":      {sandbox.Network{}, 9, "--net all --no-dns-rebind-protection"},
		"internet":       {sandbox.Network{Policy: claudehub.NetworkInternet}, 0, "--net public"},
		"and the relay":  {sandbox.Network{Policy: claudehub.NetworkInternet}, 90, "--net public --net-rule allow@host:tcp:90"},
		"nothing":        {sandbox.Network{Policy: claudehub.NetworkAllowList}, 0, "--no-net"},
		"only the relay": {sandbox.Network{Policy: claudehub.NetworkAllowList}, 90, "--no-net --net-rule allow@host:tcp:90"},
		"the machine":    {sandbox.Network{Policy: claudehub.NetworkAllowList, Allow: []string{"Host.microsandbox.internal:80"}}, 0, "--no-net --net-rule allow@dns --net-rule allow@host:tcp:80"},
		"list": {
			sandbox.Network{Policy: claudehub.NetworkAllowList, Allow: []string{"Example.org", "*.example.org:443", "10.0.0.1:22", "[2001:db8::1]:80"}}, 0,
			"--no-net --net-rule allow@dns --net-rule allow@example.org --net-rule allow@*.example.org:tcp:443 --net-rule allow@10.0.0.1:tcp:22 --net-rule allow@[2001:db8::1]:tcp:80",
		},
	} {
		got, err := network(c.network, c.relay)
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "a,b", "a b", "allow@x", "*.com", "*", hostName, "x:0", "x:70000", "x:tcp:1", "-x", "x;y", "http://x", "x/y", strings.Repeat("a.", 140) + "b"} {
		if got, err := network(sandbox.Network{Policy: claudehub.NetworkAllowList, Allow: []string{bad}}, 0); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q became %q, %v", bad, got, err)
		}
	}
	if _, err := network(sandbox.Network{Policy: "later"}, 0); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("got %v", err)
	}
}

// TestAnotherSpecIsAnotherVM: what the VM is made from is in the hash, and what it is not is not.
func TestAnotherSpecIsAnotherVM(t *testing.T) {
	b := backend(t, "")
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	write(t, file, "x")
	if err := b.copyGuest(); err != nil {
		t.Fatal(err)
	}
	spec := sandbox.Spec{ID: "s", Limits: sandbox.Limits{CPUs: 1, MemoryBytes: 1 << 30}, Mounts: []sandbox.Mount{{Host: dir, Guest: "/workspace"}, {Host: file, Guest: "/f", ReadOnly: true}}}
	image := imageRecord{Image: "base", Kind: imported}
	first, err := b.order(spec, image)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range [][]string{
		{"--mount-dir", dir + ":/workspace:quota=1048576M"},
		{"--mount-file", file + ":/f:ro"},
		{"--mount-file", b.guestCopy() + ":" + guestPath + ":ro"},
		{"--pull", "never"},
		{"-m", "1024M"},
	} {
		if i := slices.Index(first.args, want[1]); i < 1 || first.args[i-1] != want[0] {
			t.Errorf("%v is missing in %v", want, first.args)
		}
	}
	write(t, b.guest, "#!/bin/sh\n# another version\n")
	if err := b.copyGuest(); err != nil {
		t.Fatal(err)
	}
	if again, err := b.order(spec, image); err != nil || again.hash != first.hash {
		t.Errorf("an updated Runner makes another VM, %v", err)
	}
	for name, change := range map[string]func(*sandbox.Spec, *imageRecord){
		"image":    func(_ *sandbox.Spec, i *imageRecord) { i.Image = "other" },
		"memory":   func(s *sandbox.Spec, _ *imageRecord) { s.Limits.MemoryBytes = 2 << 30 },
		"cpus":     func(s *sandbox.Spec, _ *imageRecord) { s.Limits.CPUs = 2 },
		"disk":     func(s *sandbox.Spec, _ *imageRecord) { s.Limits.DiskBytes = 30 << 30 },
		"mounts":   func(s *sandbox.Spec, _ *imageRecord) { s.Mounts = s.Mounts[:1] },
		"readonly": func(s *sandbox.Spec, _ *imageRecord) { s.Mounts = slices.Clone(s.Mounts); s.Mounts[0].ReadOnly = true },
		"network":  func(s *sandbox.Spec, _ *imageRecord) { s.Network.Policy = claudehub.NetworkInternet },
		"relay":    func(s *sandbox.Spec, _ *imageRecord) { s.Relay.Socket = "/x" },
	} {
		s, i := spec, image
		change(&s, &i)
		if other, err := b.order(s, i); err != nil || other.hash == first.hash {
			t.Errorf("%s: the same VM, %v", name, err)
		}
	}
	for _, bad := range []string{"relative", "/with:colon", "/with,comma", "/line\nbreak"} {
		s := spec
		s.Mounts = []sandbox.Mount{{Host: dir, Guest: bad}}
		if _, err := b.order(s, image); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	s := spec
	s.Mounts = []sandbox.Mount{{Host: dir + "/gone", Guest: "/x"}}
	_, err = b.order(s, image)
	refused(t, err, claudehub.NotFound, "Put it back")
}

func TestWhatTheMachineDoesNotHave(t *testing.T) {
	refused(t, affordable(sandbox.Limits{CPUs: 10000}), claudehub.Invalid, "CPUs")
	refused(t, affordable(sandbox.Limits{MemoryBytes: 1 << 50}), claudehub.Invalid, "memory")
	refused(t, affordable(sandbox.Limits{MemoryBytes: 64 << 20}), claudehub.Invalid, "Give it more")
	if err := affordable(sandbox.Limits{}); err != nil {
		t.Error(err)
	}
}

func TestAStateFolderThatIsTooDeep(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("x", 100))
	_, err := New(Options{State: deep})
	refused(t, err, claudehub.Invalid, "too long for the sockets")
	_, err = New(Options{})
	refused(t, err, claudehub.Invalid, "not a usable path")
}

func TestPrivateFolders(t *testing.T) {
	b := backend(t, "")
	for _, dir := range []string{b.state, b.home()} {
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", dir, info.Mode(), err)
		}
	}
}
