package doctor

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/internal/processes"
	"github.com/go-pcp/pcp/pmapi"
)

// A site is an installation to be checked.
type site struct {
	env  *cli.Env
	conf *config.Config
	root string    // of files of the kernel and of the system, "" for those of this machine
	now  time.Time // by the clock of the site, at made
	made time.Time
	host string // of -h, "" for this machine

	patience time.Duration                                   // with a collector
	reach    func(ctx context.Context, address string) error // connects by TCP
	mounts   func() string                                   // the table of mounts
	stat     func(path string) error
	each     time.Duration // limit of a check

	ups     []up // collectors that "pcp up" started for this user, also ended ones
	pmcdPID int  // process of the installation's collector, 0 if it does not run
	procs   func() []process
	// serviceRoot is the directory of the processes of services, as of their files.
	serviceRoot string

	mu      sync.Mutex
	network string // of the collector that answers
	address string
	tried   []attempt
	link    *pmapi.Context // nil if there is none
	linkErr error
	took    time.Duration // until the connection was made
}

// An attempt is an address where a collector was looked for.
type attempt struct {
	network, address string
	err              error
}

// An up is a collector that "pcp up" announced.
type up struct {
	cli.Running
	file  string // that describes it
	alive bool
	args  []string // of its process
}

// An owner is the user who owns the directories of daemons.
type owner struct {
	user, group string
	uid, gid    int
}

const (
	defaultPatience = 3 * time.Second
	defaultEach     = 8 * time.Second
)

func newSite(env *cli.Env, host string) *site {
	s := &site{env: env, conf: env.Config(), now: time.Now(), made: time.Now(), host: host, patience: defaultPatience, each: defaultEach, reach: dialTCP, mounts: mountTable, stat: statPath}
	s.procs = sync.OnceValue(s.readProcesses)
	s.serviceRoot = hostroot.Of(s.conf.Get)
	if host == "" {
		s.ups = s.readUps()
		if s.pmcdPID = s.pidFile("pmcd.pid"); s.pmcdPID == 0 {
			s.pmcdPID = s.socketPID(s.socket())
		}
	}
	return s
}

func (s *site) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil {
		s.link.Close()
	}
}

// get returns a setting of pcp.conf.
func (s *site) get(name string) string { return s.conf.Get(name) }

// path is a path of the system in the site.
func (s *site) path(p string) string { return filepath.Join(s.root+"/", p) }

// pcp is how users call this program.
func (s *site) pcp() string { return s.env.Pcp() }

// readSmall reads a file of bounded size.
func readSmall(path string) ([]byte, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	const most = 16 << 20
	switch {
	case st.IsDir() || !st.Mode().IsRegular():
		return nil, &os.PathError{Op: "read", Path: path, Err: errNotFile}
	case st.Size() > most:
		return nil, &os.PathError{Op: "read", Path: path, Err: errLarge}
	}
	return os.ReadFile(path)
}

var (
	errNotFile = fmt.Errorf("not a regular file")
	errLarge   = fmt.Errorf("larger than 16 MB")
)

// readUps finds the collectors of "pcp up".
func (s *site) readUps() []up {
	dir := s.conf.StateDir()
	if dir == "" {
		return nil
	}
	files, err := filepath.Glob(filepath.Join(dir, "collectors", "*.json"))
	if err != nil {
		return nil
	}
	var list []up
	for _, path := range files {
		b, err := readSmall(path)
		if err != nil {
			continue
		}
		u := up{file: path}
		err = fileversion.Unmarshal(b, fileversion.Announcement, &u.Running)
		if fileversion.IsNewer(err) {
			continue // see checkVersions
		}
		if err == nil && processes.Exists(u.PID) {
			u.args = s.arguments(u.PID)
			u.alive = slices.Contains(u.args, "up")
		}
		list = append(list, u)
	}
	return list
}

// running returns the collectors of "pcp up" that run.
func (s *site) running() []up {
	return slices.DeleteFunc(slices.Clone(s.ups), func(u up) bool { return !u.alive })
}

// option returns the arguments of an option of a command line, "" for one without argument.
func option(args []string, name string) []string {
	var list []string
	for i, a := range args {
		if a == "--"+name {
			list = append(list, "")
			if i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				list[len(list)-1] = args[i+1]
			}
		} else if v, ok := strings.CutPrefix(a, "--"+name+"="); ok {
			list = append(list, v)
		}
	}
	return list
}

// arguments returns the command line of a process.
func (s *site) arguments(pid int) []string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// pidFile returns the process in a file of PCP_RUN_DIR, 0 if it does not run.
func (s *site) pidFile(name string) int {
	b, err := readSmall(filepath.Join(s.get("PCP_RUN_DIR"), name))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b)))
	if err != nil || pid <= 0 || !s.runs(pid, strings.TrimSuffix(name, ".pid")) {
		return 0
	}
	return pid
}

// socket is the Unix socket of the installation's collector.
func (s *site) socket() string {
	if path := s.conf.Getenv("PMCD_SOCKET"); path != "" {
		return path
	}
	return filepath.Join(s.get("PCP_RUN_DIR"), "pmcd.socket")
}

// runs reports whether a process is one of a program, by either of its names.
func (s *site) runs(pid int, program string) bool {
	args := s.arguments(pid)
	if len(args) == 0 {
		return false
	}
	base := filepath.Base(args[0])
	return base == program || len(args) > 1 && base == "pcp" && (args[1] == program || "pm"+args[1] == program)
}

// service reports whether the site has daemons of an installation to check: they run, or nothing else does.
func (s *site) service() bool {
	if s.host != "" {
		return false
	}
	return s.pmcdPID != 0 || len(s.running()) == 0 && exists(s.get("PCP_PMCDCONF_PATH"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// owner returns the user of the installation's daemons, nil if it is unknown.
func (s *site) owner() *owner {
	u, err := user.Lookup(s.get("PCP_USER"))
	if err != nil {
		return nil
	}
	g, err := user.LookupGroup(s.get("PCP_GROUP"))
	if err != nil {
		return nil
	}
	o := &owner{user: u.Username, group: g.Name}
	if o.uid, err = strconv.Atoi(u.Uid); err != nil {
		return nil
	}
	if o.gid, err = strconv.Atoi(g.Gid); err != nil {
		return nil
	}
	return o
}

// connect returns a connection to the collector. It tries once, until close.
func (s *site) connect(ctx context.Context) (*pmapi.Context, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != nil || s.linkErr != nil {
		return s.link, s.linkErr
	}
	spec := s.host
	if spec == "" {
		spec = "local:"
	}
	d := pmapi.Dialer{Config: s.conf, ConnectTimeout: s.patience, RequestTimeout: s.patience, Reconnect: []time.Duration{}}
	d.OwnSocket = s.conf.OwnSocket()
	d.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		s.tried = append(s.tried, attempt{network, address, err})
		return conn, err
	}
	start := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 2*s.patience)
	defer cancel()
	s.link, s.linkErr = d.Dial(ctx, spec)
	if s.linkErr != nil && s.host == "" && !s.reached() {
		// A collector that commands find with -h is better than none.
		for _, u := range s.running() {
			link, err := d.Dial(ctx, "unix:"+u.Socket)
			if err == nil {
				s.link, s.linkErr = link, nil
				break
			}
		}
	}
	s.took = time.Since(start)
	for _, a := range s.tried {
		if a.err == nil {
			s.network, s.address = a.network, a.address
		}
	}
	return s.link, s.linkErr
}

// dialAgain makes another connection to the collector.
func (s *site) dialAgain(ctx context.Context) (*pmapi.Context, error) {
	s.mu.Lock()
	spec := s.where()
	s.mu.Unlock()
	d := pmapi.Dialer{Config: s.conf, ConnectTimeout: s.patience, RequestTimeout: s.patience, Reconnect: []time.Duration{}}
	return d.Dial(ctx, spec)
}

// reached reports whether something accepted a connection. The caller has the mutex.
func (s *site) reached() bool {
	return slices.ContainsFunc(s.tried, func(a attempt) bool { return a.err == nil })
}

// values returns the values of metrics of the collector by instance.
func (s *site) values(ctx context.Context, metric string) (map[string]pmapi.MetricValue, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	list := make(map[string]pmapi.MetricValue)
	for v, err := range c.Values(ctx, metric) {
		if err != nil {
			return list, err
		}
		list[v.Instance] = v
	}
	return list, nil
}
