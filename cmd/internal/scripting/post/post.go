package post

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/safefile"
)

// Command is pmpost.
var Command = &cli.Command{
	Name:     "post",
	Link:     "pmpost",
	Group:    cli.Scripts,
	Summary:  "append a message to the NOTICES file",
	Synopsis: "message",
	Doc: `Appends a message, with the time and the name of the caller's terminal and user, to the file NOTICES
in the directory for logs, which is the journal of PCP on this host.`,
	Examples: []cli.Example{
		{Line: `pcp post 'disk sdb replaced'`, Text: `leave a note`},
	},

	DieOnSignal: true,
	Run:         run,
}

// run takes all of its arguments for the message, as pmpost does, even those
// that look like options.
func run(_ context.Context, env *cli.Env) int {
	if len(env.Args) == 0 || len(env.Args) == 1 && env.Args[0] == "-?" {
		fmt.Fprintf(env.Stderr, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	cfg := config.New(trusted(env.Getenv))
	if err := cfg.Err(); err != nil {
		if file, ok := errors.AsType[*fs.PathError](err); ok && file.Op == "open" { // pmGetConfig(3)
			fmt.Fprintf(env.Stderr, "FATAL PCP ERROR: could not open config file %q : %s\nYou may need to set PCP_CONF or PCP_DIR in your environment.\n",
				file.Path, cli.ErrText(file))
			return 1
		}
		return env.Fatalf("%v", err)
	}
	now := time.Now().In(env.Local())
	if err := post(cfg, now, env.Args, env); err != nil {
		if err != errSilent {
			fmt.Fprintf(env.Stderr, "pmpost: %v\n", err)
		}
		fmt.Fprintf(env.Stderr, "pmpost: unposted message: [%s] %s\n", now.Format(time.ANSIC), strings.Join(env.Args, " "))
		return 1
	}
	return 0
}

// trusted lets only that of the environment through which pmpost believes: it
// may run with the rights of others.
func trusted(getenv func(string) string) func(string) string {
	return func(name string) string {
		switch name {
		case "TZ", "PCP_DIR", "PCP_CONF":
			return getenv(name)
		}
		return ""
	}
}

// errSilent means that the file is a symbolic link, which is not made with good
// intentions.
var errSilent = errors.New("symbolic link")

// post appends a message, with its date where that is not the date of the
// message before.
func post(cfg *config.Config, now time.Time, words []string, env *cli.Env) error {
	path := filepath.Join(cfg.Get("PCP_LOG_DIR"), "NOTICES")
	uid, gid := owner(cfg)
	dir := filepath.Dir(path)
	if err := makeDirs(dir, gid); err != nil {
		return fmt.Errorf("cannot create directory \"%s\": %s", dir, cli.ErrText(err))
	}
	f, created, err := safefile.OpenAppend(path, 0, 0o664)
	if errors.Is(err, syscall.ELOOP) {
		return errSilent
	}
	if err != nil {
		return fmt.Errorf("cannot open or create file \"%s\": %s", path, cli.ErrText(err))
	}
	if created && os.Getuid() == 0 {
		if err := f.Chown(uid, gid); err != nil {
			fmt.Fprintf(env.Stderr, "pmpost: cannot set file gid \"%s\": %s\n", path, cli.ErrText(err))
		}
	}
	defer f.Close()
	if err := lock(f); err != nil {
		fmt.Fprintf(env.Stderr, "pmpost: warning, cannot lock file \"%s\": %s\n", path, cli.ErrText(err))
	}
	var b strings.Builder
	if st, err := f.Stat(); created || err == nil && st.ModTime().In(now.Location()).YearDay() != now.YearDay() {
		fmt.Fprintf(&b, "\nDATE: %s\n", now.Format(time.ANSIC))
	}
	fmt.Fprintf(&b, "%s %s\n", now.Format("15:04:05.000"), strings.Join(words, " "))
	if _, err = f.WriteString(b.String()); err == nil {
		err = f.Close()
	}
	if err != nil {
		return fmt.Errorf("write failed: %s", cli.ErrText(err))
	}
	return nil
}

// makeDirs makes a directory and those above it, for the group gid.
func makeDirs(dir string, gid int) error {
	return safefile.MkdirAll(dir, 0o775, func(made *os.File) error {
		if os.Getuid() == 0 {
			return made.Chown(0, gid)
		}
		return nil
	})
}

// owner returns the numbers of PCP's user and group, 0 where there is none.
func owner(cfg *config.Config) (uid, gid int) {
	if u, err := user.Lookup(cfg.Get("PCP_USER")); err == nil {
		uid, _ = strconv.Atoi(u.Uid)
	}
	if g, err := user.LookupGroup(cfg.Get("PCP_GROUP")); err == nil {
		gid, _ = strconv.Atoi(g.Gid)
	}
	return uid, gid
}

// lock waits up to three seconds for other posters.
func lock(f *os.File) (err error) {
	for range 3 {
		err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK})
		if err == nil {
			return nil
		}
		time.Sleep(time.Second)
	}
	return err
}
