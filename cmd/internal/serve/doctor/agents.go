package doctor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/agent/nvidia"
	"github.com/go-pcp/pcp/internal/agent/service"
	"github.com/go-pcp/pcp/pmcd/conf"
	"github.com/go-pcp/pcp/pmns"
)

func agentFaults() []kind {
	const lost = "The metrics of the agent have no values."
	return []kind{
		{"agent.ended", fault, "An agent has ended.", lost},
		{"agent.not-started", fault, "An agent could not be started.", lost},
		{"agent.protocol", fault, "An agent was disconnected, because it broke the protocol or did not answer.", lost},
		{"agent.slow", fault, "An agent does not answer in time, or is not ready.", "Its metrics have no values until it answers."},
		{"agent.fenced", warning, "An agent is fenced off by the administrator.", lost},
		{"agent.configuration-missing", fault, "The configuration of the collector is missing.", "The collector does not start."},
		{"agent.configuration", fault, "A line of the configuration of the collector is wrong.", "Its agent is not started. If an access rule is wrong, the collector does not start."},
		{"agent.program-missing", fault, "The program of an agent does not exist.", lost},
		{"agent.program-rights", fault, "The program of an agent cannot be executed.", lost},
		{"agent.object-missing", fault, "The shared object of an agent does not exist, and the agent is not a built-in one.", lost},
		{"agent.socket-missing", fault, "The socket of an agent does not exist.", lost},
		{"agent.service", warning, "A service runs here, and its agent cannot read it.", "`pcp up` does not collect the metrics of the service."},
		{"agent.bpf", warning, "The kernel refuses modules of the agent bpf.", "The metrics of these modules have no values."},
		{"agent.gpu-program", warning, "There is a driver of NVIDIA, and not the program pcp-gpu.", "The metrics nvidia have no values."},
		{"names.missing", fault, "The file of the name space is missing.", "Metrics of agents in programs have no names. The C collector does not start."},
		{"names.damaged", fault, "The name space cannot be read.", "Metrics of agents in programs have no names. The C collector does not start."},
	}
}

func agentChecks() []check {
	return []check{
		{"the agents", true, false, checkAgents},
		{"the modules of the agent bpf", true, false, checkBPF},
		{"the configuration of agents", false, false, checkAgentConf},
		{"the name space", false, false, checkNames},
		{"NVIDIA's driver", false, false, checkNVIDIA},
		{"the agents of services", false, true, checkServices},
	}
}

// The low byte of pmcd.agent.status. The exit status is in the second byte, and a signal in the third.
const (
	agentNotReady = 1
	agentExit     = 2
	agentNoStart  = 4
	agentProtocol = 8
)

// checkAgents asks the collector for the states of its agents.
func checkAgents(ctx context.Context, s *site) []finding {
	states, err := s.values(ctx, "pmcd.agent.status")
	if err != nil {
		return nil // no collector, or one whose agent pmcd is missing
	}
	fenced, err := s.values(ctx, "pmcd.agent.fenced")
	if err != nil {
		fenced = nil
	}
	var list []finding
	for _, name := range names(states) {
		code := states[name].Value.Int32()
		f := finding{subject: name, command: s.reviveAgents()}
		switch {
		case code&agentNoStart != 0:
			f.id, f.text = "agent.not-started", "the agent "+name+" could not be started"
		case code&agentProtocol != 0:
			f.id, f.text = "agent.protocol", "the agent "+name+" was disconnected: it broke the protocol, or did not answer in time"
		case code&agentExit != 0:
			f.id, f.text = "agent.ended", "the agent "+name+" has ended"
		case code&agentNotReady != 0:
			f.id, f.text = "agent.slow", "the agent "+name+" does not answer in time, or is not ready"
		case code != 0:
			f.id, f.text = "agent.ended", "the agent "+name+" does not run"
		case fenced[name].Value.Int32() == 1:
			f.id, f.text = "agent.fenced", "the agent "+name+" is fenced off"
			f.command = s.pcp() + " store " + s.hostOption() + words("-i", name, "pmcd.agent.fenced", "0")
		default:
			continue
		}
		if status := code >> 8 & 0xff; status != 0 {
			f.text += fmt.Sprintf(", with exit status %d", status)
		}
		if signal := code >> 16 & 0xff; signal != 0 {
			f.text += fmt.Sprintf(", by signal %d", signal)
		}
		if line, path := s.agentLog(name); line != "" {
			f.text += fmt.Sprintf("; the last line of %s is %q", path, line)
		}
		list = append(list, f)
	}
	return list
}

// checkBPF asks the collector for the modules of the agent bpf.
func checkBPF(ctx context.Context, s *site) []finding {
	states, err := s.values(ctx, "bpf.module.state")
	if err != nil {
		return nil // the agent does not run
	}
	texts := make(map[string]string)
	for name, v := range states {
		if text, ok := v.Value.Text(); ok {
			texts[name] = text
		}
	}
	return s.refusedModules(texts)
}

// refusedModules returns a finding if modules of the agent bpf, by their state, are neither running nor off.
func (s *site) refusedModules(states map[string]string) []finding {
	var refused []string
	reason := ""
	for _, name := range slices.Sorted(maps.Keys(states)) {
		switch states[name] {
		case "running", "off", "":
		default:
			refused = append(refused, name)
			reason = cmp.Or(reason, states[name])
		}
	}
	if len(refused) == 0 {
		return nil
	}
	f := finding{id: "agent.bpf", subject: "bpf", text: fmt.Sprintf("modules of the agent bpf do not run: %s; the first: %s", strings.Join(refused, ", "), reason)}
	f.command = s.pcp() + " info " + s.hostOption() + "-f bpf.module.state"
	const dropIn = "/usr/share/doc/pcp/examples/capabilities/bpf.conf"
	if strings.Contains(reason, "CAP_BPF") && s.host == "" && exists(dropIn) {
		f.command = "install -D -m 644 -t /etc/systemd/system/pcp-pmcd.service.d " + dropIn + " && systemctl daemon-reload && systemctl restart pcp-pmcd"
	}
	return []finding{f}
}

// hostOption is the option -h for commands, with a blank, "" if they need none.
func (s *site) hostOption() string {
	if s.host == "" {
		return ""
	}
	return words("-h", s.host) + " "
}

// reviveAgents is the command that has the collector start its agents again.
func (s *site) reviveAgents() string {
	switch {
	case s.host == "" && s.pmcdPID != 0:
		return fmt.Sprintf("kill -HUP %d", s.pmcdPID)
	case s.host == "" && len(s.running()) > 0:
		return words("tail", filepath.Join(s.running()[0].Dir, "pmcd.log"))
	}
	return s.pcp() + " " + s.hostOption() + "summary"
}

// agentLog returns the last line of an agent's log, and its path.
func (s *site) agentLog(name string) (line, path string) {
	if s.host != "" || s.pmcdPID == 0 || strings.ContainsRune(name, '/') {
		return "", ""
	}
	path = filepath.Join(s.get("PCP_LOG_DIR"), "pmcd", name+".log")
	b, err := readSmall(path)
	if err != nil {
		return "", ""
	}
	lines := strings.Split(string(bytes.TrimSpace(b)), "\n")
	for _, l := range slices.Backward(lines) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "Log finished") {
			return l[:min(len(l), 200)], path
		}
	}
	return "", ""
}

// confPath is the configuration of the collector.
func (s *site) confPath() string {
	if s.pmcdPID != 0 {
		args := s.arguments(s.pmcdPID)
		if i := slices.Index(args, "-c"); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
	}
	return s.get("PCP_PMCDCONF_PATH")
}

// checkAgentConf examines the lines of pmcd.conf.
func checkAgentConf(_ context.Context, s *site) []finding {
	path := s.confPath()
	b, err := readSmall(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && (s.pmcdPID != 0 || s.unit("pmcd")):
		return []finding{{id: "agent.configuration-missing", subject: path, text: path + " does not exist", command: s.pcp() + " agent enable pmcd"}}
	case !s.service() || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return []finding{{id: "agent.configuration-missing", subject: path, text: cli.FileErrText(err), command: words("ls", "-l", path)}}
	}
	edit := `"${EDITOR:-vi}" ` + words(path)
	var list []finding
	file, err := conf.Check(bytes.NewReader(b))
	if ce, ok := errors.AsType[*conf.Error](err); ok && !ce.Harmless || err != nil && !ok {
		text := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", "; ")), " ")
		list = append(list, finding{id: "agent.configuration", subject: path, text: path + ": " + text, command: edit})
	}
	if file == nil {
		return list
	}
	for _, a := range file.Agents {
		if f := s.agentProgram(a, path); f.id != "" {
			f.subject = a.Name
			if f.command == "" {
				f.command = edit
			}
			list = append(list, f)
		}
	}
	return list
}

// agentProgram examines the program of an agent.
func (s *site) agentProgram(a conf.Agent, path string) (f finding) {
	switch {
	case a.Kind == conf.DSO:
		own := slices.ContainsFunc(agent.Builtins(), func(b builtin.Spec) bool { return b.Name == a.Name || b.Domain == a.Domain })
		if own && (s.pmcdPID == 0 || goProgram(s.pmcdPID)) || exists(a.Path) {
			return f
		}
		f.id, f.text = "agent.object-missing", fmt.Sprintf("%s: the object %s of the agent %s does not exist", path, a.Path, a.Name)
	case len(a.Args) > 0:
		program := a.Args[0]
		st, err := os.Stat(program)
		switch {
		case !strings.Contains(program, "/"):
		case errors.Is(err, fs.ErrNotExist):
			f.id, f.text = "agent.program-missing", fmt.Sprintf("%s: the program %s of the agent %s does not exist", path, program, a.Name)
		case err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 == 0:
			f.id, f.text = "agent.program-rights", fmt.Sprintf("%s: the program %s of the agent %s has the permissions %04o", path, program, a.Name, st.Mode().Perm())
			f = f.chmod(program, st.Mode().Perm()|0o111)
		}
	case a.Network == "unix" && !exists(a.Address):
		f.id, f.text = "agent.socket-missing", fmt.Sprintf("%s: the socket %s of the agent %s does not exist", path, a.Address, a.Name)
	}
	return f
}

// checkServices asks the services of this machine that have an agent. A collector of the installation runs only agents that its
// configuration names.
func checkServices(ctx context.Context, s *site) []finding {
	if s.pmcdPID != 0 {
		return nil
	}
	finder := service.NewFinder(agent.Builtins(), builtin.Env{Config: s.conf, HostRoot: s.serviceRoot, Log: slog.New(slog.DiscardHandler)})
	results := finder.Find(ctx)
	var list []finding
	for _, name := range slices.Sorted(maps.Keys(results)) {
		err := results[name]
		if err == nil {
			continue
		}
		f := finding{id: "agent.service", subject: name, text: fmt.Sprintf("the agent %s cannot read its service: %v", name, err)}
		if files := service.Files(s.conf, name); len(files) > 0 {
			f.command = `"${EDITOR:-vi}" ` + words(files[0])
		}
		list = append(list, f)
	}
	return list
}

// checkNames loads the name space.
func checkNames(ctx context.Context, s *site) []finding {
	if !s.service() || !exists(s.confPath()) {
		return nil
	}
	path := pmns.DefaultPath(s.conf)
	if s.pmcdPID != 0 {
		args := s.arguments(s.pmcdPID)
		for _, o := range []string{"-n", "-N"} {
			if i := slices.Index(args, o); i >= 0 && i+1 < len(args) {
				path = args[i+1]
			}
		}
	}
	rebuild := s.pcp() + " ns rebuild"
	if !exists(path) {
		return []finding{{id: "names.missing", subject: path, text: path + " does not exist", command: rebuild}}
	}
	l := pmns.Loader{DupOK: true, Raw: true, Config: s.conf}
	if _, err := l.Load(path); err != nil {
		return []finding{{id: "names.damaged", subject: path, text: strings.TrimSpace(err.Error()), command: rebuild}}
	}
	return nil
}

// checkNVIDIA looks for the program that the agent nvidia starts.
func checkNVIDIA(_ context.Context, s *site) []finding {
	if !nvidia.HasDriver(cmp.Or(s.root, "/")) || nvidia.Program(s.env.Getenv) != "" {
		return nil
	}
	return []finding{{
		id: "agent.gpu-program", subject: "nvidia", text: "NVIDIA's driver is loaded, and there is no program pcp-gpu beside pcp, which reads its cards",
		command: "CGO_ENABLED=0 GOBIN=" + words(s.programDir()) + " go install github.com/go-pcp/pcp/cmd/pcp-gpu@latest",
	}}
}

// programDir returns the directory of this program.
func (s *site) programDir() string {
	self, err := os.Executable()
	if err != nil {
		return "/usr/local/bin"
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	return filepath.Dir(self)
}
