package helptext

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/helpfile"
	"github.com/go-pcp/pcp/pmns"
)

// CheckCommand is chkhelp.
var CheckCommand = &cli.Command{
	Name:     "chkhelp",
	Link:     "chkhelp",
	Group:    cli.WriteAgent,
	Summary:  "check the help text files of an agent",
	Synopsis: "[options] helpfile [metricname ...]",
	Doc: `Checks that files of help texts are readable, and lists the metrics and instance domains of a name
space without a text.`,
	Examples: []cli.Example{
		{Line: `pcp chkhelp -H help`, Text: `print all texts`},
		{Line: `pcp chkhelp -e -n root help`, Text: `list the metrics without a text`},
	},
	SeeAlso: []string{"newhelp(1)"},
	Debug:   []string{"appl0"},
	Options: func() []cli.Option {
		return []cli.Option{
			{Short: 'D', Arg: "debug"},
			{Short: 'e', Help: "exists check, only report metrics with no help text"},
			{Short: 'H', Help: "display verbose help text"},
			{Short: 'i', Help: "process all the instance domains"},
			{Short: 'n', Arg: "pmnsfile", Help: "use an alternative PMNS"},
			{Short: 'O', Help: "display the one line help summary"},
			{Short: 'p', Help: "process all the metrics (PMIDs)"},
			{Short: 'v', Arg: "version", Help: "deprecated (only version 2 format supported)"},
			{Short: '?'},
		}
	},
	DieOnSignal: true,
	Run:         runCheck,
}

const checkUsage = `Usage: %[1]s helpfile
       %[1]s [options] helpfile [metricname ...]

Options:
  -e           exists check, only report metrics with no help text
  -H           display verbose help text
  -i           process all the instance domains
  -n pmnsfile  use an alternative PMNS
  -O           display the one line help summary
  -p           process all the metrics (PMIDs)
  -v version   deprecated (only version 2 format supported)

No options implies silently check internal integrity of the helpfile.
`

// A checker holds the arguments of chkhelp, and its input.
type checker struct {
	env             *cli.Env
	exists          bool
	help, oneline   bool
	metrics, indoms bool // all of them
	names           string
	trace           bool // -D appl0
	base            string
	wanted          []string // metrics

	file *helpfile.File
	tree *pmns.Tree
}

func runCheck(_ context.Context, env *cli.Env) int {
	c := &checker{env: env}
	if !c.parse() {
		env.FlushOut()
		fmt.Fprintf(env.Stderr, checkUsage, env.ProgName())
		return 1
	}
	var err error
	if c.file, err = helpfile.Open(c.base); err != nil {
		reason := cli.ErrText(err)
		if errors.Is(err, helpfile.ErrFormat) {
			reason = "Bad format, not version 2 PCP help text"
		}
		fmt.Fprintf(env.Stderr, "pmdaOpenHelp: failed to open \"%s\": %s\n", c.base, reason)
		return 1
	}
	if c.tree, err = loadNames(env, c.names); err != nil {
		fmt.Fprintln(env.Stderr, err)
		return 1
	}
	switch {
	case c.exists:
		c.reportMissing()
	case len(c.wanted) > 0:
		c.showWanted()
	default:
		c.showAll()
	}
	return 0
}

// parse parses the arguments. It returns false, after an error message, if the usage
// message must follow.
func (c *checker) parse() (ok bool) {
	env := c.env
	bad := false
	c.trace = slices.Contains(env.Debug(), "appl0")
	problem := func(format string, args ...any) {
		fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), fmt.Sprintf(format, args...))
		bad = true
	}
	p := getopt.New(env.Command.OptionList(), env.Args)
	p.POSIX = env.Getenv("POSIXLY_CORRECT") != ""
	for opt, arg := range p.All() {
		if opt == nil {
			problem("%s", p.Problem())
			continue
		}
		switch opt.Short {
		case 'D':
			names, ok := cli.ParseDebug(arg)
			if !ok {
				problem("unrecognized debug options specification (%s)", arg)
			}
			c.trace = c.trace || slices.Contains(names, "appl0")
		case 'e':
			c.exists = true
		case 'H':
			c.help = true
		case 'i':
			c.indoms = true
		case 'n':
			c.names = arg
		case 'O':
			c.oneline = true
		case 'p':
			c.metrics = true
		case 'v':
			version, ok := cli.Atoi(arg)
			if !ok {
				problem("-v requires numeric argument")
			}
			if version != 2 {
				problem("deprecated option - only version 2 is supported")
			}
		default:
			bad = true
		}
	}
	args := p.Args()
	all := c.metrics || c.indoms
	if len(args) == 0 {
		problem("missing helpfile argument\n")
	}
	if all && len(args) > 1 {
		problem("metricname arguments cannot be used with -i or -p\n")
	}
	if !all && len(args) == 1 && (c.oneline || c.help) {
		problem("-O or -H require metricname arguments or -i or -p\n")
	}
	if c.exists && all {
		problem("-e cannot be used with -i or -p\n")
	}
	if bad {
		return false
	}
	c.base, c.wanted = args[0], args[1:]
	if !c.help && !c.oneline && (len(c.wanted) > 0 || all) {
		c.oneline = true
	}
	return true
}

// reportMissing prints the metrics without help, of the whole name space or below the
// selected names.
func (c *checker) reportMissing() {
	roots := c.wanted
	if len(roots) == 0 {
		roots = []string{""}
	}
	for _, root := range roots {
		leaves, err := c.tree.Leaves(root)
		for name, id := range leaves {
			if c.file.Metric(id) == nil {
				fmt.Fprintln(c.env.Stdout, name)
			}
		}
		if err != nil {
			c.env.FlushOut()
			fmt.Fprintf(c.env.Stderr, "Error: pmTraversePMNS(\"%s\", ...): %s\n", root, cli.ErrText(err))
		}
	}
}

// showWanted prints the help of the selected metrics.
func (c *checker) showWanted() {
	for _, name := range c.wanted {
		id, err := lookup(c.tree)(name)
		switch {
		case err != nil:
			fmt.Fprintf(c.env.Stdout, "\n%s: %s\n", name, cli.ErrText(err))
		case id == pcp.PMIDNull:
			fmt.Fprintf(c.env.Stdout, "\n%s: unknown metric\n", name)
		default:
			fmt.Fprintf(c.env.Stdout, "\nPMID %v %s:", id, name)
			c.show(c.file.Metric(id))
		}
	}
}

// showAll prints the help of all metrics and instance domains, if they are selected.
func (c *checker) showAll() {
	for e := range c.file.All() {
		kind, id := 1, uint32(e.PMID)
		if e.IsInDom() {
			kind, id = 2, uint32(e.InDom)
		}
		if c.trace && !c.metrics && !c.indoms {
			fmt.Fprintf(c.env.Stderr, "next_type=%d id=0x%x\n", kind, id)
		}
		if e.IsInDom() {
			if c.indoms {
				fmt.Fprintf(c.env.Stdout, "\nInDom %v:", e.InDom)
				c.show(c.file.InDom(e.InDom))
			}
			continue
		}
		if !c.metrics {
			continue
		}
		fmt.Fprintf(c.env.Stdout, "\nPMID %v", e.PMID)
		if names, err := c.tree.Names(e.PMID); err == nil && len(names) > 0 {
			fmt.Fprintf(c.env.Stdout, " %s", strings.Join(names, " or "))
		}
		fmt.Fprint(c.env.Stdout, ":")
		c.show(c.file.Metric(e.PMID))
	}
}

// show prints an entry, which is nil if there is none. The words in brackets are the C
// tool's; each is printed in the opposite case from the expected one.
func (c *checker) show(e *helpfile.Entry) {
	w := c.env.Stdout
	if c.oneline {
		switch {
		case e == nil:
			fmt.Fprintln(w, " <empty one line string>")
		case e.OneLine == "":
			fmt.Fprintln(w, " <no one line available>")
		default:
			fmt.Fprintln(w, " "+e.OneLine)
		}
	}
	if c.help {
		switch {
		case e == nil:
			fmt.Fprintln(w, "<empty full text string>")
		case e.Help == "":
			fmt.Fprintln(w, "<no full text available>")
		default:
			fmt.Fprintln(w, e.Help)
		}
	}
}
