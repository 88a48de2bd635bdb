package record

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/daemon/controlfile"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger"
	"github.com/go-pcp/pcp/cmd/internal/pmlogger/fleet"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/pcptime"
)

// fromControl returns the hosts of the control files. A line with a mistake is an error, so that no
// host is skipped silently.
func (set *settings) fromControl(env *cli.Env) ([]fleet.Host, error) {
	files := controlfile.Files(set.control)
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: neither it nor a file in %s.d is there", set.control, set.control)
	}
	hostname, err := os.Hostname()
	if err != nil {
		hostname = "localhost"
	}
	c := env.Config()
	p := controlfile.NewParser(controlfile.Config{
		ArchiveDir: c.Get("PCP_ARCHIVE_DIR"), LogDir: c.Get("PCP_LOG_DIR"), Hostname: hostname, Getenv: c.Getenv,
	})
	var list []fleet.Host
	names := make(map[string]int)
	for _, path := range files {
		for line := range p.File(path) {
			for _, pr := range line.Problems {
				if line.Number == 0 { // the file cannot be read
					return nil, fmt.Errorf("%s: %s", line.File, pr.Text)
				}
				if !pr.Warning {
					return nil, fmt.Errorf("%s:%d: %s", line.File, line.Number, pr.Text)
				}
				env.Errorf("%s:%d: %s", line.File, line.Number, pr.Text)
			}
			if !line.Valid {
				continue
			}
			h, err := set.fromLine(env, p, line, hostname)
			if err != nil {
				return nil, fmt.Errorf("%s:%d: %w", line.File, line.Number, err)
			}
			if names[h.Name]++; names[h.Name] > 1 { // a host may be recorded twice
				h.Name += fmt.Sprintf("-%d", names[h.Name])
			}
			list = append(list, h)
		}
	}
	env.Flush()
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: there is no host in it", set.control)
	}
	return list, nil
}

// fromLine makes the host of a line.
func (set *settings) fromLine(env *cli.Env, p *controlfile.Parser, line *controlfile.Line, hostname string) (fleet.Host, error) {
	h := fleet.Host{Spec: line.Host, Name: fleet.DefaultName(line.Host)}
	if line.Host == controlfile.Local {
		h.Name = fleet.DefaultName(hostname)
	}
	if line.Socks {
		return h, fmt.Errorf("host %s: connections by way of a SOCKS proxy are not supported", line.Host)
	}
	dir, args, err := p.Directory(line.Dir, line.Args)
	if err != nil {
		return h, err
	}
	h.Dir = dir
	return h, controlArgs(env, line, &h, strings.Fields(args))
}

// controlArgs takes the pmlogger arguments that a fleet can use, and returns the names of the
// others.
func controlArgs(env *cli.Env, line *controlfile.Line, h *fleet.Host, args []string) error {
	const takeArg = "cDHhIKlmnpsTtUvVx"
	for i := 0; i < len(args); i++ {
		word := args[i]
		if len(word) < 2 || word[0] != '-' || word[1] == '-' {
			return fmt.Errorf("argument %q: want an option of one letter", word)
		}
		for j := 1; j < len(word); j++ {
			opt := word[j]
			if !strings.ContainsRune(takeArg, rune(opt)) {
				switch opt {
				case 'r':
					h.Report = true
				case 'u': // output is never buffered
				default:
					env.Errorf("%s:%d: -%c is left out", line.File, line.Number, opt)
				}
				continue
			}
			arg := word[j+1:]
			if arg == "" {
				if i++; i == len(args) {
					return fmt.Errorf("-%c needs an argument", opt)
				}
				arg = args[i]
			}
			if err := controlArg(env, line, h, opt, arg); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func controlArg(env *cli.Env, line *controlfile.Line, h *fleet.Host, opt byte, arg string) error {
	switch opt {
	case 'c':
		h.Config = arg
	case 'H':
		h.Label = arg
	case 't':
		d, err := pcptime.ParseInterval(arg)
		if err != nil || d < time.Millisecond {
			return fmt.Errorf("-t %s: want an interval such as 10sec", arg)
		}
		h.Interval = d
	case 'v':
		s, err := pmlogger.ParseSize(arg)
		if err != nil {
			return fmt.Errorf("-v: %w", err)
		}
		h.Volume = s
	default:
		env.Errorf("%s:%d: -%c %s is left out", line.File, line.Number, opt, arg)
	}
	return nil
}
