package builder

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/image"
	"claude-hub/internal/claudehub"
)

// base is where this build starts from.
func (m *making) base() (claudehub.Base, error) {
	base := m.j.Recipe.Base
	if base.Kind != claudehub.BaseDefault {
		return base, nil
	}
	if k := m.b.o.DefaultBase.Kind; k == "" || k == claudehub.BaseDefault {
		return base, claudehub.Errorf(claudehub.Invalid, "This Runner has no default image to build on. Choose a base image for the Environment: debian:bookworm, for example.")
	}
	return m.b.o.DefaultBase, nil
}

// prepare makes the Image with tools that the setup script starts from. Builds on the same base wait for each other here.
func (m *making) prepare(ctx context.Context) (base baseRecord, tools toolsRecord, err error) {
	from, err := m.base()
	if err != nil {
		return base, tools, m.step(stepBase, func() (claudehub.BuildStepState, string, error) { return "", "", err })
	}
	unlock, err := m.b.bases.lock(ctx, string(from.Kind)+" "+from.Ref)
	if err != nil {
		return base, tools, err
	}
	defer unlock()
	err = m.step(stepBase, func() (state claudehub.BuildStepState, detail string, err error) {
		base, state, err = m.fetch(ctx, from)
		return state, strings.TrimSpace(base.Name + " " + base.Digest), err
	})
	if err != nil {
		return base, tools, err
	}
	err = m.step(stepTools, func() (state claudehub.BuildStepState, detail string, err error) {
		tools, state, err = m.tools(ctx, base)
		return state, tools.Detail, err
	})
	return base, tools, err
}

// fetch makes the Image of a base, or finds it.
func (m *making) fetch(ctx context.Context, from claudehub.Base) (baseRecord, claudehub.BuildStepState, error) {
	key, err := m.b.o.Identify(ctx, from)
	if err != nil {
		return m.lastKnown(ctx, from, err)
	}
	if key != "" {
		key = string(from.Kind) + " " + key
	}
	if r, ok := m.b.state.base(key); ok {
		has, err := m.b.has(ctx, r.Image)
		if err != nil {
			return baseRecord{}, "", err
		}
		if has {
			r.Name = from.Ref
			return r, claudehub.StepCached, m.saveBase(key, r)
		}
	}
	out := m.log.section(baseShare, nil)
	said := ""
	root, err := m.b.o.Fetch(ctx, from, m.b.fetchDir(), func(p image.Progress) {
		if p.Step != said {
			said = p.Step
			fmt.Fprintln(out, p.Step)
		}
		if p.Total > 0 {
			share := 0.6 * float64(p.Done) / float64(p.Total)
			if p.Step != "Fetching" {
				share = 0.6 + share/3
			}
			m.j.progress(stepBase, share)
		}
	})
	if err != nil {
		return baseRecord{}, "", err
	}
	hex := strings.TrimPrefix(root.Digest, "sha256:")
	r := baseRecord{Image: sandbox.Image("base-" + hex[:min(len(hex), 32)]), Name: from.Ref, Digest: root.Digest, Env: programEnv(root.Env)}
	err = m.b.o.Backend.Import(ctx, root.Tar, r.Image, func(done float64) { m.j.progress(stepBase, 0.8+0.2*done) })
	if forgotten := image.Forget(root); forgotten != nil {
		m.b.o.Log.Warn("a base image's file could not be removed", "file", root.Tar, "error", forgotten)
	}
	if err != nil {
		return baseRecord{}, "", err
	}
	if key == "" {
		key = string(from.Kind) + " " + from.Ref
	}
	return r, claudehub.StepDone, m.saveBase(key, r)
}

// lastKnown is the base as it was when its registry last answered: a machine without a network still builds.
func (m *making) lastKnown(ctx context.Context, from claudehub.Base, why error) (last baseRecord, state claudehub.BuildStepState, err error) {
	if claudehub.CodeOf(why) != claudehub.Unavailable && claudehub.CodeOf(why) != claudehub.TooMany {
		return last, "", why
	}
	key := ""
	m.b.state.read(func(all *records) {
		for k, r := range all.Bases {
			if r.Name == from.Ref && strings.HasPrefix(k, string(from.Kind)+" ") && r.Used.After(last.Used) {
				key, last = k, r
			}
		}
	})
	if key == "" {
		return last, "", why
	}
	has, err := m.b.has(ctx, last.Image)
	if err != nil {
		return last, "", err
	}
	if !has {
		return last, "", why
	}
	m.log.line("   " + claudehub.MessageOf(why))
	m.log.line("   The copy that is here is used.")
	return last, claudehub.StepCached, m.saveBase(key, last)
}

func (m *making) saveBase(key string, r baseRecord) error {
	r.Used = m.b.o.Now()
	return m.b.state.change(func(all *records) { all.Bases[key] = r })
}

// programEnv are the variables of an image that say where its programs are. What is the Sandbox's own, or would break
// it, is left out.
func programEnv(env []string) []string {
	var kept []string
	for _, e := range env {
		name, value, ok := strings.Cut(e, "=")
		if ok && len(value) <= 32<<10 && (name == "PATH" || claudehub.ValidVariable(name, value) == nil) {
			kept = append(kept, e)
		}
	}
	return kept
}

// has tells whether the Backend holds an Image.
func (b *Builder) has(ctx context.Context, img sandbox.Image) (bool, error) {
	all, err := b.o.Backend.Images(ctx)
	if err != nil {
		return false, fmt.Errorf("list images: %w", err)
	}
	for _, i := range all {
		if i.Image == img {
			return true, nil
		}
	}
	return false, nil
}

// toolsScript looks for the tools and prints "missing:" with those that are not there, and "manager:" with what could
// install them. It runs in any shell.
const toolsScript = `
missing=
for t in tmux git gh; do command -v $t >/dev/null 2>&1 || missing="$missing $t"; done
certs=
for f in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem /etc/ssl/ca-bundle.pem; do
  [ -s $f ] && certs=$f
done
[ -n "$certs" ] || missing="$missing ca-certificates"
manager=
for m in apt-get apk dnf microdnf zypper; do
  if [ -z "$manager" ] && command -v $m >/dev/null 2>&1; then manager=$m; fi
done
echo "missing:$missing"
echo "manager:$manager"
`

// installScript installs what is missing with one manager, each by itself: what one image's packages lack must not keep
// the rest away. Code 41 says that the list of packages could not be had.
const installScript = `
manager=$1
shift
export DEBIAN_FRONTEND=noninteractive
case $manager in
apt-get) apt-get update || exit 41 ;;
apk) apk update || exit 41 ;;
dnf) dnf -y makecache || exit 41 ;;
microdnf) microdnf -y makecache || true ;;
zypper) zypper --non-interactive refresh || exit 41 ;;
esac
one() {
  case $manager in
  apt-get) apt-get install -y --no-install-recommends -o Dpkg::Options::=--force-unsafe-io "$@" ;;
  apk) apk add "$@" ;;
  dnf) dnf -y --setopt=install_weak_deps=False install "$@" ;;
  microdnf) microdnf -y --setopt=install_weak_deps=0 install "$@" ;;
  zypper) zypper --non-interactive install --no-recommends "$@" ;;
  esac
}
if [ $manager = apk ]; then
  names=
  for t; do [ $t = gh ] && t=github-cli; names="$names $t"; done
  set -- $names
fi
one "$@" || for t; do one "$t" || echo "claude-hub: $t could not be installed"; done
case $manager in
apt-get) apt-get clean; rm -rf /var/lib/apt/lists/* ;;
apk) rm -rf /var/cache/apk/* ;;
dnf) dnf -y clean all ;;
microdnf) microdnf -y clean all ;;
zypper) zypper --non-interactive clean --all ;;
esac
exit 0
`

// toolsRevision names the list of tools and how they are installed: another one makes other Images.
const toolsRevision = "1"

// tools makes the Image with tools of a base, or finds it.
func (m *making) tools(ctx context.Context, base baseRecord) (toolsRecord, claudehub.BuildStepState, error) {
	key := string(base.Image) + " " + toolsRevision
	if r, ok := m.b.state.tools(key); ok {
		has, err := m.b.has(ctx, r.Image)
		if err != nil {
			return r, "", err
		}
		if has {
			return r, claudehub.StepCached, m.saveTools(key, r)
		}
	}
	box := sandbox.ID(m.j.ID)
	spec := m.spec(box, base.Image)
	spec.Build = true
	if err := m.start(ctx, spec); err != nil {
		return toolsRecord{}, "", err
	}
	r, changed, err := m.install(ctx, box, base)
	if err != nil {
		return r, "", err
	}
	r.Image = base.Image
	if changed {
		if err := m.stop(ctx, box); err != nil {
			return r, "", err
		}
		r.Image = sandbox.Image("tools-" + strings.TrimPrefix(string(base.Image), "base-") + "-" + toolsRevision)
		if err := m.b.o.Backend.Commit(ctx, box, r.Image); err != nil {
			return r, "", err
		}
	}
	if err := m.remove(ctx, box); err != nil {
		return r, "", err
	}
	return r, claudehub.StepDone, m.saveTools(key, r)
}

func (m *making) saveTools(key string, r toolsRecord) error {
	r.Used = m.b.o.Now()
	return m.b.state.change(func(all *records) { all.Tools[key] = r })
}

// install looks for the tools and installs what is not there.
func (m *making) install(ctx context.Context, box sandbox.ID, base baseRecord) (r toolsRecord, changed bool, err error) {
	missing, manager, err := m.lookForTools(ctx, box, base)
	if err != nil {
		return r, false, err
	}
	if len(missing) == 0 {
		r.Detail = "all were there"
		return r, false, nil
	}
	if manager == "" {
		r.Missing = missing
		r.Detail = "missing: " + strings.Join(missing, ", ") + "; the image has no package manager that claude-hub knows, so the setup script has to bring them"
		return r, false, nil
	}
	out := m.log.section(toolsShare, nil)
	code, err := m.watched(ctx, box, func(ctx context.Context) (int, error) {
		return m.script(ctx, box, installScript, append([]string{manager}, missing...), base.Env, out)
	})
	if err != nil {
		return r, false, err
	}
	detail := m.log.tail()
	left, _, err := m.lookForTools(ctx, box, base)
	if err != nil {
		return r, false, err
	}
	if code != 0 && len(left) > 0 {
		t := troubled(fmt.Errorf("%s ended with code %d", manager, code), m.reasonForNoPackages(manager, code),
			"Check the Runner's network and the Environment's network policy, or choose a base image that has tmux, git, gh and certificates.")
		t.Detail, t.Retry = detail, true
		return r, false, t
	}
	r.Missing = left
	r.Detail = "installed with " + manager + ": " + strings.Join(without(missing, left), ", ")
	if len(left) > 0 {
		r.Detail += "; not among this image's packages: " + strings.Join(left, ", ") + ", so the setup script has to bring them"
	}
	return r, true, nil
}

func (m *making) reasonForNoPackages(manager string, code int) string {
	if code != 41 {
		return fmt.Sprintf("The tools could not be installed: %s failed.", manager)
	}
	if p := m.j.Recipe.Network; p == claudehub.NetworkAllowList {
		return fmt.Sprintf("The tools could not be installed: %s reaches no packages, and the allow-list decides what it may reach.", manager)
	}
	return fmt.Sprintf("The tools could not be installed: %s reaches no packages.", manager)
}

func without(all, gone []string) []string {
	var left []string
	for _, a := range all {
		found := false
		for _, g := range gone {
			found = found || a == g
		}
		if !found {
			left = append(left, a)
		}
	}
	return left
}

func (m *making) lookForTools(ctx context.Context, box sandbox.ID, base baseRecord) (missing []string, manager string, err error) {
	out, code, err := m.ask(ctx, box, sandbox.Command{Path: "sh", Args: []string{"-c", toolsScript}, Env: base.Env, Dir: "/"})
	if err == nil && code != 0 {
		err = fmt.Errorf("the look for tools ended with code %d: %s", code, out)
	}
	if claudehub.CodeOf(err) == claudehub.NotFound {
		return nil, "", troubled(err, "The image has no shell that runs (/bin/sh).", "Choose an image that is not \"distroless\" or \"scratch\".")
	}
	if err != nil {
		return nil, "", err
	}
	found := false
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "missing:"); ok {
			missing, found = strings.Fields(rest), true
		} else if rest, ok := strings.CutPrefix(line, "manager:"); ok {
			manager = rest
		}
	}
	if !found {
		return nil, "", errors.New("the look for tools said nothing")
	}
	return missing, manager, nil
}

// lacking is the failure of a build that ends without a tool.
func lacking(missing []string) *trouble {
	return troubled(nil, "The image has no "+strings.Join(missing, ", no ")+", and they could not be installed.",
		"Install them in the setup script, or choose a base image that has them.")
}
