package diagnose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmie"
	"github.com/go-pcp/pcp/cmd/internal/pmie/deliver"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

const (
	maxPmieFile = 16 << 20
	maxPeriods  = 100 // periods that are printed
	maxOpen     = 10_000
)

// A period is a time for which a rule of pmie was true for an instance.
type period struct {
	rule, expr, instance, value string
	since, until                time.Time // until is zero if it lasted to the end
}

// periods gathers periods.
type periods struct {
	list []*period
	more int // periods beyond maxPeriods
	open map[[2]string]*period
}

func (p *periods) observe(ev deliver.Evaluation) {
	here := make(map[[2]string]bool)
	for _, m := range ev.Matches {
		key := [2]string{ev.Rule, m.Instance}
		here[key] = true
		if p.open[key] != nil || len(p.open) == maxOpen {
			continue
		}
		one := &period{rule: ev.Rule, expr: ev.Expr, instance: m.Instance, value: m.Value, since: ev.Time}
		p.open[key] = one
		if len(p.list) < maxPeriods {
			p.list = append(p.list, one)
		} else {
			p.more++
		}
	}
	if ev.State == deliver.Unknown {
		return
	}
	for key, one := range p.open {
		if key[0] == ev.Rule && !here[key] {
			one.until = ev.Time
			delete(p.open, key)
		}
	}
}

// errRules is that a file of rules has mistakes, which were printed.
var errRules = errors.New("the rules have mistakes")

// evaluate evaluates the rules of a file for pmie over the archive. It carries out no actions.
func (p *periods) evaluate(ctx context.Context, env *cli.Env, o *source.Options, name string, from, to pcp.Timestamp, zone *time.Location) error {
	p.open = make(map[[2]string]*period)
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxPmieFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxPmieFile {
		return fmt.Errorf("%s: larger than %d bytes", name, maxPmieFile)
	}
	var said bytes.Buffer
	e, err := pmie.New(ctx, pmie.Config{
		Name: env.ProgName(), Err: &said, Archives: o.Archives, Interval: o.Interval, Zone: zone, Quiet: true, Places: true,
		Wrap: env.IsSet("PCP_COUNTER_WRAP"), Observe: p.observe, OpenArchive: o.OpenArchive,
		Act: func(context.Context, deliver.Action) error { return nil },
	})
	if err != nil {
		return err
	}
	defer e.Close()
	e.Window(from, to)
	sound, err := e.Load(ctx, bytes.NewReader(text), name)
	if err != nil {
		return err
	}
	if !sound || strings.Contains(said.String(), "syntax error") {
		env.Stderr.Write(said.Bytes())
		return errRules
	}
	return e.Run(ctx)
}
