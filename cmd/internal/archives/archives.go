// Package archives registers the commands that read, check, cut, join and change archives: pmdumplog, pmlogextract, pmlogsummary, pcp archive and
// others.
package archives

import (
	"github.com/go-pcp/pcp/cmd/internal/archives/archivecmd"
	"github.com/go-pcp/pcp/cmd/internal/archives/dumplog"
	"github.com/go-pcp/pcp/cmd/internal/archives/folio"
	"github.com/go-pcp/pcp/cmd/internal/archives/logcheck"
	"github.com/go-pcp/pcp/cmd/internal/archives/logdiff"
	"github.com/go-pcp/pcp/cmd/internal/archives/logextract"
	"github.com/go-pcp/pcp/cmd/internal/archives/loglabel"
	"github.com/go-pcp/pcp/cmd/internal/archives/logmv"
	"github.com/go-pcp/pcp/cmd/internal/archives/logreduce"
	"github.com/go-pcp/pcp/cmd/internal/archives/logrewrite"
	"github.com/go-pcp/pcp/cmd/internal/archives/logsize"
	"github.com/go-pcp/pcp/cmd/internal/archives/logsummary"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order of the help.
func Commands() []*cli.Command {
	return []*cli.Command{
		dumplog.Command,
		dumplog.NewCommand,
		logcheck.Command,
		loglabel.Command,
		archivecmd.Command,
		logmv.Command,
		logmv.CopyCommand,
		logmv.ListCommand,
		logsummary.Command,
		logsize.Command,
		logdiff.Command,
		folio.Command,
		folio.MakeCommand,
		logextract.Command,
		logreduce.Command,
		logrewrite.Command,
		logrewrite.RedactCommand,
	}
}
