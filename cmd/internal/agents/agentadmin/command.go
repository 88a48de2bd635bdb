package agentadmin

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is "pcp agent".
var Command = &cli.Command{
	Name:     "agent",
	Group:    cli.WriteAgent,
	Summary:  "create, list, test, enable and disable agents",
	Synopsis: "new | generate | list | test | enable | disable | scripts [options] [name]...",
	Doc: `
An agent extracts metrics from one source: the kernel, a database, a program. The collector of "pcp
up" contains the most important agents; pmcd runs the agents in its configuration, pmcd.conf.`,
	Examples: []cli.Example{
		{Line: "pcp agent list", Text: "list built-in, configured and running agents"},
		{Line: "pcp agent new hello", Text: "create a folder with a small agent in Go"},
		{Line: "pcp agent test ./pmdahello", Text: "check that an agent answers all requests of a collector"},
	},
	Options:     func() []cli.Option { return []cli.Option{cli.Heading("Options"), cli.OptHelp} },
	Sub:         []*cli.Command{newCommand, GenerateCommand, listCommand, testCommand, enableCommand, disableCommand, scriptsCommand, procedureCommand},
	DieOnSignal: true,
	Run:         cli.Run,
}

var (
	optConfig = cli.Option{Short: 'c', Long: "config", Arg: "FILE", Help: "the collector's configuration [default $PCP_PMCDCONF_PATH]"}
	optDomain = cli.Option{Long: "domain", Arg: "N", Help: "the agent's domain, 1 to " + maxDomain}
)

const maxDomain = "510"

// parseDomain parses the argument of --domain; it notes a mistake and then returns 0.
func parseDomain(o *cli.Options, arg string) int {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > pcp.MaxAgentDomain {
		o.Usagef("--domain needs a number from 1 to %d, not %q", pcp.MaxAgentDomain, arg)
		return 0
	}
	return n
}

// confPath returns the path of the collector's configuration.
func confPath(env *cli.Env) string {
	return env.Config().Get("PCP_PMCDCONF_PATH")
}

// domainOf returns the domain in the option -d of an agent's command, 0 if there is
// none.
func domainOf(args []string) int {
	for i, arg := range args {
		text, ok := strings.CutPrefix(arg, "-d")
		if !ok {
			if text, ok = strings.CutPrefix(arg, "--domain="); !ok {
				continue
			}
		}
		if text == "" && i+1 < len(args) {
			text = args[i+1]
		}
		if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= pcp.MaxAgentDomain {
			return n
		}
	}
	return 0
}

// agentName guesses an agent's name from the command that runs it, which may
// begin with an interpreter.
func agentName(command []string) string {
	for _, arg := range command {
		name := filepath.Base(arg)
		if name, ok := strings.CutPrefix(strings.TrimSuffix(name, filepath.Ext(name)), "pmda"); ok && name != "" {
			return name
		}
	}
	return filepath.Base(command[0])
}

// lookErr returns the reason why exec.LookPath found no program.
func lookErr(err error) string {
	if errors.Is(err, exec.ErrNotFound) {
		return "not found"
	}
	return cli.ErrText(errors.Unwrap(err))
}

// count formats a count: "1 metric", "2 metrics".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
