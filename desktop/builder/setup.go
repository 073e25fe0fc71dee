package builder

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// setup runs the script on a copy of the Image with tools.
func (m *making) setup(ctx context.Context, base baseRecord, tools toolsRecord) (claudehub.BuildStepState, string, error) {
	box := sandbox.ID(m.j.ID)
	spec := m.spec(box, tools.Image)
	spec.Build = true
	if err := m.start(ctx, spec); err != nil {
		return "", "", err
	}
	env, secrets, err := m.j.variables(ctx)
	if err != nil {
		return "", "", err
	}
	m.keep = &keptRecord{
		Sandbox: box, Image: tools.Image, CPUs: spec.Limits.CPUs, Memory: spec.Limits.MemoryBytes, Disk: spec.Limits.DiskBytes,
		Network: spec.Network.Policy, Allow: spec.Network.Allow,
	}
	out := m.log.section(setupShare, secrets)
	code, err := m.watched(ctx, box, func(ctx context.Context) (int, error) {
		return m.script(ctx, box, m.j.Recipe.Setup, nil, append(base.Env, env...), out)
	})
	if err != nil {
		return "", "", m.interrupted(ctx, err)
	}
	if code != 0 {
		return "", "", m.scriptFailed(code)
	}
	if err := m.stop(ctx, box); err != nil {
		return "", "", err
	}
	return claudehub.StepDone, "", nil
}

// interrupted is the failure of a script whose end nobody saw.
func (m *making) interrupted(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, errDiskFull) || errors.Is(err, errNoDisk) {
		return err
	}
	t := troubled(err, "The Sandbox ended while the setup script ran.",
		"The script may have stopped it, or taken all of its memory. Give the Environment more memory, or see in the log what ran last.")
	t.Detail = m.log.tail()
	return t
}

// scriptFailed is the failure of a script that ended with a code.
func (m *making) scriptFailed(code int) error {
	tail := m.log.tail()
	line, command := failedLine(tail)
	t := &trouble{line: line, kept: true, cause: fmt.Errorf("the setup script ended with code %d", code)}
	t.Detail = tail
	switch {
	case code == -1 || code == 137:
		t.Reason = "The setup script was killed."
		t.Fix = "It may have taken more memory than the Environment has; give it more, or see in the log what ran last."
	case line > 0 && command != "":
		t.Reason = fmt.Sprintf("Line %d of the setup script failed with exit code %d: %s", line, code, shorten(command))
	case line > 0:
		t.Reason = fmt.Sprintf("Line %d of the setup script failed with exit code %d.", line, code)
	default:
		t.Reason = fmt.Sprintf("The setup script ended with exit code %d.", code)
	}
	if strings.Contains(tail, "No space left on device") {
		t.Fix = "The disk was full: give the Environment more, or have the script remove what it needs no more (caches, sources)."
	}
	if t.Fix == "" {
		t.Fix = "See the log's end, correct the script and build again, or look inside the Sandbox, which is kept for a while."
	}
	return t
}

func shorten(s string) string {
	const most = 120
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

var (
	trapLine  = regexp.MustCompile(`^claude-hub: line (\d+): exit code \d+: (.*)$`)
	shellLine = regexp.MustCompile(`^` + regexp.QuoteMeta(scriptPath) + `: (?:line )?(\d+): (.*)$`)
)

// failedLine finds in a script's last output which line failed: what our trap said, else what the shell did.
func failedLine(tail string) (line int, command string) {
	var said, shell []string
	for l := range strings.Lines(tail) {
		l = strings.TrimRight(l, "\r\n")
		if m := trapLine.FindStringSubmatch(l); m != nil {
			said = m
		} else if m := shellLine.FindStringSubmatch(l); m != nil {
			shell = m
		}
	}
	if said != nil {
		line, _ = strconv.Atoi(said[1]) // digits, and few; or else 0
		return line, said[2]
	}
	if shell != nil {
		line, _ = strconv.Atoi(shell[1]) // as above
		return line, ""
	}
	return 0, ""
}

// save freezes the script's Sandbox. Each build has an Image of its own, so that one that is in use is never replaced.
func (m *making) save(ctx context.Context) (claudehub.BuildStepState, string, error) {
	box := sandbox.ID(m.j.ID)
	id := strings.TrimPrefix(string(m.j.ID), "bld_")
	img := sandbox.Image("env-" + m.j.hash + "-" + id[max(0, len(id)-8):])
	if err := m.b.o.Backend.Commit(ctx, box, img); err != nil {
		return "", "", err
	}
	m.image = img
	if err := m.remove(ctx, box); err != nil {
		return "", "", err
	}
	return claudehub.StepDone, string(img), nil
}
