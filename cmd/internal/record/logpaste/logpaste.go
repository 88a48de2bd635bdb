package logpaste

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/ctext"
)

// Command is pmlogpaste.
var Command = &cli.Command{
	Name:     "logpaste",
	Link:     "pmlogpaste",
	Group:    cli.Record,
	Summary:  "create an archive from a text",
	Synopsis: "[options] archive",
	Doc: `Creates an archive with a text as one string value, from standard input or a file, to keep
configuration and notes with recorded metrics.`,
	Examples: []cli.Example{
		{Line: `pcp logpaste -m notes.change notes <change.txt`, Text: `create an archive from a text`},
	},
	SeeAlso: []string{"pmlogextract(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'h', Long: "hostname", Arg: "HOST", Help: "set hostname"},
			{Short: 't', Long: "timezone", Arg: "TZ", Help: "set timezone"},
			{Short: 'o', Long: "outfile", Arg: "OUT", Help: "set outfile"},
			{Short: 'm', Long: "metric", Arg: "NAME", Help: "set metric name"},
			{Short: 'f', Long: "file", Arg: "FILE", Help: "set filename"},
			{Short: 'l', Long: "label", Arg: "LABEL", Help: "set label"},
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

// maxText is the longest value: the length of a block has 24 bits and includes its
// header, and the text ends with a NUL.
const maxText = pcp.ValLenMax - pcp.ValHeaderSize - 1

func run(_ context.Context, env *cli.Env) int {
	p := paste{env: env, metric: "paste.value", out: "paste"}
	file, fromFile := "-", false
	// Later without End: the C tool does not check the combination of options.
	o := cli.ParseOptions(env, cli.ParseConfig{Later: true, Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Short {
		case 'h':
			p.opt.Host = arg
		case 't':
			p.opt.TimeZone = arg
		case 'o':
			p.out = arg
		case 'm':
			p.metric = arg
		case 'f':
			file, fromFile = arg, true
		case 'l':
			p.labels = append(p.labels, arg)
		default:
			return false
		}
		return true
	}})
	if fromFile && len(o.Args) > 0 {
		o.Usagef("-f/--file cannot be used with command line input")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	text := strings.Join(o.Args, " ")
	if len(o.Args) == 0 {
		b, err := read(env, file)
		if err != nil {
			return env.Fatalf("%s: %s", file, cli.ErrText(err))
		}
		text = string(b)
	}
	if len(text) > maxText {
		return env.Fatalf("error adding metric value: text of more than %d bytes", maxText)
	}
	p.opt.Version = version(env)
	return p.write(text, time.Now())
}

// read reads a file, or standard input, up to a NUL and no more than maxText+1 bytes.
func read(env *cli.Env, file string) ([]byte, error) {
	in := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxText+1))
	return ctext.Bytes(b), err
}

// version returns the configured version of archives.
func version(env *cli.Env) int {
	if env.Config().Get("PCP_ARCHIVE_VERSION") == "3" {
		return archive.Version3
	}
	return archive.Version2
}

// A paste is the value to write.
type paste struct {
	env         *cli.Env
	opt         importer.Options
	out, metric string
	labels      []string // name:value
}

func (p *paste) fail(what string, err error) int {
	msg := cli.ErrText(err)
	if e, ok := errors.AsType[importer.Error](err); ok {
		msg = e.Error()
	}
	return p.env.Fatalf("error %s: %s", what, msg)
}

// write makes the archive.
func (p *paste) write(text string, now time.Time) int {
	im, err := importer.Start(p.out, p.opt)
	if err != nil {
		if perr, ok := errors.AsType[*fs.PathError](err); ok {
			return p.cannotCreate(perr)
		}
		return p.fail("starting log import", err)
	}
	if _, err := im.AddMetric(p.metric, pcp.Desc{
		PMID: pcp.PMIDNull, Type: pcp.TypeString, InDom: pcp.InDomNull, Sem: pcp.SemDiscrete,
	}); err != nil {
		return p.fail("adding metric descriptor", err)
	}
	if err := im.PutValue(p.metric, "", text); err != nil {
		return p.fail("adding metric value", err)
	}
	for _, l := range p.labels {
		parts := strings.FieldsFunc(l, func(r rune) bool { return r == ':' })
		if len(parts) == 0 {
			return p.env.Fatalf("invalid label token %s: No error", l)
		}
		value, shown := "", "(null)"
		if len(parts) > 1 {
			value, shown = parts[1], parts[1]
		}
		if err := im.PutLabel(pcp.LabelContext, uint32(pcp.InDomNull), 0, parts[0], value); err != nil {
			return p.fail(fmt.Sprintf("adding label %s:%s", parts[0], shown), err)
		}
	}
	if err := im.Write(now); err != nil {
		if perr, ok := errors.AsType[*fs.PathError](err); ok {
			return p.cannotCreate(perr)
		}
		return p.fail("writing archive", err)
	}
	if err := im.End(); err != nil {
		return p.fail("in ending log writing", err)
	}
	return 0
}

// cannotCreate reports that the files cannot be made, in the words of the library.
func (p *paste) cannotCreate(err *fs.PathError) int {
	path := p.out + ".index"
	if errors.Is(err, fs.ErrExist) {
		if _, serr := os.Stat(path); serr != nil {
			path = err.Path
		}
		p.env.Printf("__pmLogNewFile: \"%s\" already exists, not over-written\n", path)
	} else {
		p.env.Printf("__pmLogNewFile: failed to create \"%s\": %s\n", path, cli.ErrText(err))
	}
	p.env.FlushOut()
	p.env.Flush()
	return p.fail("writing archive", err)
}
