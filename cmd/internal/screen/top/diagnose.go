package top

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/cmd/internal/screen/top/internal/ui"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/recorded"
)

// diagnosed steps of an archive are those up to the time that is shown.
const diagnosedSteps = 60

// maxChanges is the number of metrics on the page with what changed.
const maxChanges = 200

// diagnose returns the text of a diagnosis, or of what changed: of the next seconds of a collector, or of the steps of an archive up to a time.
func (j *job) diagnose(ctx context.Context, want ui.Diagnosing) (string, error) {
	rules, err := diagnosis.Rules(filepath.Join(j.env.Config().Get("PCP_SYSCONF_DIR"), "diagnose"))
	if err != nil {
		return "", err
	}
	// The context of the sampler is at its own place.
	c, err := j.o.Open(ctx, j.o.Source())
	if err != nil {
		return "", errors.New(cli.ErrText(err))
	}
	defer c.Close()
	cfg := diagnosis.Config{Context: c, Rules: rules}
	if want.Changes {
		cfg.Changes = maxChanges
	}
	commands := diagnosis.Commands{Program: j.env.Pcp(), Zone: j.loc}
	switch {
	case j.o.FromArchive():
		cfg.To, cfg.Whole = want.At, true
		cfg.From = want.At.Add(-max(diagnosedSteps*j.interval, 5*time.Minute))
		commands.Source, commands.Past = "-a "+diagnosis.Quote(j.o.Archives[0]), true
	case j.o.Local:
		commands.Source = "-L"
	case len(j.o.Hosts) > 0:
		commands.Source = "-h " + diagnosis.Quote(j.o.Hosts[0])
	}
	if !j.o.FromArchive() {
		if before := recorded.Before(ctx, j.env, c, j.o.OpenArchive); before != nil {
			defer before.Close()
			cfg.Before = before
		}
	}
	d, err := diagnosis.Run(ctx, cfg)
	if err != nil {
		return "", errors.New(cli.ErrText(err))
	}
	var b strings.Builder
	text := diagnosis.Text{W: &b, Diagnosis: d, Commands: commands}
	text.Head()
	if !want.Changes {
		for i := range d.Findings {
			text.Finding(&d.Findings[i])
		}
		b.WriteString("\n")
		text.Unchecked(len(d.Findings) == 0, false)
	}
	text.Changes()
	if d.Compared == nil {
		b.WriteString("\nNothing is recorded of the time before, so it is not known what changed. \"pcp up\" records, as does \"pcp record\".\n")
	}
	return b.String(), nil
}
