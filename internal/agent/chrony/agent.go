package chrony

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmda"
)

// Domain is the domain of the agent (CHRONY).
const Domain = 165

// A Config configures an agent. Zero fields mean the defaults.
type Config struct {
	Domain  int
	Program string   // "" means chronyc
	Args    []string // of Program, such as the address of another chronyd
	Log     *slog.Logger
}

// minAge is the age of values until which chronyc is not started again.
const minAge = time.Second

// New returns an agent.
func New(cfg Config) (*service.Agent, error) {
	sources := &service.InDom{Serial: 0, Help: "Sources of time", Long: "The servers, peers and reference clocks of chronyd, by address or name."}
	program := cmp.Or(cfg.Program, "chronyc")
	return service.New(service.Config{
		Name: "chrony", Domain: cmp.Or(cfg.Domain, Domain), Log: cfg.Log, MinAge: minAge,
		Metrics: metrics(sources), InDoms: []*service.InDom{sources}, Origin: "Field %s of the output of chronyc.",
		Servers: []service.Server{{Name: program, Read: func(ctx context.Context, a *service.Answer) error {
			cmd := exec.CommandContext(ctx, program, append(cfg.Args, "-c", "-m", "tracking", "sources", "sourcestats")...)
			cmd.WaitDelay = time.Second
			var out, errs limited
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%w: %.200q", err, strings.TrimSpace(out.String()+" "+errs.String()))
			}
			return decode(out.String(), sources, a)
		}}},
	})
}

// A limited buffer takes as many bytes as an answer may have. It embeds no bytes.Buffer, whose ReadFrom
// has no limit.
type limited struct{ b []byte }

func (l *limited) Write(b []byte) (int, error) {
	if len(l.b)+len(b) > service.MaxAnswer {
		return 0, service.ErrTooBig
	}
	l.b = append(l.b, b...)
	return len(b), nil
}

func (l *limited) String() string { return string(l.b) }

// The fields of a line of each report.
const (
	trackingFields = 14
	sourceFields   = 10
	statsFields    = 8
)

// decode reads the reports, whose lines differ in their number of fields.
func decode(text string, sources *service.InDom, a *service.Answer) error {
	found := false
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimRight(line, "\r\n"), ",")
		switch len(fields) {
		case trackingFields:
			found = true
			fields[0] = convert(fields[0], 16)
			for i, f := range fields {
				a.Set("tracking."+strconv.Itoa(i), f)
			}
		case sourceFields:
			fields[5] = convert(fields[5], 8)
			set(a.Row(sources, fields[2]), "sources.", fields)
		case statsFields:
			set(a.Row(sources, fields[0]), "sourcestats.", fields)
		}
	}
	if !found {
		return errors.New("not a report of chronyc")
	}
	return nil
}

func set(row service.Row, report string, fields []string) {
	for i, f := range fields {
		row.Set(report+strconv.Itoa(i), f)
	}
}

// convert returns a number in decimal, "" if it is not a number of the base.
func convert(text string, base int) string {
	n, err := strconv.ParseUint(text, base, 64)
	if err != nil {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// Builtin describes the agent.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "chrony", Domain: Domain, Programs: []string{"chronyd"}, Try: service.Try(open),
		New: func(e builtin.Env) (pmda.Agent, error) { return open(e) },
	}
}

func open(e builtin.Env) (*service.Agent, error) {
	return New(Config{Domain: e.Domain, Program: e.Config.Getenv("CHRONYC"), Log: e.Log})
}
