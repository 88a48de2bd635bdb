package replay

import (
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/storage"
)

// A summary describes a directory of archives.
type summary struct {
	archives   int
	damaged    int // cannot be opened
	host       string
	start, end pcp.Timestamp
	size       int64
}

// list prints the recordings.
func list(env *cli.Env, dirs []string) int {
	if len(dirs) == 0 {
		fmt.Fprintf(env.Stdout, "Nothing is recorded yet: \"%s up\" collects and records, \"%[1]s record\" records a collector that runs.\n", env.Pcp())
		return 0
	}
	w := tabwriter.NewWriter(env.Stdout, 0, 8, 2, ' ', 0)
	fmt.Fprint(w, "HOST\tFROM\tTO\tARCHIVES\tSIZE\tDIRECTORY\n")
	bad := 0
	for _, dir := range dirs {
		paths := archivesIn(dir)
		if len(paths) == 0 {
			paths = []string{dir} // an archive
		}
		s := summarize(paths)
		bad += s.damaged
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\n", s.host, stamp(env, s.start), stamp(env, s.end), s.archives, cli.Bytes(s.size), dir)
	}
	w.Flush()
	if bad > 0 {
		fmt.Fprintf(env.Stdout, "\nArchives that cannot be read: %d. \"%s archive ls DIRECTORY\" names them.\n", bad, env.Pcp())
	}
	return 0
}

func stamp(env *cli.Env, t pcp.Timestamp) string {
	if t.IsZero() {
		return "-"
	}
	return t.Time().In(env.Local()).Format(time.DateTime)
}

// summarize looks at archives of one host.
func summarize(paths []string) *summary {
	s := &summary{host: "-"}
	for _, path := range paths {
		files, err := archive.FindFiles(path)
		if err != nil {
			s.damaged++
			continue
		}
		s.archives++
		for _, name := range files.All() {
			if st, err := storage.Stat(name); err == nil {
				s.size += st.Size()
			}
		}
		a, err := archive.Open(path)
		if err != nil {
			s.damaged++
			continue
		}
		if l := a.Label(); s.start.IsZero() || l.Start.Compare(s.start) < 0 {
			s.start, s.host = l.Start, l.Host
		}
		if end, err := a.End(); err == nil && end.Compare(s.end) > 0 {
			s.end = end
		}
		a.Close()
	}
	if s.host == "-" && len(paths) > 0 {
		s.host = filepath.Base(storage.Dir(paths[0]))
	}
	return s
}
