package search

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	index "github.com/go-pcp/pcp/cmd/internal/pmproxy/search"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pmsearch.
var Command = &cli.Command{
	Name:     "search",
	Link:     "pmsearch",
	Group:    cli.Serve,
	Summary:  "search metrics and instances by words in names and help texts",
	Synopsis: "[options] [query | indom]",
	Doc: `Finds metrics, instance domains and instances by the words of their names and help texts, the best
match first. A result must have all words of the query. A query can also have prefixes (kern*),
phrases in quotes, excluded words (-disk), alternatives (read|write), and misspelt words (%memroy%).

With -h or -p it queries that pmproxy. Without them it queries the pmproxy of this host, or if there
is none, reads and searches the metrics of this host's collector. The exit status is 1 if neither is
available.`,
	Examples: []cli.Example{
		{Line: "pcp search kernel idle", Text: "find texts about the kernel and idle time"},
		{Line: "pcp search -s disk.dev.r", Text: "complete a name"},
		{Line: "pcp search -n 60.1", Text: "list an instance domain with its instances and metrics"},
		{Line: "pcp search -h server -tT swap", Text: "query the pmproxy of another host, and print the number of results"},
	},
	SeeAlso: []string{"pmproxy(1)", "pminfo(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Connection Options"),
			{Short: 'c', Long: "config", Arg: "FILE", Help: "configuration file path"},
			{Short: 'h', Long: "host", Arg: "HOST", Help: "connect to Redis using given host name"},
			{Short: 'p', Long: "port", Arg: "PORT", Help: "connect to Redis using given TCP/IP port"},
			cli.Heading("General Options"),
			{Short: 'C', Long: "no-colour", Help: "no highlighting in results text"},
			{Short: 'd', Long: "docid", Help: "report document ID of each result"},
			{Short: 'i', Long: "info", Help: "report search engine interal metrics"},
			{Short: 'n', Long: "indom", Help: "perform an instance domain related entities search"},
			{Short: 'N', Long: "number", Arg: "N", Help: "return N search results at most"},
			{Short: 'O', Long: "offset", Arg: "N", Help: "paginated results from given offset"},
			{Short: 'q', Long: "query", Help: "perform a general text search (default)"},
			{Short: 's', Long: "suggest", Help: "perform a name suggestions search"},
			{Short: 'S', Long: "score", Help: "report score (rank) of each result"},
			{Short: 't', Long: "total", Help: "report total number of search results"},
			{Short: 'T', Long: "times", Help: "report elapsed search execution time"},
			cli.OptDebug,
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

// A searcher is a run of the command.
type searcher struct {
	env    *cli.Env
	out    *bufio.Writer
	host   string
	port   int // 0: the default
	config string
	req    index.Request

	info, indom, query, suggest        bool
	docids, scores, totals, times, raw bool
	colour                             bool
}

func (s *searcher) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Short {
	case 'c':
		s.config = arg
	case 'C':
		s.raw = true
	case 'd':
		s.docids = true
	case 'h':
		s.host = arg
	case 'i':
		s.info = true
	case 'n':
		s.indom = true
	case 'N':
		s.req.Limit = o.Number(opt, arg, 1, "a positive numeric")
	case 'O':
		s.req.Offset = o.Number(opt, arg, 0, "a positive numeric")
	case 'p':
		s.port = o.Number(opt, arg, 1, "a positive numeric")
		if s.port > 65535 {
			o.Usagef("port %d is larger than 65535", s.port)
		}
	case 'q':
		s.query = true
	case 's':
		s.suggest = true
	case 'S':
		s.scores = true
	case 't':
		s.totals = true
	case 'T':
		s.times = true
	default:
		return false
	}
	return true
}

func run(ctx context.Context, env *cli.Env) int {
	s := &searcher{env: env, out: bufio.NewWriter(env.Stdout)}
	o := source.Parse(env, cli.ParseConfig{Own: s.own})
	if !s.info && len(o.Args) == 0 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	fail := func(err error) int {
		fmt.Fprintf(env.Stderr, "%s: %v\n", env.Name, err)
		return 1
	}
	if s.config != "" {
		count, err := resultCount(s.config)
		if err != nil {
			return fail(err)
		}
		if s.req.Limit == 0 {
			s.req.Limit = count
		}
	}
	if s.colour = !s.raw && env.Colours(); s.colour {
		s.req.Highlight = index.FieldsAll
	}
	s.req.Query = strings.Join(o.Args, " ")

	e, err := s.engine(ctx, o)
	if err != nil {
		return fail(err)
	}
	if s.info {
		i, err := e.Info(ctx)
		if err != nil {
			return fail(err)
		}
		s.printInfo(i)
	} else {
		find := e.Text
		switch {
		case s.suggest:
			find = e.Suggest
		case s.indom:
			find = e.InDomains
		}
		res, err := find(ctx, s.req)
		if err != nil {
			return fail(err)
		}
		s.print(res)
	}
	if err := s.out.Flush(); err != nil {
		return fail(err)
	}
	return 0
}

// An engine carries out searches.
type engine interface {
	Text(context.Context, index.Request) (index.Result, error)
	Suggest(context.Context, index.Request) (index.Result, error)
	InDomains(context.Context, index.Request) (index.Result, error)
	Info(context.Context) (index.Info, error)
}

// engine returns the pmproxy that is asked, or an index of the collector of
// this host.
func (s *searcher) engine(ctx context.Context, o *source.Options) (engine, error) {
	p := newProxy(s.host, s.port)
	_, err := p.Info(ctx)
	if err == nil || s.host != "" || s.port != 0 {
		return p, err
	}
	c, err2 := o.Dial(ctx, "local:")
	if err2 != nil {
		if !o.Classic() { // the program prints why the collector does not answer
			return nil, fmt.Errorf("no pmproxy to ask: %s", cli.ErrText(err))
		}
		return nil, fmt.Errorf("no pmproxy to ask: %w; no collector to search: %w", err, err2)
	}
	defer c.Close()
	docs, err2 := index.Documents(ctx, c, index.Exclude()...)
	if err2 != nil {
		return nil, fmt.Errorf("cannot read the metrics of the collector: %w", err2)
	}
	x := index.NewIndex(index.Limits{})
	return local{x}, x.Replace("local:", docs)
}

// local is an engine in this process.
type local struct{ *index.Index }

func (l local) InDomains(_ context.Context, r index.Request) (index.Result, error) {
	return l.Index.InDomains(r)
}
func (l local) Info(context.Context) (index.Info, error) { return l.Index.Info(), nil }

// maxConfig is the maximum size of a configuration file.
const maxConfig = 1 << 20

// resultCount returns result.count of the section pmsearch in a file like
// pmproxy.conf, or 0.
func resultCount(path string) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	section, count := "", 0
	lines := bufio.NewScanner(io.LimitReader(f, maxConfig))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if name, ok := strings.CutPrefix(line, "["); ok {
			section, _, _ = strings.Cut(name, "]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || section != "pmsearch" || strings.TrimSpace(key) != "result.count" {
			continue
		}
		if count, err = strconv.Atoi(strings.TrimSpace(value)); err != nil || count < 1 {
			return 0, fmt.Errorf("%s: line %d: result.count must be a positive number", path, n)
		}
	}
	return count, lines.Err()
}

// Sequences around highlighted words at a terminal.
const (
	cyan  = "\x1b[36m"
	reset = "\x1b[0m"
)

// text returns a text with its highlighted words in colour, if there are colours.
func (s *searcher) text(t string) string {
	if !s.colour {
		return t
	}
	return strings.NewReplacer("<b>", s.env.Own(cyan), "</b>", s.env.Own(reset)).Replace(t)
}

// print prints results as pmsearch(1) does.
func (s *searcher) print(res index.Result) {
	if len(res.Hits) == 0 {
		fmt.Fprintln(s.out, "0 search results")
		return
	}
	plural := func(one bool) string {
		if one {
			return ""
		}
		return "s"
	}
	if s.totals {
		fmt.Fprintf(s.out, "%d hit%s", res.Total, plural(res.Total == 1))
	}
	if s.totals && s.times {
		fmt.Fprint(s.out, " in ")
	}
	if s.times {
		sec := res.Elapsed.Seconds()
		fmt.Fprintf(s.out, "%.5f second%s", sec, plural(sec == 1))
	}
	if s.totals || s.times {
		fmt.Fprint(s.out, "\n\n")
	}
	for i, h := range res.Hits {
		if i > 0 {
			fmt.Fprintln(s.out)
		}
		d := h.Document
		if s.docids {
			plain := strings.NewReplacer("<b>", "", "</b>", "")
			id := index.Document{Type: d.Type, Name: d.Name}
			if s.colour {
				id.Name = plain.Replace(d.Name)
			}
			fmt.Fprintf(s.out, "ID: %x\n", id.ID())
		}
		if s.scores {
			fmt.Fprintf(s.out, "Score: %.2f\n", h.Score)
		}
		if s.suggest {
			fmt.Fprintf(s.out, "Name: %s\n", s.text(d.Name))
			continue
		}
		if d.Type != index.Unknown {
			fmt.Fprintf(s.out, "Type: %s\n", d.Type)
		}
		for _, f := range []struct{ name, value string }{{"Name", d.Name}, {"InDom", d.InDom}, {"One line", d.OneLine}, {"Help", d.Help}} {
			if f.value != "" {
				fmt.Fprintf(s.out, "%s: %s\n", f.name, s.text(f.value))
			}
		}
	}
}

// printInfo prints the figures of an index as pmsearch(1) does.
func (s *searcher) printInfo(i index.Info) {
	on, off := "", ""
	if s.colour {
		on, off = s.env.Own(cyan), s.env.Own(reset)
	}
	line := func(format string, v any) {
		before, after, _ := strings.Cut(format, "%")
		verb, after, _ := strings.Cut(after, " ")
		if after != "" {
			after = " " + after
		}
		fmt.Fprintf(s.out, "%s%s%"+verb+"%s%s\n", before, on, v, after, off)
	}
	fmt.Fprintln(s.out, "RediSearch statistics:")
	line("    Documents: %d", i.Documents)
	line("        Terms: %d", i.Terms)
	line("      Records: %d", i.Records)
	line("- Average records per doc: %.2f", i.RecordsPerDoc)
	line("- Average bytes per record: %.2f", i.BytesPerRecord)
	fmt.Fprintln(s.out, "- Inverted Index")
	line("         Size: %.2f MB", i.InvertedMB)
	line("     Capacity: %.2f MB", i.InvertedCapMB)
	line("     Overhead: %.2f", i.InvertedOverhead)
	fmt.Fprintln(s.out, "- Skip Index")
	line("         Size: %.2f MB", i.SkipIndexMB)
	fmt.Fprintln(s.out, "- Score Index")
	line("         Size: %.2f MB", i.ScoreIndexMB)
	line("- Average offsets per term: %.2f", i.OffsetsPerTerm)
	line("- Average offset bits per record: %.2f", i.OffsetBits)
}

// errUnavailable is the error of a pmproxy that cannot search.
var errUnavailable = errors.New("it cannot search (success: false)")
