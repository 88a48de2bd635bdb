package shping

import (
	"context"
	"slices"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/pmcc"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// defaultInterval is the time between samples, that of pmie.
const defaultInterval = 10 * time.Second

// objects prints the report as JSON, a row for each command and with -c also a row of the agent's settings, and returns the
// exit status.
func (p *pinger) objects(ctx context.Context, wanted []string) int {
	env := *p.env
	env.Config() // before env is copied
	env.Args = nil
	o := source.Parse(&env, cli.ParseConfig{Archives: true, HighRes: true})
	if o.Interval == 0 {
		o.Interval = defaultInterval
	}
	once := p.status || p.labels
	if status, exit := o.Done(); exit {
		return status
	}
	m, status := pmcc.Open(ctx, &env, o, pmcc.Kind{Prefix: env.ProgName() + ": "})
	if m == nil {
		return max(status, 1)
	}
	defer m.Close()
	names := []string{"shping.cmd", "shping.status", "shping.time.real"}
	if p.status {
		names = append(names, "shping.control.cycles", "shping.control.cycletime", "shping.control.timeout")
	}
	if status, ok := m.Use(ctx, names, len(names)); !ok {
		return max(status, 1)
	}
	matched := false
	status = m.Run(ctx, func() bool {
		commands := slices.DeleteFunc(m.Named("shping.cmd"), func(c pmcc.Named) bool {
			return !once && len(wanted) > 0 && !slices.Contains(wanted, c.Name)
		})
		if len(commands) == 0 { // archives may begin without
			return m.Archive
		}
		matched = true
		if p.status {
			row := m.Row(ctx, "control", "")
			row.Value("cycles", m.One("shping.control.cycles"))
			row.Value("cycletime", m.One("shping.control.cycletime"))
			row.Value("timeout", m.One("shping.control.timeout"))
			row.Write()
		}
		states, times := pmcc.ByName(m.Named("shping.status")), pmcc.ByName(m.Named("shping.time.real"))
		for _, command := range commands {
			row := m.Row(ctx, "commands", command.Name)
			if once {
				row.Value("command", command.Value)
			} else {
				row.Value("sts", states[command.Name])
				row.Value("time", times[command.Name])
			}
			row.Write()
		}
		return !once
	})
	if !matched && ctx.Err() == nil {
		return p.env.Fatalf("no matching command tags found")
	}
	return status
}
