package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
)

func archiveFaults() []kind {
	const lost = "Commands cannot read the past in it."
	return []kind{
		{"archive.damaged", fault, "An archive is damaged.", "Commands cannot read all of the past in it."},
		{"archive.no-metadata", fault, "An archive has no metadata.", lost},
		{"archive.no-volume", warning, "An archive has no data.", lost},
		{"archive.no-index", warning, "An archive has no temporal index.", "Commands read all of it to find a time."},
		{"archive.owner", fault, "An archive belongs to another user than its directory.", "The logger and the nightly maintenance cannot change it."},
		{"archive.future", warning, "An archive ends in the future.", "The clock was wrong when it was written, and commands for the latest values find these."},
	}
}

func archiveChecks() []check {
	return []check{{"the archives", false, false, checkArchives}}
}

// Limits of the check of archives.
const (
	maxDirs    = 500 // directories of archives
	maxOpened  = 4   // archives opened in each, the newest
	growing    = 10 * time.Minute
	beginning  = 10 * time.Second // its first bytes may not be written
	futureSlip = time.Minute
)

// splitName returns the archive of a file and its part.
func splitName(name string) (base, part string, ok bool) { return archive.BaseName(name) }

// archiveDirs returns the directories with archives.
func (s *site) archiveDirs() []string {
	var list []string
	for dir := range s.ownArchives() {
		list = append(list, dir)
	}
	slices.Sort(list)
	for _, root := range s.recordDirs() {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if dir := filepath.Join(root, e.Name()); e.IsDir() && !slices.Contains(list, dir) {
				list = append(list, dir)
			}
		}
	}
	return list[:min(len(list), maxDirs)]
}

// An archiveFiles is an archive as its directory shows it.
type archiveFiles struct {
	base                string
	meta, index, volume bool
	changed             time.Time
	info                fs.FileInfo // of one of its files
}

// archivesIn lists the archives of a directory, the newest first.
func archivesIn(dir string) []archiveFiles {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	all := make(map[string]*archiveFiles)
	for _, e := range entries {
		base, part, ok := splitName(e.Name())
		info, err := e.Info()
		if !ok || err != nil || !info.Mode().IsRegular() {
			continue
		}
		a := all[base]
		if a == nil {
			a = &archiveFiles{base: filepath.Join(dir, base), info: info}
			all[base] = a
		}
		switch part {
		case "meta":
			a.meta = true
		case "index":
			a.index = true
		default:
			a.volume = true
		}
		if info.ModTime().After(a.changed) {
			a.changed = info.ModTime()
		}
	}
	var list []archiveFiles
	for _, name := range names(all) {
		list = append(list, *all[name])
	}
	slices.SortStableFunc(list, func(a, b archiveFiles) int { return b.changed.Compare(a.changed) })
	return list
}

// checkArchives looks at the files of all archives, and opens the newest ones.
func checkArchives(ctx context.Context, s *site) []finding {
	var list []finding
	for _, dir := range s.archiveDirs() {
		dirInfo, err := os.Stat(dir)
		if err != nil {
			continue
		}
		opened := 0
		for _, a := range archivesIn(dir) {
			if ctx.Err() != nil {
				return list
			}
			if exists(saved(a.base) + ".meta") { // by "pcp archive repair"
				continue
			}
			recent := s.now.Sub(a.changed).Abs() < growing
			uid, ok := ownerOf(a.info)
			if dirUID, dirOK := ownerOf(dirInfo); ok && dirOK && uid != dirUID && uid != 0 {
				list = append(list, finding{
					id: "archive.owner", subject: a.base, text: fmt.Sprintf("the archive %s belongs to %s, and its directory to %s", a.base, userName(uid), userName(dirUID)),
					command: fmt.Sprintf("chown %d %s.*", dirUID, words(a.base)),
				})
			}
			aside := fmt.Sprintf("mkdir -p %[1]s && mv %[2]s.* %[1]s", words(filepath.Join(dir, "damaged")), words(a.base))
			switch {
			case !a.meta:
				list = append(list, finding{id: "archive.no-metadata", subject: a.base, text: fmt.Sprintf("the archive %s has no metadata (%[1]s.meta)", a.base), command: aside})
				continue
			case !a.volume && !recent:
				list = append(list, finding{id: "archive.no-volume", subject: a.base, text: fmt.Sprintf("the archive %s has no data (%[1]s.0)", a.base), command: aside})
				continue
			case !a.volume:
				continue
			case !a.index && !recent:
				f := finding{id: "archive.no-index", subject: a.base, text: fmt.Sprintf("the archive %s has no index (%[1]s.index)", a.base)}
				list = append(list, s.repair(f, a.base))
			}
			if opened++; opened <= maxOpened {
				if f := s.openArchive(a, recent); f.id != "" {
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// saved is where a repaired archive is put.
func saved(base string) string {
	return filepath.Join(filepath.Dir(base), "repaired", filepath.Base(base))
}

// repair has a finding mended by saving the readable parts of an archive in another one.
func (s *site) repair(f finding, base string) finding {
	to := saved(base)
	f.path = filepath.Dir(to)
	f.command = "mkdir -p " + words(filepath.Dir(to)) + "; " + s.pcp() + " archive repair " + words(base, to)
	f.fix = func(ctx context.Context, s *site) (string, error) {
		c := cli.Find(s.env.Commands, "archive repair")
		if c == nil {
			return "", errors.New("this program has no pcp archive repair")
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return "", err
		}
		var out, errs bytes.Buffer
		if status := s.env.CallCommand(ctx, c, &out, &errs, base, to); status > 1 { // 1: something was lost
			return "", errors.New(strings.TrimSpace(errs.String()))
		}
		return "the readable parts saved as " + to, nil
	}
	return f
}

// openArchive reads the labels, the metadata and the end of an archive.
func (s *site) openArchive(a archiveFiles, recent bool) finding {
	damaged := func(why string) finding {
		return s.repair(finding{id: "archive.damaged", subject: a.base, text: fmt.Sprintf("the archive %s is damaged: %s", a.base, why)}, a.base)
	}
	ar, err := archive.Options{AnyFeatures: true}.Open(a.base)
	if err != nil {
		if recent && errors.Is(err, archive.ErrNoVolume) || s.now.Sub(a.changed) < beginning { // it has just begun
			return finding{}
		}
		return damaged(cli.ErrText(err))
	}
	defer ar.Close()
	end, err := ar.End()
	switch {
	case err != nil && recent:
		return finding{}
	case err != nil:
		return damaged("its end cannot be found")
	case end.Time().Sub(s.now) > futureSlip:
		return finding{
			id: "archive.future", subject: a.base, text: fmt.Sprintf("the archive %s ends at %s, which is in the future", a.base, end.Time().In(s.env.Local()).Format("2006-01-02 15:04:05")),
			command: "timedatectl set-ntp true",
		}
	case !recent && lastCut(a.base):
		return damaged("its last volume is cut")
	}
	return finding{}
}

// lastCut reports whether the last volume of an archive does not end with a record.
func lastCut(base string) bool {
	files, err := archive.FindFiles(base)
	return err != nil || len(files.Volumes) == 0 || parts.CutOff(files.Volumes[len(files.Volumes)-1])
}
