// Package record registers the commands that record archives and manage recorders: pmlogger, pmlc, pmlogger_daily, pcp record, pcp replay and others.
package record

import (
	"github.com/go-pcp/pcp/cmd/internal/record/lc"
	"github.com/go-pcp/pcp/cmd/internal/record/logbasename"
	"github.com/go-pcp/pcp/cmd/internal/record/logcompress"
	"github.com/go-pcp/pcp/cmd/internal/record/logconf"
	"github.com/go-pcp/pcp/cmd/internal/record/logctl"
	"github.com/go-pcp/pcp/cmd/internal/record/logger"
	"github.com/go-pcp/pcp/cmd/internal/record/loggercheck"
	"github.com/go-pcp/pcp/cmd/internal/record/loggerdaily"
	"github.com/go-pcp/pcp/cmd/internal/record/loggermerge"
	"github.com/go-pcp/pcp/cmd/internal/record/loggerreport"
	"github.com/go-pcp/pcp/cmd/internal/record/loggerrewrite"
	"github.com/go-pcp/pcp/cmd/internal/record/logpaste"
	"github.com/go-pcp/pcp/cmd/internal/record/logpush"
	"github.com/go-pcp/pcp/cmd/internal/record/record"
	"github.com/go-pcp/pcp/cmd/internal/record/replay"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order of the help.
func Commands() []*cli.Command {
	return []*cli.Command{
		lc.Command,
		record.Command,
		replay.Command,
		logger.Command,
		loggerdaily.Command,
		loggermerge.Command,
		loggerrewrite.Command,
		loggerreport.Command,
		loggercheck.Command,
		logctl.Command,
		logconf.Command,
		logconf.RepCommand,
		logpaste.Command,
		logpush.Command,
		logbasename.Command,
		logcompress.Command,
		logcompress.DecompressCommand,
		loggercheck.IECommand,
		logctl.IECommand,
	}
}
