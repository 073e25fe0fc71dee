package runner

import (
	"fmt"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// recipeOf is what a Session is to run on, and the Environment's version that it comes from; nil for the default.
func recipeOf(d wire.DesiredSession) (claudehub.Recipe, *claudehub.EnvironmentRef) {
	if d.Environment == nil {
		return claudehub.DefaultRecipe(), nil
	}
	ref := d.Environment.EnvironmentRef
	return d.Environment.Recipe, &ref
}

// machineSize is what a Sandbox can have at the most.
type machineSize struct {
	cpus   int
	memory int64 // 0 when it is not known
}

// limitsOf are a recipe's limits on a machine of this size whose owner allows at most cap. What the machine does not have
// is refused, if somebody asked for it; where the owner allows less, that counts, and said tells so.
func limitsOf(r claudehub.Recipe, env *claudehub.EnvironmentRef, size machineSize, most sandbox.Limits) (l sandbox.Limits, said string, err error) {
	if env != nil {
		if err := fits(r, env.Name, size); err != nil {
			return l, "", err
		}
	}
	l = sandbox.Limits{
		CPUs: min(r.CPUs, size.cpus), MemoryBytes: r.Memory, DiskBytes: r.Disk, Processes: most.Processes,
	}
	if size.memory > 0 {
		l.MemoryBytes = min(l.MemoryBytes, size.memory)
	}
	note := func(what string) {
		if env != nil {
			said = fmt.Sprintf("This machine's owner allows a Sandbox at most %s; %s asks for more.", what, env.Name)
		}
	}
	if most.CPUs > 0 && l.CPUs > most.CPUs {
		l.CPUs = most.CPUs
		note(fmt.Sprintf("%d CPUs", l.CPUs))
	}
	if most.MemoryBytes > 0 && l.MemoryBytes > most.MemoryBytes {
		l.MemoryBytes = most.MemoryBytes
		note(inMB(l.MemoryBytes) + " of memory")
	}
	if most.DiskBytes > 0 && l.DiskBytes > most.DiskBytes {
		l.DiskBytes = most.DiskBytes
		note(inMB(l.DiskBytes) + " of disk")
	}
	return l, said, nil
}

func fits(r claudehub.Recipe, name string, size machineSize) error {
	fix := "Give the Environment less in a new version of it, or start the Session on a larger machine."
	switch {
	case r.CPUs > size.cpus:
		return &stepError{step: stepEnvironment, fix: fix, err: claudehub.Errorf(claudehub.Invalid,
			"%s asks for %d CPUs, and this machine has %d.", name, r.CPUs, size.cpus)}
	case size.memory > 0 && r.Memory > size.memory:
		return &stepError{step: stepEnvironment, fix: fix, err: claudehub.Errorf(claudehub.Invalid,
			"%s asks for %s of memory, and this machine has %s.", name, inMB(r.Memory), inMB(size.memory))}
	}
	return nil
}

// inMB says a size as a person would.
func inMB(n int64) string {
	if n >= 10<<30 {
		return fmt.Sprintf("%d GB", n>>30)
	}
	return fmt.Sprintf("%d MB", n>>20)
}

// bound is a build's recipe within the same limits as a Session's. What it builds is the same.
func (p *parts) bound(d wire.DesiredBuild) (claudehub.Recipe, error) {
	var asked *claudehub.EnvironmentRef // nobody asked for what the default says
	if d.Environment.ID != "" {
		asked = &d.Environment
	}
	l, _, err := limitsOf(d.Recipe, asked, p.size, p.cfg.Limits)
	r := d.Recipe
	r.CPUs, r.Memory, r.Disk = l.CPUs, max(l.MemoryBytes, claudehub.MinMemory), max(l.DiskBytes, claudehub.MinDisk)
	return r, err
}
