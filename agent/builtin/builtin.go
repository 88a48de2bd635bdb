package builtin

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// A Spec describes an agent.
type Spec struct {
	Name   string
	Domain int // unless a configuration sets another
	// Sample is set for agents that are examples or for tests.
	Sample bool
	// Asked is set for agents that are only served if a configuration names them.
	Asked bool
	// Programs are the processes of the service that the agent asks, none for other agents. A program that chooses agents itself, such
	// as pcp up, runs the agent only if one of them runs, and Try has asked the service with success.
	Programs []string
	Try      func(context.Context, Env) error
	// Source is a file or directory of the host, such as /proc/spl/kstat/zfs, without which the agent has no values, "" for other agents. A
	// program that chooses agents itself runs the agent only once the file exists.
	Source string
	// OfCollector is set for an agent that reports on the collector that hosts it.
	// Only the collector can open it, and it has no program.
	OfCollector bool
	// File is the agent whose file also has this one in the C implementation; ""
	// if it has its own file.
	File string
	// Program describes the special features of the agent's program, pmdaNAME.
	Program Program
	// New makes the agent. It is called by Open, which fills in the Domain, Config, Log
	// and HostRoot of the Env.
	New func(Env) (pmda.Agent, error)
}

// Sought reports whether a program that chooses agents itself has to find what the agent reads first.
func (s Spec) Sought() bool { return len(s.Programs) > 0 || s.Source != "" }

// A Program describes how the program of an agent differs from others. The zero
// Program takes no arguments and talks to its collector through pipes only.
type Program struct {
	// Args names the arguments that the program needs, or is "", and NoArgs is
	// its message if they are missing.
	Args, NoArgs string
	// Options are the options that only this program has. Check, which may be nil, checks each as it is parsed:
	// an error goes to standard error with the usage message.
	Options []pmda.Option
	Check   func(o pmda.Option, arg string) error
	// UserFlag is the letter of the option that names the user to run as; 0 means 'U'.
	UserFlag rune
	// UserLong is the long name of that option; "" means "username".
	UserLong string
	// Usage, if not "", is the usage message below its first line.
	Usage string
	// Sockets is set if the program can be reached by a socket.
	Sockets bool
	// KeepUser is set if the program keeps running as the user that started it, while
	// others become PCP's user.
	KeepUser bool
	// StartsNotReady is set if the program's line of pmcd.conf has the word notready:
	// clients are put off until the agent is ready, which it reports to the collector.
	StartsNotReady bool
}

// An Env is passed to an agent by the program that opens it. All agents get the
// same. Host has the features of some hosts that a single agent wants.
type Env struct {
	Domain  int            // 0 means the agent's own
	Version string         // of this software
	Config  *config.Config // nil means config.Process
	Log     *slog.Logger   // nil discards
	Args    []string       // of the program, if it takes any
	Options []string       // long names of those of Program.Options that were given without an argument
	// Settings are those of Program.Options that were given with an argument, in order.
	Settings []Setting
	Form     Form
	// HostRoot is the directory in which the root directory of the host is mounted, "/" outside of containers. An agent
	// reads the files of the host below it. "" means the setting PCP_HOST_ROOT.
	HostRoot string
	// Host is the program that the agent becomes a part of, nil if it offers
	// nothing to agents. An agent asserts the interface that it has for its host,
	// as internal/agent/pmcd does with its Collector. In a collector, it is
	// the Host of the pmcd.Server.
	Host any
}

// A Setting is an option that was given, with its argument.
type Setting struct {
	Option pmda.Option
	Arg    string
}

// A Form is the way in which an agent is run.
type Form int

const (
	InProcess Form = iota // inside a collector, or another program
	AsDaemon              // as a separate program
	AsDSO                 // for a local context, in place of the shared object of the C implementation
)

// HelpFile returns the file of help texts that is installed for the agent, without .dir and .pag as
// [help.Open] wants it, "" if there is none. It is that of the C agent that this one replaces,
// PCP_PMDAS_DIR/NAME/help. Its texts take precedence over those of the agent, which serve for the
// other metrics.
func (s Spec) HelpFile(cfg *config.Config) string {
	dir := cfg.Get("PCP_PMDAS_DIR")
	if dir == "" {
		return ""
	}
	path := filepath.Join(dir, s.Name, "help")
	for _, suffix := range []string{".dir", ".pag"} {
		if st, err := os.Stat(path + suffix); err != nil || !st.Mode().IsRegular() {
			return ""
		}
	}
	return path
}

// Open makes the agent.
func (s Spec) Open(e Env) (pmda.Agent, error) {
	e.Domain = cmp.Or(e.Domain, s.Domain)
	if e.Config == nil {
		e.Config = config.Process()
	}
	if e.Log == nil {
		e.Log = slog.New(slog.DiscardHandler)
	}
	if e.HostRoot == "" {
		e.HostRoot = hostroot.Of(e.Config.Get)
	}
	return s.New(e)
}
