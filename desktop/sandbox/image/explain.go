package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sys/unix"

	"claude-hub/internal/claudehub"
)

var (
	errChanged  = errors.New("a file changed while it was read")
	errStalled  = errors.New("nothing came for too long")
	errMismatch = errors.New("a layer is not what its image says it is")
)

// explain finds the sentence for a base that could not be had.
func explain(ctx context.Context, base claudehub.Base, err error) error {
	var told *claudehub.Error
	if errors.As(err, &told) {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, errStalled) {
		if errors.Is(cause, context.DeadlineExceeded) {
			return claudehub.WithCause(claudehub.Unavailable, err, "The base image %s was not there in time. Try again; a slow network needs several tries.", base.Ref)
		}
		return fmt.Errorf("fetch base image: %w", cause)
	}
	var refused *transport.Error
	switch {
	case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
		return claudehub.WithCause(claudehub.Unavailable, err, "The Runner's disk is full: the base image does not fit. Reclaim space on the Runner's page, or free some, and build again.")
	case errors.Is(err, errClimbs):
		return claudehub.WithCause(claudehub.Invalid, err, "The base image %s is not safe to unpack: it has a path that leads out of it. Do not use it.", base.Ref)
	case errors.Is(err, errTooBig):
		return claudehub.WithCause(claudehub.TooLarge, err, "The base image %s is too large: at most %d GB and %d files fit.", base.Ref, maxBytes>>30, maxFiles)
	case errors.Is(err, errChanged):
		return claudehub.WithCause(claudehub.Conflict, err, "%s changed while it was copied. Let nobody write to it, and build again.", base.Ref)
	case base.Kind == claudehub.BaseArchive:
		return explainArchive(base, err)
	case base.Kind == claudehub.BaseDirectory:
		return explainDirectory(base, err)
	case errors.As(err, &refused):
		return explainRegistry(base, refused)
	case errors.Is(err, errBroken), errors.Is(err, errMismatch):
		return claudehub.WithCause(claudehub.Invalid, err, "The image %s is damaged: its registry sent what its own digest denies. Push it again, or use another.", base.Ref)
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "The registry of %s did not answer: %s. Check the name, and the Runner's network.", base.Ref, reach(err))
}

func explainRegistry(base claudehub.Base, err *transport.Error) error {
	switch err.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return claudehub.WithCause(claudehub.Forbidden, err,
			"The registry does not give out %s: it needs a login, or there is no such image. On the Runner's machine, \"docker login\" gives it one.", base.Ref)
	case http.StatusNotFound:
		return claudehub.WithCause(claudehub.NotFound, err, "There is no image %s in its registry. Check the name and the tag.", base.Ref)
	case http.StatusTooManyRequests:
		return claudehub.WithCause(claudehub.TooMany, err, "The registry has had enough requests from this machine for now. Try again later, or \"docker login\" on the Runner's machine.")
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "The registry of %s answered with an error (%d). Try again later.", base.Ref, err.StatusCode)
}

// reach is why a registry could not be reached, in a few words.
func reach(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns):
		return fmt.Sprintf("the name %s is not known", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there"
	case errors.Is(err, errStalled), errors.Is(err, os.ErrDeadlineExceeded):
		return "it sent nothing for too long"
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return "the connection broke off"
	case errors.As(err, &op):
		return "the connection failed"
	case strings.Contains(err.Error(), "certificate"):
		return "its certificate is not trusted here"
	}
	return "it does not speak as a registry does"
}

func explainArchive(base claudehub.Base, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return claudehub.WithCause(claudehub.NotFound, err, "There is no file %s on the Runner's machine.", base.Ref)
	case errors.Is(err, os.ErrPermission):
		return claudehub.WithCause(claudehub.Forbidden, err, "The Runner may not read %s. Give it the right to.", base.Ref)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return claudehub.WithCause(claudehub.Invalid, err, "The archive %s is cut off: its end is missing. Copy or save it again.", base.Ref)
	case errors.Is(err, errMismatch):
		return claudehub.WithCause(claudehub.Invalid, err, "The archive %s is damaged: a layer is not what its image says it is. Copy or save it again.", base.Ref)
	}
	return claudehub.WithCause(claudehub.Invalid, err, "%s is not an image's archive, or a damaged one. Make it with \"docker save\" or as an OCI layout's tar.", base.Ref)
}

func explainDirectory(base claudehub.Base, err error) error {
	switch {
	case errors.Is(err, os.ErrNotExist):
		return claudehub.WithCause(claudehub.NotFound, err, "There is no folder %s on the Runner's machine.", base.Ref)
	case errors.Is(err, os.ErrPermission):
		return claudehub.WithCause(claudehub.Forbidden, err, "The Runner may not read everything in %s. Give it the right to, or make the folder again as the Runner's user.", base.Ref)
	case errors.Is(err, syscall.ENOTDIR):
		return claudehub.WithCause(claudehub.Invalid, err, "%s is not a folder.", base.Ref)
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "The folder %s could not be copied. The Runner's log has the details.", base.Ref)
}

func (f *fetch) noShell() error {
	if f.base.Kind == claudehub.BaseDirectory {
		return claudehub.Errorf(claudehub.Invalid, "%s is not a root filesystem: it has no /bin/sh.", f.base.Ref)
	}
	return claudehub.Errorf(claudehub.Invalid, "The image %s has no shell (/bin/sh), and an Environment needs one. Choose an image that is not \"distroless\" or \"scratch\".", f.base.Ref)
}

func wrongArch(base claudehub.Base, system, cpu string) error {
	return claudehub.Errorf(claudehub.Invalid, "The image %s is for %s/%s, and this Runner's machine needs linux/%s. Choose an image that is made for it.", base.Ref, system, cpu, arch())
}

// room refuses what cannot fit before the disk is full for everybody.
func (f *fetch) room(need int64) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(f.dir, &fs); err != nil {
		return nil //nolint:nilerr // then writing tells
	}
	const reserve = 256 << 20
	if free := int64(fs.Bavail) * blockSize(&fs); need+reserve > free {
		return claudehub.Errorf(claudehub.Unavailable, "The base image needs %d MB, and the Runner's disk has %d MB free. Reclaim space on the Runner's page, or free some, and build again.", (need+reserve)>>20, free>>20)
	}
	return nil
}

func blockSize(fs *unix.Statfs_t) int64 {
	return int64(fs.Bsize) //nolint:unconvert // it is narrower on a Mac
}
