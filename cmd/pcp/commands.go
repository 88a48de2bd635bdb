package main

import (
	"slices"

	"github.com/go-pcp/pcp/tool/agentadmin"
	"github.com/go-pcp/pcp/tool/agentcmd"
	"github.com/go-pcp/pcp/tool/archivecmd"
	"github.com/go-pcp/pcp/tool/cdwait"
	"github.com/go-pcp/pcp/tool/cli"
	"github.com/go-pcp/pcp/tool/completion"
	"github.com/go-pcp/pcp/tool/config"
	"github.com/go-pcp/pcp/tool/cpp"
	"github.com/go-pcp/pcp/tool/date"
	"github.com/go-pcp/pcp/tool/dbg"
	"github.com/go-pcp/pcp/tool/dbpmda"
	"github.com/go-pcp/pcp/tool/dumplog"
	"github.com/go-pcp/pcp/tool/err"
	"github.com/go-pcp/pcp/tool/folio"
	"github.com/go-pcp/pcp/tool/genmap"
	"github.com/go-pcp/pcp/tool/getopt"
	"github.com/go-pcp/pcp/tool/help"
	"github.com/go-pcp/pcp/tool/helptext"
	"github.com/go-pcp/pcp/tool/hostname"
	"github.com/go-pcp/pcp/tool/importcmd"
	"github.com/go-pcp/pcp/tool/info"
	"github.com/go-pcp/pcp/tool/logcheck"
	"github.com/go-pcp/pcp/tool/logdiff"
	"github.com/go-pcp/pcp/tool/logextract"
	"github.com/go-pcp/pcp/tool/loglabel"
	"github.com/go-pcp/pcp/tool/logmv"
	"github.com/go-pcp/pcp/tool/logpaste"
	"github.com/go-pcp/pcp/tool/logreduce"
	"github.com/go-pcp/pcp/tool/logsize"
	"github.com/go-pcp/pcp/tool/logsummary"
	"github.com/go-pcp/pcp/tool/man"
	"github.com/go-pcp/pcp/tool/mmvdump"
	"github.com/go-pcp/pcp/tool/nsedit"
	"github.com/go-pcp/pcp/tool/passwd"
	"github.com/go-pcp/pcp/tool/pmcd"
	"github.com/go-pcp/pcp/tool/post"
	"github.com/go-pcp/pcp/tool/probe"
	"github.com/go-pcp/pcp/tool/sleep"
	"github.com/go-pcp/pcp/tool/stat"
	"github.com/go-pcp/pcp/tool/store"
	"github.com/go-pcp/pcp/tool/up"
	"github.com/go-pcp/pcp/tool/val"
)

// commands returns the table of commands, in the order in which help lists
// them. A new command needs a line here and nothing else.
func commands() []*cli.Command {
	return slices.Concat([]*cli.Command{
		up.Command,
		pmcd.Command,
		passwd.Command,
		cdwait.Command,
		info.Command,
		val.Command,
		val.EventCommand,
		probe.Command,
		store.Command,
		mmvdump.Command,
		stat.Command,
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
		logpaste.Command,
		importcmd.Command,
		nsedit.AddCommand,
		nsedit.DelCommand,
		nsedit.MergeCommand,
		cpp.Command,
		genmap.Command,
		helptext.NewCommand,
		helptext.CheckCommand,
		agentadmin.Command,
		dbpmda.Command,
		err.Command,
		hostname.Command,
		config.Command,
		post.Command,
		dbg.Command,
		getopt.Command,
		date.Command,
		sleep.Command,
		help.Command,
		versionCommand,
		man.Command,
		linksCommand,
		completion.Command,
	}, agentcmd.Commands())
}
