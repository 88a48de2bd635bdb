// Package agents registers the agents and the commands for developing them: the pmda* programs, pcp agent, dbpmda, the name space tools and mmvdump.
package agents

import (
	"slices"

	"github.com/go-pcp/pcp/cmd/internal/agents/agentadmin"
	"github.com/go-pcp/pcp/cmd/internal/agents/agentcmd"
	"github.com/go-pcp/pcp/cmd/internal/agents/dbpmda"
	"github.com/go-pcp/pcp/cmd/internal/agents/genmap"
	"github.com/go-pcp/pcp/cmd/internal/agents/helptext"
	"github.com/go-pcp/pcp/cmd/internal/agents/mmvdump"
	"github.com/go-pcp/pcp/cmd/internal/agents/nsedit"
	"github.com/go-pcp/pcp/cmd/internal/agents/trace"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order of the help.
func Commands() []*cli.Command {
	return slices.Concat([]*cli.Command{
		mmvdump.Command,
		nsedit.AddCommand,
		nsedit.DelCommand,
		nsedit.MergeCommand,
		nsedit.Command,
		nsedit.RebuildCommand,
		nsedit.ReplaceCommand,
		nsedit.LockCommand,
		nsedit.UnlockCommand,
		nsedit.StdPMIDCommand,
		genmap.Command,
		helptext.NewCommand,
		helptext.CheckCommand,
		agentadmin.Command,
		agentadmin.GenerateCommand,
		dbpmda.Command,
		trace.Command,
	}, agentcmd.Commands())
}
