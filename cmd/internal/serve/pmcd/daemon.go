package pmcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/service"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// open takes the sockets that a service manager opened, or opens those that
// the options ask for. An error with listeners is one for the log alone.
func (set *settings) open(listen func() ([]net.Listener, error)) ([]net.Listener, error) {
	if len(set.activated) > 0 {
		return set.activated, nil
	}
	return listen()
}

// portFailures returns lines that name the sockets that could not be opened.
func portFailures(err error) (lines []string) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			lines = append(lines, portFailures(e)...)
		}
		return lines
	}
	var op *net.OpError
	if !errors.As(err, &op) || op.Addr == nil {
		return []string{err.Error()}
	}
	port, address, family := 0, op.Addr.String(), "unix"
	if tcp, ok := op.Addr.(*net.TCPAddr); ok {
		port, address, family = tcp.Port, tcp.IP.String(), "ipv6"
		if tcp.IP.To4() != nil {
			family = "inet"
		}
		if tcp.IP.IsUnspecified() {
			address = "INADDR_ANY"
		}
	}
	line := fmt.Sprintf("OpenRequestSocket(%d, %s, %s) __pmBind: %s", port, address, family, cli.ErrText(op.Err))
	if !errors.Is(err, syscall.EADDRINUSE) {
		return []string{line}
	}
	return []string{line, "pmcd may already be running"}
}

// notStarted writes what all messages about a failed start end with.
func notStarted(w io.Writer) {
	fmt.Fprintf(w, "[%s] pmcd(%d) Error: pmcd not started due to errors!\n", time.Now().Format("Mon Jan _2 15:04:05"), os.Getpid())
}

// writePID writes the file with this process's number as the C collector does,
// for scripts read it.
func writePID(path string) error {
	f, err := safefile.Create(path, 0o444)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strconv.Itoa(os.Getpid()))
	return errors.Join(err, f.Close())
}

// becomeUser has a daemon that root started continue as another user, once
// agents have been started.
func (set *settings) becomeUser(env *cli.Env) error {
	if set.foreground {
		return nil
	}
	return pmda.SetProcessIdentity(set.user, env.Getenv)
}

// debug takes the debug options of -D. Those without effect here are accepted, as
// in C, but logged.
func (set *settings) debug(o *cli.Options, spec string) {
	names, ok := cli.ParseDebug(spec)
	if !ok {
		set.usagef(o, "unrecognized debug options specification (%s)", spec)
	}
	set.addDebug(names)
}

// addDebug adds debug options.
func (set *settings) addDebug(names []string) {
	const shown = pmcd.DebugPDU | pmcd.DebugIO | pmcd.DebugAccess | pmcd.DebugConfig
	var idle []string
	for _, name := range names {
		bit := debug.Bit(name)
		if name == "access" { // which has no bit
			bit = pmcd.DebugAccess
		}
		if bit&shown == 0 {
			idle = append(idle, name)
		}
		set.server.Debug |= bit
	}
	if len(idle) > 0 {
		set.warnings = append(set.warnings, "debug options that show nothing: "+strings.Join(idle, ","))
	}
}

// A manager gets the notifications of the daemon's state.
type manager struct {
	service.Manager
	log *slog.Logger
}

func (m manager) ready(server *pmcd.Server) {
	n := 0
	for _, a := range server.AgentStates() {
		if a.Connected {
			n++
		}
	}
	m.try(m.Ready(fmt.Sprintf("serving the metrics of %d agents", n)))
}

// watch notifies the manager for as long as the server works and ctx is not done. The check uses
// the parts of the server that clients need too.
func (m manager) watch(ctx context.Context, server *pmcd.Server, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			server.AgentStates()
			m.try(m.Alive())
		}
	}
}

func (m manager) try(err error) {
	if err != nil {
		m.log.Warn("service manager not told", "err", err)
	}
}
