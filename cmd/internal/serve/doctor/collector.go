package doctor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/tlsconf"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmns"
)

func collectorFaults() []kind {
	return []kind{
		{"collector", note, "The collector answers.", ""},
		{"collector.unreachable", fault, "No collector answers.", "No command sees current values, and nothing is recorded."},
		{"collector.hangs", fault, "The collector accepts connections but does not answer in time.", "Commands wait for it, and recordings have gaps."},
		{"collector.refuses", fault, "Access rules of the collector reject this client.", "Commands of this user fail."},
		{"collector.full", fault, "The collector has as many clients as its access rules allow.", "Further commands and recorders are rejected."},
		{"collector.foreign", fault, "Another program has the port of the collector.", "Commands cannot talk to it, and no collector can use the port."},
		{"collector.broken", fault, "The program at the address does not answer as a collector.", "Commands that use this address fail."},
		{"collector.address", fault, "The address of the collector is wrong.", "Commands find no collector there."},
		{"collector.tls", fault, "TLS with the collector fails.", "Commands that require encryption fail."},
		{"collector.slow", warning, "The collector takes more than a second to answer.", "Commands are slow, and samples at short intervals are missed."},
		{"collector.empty", fault, "The collector has no names of metrics.", "No command sees a metric."},
		{"collector.socket-rights", warning, "Other users cannot connect to the collector's socket.", "The collector takes them for anonymous clients and shows them no processes."},
		{"collector.version", warning, "The running collector is of another version than the installed program.", "It lacks what the installed version corrects."},
		{"collector.two", warning, "Two collectors run.", "Commands that find different collectors show different values."},
	}
}

func collectorChecks() []check {
	return []check{
		{"the collector", true, false, checkCollector},
		{"its socket", false, true, checkSocket},
		{"its version", false, true, checkVersion},
		{"other collectors", false, true, checkTwo},
	}
}

// slow is the time within which a collector usually answers.
const slow = time.Second

// checkCollector connects to the collector and asks for the names at the root.
func checkCollector(ctx context.Context, s *site) []finding {
	c, err := s.connect(ctx)
	if err != nil {
		return []finding{s.whyNot(err)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	start := time.Now()
	asking, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	children, err := c.Children(asking, "")
	took := s.took + time.Since(start)
	children = slices.DeleteFunc(children, func(c pmns.Child) bool { return c.Name == "event" }) // every client has event.flags and event.missed
	at := s.where()
	switch {
	case errors.Is(err, pcp.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil:
		return []finding{{id: "collector.hangs", subject: at, text: fmt.Sprintf("the collector at %s does not answer within %v", at, s.patience), command: s.restart()}}
	case err == nil && len(children) == 0 || errors.Is(err, pcp.ErrNoPMNS) || errors.Is(err, pcp.ErrPMNS):
		return []finding{{id: "collector.empty", subject: at, text: "the collector at " + at + " has no names of metrics", command: s.restart()}}
	case err != nil:
		return []finding{{id: "collector.broken", subject: at, text: fmt.Sprintf("the collector at %s: %v", at, err), command: s.restart()}}
	}
	list := []finding{{id: "collector", subject: "Collector", text: fmt.Sprintf("%s answers in %v, with the rights of %s", at, took.Round(10*time.Microsecond), s.rights())}}
	if took > slow {
		list = append(list, finding{
			id: "collector.slow", subject: at, text: fmt.Sprintf("the collector at %s takes %v to answer", at, took.Round(time.Millisecond)),
			command: s.pcp() + " top",
		})
	}
	return list
}

// rights describes whom the collector takes this client for.
func (s *site) rights() string {
	if s.network == "unix" {
		return "user id " + strconv.Itoa(os.Geteuid())
	}
	return "an anonymous client"
}

// where is the address of the collector. The caller has the mutex.
func (s *site) where() string {
	if s.network == "unix" {
		return "unix:" + s.address
	}
	if s.address != "" {
		return s.address
	}
	return s.hostName()
}

func (s *site) hostName() string {
	if s.host == "" {
		return "this machine"
	}
	return pmapi.HidePassword(s.host)
}

// start is the command that starts the collector.
func (s *site) start() string {
	switch {
	case s.host != "":
		return s.pcp() + " up --all"
	case s.unit("pmcd"):
		return "systemctl start pmcd"
	case exists(s.get("PCP_PMCDCONF_PATH")):
		return s.pcp() + " service start pmcd"
	}
	return s.pcp() + " up"
}

// restart is the command that starts the collector once more.
func (s *site) restart() string {
	switch {
	case s.host == "" && s.unit("pmcd"):
		return "systemctl restart pmcd"
	case s.host == "" && s.pmcdPID != 0:
		return s.pcp() + " service restart pmcd"
	}
	return s.start()
}

// unit reports whether systemd runs and starts a daemon with the machine.
func (s *site) unit(name string) bool {
	if !exists(s.path("/run/systemd/system")) {
		return false
	}
	list, err := filepath.Glob(s.path("/etc/systemd/system/*.wants/" + name + ".service"))
	return err == nil && len(list) > 0
}

// whyNot classifies an error of connecting. The caller does not have the mutex.
func (s *site) whyNot(err error) finding {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := finding{id: "collector.unreachable", subject: s.hostName(), command: s.start()}
	cause := err
	if de, ok := errors.AsType[*pmapi.DialError](err); ok && de.Err != nil {
		cause = de.Err
	}
	at, answered := s.hostName(), false
	for _, a := range s.tried {
		if a.err == nil {
			at, answered = a.where(), true
		}
	}
	_, badTLS := errors.AsType[*pmapi.TLSError](err)
	_, badSpec := errors.AsType[*pmapi.SpecError](err)
	var dns *net.DNSError
	switch {
	case badSpec || errors.As(err, &dns):
		f.id, f.text = "collector.address", fmt.Sprintf("the address of the collector is wrong: %s", cli.ErrText(cause))
		if s.host == "" {
			f.command = "unset PMCD_HOST PMCD_PORT PMCD_SOCKET"
		} else {
			f.command = s.pcp() + " find"
		}
	case answered && strings.HasPrefix(s.host, "pcps://") && errors.Is(err, syscall.EOPNOTSUPP):
		f.id, f.text, f.command = "collector.tls", "TLS with the collector at "+at+" fails: the collector does not offer it", `"${EDITOR:-vi}" `+words(tlsconf.Path(s.conf))
	case badTLS || errors.Is(err, pcp.ErrTLS) || errors.Is(err, pcp.ErrNeedClientCert):
		f.id, f.text, f.command = "collector.tls", fmt.Sprintf("TLS with the collector at %s fails: %v", at, cause), `"${EDITOR:-vi}" `+words(tlsconf.Path(s.conf))
	case answered && errors.Is(err, pcp.ErrConnLimit):
		f.id, f.text, f.command = "collector.full", "the collector at "+at+" has as many clients as its access rules allow", s.pcp()+" info -f pmcd.client.whoami"
	case answered && errors.Is(err, pcp.ErrPermission):
		f.id, f.text = "collector.refuses", "the collector at "+at+" does not admit this client"
		f.command = `"${EDITOR:-vi}" ` + words(s.get("PCP_PMCDCONF_PATH"))
	case answered:
		if name, pid := s.listener(); s.host == "" && name != "" && !pcpProgram(name) {
			f.id, f.text = "collector.foreign", fmt.Sprintf("%s is in use by the program %s (process %d), which is not a collector", at, name, pid)
			f.command = s.pcp() + " up --port 44399"
			break
		}
		if errors.Is(err, pcp.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded) {
			f.id, f.text, f.command = "collector.hangs", fmt.Sprintf("the program at %s accepts connections but does not answer within %v", at, s.patience), s.restart()
			break
		}
		f.id, f.text, f.command = "collector.broken", fmt.Sprintf("the program at %s does not answer as a collector: %s", at, cli.ErrText(cause)), s.restart()
	default:
		var why []string
		for _, a := range s.tried {
			why = append(why, a.where()+": "+a.why())
		}
		f.text = "no collector answers on " + s.hostName()
		if len(why) > 0 {
			f.text += " (" + strings.Join(slices.Compact(why), "; ") + ")"
		} else {
			f.text += " (" + cli.ErrText(cause) + ")"
		}
	}
	return f
}

func (a attempt) where() string {
	if a.network == "unix" {
		return "socket " + a.address
	}
	return a.address
}

func (a attempt) why() string {
	var errno syscall.Errno
	switch {
	case errors.Is(a.err, context.DeadlineExceeded) || errors.Is(a.err, os.ErrDeadlineExceeded):
		return "no answer"
	case errors.As(a.err, &errno):
		return errno.Error()
	}
	return a.err.Error()
}

// checkSocket looks at the rights of the collector's socket: the directory is world-readable and
// all users connect to it.
func checkSocket(ctx context.Context, s *site) []finding {
	if s.pmcdPID == 0 {
		return nil
	}
	path := s.socket()
	st, err := os.Lstat(path)
	if err != nil || st.Mode()&os.ModeSocket == 0 || st.Mode().Perm()&0o006 == 0o006 {
		return nil
	}
	f := finding{id: "collector.socket-rights", subject: path, text: fmt.Sprintf("the socket %s has the permissions %04o, so that other users cannot connect", path, st.Mode().Perm())}
	return []finding{f.chmod(path, 0o777)}
}

// checkVersion compares the version of the collector with that of this program.
func checkVersion(ctx context.Context, s *site) []finding {
	if _, err := s.connect(ctx); err != nil {
		return nil
	}
	v, err := s.values(ctx, "pmcd.version")
	if err != nil || len(v) != 1 {
		return nil
	}
	for _, value := range v {
		version, _ := value.Value.Text()
		// A collector of PCP in C has the version of its own release.
		if !s.ours() {
			return s.otherVersion(version)
		}
		if version == s.env.Version {
			return nil
		}
		return []finding{{
			id: "collector.version", subject: version, text: fmt.Sprintf("the running collector is version %s, and the installed program version %s", version, s.env.Version),
			command: s.restart(),
		}}
	}
	return nil
}

// otherVersion compares the version of a collector in C with that of its installation.
func (s *site) otherVersion(version string) []finding {
	installed := s.get("PCP_VERSION")
	if s.pmcdPID == 0 || installed == "" || version == "" || version == installed {
		return nil
	}
	return []finding{{
		id: "collector.version", subject: version, command: s.restart(),
		text: fmt.Sprintf("the running collector is version %s, and the installed one, in pcp.conf, version %s", version, installed),
	}}
}

// ours reports whether the collector is one of this implementation.
func (s *site) ours() bool {
	s.mu.Lock()
	network, address := s.network, s.address
	s.mu.Unlock()
	for _, u := range s.running() {
		if u.Serves(network, address) {
			return true
		}
	}
	if s.pmcdPID == 0 {
		return false
	}
	return goProgram(s.pmcdPID)
}

// goProgram reports whether a process runs a program with several names, as this one.
func goProgram(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	return ownProgram(strings.TrimSuffix(exe, " (deleted)"))
}

// ownProgram reports whether a file is this program, perhaps in another version.
func ownProgram(path string) bool {
	if own, err := os.Executable(); err == nil && own == path {
		return true
	}
	base := filepath.Base(path)
	return base == "pcp" || strings.HasPrefix(base, "pcp-go")
}

// checkTwo looks for a second collector.
func checkTwo(_ context.Context, s *site) []finding {
	running := s.running()
	if s.pmcdPID == 0 || len(running) == 0 || s.get("PMCD_SOCKET") != "" {
		return nil
	}
	return []finding{{
		id: "collector.two", subject: strconv.Itoa(running[0].PID),
		text: fmt.Sprintf("two collectors run: pmcd (process %d), and the one of \"pcp up\" (process %d), which commands reach with -h %s",
			s.pmcdPID, running[0].PID, running[0].Host()),
		command: fmt.Sprintf("kill -TERM %d", running[0].PID),
	}}
}

// names returns the names of a set in order.
func names[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
