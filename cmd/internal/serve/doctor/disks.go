package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

func diskFaults() []kind {
	return []kind{
		{"disk.full", fault, "A file system is full.", "Nothing is recorded, and daemons cannot write their logs."},
		{"disk.inodes", fault, "A file system has no room for more files.", "No archive can begin, and daemons do not start."},
		{"disk.read-only", fault, "A file system is mounted read-only.", "Nothing is recorded, and daemons do not start."},
		{"disk.filling", warning, "Archives will fill a file system within two weeks.", "Recording will stop on that day, unless archives are removed earlier."},
	}
}

func diskChecks() []check {
	return []check{{"the disks", false, false, checkDisks}}
}

const (
	fullBytes = 8 << 20 // less is full
	fullPart  = 200     // and less than this part of the file system
	soon      = 14 * 24 * time.Hour
	keepDays  = 14 // of pmlogger_daily
	ownDays   = 7  // of "pcp up"
	ownBytes  = 1 << 30
)

// checkDisks looks at the file systems with the files of daemons.
func checkDisks(_ context.Context, s *site) []finding {
	var list []finding
	var seen []volume
	places := s.archiveDirs()
	if s.service() {
		places = append(places, s.get("PCP_RUN_DIR"), s.get("PCP_LOG_DIR"), s.get("PCP_TMP_DIR"))
	}
	places = append(places, s.stateDirs()...)
	for _, dir := range places {
		v := volumeOf(dir)
		if v.unknown || !exists(dir) || contains(seen, v) {
			continue
		}
		seen = append(seen, v)
		room := words("du", "-xsh", dir)
		switch {
		case v.readOnly:
			list = append(list, finding{id: "disk.read-only", subject: dir, text: fmt.Sprintf("the file system of %s is mounted read-only", dir), command: "mount -o remount,rw " + words(mountOf(dir))})
		case v.size > 0 && v.free < fullBytes && v.free < v.size/fullPart:
			list = append(list, finding{id: "disk.full", subject: dir, text: fmt.Sprintf("the file system of %s has %s left of %s", dir, cli.Bytes(v.free), cli.Bytes(v.size)), command: room})
		case v.files > 0 && v.freeFiles < 16 && v.freeFiles < v.files/fullPart+1:
			list = append(list, finding{id: "disk.inodes", subject: dir, text: fmt.Sprintf("the file system of %s has room for %d more files", dir, v.freeFiles), command: room})
		default:
			if f := s.filling(v, dir); f.id != "" {
				list = append(list, f)
			}
		}
	}
	return list
}

func contains(list []volume, v volume) bool {
	for _, w := range list {
		if w.device == v.device {
			return true
		}
	}
	return false
}

// mountOf returns the mount point of a directory.
func mountOf(dir string) string {
	b, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return dir
	}
	best := "/"
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) > 1 && len(f[1]) > len(best) && (dir == f[1] || strings.HasPrefix(dir, f[1]+"/")) {
			best = f[1]
		}
	}
	return best
}

// A growth is the growth of archives in a file system.
type growth struct {
	total   int64         // bytes
	daily   int64         // bytes of a day
	history time.Duration // since the oldest archive
}

// growthOf measures directories by the times of their files.
func (s *site) growthOf(dirs []string) growth {
	var g growth
	const week = 7 * 24 * time.Hour
	oldest, first := s.now, s.now
	var recent int64
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			info, err := e.Info()
			if _, _, ok := splitName(e.Name()); !ok || err != nil {
				continue
			}
			g.total += info.Size()
			t := info.ModTime()
			if t.Before(oldest) {
				oldest = t
			}
			if s.now.Sub(t) < week {
				recent += info.Size()
				if t.Before(first) {
					first = t
				}
			}
		}
	}
	g.history = s.now.Sub(oldest)
	if span := s.now.Sub(first); span >= 12*time.Hour { // less is not enough to predict a day
		g.daily = int64(float64(recent) / (span.Hours() / 24))
	}
	return g
}

// filling predicts when archives fill the file system of dir. Archives older than the maintenance keeps them are replaced by new
// ones, so growth ends then.
func (s *site) filling(v volume, dir string) finding {
	var dirs []string
	days, most := float64(keepDays), int64(0)
	own := s.ownArchives()
	for _, d := range s.archiveDirs() {
		if volumeOf(d).device == v.device {
			dirs = append(dirs, d)
		}
		if u, ok := own[d]; ok {
			days, most = ownDays, ownBytes
			if n := option(u.args, "keep-days"); len(n) > 0 {
				if x, err := strconv.ParseFloat(n[0], 64); err == nil {
					days = x
				}
			}
			if option(u.args, "max-size") != nil {
				most = 0
			}
		}
	}
	g := s.growthOf(dirs)
	if g.daily <= 0 {
		return finding{}
	}
	more := int64(float64(g.daily) * max(0, days-g.history.Hours()/24))
	if most > 0 {
		more = min(more, max(0, most-g.total))
	}
	left := time.Duration(float64(v.free) / float64(g.daily) * 24 * float64(time.Hour))
	if more < v.free || left > soon {
		return finding{}
	}
	return finding{
		id: "disk.filling", subject: dir, command: "find " + words(filepath.Dir(dir)) + " -mtime +7 -name '*.[0-9]*'",
		text: fmt.Sprintf("archives in %s grow by %s a day, and fill its file system (%s left) on %s", dir, cli.Bytes(g.daily), cli.Bytes(v.free), s.now.Add(left).Format("Monday, 2 January")),
	}
}
