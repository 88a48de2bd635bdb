package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/daemon/detach"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/conf"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/daemonlog"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmda"
)

// notStarted is what all messages about a failed start end with.
const notStarted = "pmproxy not started due to errors!"

// dontStart reports the error where a person may see it, and returns the exit
// status.
func (set *settings) dontStart(env *cli.Env, err error) int {
	if err != nil {
		env.Fatalf("%v", err)
	}
	if !set.classic {
		return 1
	}
	fmt.Fprintln(env.Stderr, daemonlog.Line("pmproxy", slog.LevelError, notStarted))
	tty, _, terr := safefile.OpenAppend(set.fatal, 0, 0o644)
	if terr != nil {
		return 1 // no place to report it
	}
	defer tty.Close()
	fmt.Fprintf(tty, "NOTE: %s  ", notStarted)
	if err != nil {
		fmt.Fprintf(tty, "%v  ", err)
	}
	if !set.logged {
		fmt.Fprintln(tty)
		return 1
	}
	text, rerr := os.ReadFile(set.log)
	if rerr != nil {
		fmt.Fprintf(tty, "Log file %q has vanished!\n", set.log)
		return 1
	}
	fmt.Fprintf(tty, "Log file %q contains ...\n%s", set.log, text)
	return 1
}

// openLog opens the log. "-" is the standard error. If the log cannot be written, openLog prints an
// error and uses that too.
func (set *settings) openLog(env *cli.Env) (w io.Writer, done func(), err error) {
	w, done = env.Stderr, func() {}
	if set.log == "-" {
		return w, done, nil
	}
	f, err := daemonlog.Open(set.log, "pmproxy")
	if err != nil {
		err = fmt.Errorf("cannot open log %q for writing : %s", set.log, cli.ErrText(err))
		if !set.classic {
			return nil, nil, err
		}
		fmt.Fprintf(env.Stderr, "pmproxy: %v\n", err)
		return w, done, nil
	}
	set.logged = true
	return f, func() { f.Close() }, nil
}

// logAndServe opens the log and serves until ctx is done.
func (set *settings) logAndServe(ctx context.Context, env *cli.Env, file *conf.File) int {
	out, done, err := set.openLog(env)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	defer done()
	if f, ok := out.(*os.File); ok && set.logged && detach.Done(env.Getenv) {
		if err := detach.Settle(f); err != nil {
			fmt.Fprintf(out, "cannot leave the standard error: %v\n", err)
		}
	}
	level := slog.LevelInfo
	if set.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(daemonlog.NewHandler(out, "pmproxy", level))
	for _, text := range append(set.warnings, file.Notes...) {
		log.Warn(text)
	}
	err = set.serve(ctx, env, file, out, log)
	if err != nil {
		if set.logged {
			log.Error(err.Error())
		}
		set.dontStart(env, err)
	}
	if set.logged {
		daemonlog.Footer(out)
	}
	if err != nil {
		return 1
	}
	return 0
}

// becomeDaemon writes the file with the process's number and continues as the
// user for daemons. The function that it returns removes the file.
func (set *settings) becomeDaemon(env *cli.Env) (remove func(), err error) {
	path := filepath.Join(env.Config().Get("PCP_RUN_DIR"), "pmproxy.pid")
	f, err := safefile.Create(path, 0o444)
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	if err = errors.Join(err, f.Close()); err == nil {
		err = pmda.SetProcessIdentity(set.user, env.Getenv)
	}
	if err != nil {
		safefile.Remove(path)
		return nil, err
	}
	return func() { safefile.Remove(path) }, nil
}

// report writes the beginning of pmproxy's log: the process, its user and its
// addresses.
func report(w io.Writer, lns []net.Listener) {
	uid := os.Getuid()
	name := strconv.Itoa(uid)
	if u, err := user.LookupId(name); err == nil {
		name = u.Username
	}
	fmt.Fprintf(w, "pmproxy: PID = %d, PDU version = 2, user = %s (%d)\n", os.Getpid(), name, uid)
	fmt.Fprint(w, "pmproxy request port(s):\n  sts fd   port  family address\n  === ==== ===== ====== =======\n")
	for _, ln := range lns {
		switch a := ln.Addr().(type) {
		case *net.TCPAddr:
			family, address := "ipv6", a.IP.String()
			if a.IP.To4() != nil {
				family = "inet"
			}
			if a.IP.IsUnspecified() {
				address = "INADDR_ANY"
			}
			fmt.Fprintf(w, "  ok  %4d %5d %-6s %s\n", descriptor(ln), a.Port, family, address)
		default:
			fmt.Fprintf(w, "  ok  %4d %5s %-6s %s\n", descriptor(ln), "", "unix", a.String())
		}
	}
}

// descriptor returns the number of the file that a listener is, or -1.
func descriptor(ln net.Listener) int {
	fd := -1
	if sc, ok := ln.(syscall.Conn); ok {
		if raw, err := sc.SyscallConn(); err == nil {
			raw.Control(func(n uintptr) { fd = int(n) })
		}
	}
	return fd
}
