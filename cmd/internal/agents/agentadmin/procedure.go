package agentadmin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/source"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/ctext"
)

var procedureCommand = &cli.Command{
	Name:     "agent procedure",
	Summary:  "perform a step of an Install or Remove script, for pmdaproc.sh",
	Synopsis: "setup | config | install | remove variable=value...",
	Doc: `The functions of pmdaproc.sh from "pcp agent scripts" call this command: pmdaSetup,
pmdaChooseConfigFile, pmdaInstall and pmdaRemove. It uses the variables of the script. It prints
questions to standard output and reads the answers from standard input.`,
	Examples:    []cli.Example{{Line: "cd /var/lib/pcp/pmdas/simple && sudo ./Install", Text: "install an agent with its script, which calls this"}},
	Options:     func() []cli.Option { return []cli.Option{cli.OptHelp} },
	DieOnSignal: true,
	Run:         runProcedure,
}

// variables are the variables that a script may set, mapped to whether they are
// booleans.
func variables() map[string]bool {
	return map[string]bool{
		"set": false, "prog": false, "iam": false, "domain": false, "SYMDOM": false, "namespace": false,
		"dso_opt": true, "perl_opt": true, "python_opt": true, "daemon_opt": true, "pipe_opt": true, "socket_opt": true,
		"socket_inet_def": false, "ipc_prot": false, "pmda_name": false, "dso_name": false, "dso_entry": false,
		"perl_name": false, "python_name": false, "pmda_dir": false, "args": false, "pmns_name": false, "pmns_source": false, "pmns_dupok": true, "help_source": false,
		"forced_restart": true, "check_delay": false, "signal_delay": false, "do_check": true, "echo": true, "verbose": true,
		"configdir": false, "configfile": false, "default_configfile": false,
	}
}

// A procedure is a step of an Install or Remove script.
type procedure struct {
	env  *cli.Env
	o    *source.Options
	cfg  *config.Config
	v    map[string]string // the variables of the script
	sets strings.Builder   // assignments that the script reads
}

// errSaid ends a step that has reported the reason.
var errSaid = errors.New("said")

func runProcedure(ctx context.Context, env *cli.Env) int {
	p := &procedure{env: env, v: make(map[string]string)}
	p.o = source.New(env, cli.ParseArgs(env, cli.ParseConfig{POSIX: true}))
	step := map[string]func(context.Context) error{
		"setup": p.setup, "config": p.chooseConfig, "install": p.install, "remove": p.remove,
	}
	var do func(context.Context) error
	if len(p.o.Args) > 0 {
		do = step[p.o.Args[0]]
	}
	if do == nil {
		p.o.WantUsage()
	} else {
		for _, arg := range p.o.Args[1:] {
			name, value, ok := strings.Cut(arg, "=")
			boolean, known := variables()[name]
			switch {
			case !ok || !known:
				p.o.Usagef("%q does not set a variable of pmdaproc.sh", arg)
			case boolean && value != "true" && value != "false":
				p.o.Usagef("%s must be true or false, not %q", name, value)
			}
			p.v[name] = value
		}
	}
	if status, exit := p.o.Done(); exit {
		return status
	}
	p.cfg = env.Config()
	err := p.cfg.Err()
	if err != nil {
		return env.Fatalf("%v", err)
	}
	err = do(ctx)
	if err == nil && p.v["set"] != "" {
		err = os.WriteFile(p.v["set"], []byte(p.sets.String()), 0o600)
	}
	switch {
	case err == nil:
		return 0
	case err != errSaid:
		p.printf("%s: %s\n", p.v["prog"], cli.FileErrText(err))
	}
	return 1
}

func (p *procedure) is(name string) bool { return p.v[name] == "true" }

// set sets a variable of the script.
func (p *procedure) set(name, value string) {
	p.v[name] = value
	fmt.Fprintf(&p.sets, "%s=%s\n", name, shellQuote(value))
}

func (p *procedure) printf(format string, args ...any) {
	fmt.Fprintf(p.env.Stdout, format, args...)
	p.env.FlushOut() // before the output of make
}

// sayf prints why the step ends.
func (p *procedure) sayf(format string, args ...any) error {
	p.printf(format+"\n", args...)
	return errSaid
}

// maxAnswer is the maximum length of an answer in bytes.
const maxAnswer = 4096

// ask asks a question and returns the answer, "" at the end of the input. It leaves the
// input after the line to the script.
func (p *procedure) ask(format string, args ...any) (answer string, err error) {
	p.printf(format, args...)
	var b [1]byte
	var line []byte
	for len(line) < maxAnswer {
		n, err := p.env.Stdin.Read(b[:])
		if n == 1 && b[0] == '\n' {
			break
		}
		line = append(line, b[:n]...)
		if errors.Is(err, io.EOF) {
			if len(line) == 0 {
				p.printf("\n")
				return "", io.EOF
			}
			break
		}
		if err != nil {
			return "", err
		}
	}
	answer = strings.TrimSpace(string(line))
	if p.is("echo") {
		p.printf("%s\n", answer)
	}
	return answer, nil
}

// choose asks until the answer is in a list; an empty answer means the first.
func (p *procedure) choose(list []string, again, format string, args ...any) (string, error) {
	for {
		answer, err := p.ask(format, args...)
		switch {
		case err == io.EOF || err == nil && answer == "":
			return list[0], nil
		case err != nil || slices.Contains(list, answer):
			return answer, err
		}
		p.printf("%s\n", again)
	}
}

// setup checks the location of the script, and reads the domain from domain.h. An Install script with agents in
// Perl or Python has them write their domain and names first.
func (p *procedure) setup(ctx context.Context) error {
	iam, dir := p.v["iam"], p.v["pmda_dir"]
	if err := p.plain(iam); err != nil {
		return err
	}
	if os.Getuid() > 0 && p.env.Getenv("PCP_DIR") == "" {
		return p.sayf("Error: You must be root (uid 0) to update the pmcd(1) configuration.")
	}
	if !strings.HasSuffix(dir, "/pmdas/"+iam) {
		return p.sayf("Error: expect current directory to be .../pmdas/%s, not %s\n       (typical location is %s on this platform)",
			iam, dir, filepath.Join(p.cfg.Get("PCP_PMDAS_DIR"), iam))
	}
	if strings.Contains(p.v["prog"], "Install") {
		if err := p.describeAll(ctx); err != nil {
			return err
		}
	}
	text, err := p.domainFile()
	if err != nil {
		return p.sayf("%s: cannot find domain.h to determine the Performance Metrics Domain", p.v["prog"])
	}
	// A domain.h has a line with a symbol and a number.
	define := regexp.MustCompile(`(?m)^#define[ \t]+([A-Za-z_][A-Za-z0-9_]*)[ \t]+([0-9]+)\b`)
	list := define.FindAllSubmatch(text, -1)
	if len(list) == 0 {
		return p.sayf("%s: cannot determine the Performance Metrics Domain from domain.h", p.v["prog"])
	}
	if n, err := strconv.Atoi(string(list[0][2])); err != nil || n < 1 || n > pcp.MaxAgentDomain {
		return p.sayf("%s: the domain in domain.h must be from 1 to %d", p.v["prog"], pcp.MaxAgentDomain)
	}
	for _, m := range list { // scripts use the symbols, too
		fmt.Fprintf(&p.sets, "%s=%s\n", m[1], m[2])
	}
	p.set("domain", string(list[0][2]))
	p.set("SYMDOM", strings.TrimPrefix(string(list[0][1]), "PMDA"))
	return nil
}

// plain rejects a name that is not valid for an agent, a file and a metric.
func (p *procedure) plain(iam string) error {
	if iam == "" {
		return p.sayf("Botch: must define $iam before calling pmdaSetup()")
	}
	for i, c := range []byte(iam) {
		if !ctext.IsName(c, i) && (i == 0 || c != '-') {
			return p.sayf("Error: %q cannot be the name of an agent", iam)
		}
	}
	return nil
}

// chooseConfig asks for a configuration file and copies it to the place where the agent
// looks for it. configfile is "" if none was chosen.
func (p *procedure) chooseConfig(context.Context) error {
	dest := filepath.Join(p.v["configdir"], p.v["iam"]+".conf")
	for {
		var list []string
		p.printf("Possible configuration files to choose from:\n")
		for _, path := range []string{p.v["configfile"], dest, p.v["default_configfile"]} {
			if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && !slices.Contains(list, path) {
				list = append(list, path)
				p.printf("[%d] %s\n", len(list), path)
			}
		}
		own, none := len(list)+1, len(list)+2
		p.printf("[%d] Specify your own configuration file.\n[%d] None of the above (abandon configuration file selection).\n", own, none)
		answer, err := p.ask("Which configuration file do you want to use ? [1] ")
		if err != nil {
			return err
		}
		if answer == "" {
			answer = "1"
		}
		n, err := strconv.Atoi(answer)
		path := ""
		switch {
		case err != nil || n < 1 || n > none:
			p.printf("Illegal choice: %s\n\nPlease choose number between: 1 and %d\n", answer, none)
			continue
		case n == none:
			p.printf("Abandoning configuration file selection.\n")
			p.set("configfile", "")
			return nil
		case n == own:
			if path, err = p.ask("Enter the name of the existing configuration file: "); err != nil {
				return err
			}
		default:
			path = list[n-1]
		}
		text, err := readLimited(path)
		if err != nil {
			p.printf("Cannot open \"%s\".\n\nPlease choose another configuration file.\n", path)
			continue
		}
		p.printf("\nContents of the selected configuration file:\n--------------- start %s ---------------\n%s--------------- end %s ---------------\n\n", path, text, path)
		if answer, err = p.ask("Use this configuration file? [y] "); err != nil && err != io.EOF {
			return err
		}
		if answer != "" && answer != "y" && answer != "Y" {
			p.printf("\nPlease choose another configuration file.\n")
			continue
		}
		if path != dest {
			if err := os.MkdirAll(p.v["configdir"], 0o755); err != nil {
				return err
			}
			if _, err := os.Stat(dest); err == nil {
				p.printf("Removing old configuration file \"%s\"\n", dest)
			}
			if err := writeWhole(dest, text, false); err != nil {
				return err
			}
		}
		p.set("configfile", dest)
		return nil
	}
}
