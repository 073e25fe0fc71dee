package microsandbox

import (
	"context"
	"errors"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// told are msb's own words for what went wrong, in lower case, and ours. The first that fits is used.
var told = []struct {
	words []string // all of them
	code  claudehub.Code
	text  string
}{
	{
		[]string{"image not cached"}, claudehub.NotFound,
		"The image that this Sandbox starts from is not on this machine any more. Build the Environment again.",
	},
	{
		[]string{"snapshot not found"}, claudehub.NotFound,
		"The image that this Sandbox starts from is not on this machine any more. Build the Environment again.",
	},
	{
		[]string{"xattr"}, claudehub.Unavailable,
		"A folder that the Sandbox uses is on a file system without extended attributes (\"user.\" xattrs), which microVMs need. " +
			"Move the Runner's state folder (--dir) to ext4, xfs, btrfs or APFS; tmpfs has them since Linux 6.6.",
	},
	{
		[]string{"no space left"}, claudehub.Unavailable,
		"The disk of this machine is full. Free some space, with Reclaim for example, and try again.",
	},
	{
		[]string{"quota exceeded"}, claudehub.Unavailable,
		"This user's disk quota is used up. Free some space, with Reclaim for example, and try again.",
	},
	{
		[]string{"/dev/kvm", "permission"}, claudehub.Unavailable,
		"This user may not use /dev/kvm. Add it to the group kvm (sudo usermod -aG kvm $USER), and sign in again.",
	},
	{
		[]string{"already exists"}, claudehub.Conflict,
		"A Sandbox of that name is there already, and it is none of this Runner's. Remove it (msb rm -f), and try again.",
	},
	{
		[]string{"cannot allocate memory"}, claudehub.Unavailable,
		"This machine has not enough free memory for the Sandbox. Put other Sessions to sleep, or give this Environment less memory.",
	},
	{
		[]string{"out of memory"}, claudehub.Unavailable,
		"This machine has not enough free memory for the Sandbox. Put other Sessions to sleep, or give this Environment less memory.",
	},
	{
		[]string{"erofs"}, claudehub.Unavailable,
		"The image that this Sandbox starts from is damaged. Remove it, with Reclaim, and build the Environment again.",
	},
	{
		[]string{"corrupt"}, claudehub.Unavailable,
		"The image that this Sandbox starts from is damaged. Remove it, with Reclaim, and build the Environment again.",
	},
	{
		[]string{"before agent relay became available"}, claudehub.Unavailable,
		"The VM ended before it was there. Run \"claude-hub-runner doctor\"; the log has what msb said.",
	},
}

// sentence finds the words for a person. What has some already passes.
func sentence(ctx context.Context, err error, what string) error {
	var has *claudehub.Error
	if err == nil || errors.As(err, &has) {
		return err
	}
	var f *failure
	if errors.As(err, &f) {
		for _, t := range told {
			if all(t.words, f.says) {
				return &claudehub.Error{Code: t.code, Message: t.text, Cause: err}
			}
		}
		if f.code < 0 {
			return claudehub.WithCause(claudehub.Unavailable, err, "%s: something killed msb at its work. Try again.", what)
		}
		return claudehub.WithCause(claudehub.Internal, err, "%s: msb says %q.", what, firstLine(f.stderr))
	}
	if ctx.Err() != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "%s: it was not done in time. Try again; if that does not help, look at what the machine is busy with.", what)
	}
	return claudehub.WithCause(claudehub.Internal, err, "%s. The log has the details.", what)
}

func all(words []string, f func(string) bool) bool {
	for _, w := range words {
		if !f(w) {
			return false
		}
	}
	return true
}

// firstLine leaves msb's advice about its own commands out.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(line)
		if line = strings.TrimPrefix(line, "error: "); line != "" && !strings.HasPrefix(line, "failed to start") {
			return strings.TrimPrefix(line, "→ ")
		}
	}
	return "nothing"
}

func notThere(id sandbox.ID) error {
	return claudehub.Errorf(claudehub.NotFound, "The Sandbox %s is not running. Start it first.", id)
}
