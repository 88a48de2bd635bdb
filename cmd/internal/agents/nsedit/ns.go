package nsedit

import (
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is "pcp ns".
var Command = &cli.Command{
	Name:     "ns",
	Group:    "Name space",
	Summary:  "change the name space of this machine",
	Synopsis: "rebuild | replace | lock | unlock | stdpmid | scripts [options] ...",
	Options: []cli.Option{
		cli.Heading("Options"),
		cli.OptHelp,
	},
	Doc: `The name space gives metrics their names. That of this machine is the file root in
$PCP_VAR_DIR/pmns: the files root_NAME of the installed agents merged, and what other
agents have added.

Each of these commands has the name that the C implementation gives it, too:
Rebuild, ReplacePmnsSubtree, lockpmns, unlockpmns and Make.stdpmid. "pcp ns scripts" makes links with those names where the Install scripts of
agents look for them.

Commands that run at the same time wait for each other. A collector, or a client,
finds the old file or the new one, never a part.`,
	Examples: []cli.Example{
		{Line: "pcp ns rebuild -v", Text: "merge the names of all agents in pmcd.conf, and say what changed"},
		{Line: "pcp ns replace sample ./sample.pmns", Text: "replace all names below sample"},
		{Line: "pcp ns scripts", Text: "have Install scripts find Rebuild, lockpmns and the others"},
	},
	SeeAlso:     []string{"PMNS(5)", "pmnsadd(1)", "pmnsdel(1)", "pmnsmerge(1)"},
	Sub:         []*cli.Command{RebuildCommand, ReplaceCommand, LockCommand, UnlockCommand, StdPMIDCommand, scriptsCommand},
	DieOnSignal: true,
	Run:         cli.Run,
}

// pmnsDir returns the directory of the machine's name space.
func pmnsDir(env *cli.Env) string { return filepath.Join(env.Config().Get("PCP_VAR_DIR"), "pmns") }
