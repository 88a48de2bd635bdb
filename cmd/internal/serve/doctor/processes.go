package doctor

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A process is a daemon or an agent of PCP.
type process struct {
	pid  int
	name string // pmcd, pmdalinux, "pcp up"
	args []string
}

// pcpProgram reports whether a program has a name of PCP.
func pcpProgram(name string) bool {
	return name == "pcp" || strings.HasPrefix(name, "pm") && (strings.HasPrefix(name, "pmda") || slices.Contains([]string{"pmcd", "pmlogger", "pmie", "pmproxy", "pmlogger_farm", "pmie_farm"}, name))
}

// daemons of "pcp NAME" under its own name.
var daemons = []string{"up", "pmcd", "proxy", "logger", "ie", "record"}

// readProcesses finds the daemons and agents of PCP.
func (s *site) readProcesses() []process {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var list []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		comm, err := os.ReadFile(filepath.Join("/proc", e.Name(), "comm"))
		name := string(bytes.TrimSpace(comm))
		if err != nil || !pcpProgram(name) {
			continue
		}
		args := s.arguments(pid)
		if name == "pcp" {
			if len(args) < 2 || !slices.Contains(daemons, args[1]) {
				continue
			}
			name = "pcp " + args[1]
		}
		list = append(list, process{pid, name, args})
	}
	return list
}

// listener returns the program that has the TCP port of the collector on this machine, "" if that is
// unknown. The caller has the mutex.
func (s *site) listener() (name string, pid int) {
	for _, a := range s.tried {
		if a.err != nil || a.network == "unix" {
			continue
		}
		host, port, err := net.SplitHostPort(a.address)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			continue
		}
		n, err := strconv.Atoi(port)
		if err != nil {
			continue
		}
		return holder(n)
	}
	return "", 0
}

// holder returns the program that listens at a TCP port.
func holder(port int) (name string, pid int) {
	inodes := make(map[string]bool)
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		for _, l := range listeners(file) {
			if l.port == port {
				inodes["socket:["+l.inode+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return "", 0
	}
	links, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return "", 0
	}
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && inodes[to] {
			dir := filepath.Dir(filepath.Dir(link))
			comm, err := os.ReadFile(filepath.Join(dir, "comm"))
			if err != nil {
				continue
			}
			pid, err := strconv.Atoi(filepath.Base(dir))
			if err != nil {
				continue
			}
			return string(bytes.TrimSpace(comm)), pid
		}
	}
	return "", 0
}

// A listening is a TCP socket that listens.
type listening struct {
	ip    net.IP
	port  int
	inode string
}

// listeners reads /proc/net/tcp or tcp6.
func listeners(file string) []listening {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	var list []listening
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 10 || f[3] != "0A" {
			continue
		}
		address, hexPort, ok := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(hexPort, 16, 16)
		ip, hexErr := hex.DecodeString(address)
		if !ok || err != nil || hexErr != nil || len(ip)%4 != 0 {
			continue
		}
		for i := 0; i+4 <= len(ip); i += 4 { // words in the byte order of the host, which is little-endian
			slices.Reverse(ip[i : i+4])
		}
		list = append(list, listening{ip, int(port), f[9]})
	}
	return list
}
