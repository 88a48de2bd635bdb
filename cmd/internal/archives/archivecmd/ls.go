package archivecmd

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/cmd/internal/tool/parts"
	"github.com/go-pcp/pcp/internal/storage"
	"github.com/go-pcp/pcp/pcpjson"
	"github.com/go-pcp/pcp/pcptime"
)

var lsCommand = &cli.Command{
	Name:     "archive ls",
	Summary:  "list archives",
	Synopsis: "[options] [archive | directory]...",
	Doc: `
Lists archives with host, time, size and problems found by a quick check, by default those in the
current directory.`,
	Examples: []cli.Example{
		{Line: "pcp archive ls", Text: "list the archives in the current directory"},
		{Line: "pcp archive ls --json /var/log/pcp/pmlogger/vm", Text: "write one JSON object a line"},
	},
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			cli.OptJSON,
			cli.OptTimeZone,
			cli.OptHelp,
		}
	},
	DieOnSignal: true,
	Run:         ls,
}

// An entry is one archive in a list.
type entry struct {
	Archive    string `json:"archive"`
	Host       string `json:"host,omitempty"`
	Start      string `json:"start,omitempty"`
	End        string `json:"end,omitempty"`
	Version    int    `json:"version,omitempty"`
	Volumes    int    `json:"volumes"`
	Size       int64  `json:"size"`
	Compressed string `json:"compressed,omitempty"` // suffixes, "xz" or "gz,xz"
	Damage     string `json:"damage,omitempty"`     // damage found by a quick check

	start, end pcp.Timestamp
}

func ls(_ context.Context, env *cli.Env) int {
	o := cli.ParseArgs(env, cli.ParseConfig{})
	if status, exit := o.Done(); exit {
		return status
	}
	list, err := archives(o.Args)
	if err != nil {
		return failed(env, err)
	}
	if len(list) == 0 {
		noneIn(env, o.Args)
	}
	loc := env.Local()
	if o.TimeZoneSet {
		loc = pcptime.Zone(o.TimeZone)
	}
	status := 0
	rows := make([][]string, 0, len(list)+1)
	rows = append(rows, []string{"ARCHIVE", "HOST", "START", "END", "VER", "VOLS", "SIZE", "COMPRESSED", "DAMAGE"})
	for _, path := range list {
		e, err := look(path)
		if err != nil {
			status = 1
			env.FlushOut()
			fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), errText(err))
			continue
		}
		if o.JSON {
			env.Stdout.Write(pcpjson.Line(e))
			continue
		}
		rows = append(rows, e.row(loc))
	}
	if !o.JSON && len(rows) > 1 {
		table(env, rows)
	}
	return status
}

// look examines an archive without reading much of it. An error means that there is no
// archive.
func look(path string) (*entry, error) {
	e := &entry{Archive: path}
	files, err := archive.FindFiles(path)
	if err != nil {
		// The readable part is worth a line.
		if pcp.Code(err) != pcp.ErrLogFile {
			return nil, err
		}
		e.Damage = "files are missing"
		return e, nil
	}
	e.Archive = strings.TrimPrefix(files.Base, "./")
	e.Volumes = len(files.Volumes)
	var suffixes []string
	for _, p := range files.All() {
		if st, err := storage.Stat(p); err == nil {
			e.Size += st.Size()
		}
		name := filepath.Base(p)
		base, part, _ := archive.BaseName(name)
		if s := strings.TrimPrefix(name, base+"."+part); s != "" && !slices.Contains(suffixes, s[1:]) {
			suffixes = append(suffixes, s[1:])
		}
	}
	e.Compressed = strings.Join(suffixes, ",")
	a, err := archive.Options{AnyFeatures: true}.Open(path)
	if err != nil {
		e.Damage = cli.ErrText(err)
		return e, nil
	}
	defer a.Close()
	l := a.Label()
	e.Host, e.Version, e.start = l.Host, l.Version, l.Start
	e.Start = pcpjson.Time(l.Start)
	if end, err := a.End(); err != nil {
		e.Damage = "the end cannot be found"
	} else {
		e.end, e.End = end, pcpjson.Time(end)
	}
	switch {
	case e.Damage != "":
	case files.Index == "":
		e.Damage = "no temporal index"
	case parts.CutOff(files.Volumes[len(files.Volumes)-1]):
		e.Damage = "the last volume is cut"
	}
	return e, nil
}

// row is a line of the table.
func (e *entry) row(loc *time.Location) []string {
	clock := func(t pcp.Timestamp, s string) string {
		if s == "" {
			return "-"
		}
		return t.Time().In(loc).Format("2006-01-02 15:04:05")
	}
	dash := func(s string) string {
		if s == "" {
			return "-"
		}
		return s
	}
	version := "-"
	if e.Version > 0 {
		version = fmt.Sprint(e.Version)
	}
	return []string{
		e.Archive, dash(e.Host), clock(e.start, e.Start), clock(e.end, e.End), version,
		fmt.Sprint(e.Volumes), size(e.Size), dash(e.Compressed), dash(e.Damage),
	}
}

// size formats a number of bytes for users.
func size(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprint(n)
	}
	f, u := float64(n)/1024, 0
	for f >= 1024 && u < len(units)-1 {
		f /= 1024
		u++
	}
	if f < 10 {
		return fmt.Sprintf("%.1f%c", f, units[u])
	}
	return fmt.Sprintf("%.0f%c", f, units[u])
}

// table writes rows with columns of the same width; SIZE, VER and VOLS are numbers.
func table(env *cli.Env, rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, s := range r {
			width[i] = max(width[i], len([]rune(s)))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		for i, s := range r {
			pad := strings.Repeat(" ", width[i]-len([]rune(s)))
			if i > 0 {
				b.WriteString("  ")
			}
			if i >= 4 && i <= 6 {
				b.WriteString(pad + s)
			} else {
				b.WriteString(s + pad)
			}
		}
		fmt.Fprintln(env.Stdout, strings.TrimRight(b.String(), " "))
	}
}
