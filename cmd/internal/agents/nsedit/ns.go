package nsedit

import (
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is "pcp ns".
var Command = &cli.Command{
	Name:     "ns",
	Group:    cli.WriteAgent,
	Summary:  "change the installed name space",
	Synopsis: "rebuild | replace | lock | unlock | stdpmid | scripts [options] ...",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptHelp,
		}
	},
	Doc: `The name space gives metrics their names. The name space of this machine is the file root in
$PCP_VAR_DIR/pmns: the merged files root_NAME of the installed agents, and additions by other
agents.

These commands also have the names of the C implementation: Rebuild, ReplacePmnsSubtree, lockpmns,
unlockpmns and Make.stdpmid. "pcp ns scripts" creates links with these names where the Install
scripts of agents look for them.

Concurrent commands wait for each other. Collectors and clients see the old file or the new one,
never a part.`,
	Examples: []cli.Example{
		{Line: "pcp ns rebuild -v", Text: "merge the names of all agents in pmcd.conf, and print the changes"},
		{Line: "pcp ns replace sample ./sample.pmns", Text: "replace all names below sample"},
		{Line: "pcp ns scripts", Text: "create Rebuild, lockpmns and the others for Install scripts"},
	},
	SeeAlso:     []string{"PMNS(5)", "pmnsadd(1)", "pmnsdel(1)", "pmnsmerge(1)"},
	Sub:         []*cli.Command{RebuildCommand, ReplaceCommand, LockCommand, UnlockCommand, StdPMIDCommand, scriptsCommand},
	DieOnSignal: true,
	Run:         cli.Run,
}

// pmnsDir returns the directory of the machine's name space.
func pmnsDir(env *cli.Env) string { return filepath.Join(env.Config().Get("PCP_VAR_DIR"), "pmns") }
