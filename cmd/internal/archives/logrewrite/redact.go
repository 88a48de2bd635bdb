package logrewrite

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// The default rules for redacting.
//
//go:embed redact.conf
var redactRules []byte

// RedactCommand is pmlogredact.
var RedactCommand = &cli.Command{
	Name:     "logredact",
	Link:     "pmlogredact",
	Group:    cli.Record,
	Summary:  "remove sensitive information from an archive",
	Synopsis: "[options] inarch outarch",
	Doc: `Copies an archive without private information: names of hosts and users, addresses, arguments and
environments of processes, paths below home directories. The rules are those of pmlogrewrite(1). The
built-in rules apply unless $PCP_SYSCONF_DIR has a directory pmlogredact with files of rules; -x
disables both.

Private names in metrics of your own services need your own rules: look at the copy with
pmdumplog(1) before you share it.`,
	Examples: []cli.Example{
		{Line: `pcp logredact 20261121 shareable`, Text: `create a copy that can be shared`},
		{Line: `pcp logredact -c site.conf 20261121 shareable`, Text: `add rules for your own metrics`},
	},
	SeeAlso: []string{"pmlogrewrite(1)", "pmdumplog(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'c', Long: "config", Arg: "FILE_or_DIR", Help: "additional configuration file or directory"},
			{Short: 'v', Long: "verbose", Help: "increase diagnostic verbosity"},
			{Short: 'x', Long: "exclude-std", Help: "do not use the standard configuration files"},
			cli.OptHelp,
		}
	},
	Run: redact,
}

func redact(ctx context.Context, env *cli.Env) int {
	j := &job{env: env, keepSets: true}
	standard := true
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'c':
			j.addConfig(o, arg)
		case 'v':
			j.verbose = 1
		case 'x':
			standard = false
		default:
			return false
		}
		return true
	}})
	j.debug = o.Debugging
	if standard {
		own := j.configs
		j.configs = nil
		dir := filepath.Join(env.Config().Get("PCP_SYSCONF_DIR"), "pmlogredact")
		if st, err := os.Stat(dir); err == nil && st.IsDir() {
			j.addConfig(o, dir)
		}
		if len(j.configs) == 0 {
			j.configs = append(j.configs, config{path: "built-in rules", text: redactRules})
		}
		j.configs = append(j.configs, own...)
	}
	if len(o.Args) != 2 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	j.in, j.out = o.Args[0], o.Args[1]
	return j.run(ctx)
}
