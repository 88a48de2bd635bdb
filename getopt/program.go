package getopt

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/version"
	"github.com/go-pcp/pcp/pcptime"
)

// A Program describes a program, and how to read its options. The zero value of a
// field suits most programs.
type Program struct {
	Name     string   // with which messages begin; "": the last element of the first argument
	Synopsis string   // the usage line after the name; "": "[options]"
	Version  string   // the version that --version prints; "": that of this module
	Options  []Option // what the usage message has, in its order
	Multi    bool     // any number of hosts or archives (PM_OPTFLAG_MULTI)
	Mixed    bool     // hosts and archives together (PM_OPTFLAG_MIXED)
	POSIX    bool     // options end at the first other argument (PM_OPTFLAG_POSIX)
	EnvOnly  bool     // only the environment is read (PM_OPTFLAG_ENV_ONLY)
	Later    bool     // the program calls End, as its arguments too may name a source (PM_OPTFLAG_DONE)
	HighRes  bool     // intervals, also in messages, are those of pmParseHighResInterval(3)

	QuietZone  bool // package options does not print the zone that -z and -Z ask for
	NoArchives bool // archives are never the source, regardless of the environment

	// Own is called first for each option, and reports whether it has handled
	// it. It reports a mistake in the argument by Options.Usagef.
	Own func(o *Options, opt *Option, arg string) bool

	// SpecLocal handles the arguments of -K, and Derived those of --derived. Their errors
	// are printed as they are. Package options has such functions.
	SpecLocal, Derived func(o *Options, arg string) error

	// Usage prints the text after mistakes in the options to Messages; nil: the
	// usage message of C programs.
	Usage func()

	Config         *config.Config // nil: config.Process()
	Stdout, Stderr io.Writer      // nil: those of the process
	Messages       *Messages      // nil: one for Name, Stderr and Config
}

// defaults fills in missing fields.
func (p *Program) defaults(args []string) {
	if p.Name == "" && len(args) > 0 {
		p.Name = filepath.Base(args[0])
	}
	if p.Version == "" {
		p.Version = version.String()
	}
	if p.Config == nil {
		p.Config = config.Process()
	}
	if p.Stdout == nil {
		p.Stdout = os.Stdout
	}
	if p.Stderr == nil {
		p.Stderr = os.Stderr
	}
	if p.Messages == nil {
		p.Messages = &Messages{Name: p.Name, Stderr: p.Stderr, Config: p.Config}
	}
}

// seven reports whether the program's output is that of PCP 7.
func (p *Program) seven() bool { return p.Config.Get("PCP_COMPAT") == "7" }

// usage keeps the usage message for Messages.Flush.
func (p *Program) usage() {
	if p.Usage != nil {
		p.Usage()
		return
	}
	opts := p.Options
	if p.seven() {
		opts = options7(opts)
	}
	p.Messages.Printf("%s", Usage(p.Name, p.Synopsis, opts))
}

// Notify prints a message as pmNotifyErr(3) does, with a level such as "Warning".
func (p *Program) Notify(level, msg string) {
	fmt.Fprintf(p.Stderr, "[%s] %s(%d) %s: %s\n",
		time.Now().In(p.Local()).Format("Mon Jan _2 15:04:05"), p.Name, os.Getpid(), level, msg)
}

// Local returns the time zone of the environment (TZ), else the system's.
func (p *Program) Local() *time.Location {
	return pcptime.Local(p.Config.Getenv("TZ"))
}
