package shping

import (
	"context"
	"slices"
	"time"

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
	once := p.status || p.labels
	opened := false
	status := pmcc.Report{
		Kind: pmcc.Kind{Prefix: env.ProgName() + ": "},
		Check: func(o *source.Options) bool {
			if o.Interval == 0 {
				o.Interval = defaultInterval
			}
			return false
		},
	}.Run(ctx, &env, func(m *pmcc.Manager) int {
		opened = true
		return p.rows(ctx, m, wanted, once)
	})
	if !opened {
		return max(status, 1)
	}
	return status
}

// rows prints the rows of each sample, or with once of the first that has some.
func (p *pinger) rows(ctx context.Context, m *pmcc.Manager, wanted []string, once bool) int {
	names := []string{"shping.cmd", "shping.status", "shping.time.real"}
	if p.status {
		names = append(names, "shping.control.cycles", "shping.control.cycletime", "shping.control.timeout")
	}
	if status, ok := m.Use(ctx, names, len(names)); !ok {
		return max(status, 1)
	}
	matched := false
	status := m.Each(ctx, func() error {
		commands := slices.DeleteFunc(m.Named("shping.cmd"), func(c pmcc.Named) bool {
			return !once && len(wanted) > 0 && !slices.Contains(wanted, c.Name)
		})
		switch {
		case len(commands) > 0:
		case m.Archive: // which may begin without
			return nil
		default:
			return pmcc.ErrDone
		}
		matched = true
		if p.status {
			row := m.Row("control", "")
			row.Value("cycles", m.One("shping.control.cycles"))
			row.Value("cycletime", m.One("shping.control.cycletime"))
			row.Value("timeout", m.One("shping.control.timeout"))
			row.Write()
		}
		states, times := pmcc.ByName(m.Named("shping.status")), pmcc.ByName(m.Named("shping.time.real"))
		for _, command := range commands {
			row := m.Row("commands", command.Name)
			if once {
				row.Value("command", command.Value)
			} else {
				row.Value("sts", states[command.Name])
				row.Value("time", times[command.Name])
			}
			row.Write()
		}
		if once {
			return pmcc.ErrDone
		}
		return nil
	})
	if !matched && ctx.Err() == nil {
		return p.env.Fatalf("no matching command tags found")
	}
	return status
}
