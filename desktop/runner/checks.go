package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// The checks, in their order.
const (
	checkClock   = "clock"
	checkAgent   = "agent"
	checkNetwork = "network"
	checkTmux    = "tmux"
	checkClaude  = "claude"
)

// clockDrift is how far a Sandbox's clock may be from the machine's, and agentPatience how long its agent may take: a
// machine that just woke has much to do.
const (
	clockDrift    = 3 * time.Second
	agentPatience = 15 * time.Second
	checkPause    = 500 * time.Millisecond
)

// checkUp has an awake Session looked over.
func (s *session) checkUp() {
	select {
	case s.slept <- struct{}{}:
	default: // one is due already
	}
	s.changed.set()
}

// checkup is one look at everything in a Sandbox after its machine slept.
type checkup struct {
	t       *tending
	restart bool  // the Sandbox must be started again
	failed  error // Claude could not be started again, and the Session says why
}

// check looks at one thing. It returns what was found; an error is what is wrong.
type check struct {
	name string
	look func(c *checkup, ctx context.Context) (claudehub.CheckState, string, error)
}

var checks = []check{
	{checkClock, (*checkup).clock}, {checkAgent, (*checkup).agent}, {checkNetwork, (*checkup).network},
	{checkTmux, (*checkup).tmux}, {checkClaude, (*checkup).claude},
}

// checkIfDue looks everything over, if the machine slept, with each step shown. What is well is left as it is; a Sandbox
// that is not is stopped, and the wake that follows brings its Session back with the conversation.
func (t *tending) checkIfDue(ctx context.Context) error {
	select {
	case <-t.s.slept:
	default:
		return nil
	}
	c := &checkup{t: t}
	t.s.see(ctx, func(o *claudehub.Observed) { o.Checks, o.Checked = []claudehub.Check{}, now() })
	for _, k := range checks {
		t.s.showCheck(ctx, claudehub.Check{Name: k.name, State: claudehub.CheckRunning})
		state, detail, err := k.look(c, ctx)
		if ctx.Err() != nil {
			t.s.checkUp() // wanted otherwise meanwhile; a later look does it
			return nil    //nolint:nilerr // the check was cut short, and found nothing
		}
		if err != nil {
			state, detail = claudehub.CheckFailed, oneLine(claudehub.MessageOf(err))
			t.s.log.Warn("a check after the machine's sleep failed", "check", k.name, "error", err)
		}
		t.s.showCheck(ctx, claudehub.Check{Name: k.name, State: state, Detail: detail})
		if c.failed != nil {
			return c.failed
		}
		if c.restart {
			return c.startAgain(ctx)
		}
	}
	return nil
}

// showCheck puts a check's state in its place among the others.
func (s *session) showCheck(ctx context.Context, k claudehub.Check) {
	s.see(ctx, func(o *claudehub.Observed) {
		all := make([]claudehub.Check, 0, len(checks))
		found := false
		for _, old := range o.Checks {
			if old.Name == k.Name {
				old, found = k, true
			}
			all = append(all, old)
		}
		if !found {
			all = append(all, k)
		}
		o.Checks, o.Checked = all, now()
	})
}

// startAgain stops the Sandbox. Its terminal ends with it, and the next look wakes the Session.
func (c *checkup) startAgain(ctx context.Context) error {
	s := c.t.s
	s.notice(ctx, "The machine slept, and the Sandbox did not come through it: it was started again. Programs that ran in it are gone; files and the conversation are not.")
	stop, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	if err := s.on.cfg.Backend.Stop(stop, s.box(), time.Second); err != nil {
		return err
	}
	return errEnded
}

// checksMended marks what had failed as repaired, once the Session is awake again.
func (s *session) checksMended(ctx context.Context) {
	s.see(ctx, func(o *claudehub.Observed) {
		var all []claudehub.Check
		for _, k := range o.Checks {
			switch k.State {
			case claudehub.CheckRunning:
				continue // cut short by the Runner's own end
			case claudehub.CheckFailed:
				k.State, k.Detail = claudehub.CheckRepaired, oneLine("started again: "+k.Detail)
			}
			all = append(all, k)
		}
		o.Checks = all
	})
}

// agent asks for a sign of life, for a while.
func (c *checkup) agent(ctx context.Context) (claudehub.CheckState, string, error) {
	err := c.t.s.ping(ctx)
	if err != nil {
		c.restart = true
		return "", "", claudehub.WithCause(claudehub.Unavailable, err, "It gave no sign of life for %d seconds.", int(agentPatience.Seconds()))
	}
	return claudehub.CheckOK, "", nil
}

func (s *session) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.on.agentPatience)
	defer cancel()
	for {
		ask, end := context.WithTimeout(ctx, s.on.cfg.patient(askTime))
		err := s.on.cfg.Backend.Ping(ask, s.box())
		end()
		if err == nil || ctx.Err() != nil || claudehub.CodeOf(err) == claudehub.NotFound {
			return err
		}
		newSignal().wait(ctx, checkPause)
	}
}

// clock compares the Sandbox's clock with the machine's and puts it right. Only a VM has one of its own.
func (c *checkup) clock(ctx context.Context) (claudehub.CheckState, string, error) {
	off, err := c.drift(ctx)
	switch {
	case err != nil:
		return "", "", claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox could not be asked for its time.")
	case off.Abs() <= clockDrift:
		return claudehub.CheckOK, "", nil
	}
	if _, err := c.t.run(ctx, "date", "-s", "@"+strconv.FormatInt(time.Now().Unix(), 10)); err != nil {
		return "", "", claudehub.WithCause(claudehub.Unavailable, err, "It is %s off and cannot be set.", off.Abs().Round(time.Second))
	}
	if left, err := c.drift(ctx); err != nil || left.Abs() > clockDrift {
		return "", "", claudehub.Errorf(claudehub.Unavailable, "It was %s off and did not take the right time.", off.Abs().Round(time.Second))
	}
	return claudehub.CheckRepaired, fmt.Sprintf("was %s off", off.Abs().Round(time.Second)), nil
}

func (c *checkup) drift(ctx context.Context) (time.Duration, error) {
	asked := time.Now()
	said, err := c.t.run(ctx, "date", "+%s")
	if err != nil {
		return 0, err
	}
	at, err := strconv.ParseInt(strings.TrimSpace(said), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("date said %q", oneLine(said))
	}
	answered := time.Now()
	there := time.Unix(at, 0)
	switch { // the answer may have taken long
	case there.Before(asked.Truncate(time.Second)):
		return there.Sub(asked), nil
	case there.After(answered):
		return there.Sub(answered), nil
	}
	return 0, nil
}

// routes and resolver as a Linux system shows them.
const networkScript = `cat /proc/net/route; echo =; grep -c ^nameserver /etc/resolv.conf; exit 0`

// network looks for a route and a resolver inside. It asks no host outside: that one does not answer says nothing of the
// Sandbox. Where the machine itself has no network, there is nothing to expect.
func (c *checkup) network(ctx context.Context) (claudehub.CheckState, string, error) {
	own, err := os.ReadFile("/proc/net/route")
	if err != nil || !hasDefaultRoute(string(own)) {
		return claudehub.CheckOK, "the machine has no network at the moment, or does not tell", nil //nolint:nilerr // nothing to compare with
	}
	said, err := c.t.run(ctx, "sh", "-c", networkScript)
	if err != nil {
		return "", "", claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox could not be asked for its network.")
	}
	routes, servers, _ := strings.Cut(said, "=\n")
	if !hasDefaultRoute(routes) {
		c.restart = true
		return "", "", claudehub.Errorf(claudehub.Unavailable, "It has no route, and the machine has one.")
	}
	if strings.TrimSpace(servers) == "0" {
		return claudehub.CheckOK, "no resolver is named", nil
	}
	return claudehub.CheckOK, "", nil
}

// hasDefaultRoute reads the form of /proc/net/route: a destination and a mask of zeros.
func hasDefaultRoute(table string) bool {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) >= 8 && f[1] == "00000000" && f[7] == "00000000" {
			return true
		}
	}
	return false
}

// tmux asks the terminal for a sign of life.
func (c *checkup) tmux(ctx context.Context) (claudehub.CheckState, string, error) {
	if _, err := c.t.seat.dead(ctx); err != nil {
		c.restart = true
		return "", "", claudehub.WithCause(claudehub.Unavailable, err, "The terminal does not answer.")
	}
	return claudehub.CheckOK, "", nil
}

// claude looks whether Claude's process is there. One that ended is started again. (One that was stopped, tmux continues
// by itself.)
func (c *checkup) claude(ctx context.Context) (claudehub.CheckState, string, error) {
	dead, err := c.t.seat.dead(ctx)
	if err != nil {
		c.restart = true
		return "", "", claudehub.WithCause(claudehub.Unavailable, err, "The terminal does not answer.")
	}
	if dead {
		if err := c.t.revive(ctx, "Claude Code had ended while the machine slept; its conversation was resumed."); err != nil {
			c.failed = err
			return "", "", err
		}
		return claudehub.CheckRepaired, "had ended, and was started again", nil
	}
	return claudehub.CheckOK, "", nil
}

// run runs a program in the Sandbox, within a short time.
func (t *tending) run(ctx context.Context, path string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, t.seat.ask)
	defer cancel()
	return t.s.runInBox(ctx, sandbox.Command{Path: path, Args: args})
}

// claudeStatus is what the Sandbox's system says of Claude's own process: /proc/PID/status.
func (t *tending) claudeStatus(ctx context.Context) (map[string]string, error) {
	list := tmuxCommand(t.seat.life, "list-panes", "-F", "#{pane_pid}")
	pid, err := t.run(ctx, list.Path, list.Args...)
	if err != nil {
		return nil, err
	}
	if pid = strings.TrimSpace(pid); !onlyDigits(pid) {
		return nil, errors.New("tmux names no process")
	}
	said, err := t.run(ctx, "cat", "/proc/"+pid+"/status")
	if err != nil {
		return nil, err
	}
	status := map[string]string{}
	for line := range strings.Lines(said) {
		name, value, _ := strings.Cut(line, ":")
		status[name] = strings.TrimSpace(value)
	}
	return status, nil
}
