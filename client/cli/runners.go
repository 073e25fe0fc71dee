package cli

import (
	"context"
	"fmt"

	"claude-hub/client"
)

// RunnersCmd lists Runners.
type RunnersCmd struct {
	Target
	Format
}

// Run lists.
func (r *RunnersCmd) Run(ctx context.Context, e *Env) error {
	c, err := r.open(e)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.Runners(ctx)
	if err != nil {
		return err
	}
	return r.print(e, items[client.Runner]{all}, func() error {
		if len(all) == 0 {
			_, err := fmt.Fprintln(e.Err, "No Runners.")
			return err
		}
		rows := [][]string{{"NAME", "ID", "LINK", "SINCE", "MACHINE", "AWAKE", "CLAUDE CODE"}}
		for _, m := range all {
			rows = append(rows, []string{
				m.Name, string(m.ID), string(m.Link.State), ago(m.Link.Since), m.Machine.Hostname,
				fmt.Sprintf("%d of %d", m.Machine.Awake, m.Machine.MaxAwake), m.Machine.Claude,
			})
		}
		return table(e.Out, 4, rows)
	})
}
