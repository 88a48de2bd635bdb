// Package sending has the options with which recorders send their archives to databases of the Prometheus family.
//
//	var out sending.Options
//	... out.Own(o, opt, arg) ...
//	targets, err := out.Targets()
package sending

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/prom/send"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Patience is how long a recorder that ends sends the rest of its archives. The next one sends the rest.
const Patience = 5 * time.Second

// Options are the values of the options.
type Options struct {
	urls []string
	file string
}

// Rows returns the rows of the options. Extra marks them as options that the C implementation does not have.
func Rows(extra bool) []cli.Option {
	return []cli.Option{
		{Long: "remote-write", Arg: "URL", Extra: extra, Help: "also send to Prometheus or VictoriaMetrics, while recording"},
		{Long: "remote-write-config", Arg: "FILE", Extra: extra, Help: "also send to the targets in FILE"},
	}
}

// Own takes an option, and reports whether it is one of these.
func (set *Options) Own(opt *cli.Option, arg string) bool {
	switch opt.Long {
	case "remote-write":
		set.urls = append(set.urls, arg)
	case "remote-write-config":
		set.file = arg
	default:
		return false
	}
	return true
}

// Any reports whether there is a target.
func (set *Options) Any() bool { return len(set.urls) > 0 || set.file != "" }

// Targets returns the targets. Errors name the option or the file.
func (set *Options) Targets() ([]*send.Target, error) {
	var list []*send.Target
	if set.file != "" {
		var err error
		if list, err = send.ReadTargets(set.file); err != nil {
			return nil, err
		}
	}
	for i, url := range set.urls {
		t, err := send.NewTarget(url)
		if err != nil {
			return nil, fmt.Errorf("--remote-write: %w", err)
		}
		if slices.Contains(set.urls[:i], url) {
			return nil, fmt.Errorf("--remote-write: %s is named twice", url)
		}
		list = append(list, t)
	}
	return list, nil
}

// Report prints the status of servers.
func Report(w io.Writer, list []send.Status) {
	for _, s := range list {
		fmt.Fprintf(w, "%s: sent %d samples, rejected %d, lag %.0fs", s.URL, s.Sent, s.Rejected, s.Lag)
		if s.Lost > 0 {
			fmt.Fprintf(w, ", %d archives removed before they were sent", s.Lost)
		}
		fmt.Fprintln(w)
		for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
			fmt.Fprintf(w, "%s: rejected %d: %s\n", s.URL, s.Reasons[reason], reason)
		}
		if s.Err != "" {
			fmt.Fprintf(w, "%s: since %s: %s\n", s.URL, s.ErrTime.Format("15:04:05"), strings.ReplaceAll(s.Err, "\n", " "))
		}
	}
}
