package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/derive"
	"github.com/go-pcp/pcp/pcptime"
)

func settingFaults() []kind {
	return []kind{
		{"setting.file", fault, "The file of settings, pcp.conf, cannot be read.", "Commands use built-in paths, and may find other files than the daemons."},
		{"setting.directory", warning, "A setting names a directory that does not exist.", "Files that are expected there are not found."},
		{"setting.value", fault, "A variable of the environment has a wrong value.", "Commands ignore it, or find no collector."},
		{"setting.names", fault, "PMNS_DEFAULT names a file that does not exist.", "Commands that read the name space of a file fail."},
		{"setting.derived", warning, "A file of derived metrics is missing or wrong.", "Its metrics are missing."},
		{"setting.zone", warning, "TZ is not a time zone.", "Commands print times in UTC."},
		{"setting.zone-data", warning, "There is no time zone data.", "Commands print times in UTC, and times of archives of other hosts are shifted."},
		{"setting.socket", fault, "The path of a socket is too long.", "The collector cannot create the socket."},
	}
}

// settingsCheck is the name of the check of pcp.conf, which other checks need.
const settingsCheck = "the settings"

func settingChecks() []check {
	return []check{
		{settingsCheck, false, false, checkSettings},
		{"derived metrics", false, true, checkDerived},
		{"the time zone", false, true, checkZone},
	}
}

// isRefused reports whether an error means that no process listens.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// checkSettings looks at the environment and at pcp.conf.
func checkSettings(_ context.Context, s *site) []finding {
	if err := s.conf.Err(); err != nil {
		return []finding{{id: "setting.file", subject: s.conf.Getenv("PCP_CONF"), text: cli.FileErrText(err), command: "unset PCP_CONF PCP_DIR"}}
	}
	var list []finding
	for _, name := range []string{"PCP_SYSCONF_DIR", "PCP_VAR_DIR", "PCP_SHARE_DIR", "PCP_BINADM_DIR", "PCP_PMDAS_DIR", "PCP_TMPFILE_DIR"} {
		path := s.get(name)
		if !s.conf.Named(name) || path == "" || exists(path) {
			continue
		}
		f := finding{id: "setting.directory", subject: name, text: fmt.Sprintf("%s is %s, which does not exist", name, path)}
		if s.conf.Getenv(name) != "" {
			f.command = "unset " + name
		} else {
			f = f.mkdir(path, 0o755, nil)
		}
		list = append(list, f)
	}
	wrong := func(name, why string) {
		list = append(list, finding{
			id: "setting.value", subject: name, text: fmt.Sprintf("%s is %q, which is not %s", name, s.conf.Getenv(name), why), command: "unset " + name,
		})
	}
	for _, name := range []string{"PMCD_PORT", "PMPROXY_PORT", "PMLOGGER_PORT"} {
		for p := range strings.SplitSeq(s.conf.Getenv(name), ",") {
			if n, err := strconv.Atoi(strings.TrimSpace(p)); p != "" && (err != nil || n <= 0 || n > 65535) {
				wrong(name, "a list of ports")
				break
			}
		}
	}
	for _, name := range []string{"PMCD_CONNECT_TIMEOUT", "PMCD_REQUEST_TIMEOUT", "PMLOGGER_REQUEST_TIMEOUT"} {
		text := strings.TrimSpace(s.conf.Getenv(name))
		if v, err := strconv.ParseFloat(text, 64); text != "" && (err != nil || v < 0) {
			wrong(name, "a number of seconds")
		}
	}
	for v := range strings.SplitSeq(s.conf.Getenv("PMCD_RECONNECT_TIMEOUT"), ",") {
		if n, err := strconv.Atoi(strings.TrimSpace(v)); v != "" && (err != nil || n <= 0) {
			wrong("PMCD_RECONNECT_TIMEOUT", "a list of seconds")
			break
		}
	}
	if path := s.conf.Getenv("PMNS_DEFAULT"); path != "" && !exists(path) {
		list = append(list, finding{id: "setting.names", subject: path, text: fmt.Sprintf("PMNS_DEFAULT is %s, which does not exist", path), command: "unset PMNS_DEFAULT"})
	}
	if path := s.socket(); len(path) >= len(syscall.RawSockaddrUnix{}.Path) {
		list = append(list, finding{
			id: "setting.socket", subject: path, text: fmt.Sprintf("the path of the socket %s has %d bytes, and the system allows %d", path, len(path), len(syscall.RawSockaddrUnix{}.Path)-1),
			command: "export PMCD_SOCKET=/tmp/pmcd.socket",
		})
	}
	return list
}

// checkDerived reads the files of derived metrics.
func checkDerived(_ context.Context, s *site) []finding {
	var list []finding
	for path := range strings.SplitSeq(s.conf.Getenv("PCP_DERIVED_CONFIG"), ":") {
		if path != "" && !exists(path) {
			list = append(list, finding{id: "setting.derived", subject: path, text: "PCP_DERIVED_CONFIG names " + path + ", which does not exist", command: "unset PCP_DERIVED_CONFIG"})
		}
	}
	if len(list) > 0 {
		return list
	}
	var messages []string
	if err := new(derive.Set).LoadInstalled(s.conf); err != nil {
		messages = append(messages, err.Error())
	}
	path := s.conf.Getenv("PCP_DERIVED_CONFIG")
	if path == "" {
		path = filepath.Join(s.get("PCP_VAR_DIR"), "config", "derived")
	}
	for _, m := range messages {
		m = strings.Join(strings.Fields(m), " ")
		list = append(list, finding{id: "setting.derived", subject: "derived metrics", text: m, command: `"${EDITOR:-vi}" ` + words(path)})
	}
	return list
}

// checkZone examines TZ.
func checkZone(_ context.Context, s *site) []finding {
	tz := strings.TrimPrefix(s.conf.Getenv("TZ"), ":")
	data := s.path("/usr/share/zoneinfo")
	entries, err := os.ReadDir(data)
	none := err != nil || len(entries) == 0
	switch {
	case tz == "" || tz == "UTC" || filepath.IsAbs(tz) && exists(tz):
		return nil
	case none:
		return []finding{{id: "setting.zone-data", subject: data, text: fmt.Sprintf("TZ is %q, and %s has no time zones", tz, data), command: "apt-get install tzdata"}}
	case !pcptime.KnownZone(tz):
		return []finding{{id: "setting.zone", subject: tz, text: fmt.Sprintf("TZ is %q, which is not a time zone", tz), command: "unset TZ"}}
	}
	return nil
}
