package push

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/internal/fileversion"
	"github.com/go-pcp/pcp/internal/safefile"
)

// A finished archive is complete at a receiver.
type finished struct {
	Archive  string `json:"archive"`  // its name
	Started  int64  `json:"started"`  // its start in microseconds
	Receiver string `json:"receiver"` // the URL
}

// A doneFile is the contents of the file with the finished archives of a directory.
type doneFile struct {
	Version  int        `json:"version"`
	Archives []finished `json:"archives"`
}

const (
	doneName    = ".pushed"
	doneVersion = fileversion.Pushed
	maxDone     = 4 << 20 // bytes
)

func parseDone(b []byte) ([]finished, error) {
	if len(b) > maxDone {
		return nil, fmt.Errorf("larger than %d bytes", maxDone)
	}
	var f doneFile
	if err := fileversion.Unmarshal(b, doneVersion, &f); err != nil {
		return nil, err
	}
	if err := fileversion.Check(f.Version, doneVersion); err != nil {
		return nil, err
	}
	for _, d := range f.Archives {
		if d.Archive == "" || d.Archive != filepath.Base(d.Archive) || strings.HasPrefix(d.Archive, ".") {
			return nil, fmt.Errorf("%q is not the name of an archive", d.Archive)
		}
	}
	return f.Archives, nil
}

// load reads the file. Archives that another server has are pushed to one of the receivers.
func (s *Sender) load() error {
	path := filepath.Join(s.cfg.Dir, doneName)
	f, err := safefile.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDone+1))
	if err != nil {
		return err
	}
	list, err := parseDone(b)
	if err != nil {
		s.newer = fileversion.IsNewer(err)
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, d := range list {
		if slices.ContainsFunc(s.receivers, func(r *receiver) bool { return r.url == d.Receiver }) {
			s.done[d.Archive] = d
		}
	}
	return nil
}

// save replaces the file, unless a later release wrote it: then the receivers are asked again by the next Sender.
func (s *Sender) save() error {
	if s.newer {
		return nil
	}
	f := doneFile{Version: doneVersion, Archives: []finished{}}
	for _, name := range slices.Sorted(maps.Keys(s.done)) {
		f.Archives = append(f.Archives, s.done[name])
	}
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return safefile.ReplaceBytes(filepath.Join(s.cfg.Dir, doneName), append(b, '\n'), safefile.Replacement{Mode: 0o600, Uid: -1, Gid: -1})
}

// archives lists the names of the archives in a directory.
func archives(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, e := range entries {
		base, part, ok := archive.BaseName(e.Name())
		if ok && part == "meta" && !strings.HasPrefix(base, ".") && !slices.Contains(list, base) {
			list = append(list, base)
		}
	}
	return list, nil
}

// start returns the start of an archive in microseconds.
func start(base string) (int64, error) {
	files, err := archive.FindFiles(base)
	if err != nil {
		return 0, err
	}
	f, err := archive.OpenFile(files.Meta)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	l, err := readLabel(f)
	if err != nil {
		return 0, err
	}
	return l.Start.Sec*1e6 + int64(l.Start.Nsec)/1e3, nil
}

func compareStarts(a, b int64, x, y string) int { return cmp.Or(cmp.Compare(a, b), cmp.Compare(x, y)) }
