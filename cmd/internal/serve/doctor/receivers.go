package doctor

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmlogger/push"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/fileversion"
)

// receiverChecks look at the servers that programs without a status file send to, or ask. A recorder has a status file: see checkStatus.
func receiverChecks() []check {
	return []check{
		{"the servers of --push, --remote-write and --engine", false, true, checkServers},
		{"the archives to be pushed", false, true, checkPushed},
	}
}

func receiverFaults() []kind {
	return []kind{
		{"receiver.push", fault, "A pmproxy does not accept pushed archives.", "Archives wait on this machine's disk, and are lost when they are removed."},
		{"receiver.unreachable", fault, "A server of an option cannot be reached.", "Samples wait in the archives, or graphs have no answers of the server."},
		{"receiver.behind", warning, "Finished archives are not pushed.", "They are lost when they are removed."},
	}
}

// A caller is a program with its options.
type caller struct {
	name string
	pid  int
	args []string
}

// callers returns the programs that send to servers, or ask them.
func (s *site) callers() []caller {
	var list []caller
	for _, u := range s.running() {
		list = append(list, caller{`"pcp up"`, u.PID, u.args})
	}
	if pid := s.pidFile("pmproxy.pid"); pid != 0 {
		list = append(list, caller{"pmproxy", pid, s.arguments(pid)})
	}
	return list
}

// addresses returns the arguments of an option, which has several with commas between.
func addresses(args []string, name string) []string {
	var list []string
	for _, arg := range option(args, name) {
		for address := range strings.SplitSeq(arg, ",") {
			if address = strings.TrimSpace(address); address != "" {
				list = append(list, address)
			}
		}
	}
	return list
}

// checkServers asks each server whether it accepts archives, or at least connections.
func checkServers(ctx context.Context, s *site) []finding {
	var list []finding
	for _, c := range s.callers() {
		for _, address := range addresses(c.args, "push") {
			if err := s.ping(ctx, c.args, address); err != nil {
				list = append(list, finding{
					id: "receiver.push", subject: address, command: words("curl", "-i", strings.TrimSuffix(address, "/")+"/logger/ping"),
					text: fmt.Sprintf("%s, to which %s (process %d) pushes archives, does not accept them: %s", address, c.name, c.pid, cli.ErrText(err)),
				})
			}
		}
		for _, name := range []string{"remote-write", "engine"} {
			for _, address := range addresses(c.args, name) {
				if err := s.accepts(ctx, address); err != nil {
					list = append(list, finding{
						id: "receiver.unreachable", subject: address, command: words("curl", "-i", address),
						text: fmt.Sprintf("%s, the --%s of %s (process %d), cannot be reached: %v", address, name, c.name, c.pid, err),
					})
				}
			}
		}
	}
	return list
}

// ping asks a pmproxy whether it accepts archives.
func (s *site) ping(ctx context.Context, args []string, address string) error {
	cfg := push.Config{URL: address, Timeout: s.patience}
	if file := option(args, "push-token-file"); len(file) > 0 && filepath.IsAbs(file[0]) {
		token, err := push.ReadToken(file[0])
		if err != nil {
			return err
		}
		cfg.Token = token
	}
	if u, err := url.Parse(address); err == nil && u.Scheme == "https" {
		if cfg.TLS, err = push.TLS(u.Hostname(), s.conf, s.conf.Getenv); err != nil {
			return err
		}
	}
	p, err := push.New(cfg)
	if err != nil {
		return err
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	return p.Ping(ctx)
}

// accepts connects to the server of a URL.
func (s *site) accepts(ctx context.Context, address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return nil // the program has refused it
	}
	port := u.Port()
	if port == "" {
		port = map[bool]string{true: "443", false: "80"}[u.Scheme == "https"]
	}
	conn, err := (&net.Dialer{Timeout: s.patience}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// pushedLate is the time after which a finished archive is pushed, if the receiver accepts it.
const pushedLate = time.Hour

// checkPushed looks for finished archives of "pcp up" that are not pushed.
func checkPushed(_ context.Context, s *site) []finding {
	var list []finding
	own := s.ownArchives()
	for _, dir := range names(own) {
		if len(addresses(own[dir].args, "push")) == 0 {
			continue
		}
		path := filepath.Join(dir, ".pushed")
		var done struct {
			Archives []struct {
				Archive string `json:"archive"`
			} `json:"archives"`
		}
		if b, err := readSmall(path); err == nil && fileversion.Unmarshal(b, fileversion.Pushed, &done) != nil {
			continue // see checkVersions
		}
		n, oldest := 0, s.now
		for i, a := range archivesIn(dir) {
			pushed := slices.ContainsFunc(done.Archives, func(d struct {
				Archive string `json:"archive"`
			},
			) bool {
				return d.Archive == filepath.Base(a.base)
			})
			if i == 0 || pushed || s.now.Sub(a.changed) < pushedLate { // the first one grows
				continue
			}
			if n++; a.changed.Before(oldest) {
				oldest = a.changed
			}
		}
		if n > 0 {
			list = append(list, finding{
				id: "receiver.behind", subject: dir, command: words("tail", filepath.Join(own[dir].Dir, "pmcd.log")),
				text: fmt.Sprintf("%s not pushed, the oldest of which ended %v ago: %s", number(n, "finished archive")+map[bool]string{true: " is", false: " are"}[n == 1], s.now.Sub(oldest).Round(time.Minute), dir),
			})
		}
	}
	return list
}
