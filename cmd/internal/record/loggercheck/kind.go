package loggercheck

import (
	"context"
	"path/filepath"

	"github.com/go-pcp/pcp/config"
)

// A kind is the program being checked: pmlogger or pmie, whose control files have the
// same form.
type kind struct {
	name         string // of the program
	control      string // setting of the control file
	what         string // the purpose of its directories
	configurator string // the program that makes a configuration
	archives     bool   // it writes archives, which need maintenance too

	serve   func(t *task, ctx context.Context, start bool)
	answers func(p *process, ctx context.Context) bool // reports whether a started process serves
}

var logger = &kind{
	name: "pmlogger", control: "PCP_PMLOGGERCONTROL_PATH", what: "PCP archive files", configurator: "pmlogconf", archives: true,
	serve:   (*task).serveLogger,
	answers: (*process).loggerAnswers,
}

var engine = &kind{
	name: "pmie", control: "PCP_PMIECONTROL_PATH", what: "pmie log file", configurator: "pmieconf",
	serve:   (*task).serveEngine,
	answers: (*process).engineAnswers,
}

// prog is the name of the checking program.
func (k *kind) prog() string { return k.name + "_check" }

// log is the log file of that program.
func (k *kind) log(cfg *config.Config) string {
	return filepath.Join(cfg.Get("PCP_LOG_DIR"), k.name, k.prog()+".log")
}
