package push

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/archive/replay"
	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/sending"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
)

// Command is pcp push.
var Command = &cli.Command{
	Name:     "push",
	Group:    cli.Export,
	Summary:  "push archives to Prometheus or VictoriaMetrics",
	Synopsis: "[options] --to URL archive...",
	Doc: `Sends the values of archives to a database that accepts Prometheus remote write. Names and labels are those of
/metrics. Counters are sent as recorded, whole numbers of 64 bits as floating-point numbers; strings and events are left
out. A series ends with a stale marker where its instance vanishes or the recording was interrupted.

With the values goes a series pcp_sent, the time up to which an archive is sent. The same command continues from there if
it was interrupted, or if the archive has grown.`,
	Examples: []cli.Example{
		{Line: "pcp push --to http://localhost:8428 20261124", Text: "push an archive to VictoriaMetrics"},
		{Line: "pcp push -n 20261124", Text: "count the values without sending them"},
		{Line: "pcp push --to https://prom.example.com/api/v1/write --token ~/.push /var/log/pcp/pmlogger/www", Text: "push all archives of a host"},
		{Line: "pcp push -S @10:00 -T @11:00 --to http://localhost:9090 20261124", Text: "push one hour"},
	},
	SeeAlso: []string{"pmlogger(1)", "pmproxy(1)", "pmlogpush(1)"},
	Options: func() []cli.Option {
		return append([]cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Long: "to", Arg: "URL", Help: "where to send: http://HOST:PORT, or the URL of a receiver"},
			{Long: "query-url", Arg: "URL", Help: "where /api/v1/query is, if that does not follow from --to"},
			{Short: 'n', Long: "dry-run", Help: "send nothing, print the counts"},
			cli.OptStart,
			cli.OptFinish,
			cli.OptTimeZone,
			cli.OptHostZone,
			{Long: "resend", Help: "send all, without asking where the last push ended"},
			sending.OptRetry,
			{Long: "protocol", Arg: "VERSION", Help: "version of remote write, 1 or 2 [as the server accepts]"},
		}, append(sending.ConnectionRows(), cli.OptVersion, cli.OptHelp)...)
	},
	Run: run,
}

// settings are the options of this tool.
type settings struct {
	sending.Connection
	dry, resend bool
}

func (set *settings) own(o *cli.Options, opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "to":
		set.Config.URL = arg
	case "query-url":
		set.Config.Query = arg
	case "dry-run":
		set.dry = true
	case "resend":
		set.resend = true
	case "protocol":
		switch arg {
		case "1", "1.0":
			set.Config.Version = remote.V1
		case "2", "2.0":
			set.Config.Version = remote.V2
		default:
			o.Usagef("--protocol is 1 or 2, not %q", arg)
		}
	default:
		return set.Own(o, opt, arg)
	}
	return true
}

// A job is an archive to send.
type job struct {
	a      *archive.Archive
	follow bool // another archive of its host is after it
}

// jobs are archives in the order of time. They are the Archived of the time window.
type jobs []*job

// Label returns the label of the first archive.
func (l jobs) Label() archive.Label { return l[0].a.Label() }

// End returns the end of the last archive.
func (l jobs) End() (last pcp.Timestamp, err error) {
	for _, j := range l {
		end, err := j.a.End()
		if err != nil {
			return last, err
		}
		if end.Compare(last) > 0 {
			last = end
		}
	}
	return last, nil
}

func run(ctx context.Context, env *cli.Env) int {
	var set settings
	o := source.Parse(env, cli.ParseConfig{Own: set.own, NonEmpty: true, Once: []string{"to", "query-url"}, Later: true, Archives: true, Multi: true})
	if !o.Errors() && !o.WantsVersion() && !o.WantsHelp() {
		switch {
		case len(o.Args) == 0:
			o.Usagef("no archive specified")
		case set.Config.URL == "" && !set.dry:
			o.Usagef("--to is needed, or -n")
		case set.Check() != nil:
			o.Usagef("%v", set.Check())
		}
	}
	if status, exit := o.Done(); exit {
		return status
	}
	for _, path := range o.Args {
		o.AddArchive(path)
	}
	o.End()
	if status, exit := o.Done(); exit {
		return status
	}
	var client *remote.Client
	var progress *cli.Progress
	if !set.dry {
		if err := set.Read(); err != nil {
			return env.Fatalf("%v", err)
		}
		set.Config.UserAgent = "pcp-push/" + env.Version
		set.Config.Warn = func(err error, wait time.Duration) {
			progress.Clear()
			fmt.Fprintf(env.Stderr, "%s: %v; trying again in %v\n", env.ProgName(), err, wait.Round(100*time.Millisecond))
		}
		var err error
		if client, err = remote.New(set.Config); err != nil {
			return env.Fatalf("--to: %v", err)
		}
		defer client.Close()
	}
	list, closer, status := open(o)
	defer closer()
	if status != 0 {
		return status
	}
	window, err := o.ArchiveWindow(list, o.ArchiveZone(list))
	if err != nil {
		return 1 // already reported
	}
	progress = cli.NewProgress(env, env.ProgName(), 0)
	defer progress.Clear()
	t := &send.Server{Client: client, Blind: set.resend, Settle: send.Settle}
	var all []*send.Push
	for _, j := range list {
		s := &send.Push{
			Archive: j.a, To: t, Follow: j.follow, Start: later(window.Start, j.a.Label().Start), Finish: window.Finish,
			Progress: func(at int64) {
				progress.SetTime(pcp.Timestamp{Sec: at / 1000, Nsec: int32(at%1000) * 1e6}, window.Start, window.Finish)
			},
		}
		if s.Start.Compare(s.Finish) > 0 {
			continue
		}
		err := s.Run(ctx)
		progress.Clear()
		report(env.Stdout, s)
		if ctx.Err() != nil {
			return env.Fatalf("interrupted; the same command continues")
		}
		if err != nil {
			return env.Fatalf("%s: %v", j.a.Path(), err)
		}
		if s.Sum.Rejected > 0 {
			status = 1
		}
		all = append(all, s)
	}
	for _, s := range all {
		missing, err := s.Missing(ctx)
		switch {
		case err != nil:
			return env.Fatalf("%v", err)
		case missing:
			status = env.Fatalf("%s: the server accepted the values and does not have them. Are they older than it keeps values?", s.Archive.Path())
		}
	}
	return status
}

func later(a, b pcp.Timestamp) pcp.Timestamp {
	if a.Compare(b) < 0 {
		return b
	}
	return a
}

// open opens the archives of the arguments. If one cannot be opened, the status is not 0.
func open(o *source.Options) (list jobs, closer func(), status int) {
	var sets []*replay.Set
	closer = func() {
		for _, s := range sets {
			s.Close()
		}
	}
	for _, path := range o.Args {
		s, err := replay.Open(path, replay.Options{Options: archive.Options{Debug: o.DebugLog()}})
		if err != nil {
			return nil, closer, o.CannotOpen(path, err)
		}
		sets = append(sets, s)
		for _, a := range s.Archives() {
			if slices.ContainsFunc(list, func(j *job) bool { return j.a.Path() == a.Path() }) {
				continue
			}
			list = append(list, &job{a: a})
		}
	}
	slices.SortStableFunc(list, func(a, b *job) int { return a.a.Label().Start.Compare(b.a.Label().Start) })
	next := make(map[string]bool) // hosts of later archives
	for _, j := range slices.Backward(list) {
		host := j.a.Label().Host
		j.follow = next[host]
		next[host] = true
	}
	return list, closer, 0
}

// report prints the counts of an archive: sent, rejected and left out.
func report(w io.Writer, s *send.Push) {
	name, did := s.Archive.Path(), "sent"
	if s.To.Client == nil {
		did = "to send"
	}
	fmt.Fprintf(w, "%s: %s %s of %s in %s", name, did, count(s.Sum.Samples, "sample"), count(s.Sum.Series, "series"), count(s.Sum.Requests, "request"))
	if s.To.Client != nil {
		fmt.Fprintf(w, ", %s", cli.Bytes(int64(s.Sum.Bytes)))
	}
	fmt.Fprintln(w)
	for _, reason := range slices.Sorted(maps.Keys(s.Sum.Reasons)) {
		fmt.Fprintf(w, "%s: rejected %s: %s\n", name, count(s.Sum.Reasons[reason], "sample"), reason)
	}
	for _, l := range []struct {
		n          int
		what, text string
	}{
		{s.Left.Metrics, "metric", "without numbers"},
		{s.Left.Collisions, "name", "that another metric has in Prometheus"},
		{s.Left.Nameless, "instance", "without a name"},
		{s.Left.Twins, "instance", "with the labels of another one"},
		{s.Left.Values, "value", "not readable, or within a millisecond of another one"},
	} {
		if l.n > 0 {
			fmt.Fprintf(w, "%s: left out %s %s\n", name, count(l.n, l.what), l.text)
		}
	}
}

// count returns a number of things.
func count(n int, what string) string {
	if n != 1 && what != "series" {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
