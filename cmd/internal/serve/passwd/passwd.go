package passwd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/sasl"
)

// Command is pcp passwd.
var Command = &cli.Command{
	Name:     "passwd",
	Group:    cli.Administer,
	Summary:  "manage the accounts of clients of the collector",
	Synopsis: "[options] add USER | change USER | remove USER | list",
	Doc: `Manages the file of accounts for clients that log in to the collector with a password. The file has
verifiers, from which passwords cannot be recovered. The command asks for the password twice, or
reads it from standard input if that is not a terminal. A running collector rereads a changed file.

A user who logs in over TCP must also be a user of the collector's host, with the same name.`,
	Examples: []cli.Example{
		{Line: `pcp passwd add alice`, Text: `add an account and ask for its password`},
		{Line: `pcp passwd list`, Text: `list the accounts`},
	},
	SeeAlso: []string{"pmcd(1)", "pmcd.conf(5)"},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'f', Long: "file", Arg: "PATH", Help: "file of accounts [default $PCP_USERS_PATH, else users next to pmcd.conf]"},
			cli.OptVersion,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         run,
}

func run(ctx context.Context, env *cli.Env) int {
	path := env.UsersPath()
	o := cli.ParseArgs(env, cli.ParseConfig{Own: func(_ *cli.Options, opt *cli.Option, arg string) bool {
		if opt.Short == 'f' {
			path = arg
			return true
		}
		return false
	}})
	var verb, name string
	switch {
	case len(o.Args) == 1 && o.Args[0] == "list":
		verb = "list"
	case len(o.Args) == 2 && slices.Contains([]string{"add", "change", "remove"}, o.Args[0]):
		verb, name = o.Args[0], o.Args[1]
	default:
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	if err := do(ctx, env, path, verb, name); err != nil {
		return env.Fatalf("%v", err)
	}
	return 0
}

func do(ctx context.Context, env *cli.Env, path, verb, name string) error {
	f, err := readFile(path)
	if err != nil {
		return err
	}
	if verb == "list" {
		for _, name := range slices.Sorted(maps.Keys(f.users)) {
			var mechanisms []string
			for _, v := range f.users[name] {
				mechanisms = append(mechanisms, v.Mechanism)
			}
			fmt.Fprintln(env.Stdout, name+"\t"+strings.Join(mechanisms, " "))
		}
		return nil
	}
	if err := sasl.CheckUserName(name); err != nil {
		return err
	}
	_, there := f.users[name]
	switch {
	case verb == "add" && there:
		return fmt.Errorf("%s: there is an account %q already; use change", path, name)
	case verb != "add" && !there:
		return fmt.Errorf("%s: there is no account %q", path, name)
	case verb == "remove":
		delete(f.users, name)
		return f.write()
	}
	if _, err := user.Lookup(name); err != nil {
		var unknown user.UnknownUserError
		if errors.As(err, &unknown) {
			fmt.Fprintf(env.Stderr, "%s: Warning: this host has no user %q: the collector will refuse logins by that name\n", env.ProgName(), name)
		}
	}
	f.group = collectorGroup(env)
	password, err := readPassword(ctx, env)
	if err != nil {
		return err
	}
	verifiers := []sasl.Verifier{}
	for _, mechanism := range []string{sasl.ScramSHA256, sasl.ScramSHA512} {
		v, err := sasl.NewVerifier(mechanism, password, sasl.DefaultIterations)
		if err != nil {
			return err
		}
		verifiers = append(verifiers, v)
	}
	f.users[name] = verifiers
	return f.write()
}

// collectorGroup is the group as which the collector runs, -1 if it is not known.
func collectorGroup(env *cli.Env) int {
	cfg := env.Config()
	if cfg.Err() != nil {
		return -1
	}
	g, err := user.LookupGroup(cfg.Get("PCP_GROUP"))
	if err != nil {
		return -1
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return -1
	}
	return gid
}

// maxPassword keeps a password within a message of PLAIN, with the longest name.
const maxPassword = 1024

// readPassword asks twice at a terminal, else takes the first line of the
// standard input.
func readPassword(ctx context.Context, env *cli.Env) (string, error) {
	if in, ok := env.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		password, err := env.Ask(ctx, "New password: ", true)
		if err != nil {
			return "", err
		}
		again, err := env.Ask(ctx, "The same again: ", true)
		if err != nil {
			return "", err
		}
		if password != again {
			return "", errors.New("the passwords differ")
		}
		return password, checkPassword(password)
	}
	b, err := io.ReadAll(io.LimitReader(env.Stdin, maxPassword+2))
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	password := strings.TrimSuffix(string(line), "\r")
	return password, checkPassword(password)
}

func checkPassword(password string) error {
	switch {
	case password == "":
		return errors.New("the password is empty")
	case len(password) > maxPassword:
		return fmt.Errorf("the password has more than %d bytes", maxPassword)
	case strings.ContainsRune(password, 0):
		return errors.New("the password has a NUL")
	}
	return nil
}
