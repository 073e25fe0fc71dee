package builder

import (
	"context"
	"fmt"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// smoke starts a Sandbox from the new Image, as a Session will, and has every tool answer in it.
func (m *making) smoke(ctx context.Context, base baseRecord) (claudehub.BuildStepState, string, error) {
	box := sandbox.ID(string(m.j.ID) + "-smoke")
	spec := m.spec(box, m.image)
	spec.Mounts = m.j.Mounts
	if err := m.start(ctx, spec); err != nil {
		return "", "", err
	}
	out := m.log.section(smokeShare, nil)
	var found []string
	for _, cmd := range []sandbox.Command{
		{Path: "tmux", Args: []string{"-V"}}, {Path: "git", Args: []string{"--version"}}, {Path: "gh", Args: []string{"--version"}},
	} {
		said, err := m.answer(ctx, box, cmd, base.Env)
		if err != nil {
			return "", "", toolTrouble(cmd.Path, err)
		}
		fmt.Fprintln(out, said)
		found = append(found, said)
	}
	certificates := sandbox.Command{Path: "sh", Args: []string{"-c", toolsScript}}
	if said, err := m.answer(ctx, box, certificates, base.Env); err != nil || strings.Contains(said, "ca-certificates") {
		return "", "", toolTrouble("certificates file", err)
	}
	for _, cmd := range m.b.o.Smoke {
		said, err := m.answer(ctx, box, cmd, base.Env)
		if err != nil {
			return "", "", programTrouble(cmd, err)
		}
		fmt.Fprintln(out, said)
		found = append(found, said)
	}
	if err := m.stop(ctx, box); err != nil {
		return "", "", err
	}
	return claudehub.StepDone, strings.Join(found, ", "), m.remove(ctx, box)
}

// answer is the first line that a command prints. Any code but 0 is an error.
func (m *making) answer(ctx context.Context, box sandbox.ID, cmd sandbox.Command, env []string) (string, error) {
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.Env = append(env[:len(env):len(env)], cmd.Env...)
	said, code, err := m.ask(ctx, box, cmd)
	if err != nil {
		return "", err
	}
	said = strings.TrimSpace(said)
	first, _, _ := strings.Cut(said, "\n")
	if code != 0 {
		return "", &refusal{code: code, said: said}
	}
	return shorten(first), nil
}

// refusal is a command that ran and failed.
type refusal struct {
	code int
	said string
}

func (r *refusal) Error() string { return fmt.Sprintf("code %d: %s", r.code, r.said) }

func toolTrouble(tool string, err error) error {
	if r, ok := err.(*refusal); ok || err == nil || claudehub.CodeOf(err) == claudehub.NotFound || claudehub.CodeOf(err) == claudehub.Forbidden { //nolint:errorlint // answer makes it one
		t := troubled(err, "The new image has no working "+tool+".", "Install it in the setup script, or choose a base image that has it; the script must not break it.")
		if r != nil {
			t.Detail = r.said
		}
		return t
	}
	return err
}

// programTrouble is the failure of Claude Code's own program: it is made for glibc, and for this machine.
func programTrouble(cmd sandbox.Command, err error) error {
	r, ran := err.(*refusal) //nolint:errorlint // answer makes it one
	code := claudehub.CodeOf(err)
	if !ran && code != claudehub.NotFound && code != claudehub.Forbidden {
		return err
	}
	t := troubled(err, "Claude Code does not start in the new image.", "See the detail. If it speaks of a missing library, install it in the setup script, or choose a base image that has it.")
	switch {
	case ran:
		t.Detail = r.said
	case code == claudehub.NotFound:
		t.Reason = "Claude Code cannot run in the new image: it has no glibc, which Claude Code is made for (Alpine's musl is another)."
		t.Fix = "Choose a base image with glibc: Debian, Ubuntu or Fedora, for example."
	default:
		t.Reason = fmt.Sprintf("%s cannot be executed in the new image.", cmd.Path)
		t.Fix = "Choose a base image that is made for this machine's architecture."
	}
	return t
}
