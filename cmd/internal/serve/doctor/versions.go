package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/internal/fileversion"
)

// checkVersions looks for files of a later release. See docs/upgrading.md.
func checkVersions(ctx context.Context, s *site) []finding {
	var list []finding
	look := func(pattern string, check func(b []byte) error) {
		files, err := filepath.Glob(pattern)
		if err != nil {
			return
		}
		for _, path := range files {
			if ctx.Err() != nil {
				return
			}
			b, err := readSmall(path)
			if err != nil {
				continue // other checks report it
			}
			if err := check(b); fileversion.IsNewer(err) {
				list = append(list, finding{
					id: "state.version", subject: path, command: words("mv", path, path+".newer"),
					text: fmt.Sprintf("%s: %v; if it is moved away, its program begins without it", path, err),
				})
			}
		}
	}
	object := func(known int) func(b []byte) error {
		return func(b []byte) error {
			var rest json.RawMessage
			return fileversion.Unmarshal(b, known, &rest)
		}
	}
	states := s.stateDirs()
	if dir := s.conf.StateDir(); dir != "" {
		look(filepath.Join(dir, "collectors", "*.json"), object(fileversion.Announcement))
	}
	for _, dir := range states {
		look(filepath.Join(dir, "rules.json"), object(fileversion.SavedAlerts))
		look(filepath.Join(dir, "*.names"), checkNumbers)
	}
	for _, dir := range s.recordDirs() {
		look(filepath.Join(dir, "record.status"), object(fileversion.RecordStatus))
		for _, sub := range []string{dir, filepath.Join(dir, "*")} {
			look(filepath.Join(sub, ".pushed"), object(fileversion.Pushed))
			look(filepath.Join(sub, ".remote-write-*-????????????"), object(fileversion.SendPosition))
		}
	}
	return list
}

// checkNumbers checks the version of a file of names, in its first line.
func checkNumbers(b []byte) error {
	first, _, _ := bytes.Cut(b, []byte("\n"))
	var head struct {
		Format string `json:"format"`
	}
	if err := json.Unmarshal(first, &head); err != nil {
		return err
	}
	known := map[string]int{"pcp statsd names": fileversion.StatsdNames, "pcp pushed names": fileversion.PushedNames}
	name := head.Format[:max(0, strings.LastIndexByte(head.Format, ' '))]
	_, err := fileversion.CheckText(head.Format, name, known[name])
	if known[name] == 0 {
		return nil // a file of something else
	}
	return err
}
