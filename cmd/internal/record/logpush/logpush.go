package logpush

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Command is pmlogpush.
var Command = &cli.Command{
	Name:     "logpush",
	Link:     "pmlogpush",
	Group:    cli.Record,
	Summary:  "push an archive to a pmproxy of another host",
	Synopsis: "[options] archive",
	Doc: `Sends an archive to a pmproxy, which writes it to a directory of the archive's host. A second push
of the same archive sends only the missing part. The pmproxy accepts archives from trusted clients:
those on its own host, and those with a token of its http.tokens (--token), which is sent only
over TLS (--secure) or to this host.`,
	Examples: []cli.Example{
		{Line: "pcp logpush -h collector 20261124", Text: "push a finished archive"},
		{Line: "pcp logpush -h collector --secure --token ~/.pcp/token --follow 20261124", Text: "push an archive while it is recorded"},
	},
	SeeAlso: []string{"pmproxy(1)", "pmlogger(1)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptDebug,
			{Short: 'h', Long: "host", Arg: "HOST", Help: "pmproxy HTTP connection host name"},
			{Short: 'p', Long: "port", Arg: "PORT", Help: "pmproxy HTTP connection port number"},
			{Short: 's', Long: "unix", Arg: "PATH", Help: "pmproxy HTTP Unix domain socket path"},
			{Short: 'v', Long: "verbose", Help: "verbose progress diagnostics"},
			{Long: "follow", Extra: true, Help: "continue to push additions until the archive is finished or ctrl-C"},
			{Long: "token", Arg: "FILE", Extra: true, Help: "authenticate with the token at the end of the first line of FILE"},
			{Long: "secure", Extra: true, Help: "use TLS, with the authorities of tls.conf or the system"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	Run: run,
}

type settings struct {
	host, socket, token     string
	port                    int
	verbose, follow, secure bool

	progress *cli.Progress
}

func run(ctx context.Context, env *cli.Env) int {
	set := settings{host: "localhost", port: 44322}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(o *cli.Options, opt *cli.Option, arg string) bool {
		switch opt.Long {
		case "host":
			set.host = arg
		case "port":
			n, err := strconv.ParseUint(arg, 10, 16)
			if err != nil || n == 0 {
				o.Usagef("-p needs the number of a port, not %q", arg)
			}
			set.port = int(n)
		case "unix":
			set.socket = arg
		case "verbose":
			set.verbose = true
		case "follow":
			set.follow = true
		case "token":
			set.token = arg
		case "secure":
			set.secure = true
		default:
			return false
		}
		return true
	}})
	if len(o.Args) != 1 && !o.WantsVersion() {
		o.Usagef("want one archive")
	}
	if status, exit := o.Done(); exit {
		return status
	}
	base := o.Args[0]
	if strings.Contains(base, ",") {
		return env.Fatalf("multi-archive contexts not supported")
	}
	// The archive must be readable.
	a, err := archive.Open(base)
	if err == nil {
		err = a.Close()
	}
	if err != nil {
		return env.Fatalf("Cannot open archive \"%s\": %s", base, cli.ErrText(err))
	}
	if !set.follow {
		set.progress = cli.NewProgress(env, env.ProgName(), 0)
	}
	p, err := set.pusher(env)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	defer p.Close()
	if !set.follow {
		err = p.Push(ctx, base)
	} else {
		err = p.Follow(ctx, base, finished(base))
	}
	set.progress.Clear()
	if err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

// finished returns a function that reports whether an archive that was being written no
// longer is. For an archive that another program writes, this is unknown.
func finished(base string) func() bool {
	begun := false
	return func() bool {
		writing, err := archive.Written(base)
		begun = begun || err == nil && writing
		return begun && !writing
	}
}

func (set *settings) pusher(env *cli.Env) (*push.Pusher, error) {
	cfg := push.Config{
		URL:    "http://" + net.JoinHostPort(set.host, strconv.Itoa(set.port)),
		Socket: set.socket, Progress: set.progress.Set,
	}
	if set.secure {
		cfg.URL = "https" + strings.TrimPrefix(cfg.URL, "http")
		var err error
		if cfg.TLS, err = push.TLS(set.host, env.Config(), env.Getenv); err != nil {
			return nil, err
		}
	}
	if set.token != "" {
		var err error
		if cfg.Token, err = push.ReadToken(set.token); err != nil {
			return nil, err
		}
	}
	if set.verbose {
		cfg.Say = func(line string) {
			set.progress.Clear()
			fmt.Fprintln(env.Stderr, line)
		}
	}
	last := ""
	cfg.Warn = func(err error) {
		if text := err.Error(); text != last { // once
			last = text
			set.progress.Clear()
			fmt.Fprintf(env.Stderr, "%s: %s; trying again\n", env.ProgName(), text)
		}
	}
	cfg.Back = func() {
		last = ""
		fmt.Fprintf(env.Stderr, "%s: %s takes requests again\n", env.ProgName(), cfg.URL)
	}
	return push.New(cfg)
}
