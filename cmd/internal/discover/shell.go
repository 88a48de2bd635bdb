package discover

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The limits of the output of scripts.
const (
	maxTargets = 1 << 16 // addresses of all scripts
	maxLine    = 256     // bytes; the rest of a longer line is the next one, as in C
)

// scriptEnd limits the time that a script may take to end after the search.
const scriptEnd = time.Second

// shell runs the scripts of a directory, and tries the hosts that they print.
func (s *search) shell(ctx context.Context) []netip.AddrPort {
	c := connection{prefix: "__pmShellProbeDiscoverServices", workers: maxWorkers, timeout: connectTimeout}
	dir, command, ok := s.parseShell(&c)
	if !ok {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var hosts []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || command != "" && command != e.Name() {
			continue
		}
		hosts = append(hosts, script(ctx, filepath.Join(dir, e.Name()), maxTargets-len(hosts))...)
	}
	if len(hosts) == 0 || !s.known {
		return nil
	}
	ports := s.kind.listPorts(s.Config.Getenv)
	return s.connect(ctx, &c, func(yield func(netip.AddrPort) bool) {
		for _, host := range hosts {
			addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
			if err != nil {
				continue
			}
			for _, addr := range addrs {
				for _, port := range ports {
					if !yield(netip.AddrPortFrom(addr.Unmap(), uint16(port))) {
						return
					}
				}
			}
		}
	})
}

// parseShell reads the mechanism.
func (s *search) parseShell(c *connection) (dir, command string, ok bool) {
	dir = filepath.Join(s.Config.Get("PCP_BINADM_DIR"), "discover")
	rest, more := strings.CutPrefix(s.Mechanism, "shell,")
	ok = true
	for more {
		all := rest
		var option string
		option, rest, more = cutOption(all)
		if value, is := strings.CutPrefix(option, "path="); is {
			dir = value
			continue
		}
		if value, is := strings.CutPrefix(option, "command="); is {
			command = value
			continue
		}
		known, well := c.option(s, option, all)
		if !known {
			s.warnf("%s: option '%s' is not valid", c.prefix, all)
		}
		ok = ok && well
	}
	return dir, command, ok
}

// cutOption cuts off the first of several options between commas. A backslash before a
// comma makes it part of the option.
func cutOption(all string) (option, rest string, more bool) {
	var b strings.Builder
	for i := 0; i < len(all); i++ {
		switch {
		case all[i] == '\\' && i+1 < len(all) && all[i+1] == ',':
			i++
			b.WriteByte(',')
		case all[i] == ',':
			return b.String(), all[i+1:], true
		default:
			b.WriteByte(all[i])
		}
	}
	return b.String(), "", false
}

// script runs a script and returns the hosts that it prints, a line each.
func script(ctx context.Context, path string, limit int) []string {
	cmd := exec.CommandContext(ctx, path)
	cmd.WaitDelay = scriptEnd
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return nil
	}
	var hosts []string
	for r := bufio.NewReaderSize(out, maxLine); len(hosts) < limit; {
		line, err := r.ReadSlice('\n')
		if host := strings.TrimSpace(string(line)); host != "" {
			hosts = append(hosts, host)
		}
		if err != nil && err != bufio.ErrBufferFull {
			break
		}
	}
	if len(hosts) >= limit {
		cmd.Process.Kill()
	}
	io.Copy(io.Discard, out)
	cmd.Wait() // the status of a script does not matter
	return hosts
}
