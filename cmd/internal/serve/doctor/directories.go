package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-pcp/pcp/internal/processes"
)

func directoryFaults() []kind {
	return []kind{
		{"directory.missing", fault, "A directory of the daemons is missing.", "Daemons cannot write their files, and do not start."},
		{"directory.open", warning, "Every user may write to a directory of the daemons.", "Any user may replace files that daemons use."},
		{"directory.read-only", fault, "The owner of a directory of the daemons may not write to it.", "Daemons cannot write their files."},
		{"directory.owner", fault, "A directory of the daemons belongs to another user.", "Daemons cannot write their files."},
		{"directory.user", fault, "The user of the daemons does not exist.", "Daemons do not start, or run as root."},
		{"state.open", warning, "Other users may read the state directory of \"pcp up\".", "Recordings show them processes and their arguments."},
		{"state.token", fault, "Other users may read the token of the page.", "They have your rights on the page."},
		{"state.owner", fault, "A file in the state directory of \"pcp up\" belongs to another user.", "\"pcp up\" cannot write it. This happens after it has run once with sudo."},
		{"state.version", fault, "A later release wrote a file.", "This release neither uses nor changes it, and begins without its contents."},
		{"leftover.pid", warning, "A process ID file names a process that has ended.", "Start scripts may take another process for the daemon."},
		{"leftover.socket", warning, "No process serves a socket.", "Programs that try it first lose time, and a daemon may fail to start."},
		{"leftover.lock", warning, "A lock file in a directory of archives is old.", "The nightly maintenance waits for it."},
		{"leftover.map", warning, "A file describes a logger or rule engine that has ended.", "Commands list programs that do not run."},
		{"leftover.announcement", warning, "A file describes a collector of \"pcp up\" that has ended.", "Each command tries it."},
	}
}

func directoryChecks() []check {
	return []check{
		{"the directories of daemons", false, false, checkDirectories},
		{"the state directory", false, false, checkState},
		{"the versions of files", false, false, checkVersions},
		{"files of ended processes", false, true, checkLeftovers},
	}
}

// checkDirectories looks at the directories in which daemons write.
func checkDirectories(_ context.Context, s *site) []finding {
	if !s.service() {
		return nil
	}
	var list []finding
	o := s.owner()
	if name := s.get("PCP_USER"); o == nil {
		list = append(list, finding{
			id: "directory.user", subject: name, text: fmt.Sprintf("there is no user %q or no group %q", name, s.get("PCP_GROUP")),
			command: words("useradd", "--system", "--user-group", "--no-create-home", name),
		})
	}
	for _, path := range []string{s.get("PCP_RUN_DIR"), s.get("PCP_LOG_DIR"), filepath.Join(s.get("PCP_LOG_DIR"), "pmcd"), s.get("PCP_ARCHIVE_DIR"), s.get("PCP_TMP_DIR")} {
		st, err := os.Stat(path)
		if err != nil {
			list = append(list, finding{id: "directory.missing", subject: path, text: fmt.Sprintf("the directory %s does not exist", path)}.mkdir(path, 0o775, o))
			continue
		}
		mode := st.Mode()
		switch {
		case mode.Perm()&0o002 != 0 && mode&fs.ModeSticky == 0:
			f := finding{id: "directory.open", subject: path, text: fmt.Sprintf("the directory %s has the permissions %04o", path, mode.Perm())}
			list = append(list, f.chmod(path, mode.Perm()&^0o002))
		case mode.Perm()&0o200 == 0:
			f := finding{id: "directory.read-only", subject: path, text: fmt.Sprintf("the directory %s has the permissions %04o", path, mode.Perm())}
			list = append(list, f.chmod(path, mode.Perm()|0o700))
		}
		if uid, ok := ownerOf(st); ok && o != nil && uid != 0 && uid != o.uid {
			list = append(list, finding{
				id: "directory.owner", subject: path, text: fmt.Sprintf("the directory %s belongs to %s", path, userName(uid)),
				command: words("chown", o.user+":"+o.group, path),
			})
		}
	}
	return list
}

// ownerOf returns the user who owns a file.
func ownerOf(st fs.FileInfo) (uid int, ok bool) {
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(sys.Uid), true
}

func userName(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return "the user " + u.Username
	}
	return "the user id " + strconv.Itoa(uid)
}

// stateDirs returns the state directories of "pcp up".
func (s *site) stateDirs() []string {
	if s.host != "" {
		return nil
	}
	var list []string
	for _, u := range s.running() {
		list = append(list, u.Dir)
	}
	if dir := s.conf.StateDir(); dir != "" && exists(filepath.Join(dir, "lock")) {
		for _, d := range list {
			if d == dir {
				return list
			}
		}
		list = append(list, dir)
	}
	return list
}

// checkState looks at the permissions in state directories.
func checkState(_ context.Context, s *site) []finding {
	var list []finding
	for _, dir := range s.stateDirs() {
		st, err := os.Stat(dir)
		if err != nil {
			continue
		}
		if st.Mode().Perm()&0o077 != 0 {
			f := finding{id: "state.open", subject: dir, text: fmt.Sprintf("the state directory %s has the permissions %04o", dir, st.Mode().Perm())}
			list = append(list, f.chmod(dir, 0o700))
		}
		token := filepath.Join(dir, "page-token")
		if st, err := os.Stat(token); err == nil && st.Mode().Perm()&0o077 != 0 {
			f := finding{id: "state.token", subject: token, text: fmt.Sprintf("%s has the permissions %04o", token, st.Mode().Perm())}
			list = append(list, f.chmod(token, 0o600))
		}
		uid, ok := ownerOf(st)
		entries, err := os.ReadDir(dir)
		if !ok || err != nil {
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if err != nil {
				continue
			}
			if other, ok := ownerOf(info); ok && other != uid {
				path := filepath.Join(dir, e.Name())
				list = append(list, finding{
					id: "state.owner", subject: path, text: fmt.Sprintf("%s belongs to %s, and the directory to %s", path, userName(other), userName(uid)),
					command: words("chown", "-R", strconv.Itoa(uid), path),
				})
			}
		}
	}
	return list
}

// staleLock is the age from which a lock in a directory of archives is left over.
const staleLock = 2 * time.Hour

// checkLeftovers looks for files of processes that have ended.
func checkLeftovers(ctx context.Context, s *site) []finding {
	var list []finding
	for _, u := range s.ups {
		if !u.alive {
			f := finding{id: "leftover.announcement", subject: u.file, text: fmt.Sprintf("%s describes process %d, which has ended", u.file, u.PID)}
			list = append(list, f.remove(u.file))
		}
	}
	run := s.get("PCP_RUN_DIR")
	for _, name := range []string{"pmcd", "pmproxy", "pmlogger", "pmie"} {
		path := filepath.Join(run, name+".pid")
		b, err := readSmall(path)
		if err != nil {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil && pid > 0 && processes.Exists(pid) && s.runs(pid, name) {
			continue
		}
		f := finding{id: "leftover.pid", subject: path, text: fmt.Sprintf("%s names the process %.20q, which is not a %s", path, strings.TrimSpace(string(b)), name)}
		list = append(list, f.remove(path))
	}
	sockets, err := filepath.Glob(filepath.Join(run, "*.socket"))
	if err != nil {
		sockets = nil
	}
	for _, dir := range s.stateDirs() {
		sockets = append(sockets, filepath.Join(dir, "pmcd.socket"))
	}
	for _, path := range sockets {
		st, err := os.Lstat(path)
		if ctx.Err() != nil || err != nil || st.Mode()&fs.ModeSocket == 0 || !refused(path) {
			continue
		}
		f := finding{id: "leftover.socket", subject: path, text: fmt.Sprintf("no process serves the socket %s", path)}
		list = append(list, f.remove(path))
	}
	locks, err := filepath.Glob(filepath.Join(s.get("PCP_ARCHIVE_DIR"), "*", "lock"))
	if err != nil {
		locks = nil
	}
	for _, path := range locks {
		st, err := os.Lstat(path)
		if err != nil || !st.Mode().IsRegular() || s.now.Sub(st.ModTime()) < staleLock {
			continue
		}
		f := finding{id: "leftover.lock", subject: path, text: fmt.Sprintf("the lock %s is %v old", path, s.now.Sub(st.ModTime()).Round(time.Minute))}
		list = append(list, f.remove(path))
	}
	for _, program := range []string{"pmlogger", "pmie"} {
		dir := filepath.Join(s.get("PCP_TMP_DIR"), program)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid <= 0 || processes.Exists(pid) || !e.Type().IsRegular() {
				continue
			}
			path := filepath.Join(dir, e.Name())
			f := finding{id: "leftover.map", subject: path, text: fmt.Sprintf("%s describes a %s that has ended", path, program)}
			list = append(list, f.remove(path))
		}
	}
	return together(list)
}

// together joins findings of one kind, of which there may be hundreds after a crash.
func together(list []finding) []finding {
	var joined []finding
	for _, f := range list {
		i := slices.IndexFunc(joined, func(j finding) bool { return j.id == f.id })
		if i < 0 {
			joined = append(joined, f)
			continue
		}
		first := joined[i]
		first.more++
		first.command += strings.TrimPrefix(f.command, "rm")
		one := first.fix
		first.fix = func(ctx context.Context, s *site) (string, error) {
			done, err := one(ctx, s)
			next, nextErr := f.fix(ctx, s)
			return done + ", " + next, errors.Join(err, nextErr)
		}
		joined[i] = first
	}
	for i := range joined {
		if n := joined[i].more; n > 0 {
			joined[i].text += fmt.Sprintf("; and %d more like it", n)
		}
	}
	return joined
}

// refused reports whether no process serves a socket.
func refused(path string) bool {
	conn, err := net.DialTimeout("unix", path, 200*time.Millisecond)
	if err == nil {
		conn.Close()
		return false
	}
	return isRefused(err)
}
