package shping

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pcp-shping.
var Command = &cli.Command{
	Name:     "shping",
	Link:     "pcp-shping",
	Group:    cli.SeeNow,
	Summary:  "show the response times of services, from the agent shping",
	Synopsis: "[options] tag...",
	Doc: `Prints a line at each interval, with two columns for each command of the agent shping: sts_TAG is
its exit status, time_TAG its time in milliseconds. Without tags all commands are shown. Options of
pcp itself (pcp -a ARCHIVE -t 30 -z shping) select the source, the time and the interval.`,
	Examples: []cli.Example{
		{Line: "pcp shping -l", Text: "list the tags of the commands"},
		{Line: "pcp -a ARCHIVE -t 30sec -z shping http smtp", Text: "show two of them, from an archive"},
	},
	SeeAlso: []string{"pmdashping(1)", "pmie2col(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'l', Long: "tags", Help: "report the list of shell-ping command tags"},
			{Short: 'c', Long: "status", Help: "report shell-ping service check control variables"},
			cli.OptJSON,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// A pinger holds the options. Other commands of this program do the work, as in the C script.
type pinger struct {
	env            *cli.Env
	status, labels bool // -c, -l
}

func run(ctx context.Context, env *cli.Env) int {
	p := &pinger{env: env}
	o := cli.ParseArgs(env, cli.ParseConfig{POSIX: true, Own: func(_ *cli.Options, opt *cli.Option, _ string) bool {
		switch opt.Short {
		case 'c':
			p.status = true
		case 'l':
			p.labels = true
		default:
			return false
		}
		return true
	}})
	if status, exit := o.Done(); exit {
		return 2 * status // the C script's
	}
	if o.JSON {
		return p.objects(ctx, o.Args)
	}
	tags, err := p.tags(ctx)
	switch {
	case err != nil:
		return p.fail(err)
	case p.labels:
		fmt.Fprintf(env.Stdout, "%s: %s\n", env.ProgName(), strings.Join(tags, " "))
		return 0
	case p.status:
		return p.control(ctx)
	}
	return p.columns(ctx, tags, o.Args)
}

// fail reports an error, on standard output as the C script does.
func (p *pinger) fail(err error) int {
	fmt.Fprintf(p.env.Stdout, "%s: %v\n", p.env.ProgName(), err)
	return 1
}

// tags returns the quoted tags of the commands that the agent runs.
func (p *pinger) tags(ctx context.Context) ([]string, error) {
	out, errs, _ := p.run(ctx, "pmprobe", "-I", "shping.cmd")
	for line := range strings.Lines(errs) {
		if text, ok := strings.CutPrefix(line, "pmprobe: "); ok {
			return nil, errors.New(strings.TrimSpace(text))
		}
	}
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "shping.cmd" {
			continue
		}
		n, err := strconv.Atoi(f[1])
		switch {
		case err != nil:
		case n == int(pcp.ErrName):
			return nil, errors.New("pmdashping(1) is not installed")
		case n < 0:
			return nil, errors.New(strings.Join(f[2:], " "))
		case n == 0:
			return nil, errors.New("no shell ping command instances")
		default:
			return f[2:], nil
		}
	}
	return nil, errors.New("nothing is known of shping.cmd")
}

// unnumbered removes the numbers of instances from a line: 3 or "
func unnumbered(line string) string {
	for {
		before, after, ok := strings.Cut(line, ` or "`)
		name := strings.TrimRight(before, "0123456789")
		if !ok || name == before {
			return line
		}
		line = name + after
	}
}

// control prints the settings of the agent, and the commands.
func (p *pinger) control(ctx context.Context) int {
	for _, v := range []struct{ title, metric, unit string }{
		{"Duty cycles:       ", "shping.control.cycles", ""},
		{"Refresh interval:  ", "shping.control.cycletime", " secs"},
		{"Check timeout:     ", "shping.control.timeout", " secs"},
	} {
		fmt.Fprint(p.env.Stdout, v.title)
		out, errs, _ := p.run(ctx, "pmprobe", "-v", v.metric)
		io.WriteString(p.env.Stderr, errs)
		for line := range strings.Lines(out) { // with -z the first is a note
			third := ""
			if f := strings.Fields(line); len(f) > 2 {
				third = f[2]
			}
			fmt.Fprintf(p.env.Stdout, "%s%s\n", third, v.unit)
		}
	}
	fmt.Fprint(p.env.Stdout, "\nTags and command lines:\n")
	out, errs, _ := p.run(ctx, "pminfo", "-f", "shping.cmd")
	io.WriteString(p.env.Stderr, errs)
	for line := range strings.Lines(out) {
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "shping") {
			continue
		}
		line = strings.Replace(line, `"] value`, "]", 1)
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "inst"); ok {
			line = rest
		}
		fmt.Fprintln(p.env.Stdout, unnumbered(line))
	}
	return 0
}

// columns prints the columns of the commands with the given tags, of all if there are none.
func (p *pinger) columns(ctx context.Context, tags, wanted []string) int {
	var config strings.Builder
	for _, tag := range tags {
		tag = strings.ReplaceAll(tag, `"`, "")
		if len(wanted) == 0 || slices.Contains(wanted, tag) {
			fmt.Fprintf(&config, "'sts_%s' = shping.status #'%[1]s';\n'time_%[1]s' = shping.time.real #'%[1]s';\n", tag)
		}
	}
	if config.Len() == 0 {
		return p.fail(errors.New("no matching command tags found"))
	}
	r, w := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		p.call(ctx, "pmie", strings.NewReader(config.String()), w, p.env.Stderr, "-v", "-e", "-q")
		w.Close()
	}()
	p.call(ctx, "pmie2col", r, p.env.Stdout, p.env.Stderr, "-p", "3", "-w", "10")
	r.Close()
	<-done
	return 0
}

// run runs another command of this program and returns its output and exit status.
func (p *pinger) run(ctx context.Context, name string, args ...string) (out, errs string, status int) {
	var stdout, stderr bytes.Buffer
	status = p.call(ctx, name, strings.NewReader(""), &stdout, &stderr, args...)
	return stdout.String(), stderr.String(), status
}

func (p *pinger) call(ctx context.Context, name string, in io.Reader, out, errs io.Writer, args ...string) int {
	c := cli.Find(p.env.Commands, name)
	if c == nil {
		fmt.Fprintf(errs, "%s: there is no such command\n", name)
		return 1
	}
	return c.Run(ctx, &cli.Env{
		Name: name, Args: args, Stdin: in, Stdout: out, Stderr: errs, Getenv: p.env.Getenv, LookupEnv: p.env.LookupEnv,
		Version: p.env.Version, Command: c, Commands: p.env.Commands, Program: p.env.Program, Advice: p.env.Advice,
	})
}
