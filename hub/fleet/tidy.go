package fleet

import (
	"math"
	"net/netip"
	"slices"
	"time"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// What Runners say of themselves is bounded here, before it is stored or shown: a Runner may be another program than
// ours.

const (
	maxPorts  = 200
	maxChecks = 20
	maxItems  = 50
	maxBytes  = 1 << 53 // more than any disk, and exact in a browser
	maxCPUs   = 1 << 16
)

var (
	networks    = []claudehub.NetworkPolicy{claudehub.NetworkOpen, claudehub.NetworkInternet, claudehub.NetworkAllowList}
	checkStates = []claudehub.CheckState{claudehub.CheckRunning, claudehub.CheckOK, claudehub.CheckRepaired, claudehub.CheckFailed}
	checkNames  = []string{"clock", "agent", "network", "tmux", "claude"}
)

// tidyMachine makes empty lists out of none, for JSON, and bounds texts, numbers and lists.
func tidyMachine(m claudehub.Machine) claudehub.Machine {
	for _, s := range []*string{&m.Hostname, &m.OS, &m.Arch, &m.Version, &m.Claude, &m.Backend} {
		*s = clip(*s, maxLine)
	}
	m.Doctor = append([]claudehub.Finding{}, m.Doctor[:min(len(m.Doctor), 100)]...)
	for i := range m.Doctor {
		d := &m.Doctor[i]
		d.Name, d.Detail, d.Fix = clip(d.Name, maxLine), clip(d.Detail, maxDetail), clip(d.Fix, maxDetail)
	}
	m.Unowned = append([]string{}, m.Unowned[:min(len(m.Unowned), 1000)]...)
	for i, s := range m.Unowned {
		m.Unowned[i] = clip(s, maxLine)
	}
	m.Networks = slices.DeleteFunc(append([]claudehub.NetworkPolicy{}, m.Networks[:min(len(m.Networks), 10)]...),
		func(n claudehub.NetworkPolicy) bool { return !slices.Contains(networks, n) })
	m.MaxAwake = int(bounded(int64(m.MaxAwake), maxCPUs))
	m.Storage = tidyStorage(m.Storage)
	return m
}

func tidyStorage(s claudehub.Storage) claudehub.Storage {
	for _, n := range []*int64{&s.Sessions, &s.Archived, &s.Images, &s.Reclaimable, &s.Reclaimed.Freed} {
		*n = bounded(*n, maxBytes)
	}
	s.Reclaimed.Request = bounded(s.Reclaimed.Request, maxReclaim)
	s.Reclaimed.Error, s.Reclaimed.At = clip(s.Reclaimed.Error, maxLine), store.Round(s.Reclaimed.At)
	s.Items = append([]claudehub.StorageItem{}, s.Items[:min(len(s.Items), maxItems)]...)
	s.Items = slices.DeleteFunc(s.Items, func(i claudehub.StorageItem) bool { return !slices.Contains(storageKinds, i.Kind) })
	for i := range s.Items {
		item := &s.Items[i]
		item.Name, item.Used = clip(item.Name, maxLine), store.Round(item.Used)
		item.Bytes, item.Sessions = bounded(item.Bytes, maxBytes), int(bounded(int64(item.Sessions), maxCPUs))
	}
	return s
}

// tidyObserved bounds what is said of a Session, and gives times the form that they have when they come from the
// database.
func tidyObserved(o claudehub.Observed) claudehub.Observed {
	o.Doing, o.Notice = clip(o.Doing, maxLine), clip(o.Notice, maxDetail)
	o.Since, o.SandboxLink.Since = store.Round(o.Since), store.Round(o.SandboxLink.Since)
	o.Checked, o.Noticed = store.Round(o.Checked), store.Round(o.Noticed)
	if o.Step != nil {
		s := *o.Step
		s.Name, s.Detail = clip(s.Name, maxLine), clip(s.Detail, maxDetail)
		s.Since, s.Deadline = store.Round(s.Since), store.Round(s.Deadline)
		s.Progress = tidyProgress(s.Progress)
		o.Step = &s
	}
	o.Failure = tidyFailure(o.Failure)
	if o.Environment != nil {
		e := *o.Environment
		e.Name = clip(e.Name, maxLine)
		o.Environment = &e
		if !parses(claudehub.ParseEnvironmentID(string(e.ID))) {
			o.Environment = nil
		}
	}
	if !parses(claudehub.ParseBuildID(string(o.Build))) {
		o.Build = ""
	}
	o.Figures, o.Ports, o.Checks = tidyFigures(o.Figures), tidyPorts(o.Ports), tidyChecks(o.Checks)
	return o
}

func tidyProgress(p float64) float64 {
	if math.IsNaN(p) || p < 0 || p > 1 {
		return -1
	}
	return p
}

func tidyFailure(f *claudehub.Failure) *claudehub.Failure {
	if f == nil {
		return nil
	}
	e := *f
	e.Step, e.Reason, e.Fix, e.Detail = clip(e.Step, maxLine), clip(e.Reason, maxDetail), clip(e.Fix, maxDetail), clip(e.Detail, maxDetail)
	return &e
}

func tidyFigures(f claudehub.Figures) claudehub.Figures {
	if math.IsNaN(f.CPU) || f.CPU < 0 || f.CPU > maxCPUs {
		f.CPU = 0
	}
	f.CPUs = int(bounded(int64(f.CPUs), maxCPUs))
	for _, n := range []*int64{&f.Memory, &f.MemoryLimit, &f.Disk, &f.DiskLimit, &f.Freed} {
		*n = bounded(*n, maxBytes)
	}
	return f
}

// tidyPorts keeps what can be a port; where it is reachable is on loopback, or nowhere: pages make links of it.
func tidyPorts(all []claudehub.Port) []claudehub.Port {
	out := make([]claudehub.Port, 0, min(len(all), maxPorts))
	for _, p := range all {
		if p.Port < 1 || p.Port > 65535 || len(out) == maxPorts {
			continue
		}
		p.Process, p.Error = clip(p.Process, maxLine), clip(p.Error, maxLine)
		if at, err := netip.ParseAddrPort(p.Local); err != nil || !at.Addr().IsLoopback() {
			p.Local = ""
		}
		out = append(out, p)
	}
	return out
}

func tidyChecks(all []claudehub.Check) []claudehub.Check {
	out := make([]claudehub.Check, 0, min(len(all), maxChecks))
	for _, c := range all {
		if len(out) == maxChecks || !slices.Contains(checkStates, c.State) || !slices.Contains(checkNames, c.Name) {
			continue
		}
		c.Detail = clip(c.Detail, maxLine)
		out = append(out, c)
	}
	return out
}

// observedNews tells whether what a Runner says of a Session is worth storing and showing again: anything but its
// figures changed, or they moved visibly, or what is shown is old.
func observedNews(old, now claudehub.Observed, age time.Duration) bool {
	if age < machineEvery && !figuresMoved(old.Figures, now.Figures) {
		old.Figures, now.Figures = claudehub.Figures{}, claudehub.Figures{}
	}
	return !equal(old, now)
}

// figuresMoved: a processor by a tenth of one and of what it was, memory and disk by a fiftieth.
func figuresMoved(old, now claudehub.Figures) bool {
	const least = 8 << 20 // below that nobody sees a difference
	byMuch := func(a, b int64) bool { return max(a-b, b-a) > max(a/50, least) }
	return math.Abs(old.CPU-now.CPU) > max(0.1, old.CPU/10) || byMuch(old.Memory, now.Memory) || byMuch(old.Disk, now.Disk) ||
		old.CPUs != now.CPUs || old.MemoryLimit != now.MemoryLimit || old.DiskLimit != now.DiskLimit || old.Freed != now.Freed ||
		(old.Memory == 0) != (now.Memory == 0)
}
