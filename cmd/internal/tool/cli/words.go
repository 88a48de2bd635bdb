package cli

import (
	"bytes"
	"io"
	"strings"

	"github.com/go-pcp/pcp"
)

// UseWords makes Stdout and Stderr print the messages of PCP 7 for errors of archives if PCP_COMPAT is 7: "End of PCP archive" for
// "End of PCP archive log", and so on. It is called once, before the command runs.
func (e *Env) UseWords() {
	if e.Config().Get("PCP_COMPAT") != "7" {
		return
	}
	r := archiveWords()
	e.Stdout, e.Stderr = words{e.Stdout, r}, words{e.Stderr, r}
}

// archiveErrors are the errors whose messages version 7 changed.
var archiveErrors = [...]pcp.Error{
	pcp.ErrNoData, pcp.ErrEOL, pcp.ErrLabel, pcp.ErrLogRec, pcp.ErrLogFile, pcp.ErrPMIDLog, pcp.ErrInDomLog, pcp.ErrInstLog,
}

func archiveWords() *strings.Replacer {
	var list []string
	for _, err := range archiveErrors {
		list = append(list, err.Error(), strings.Replace(err.Error(), " log", "", 1))
	}
	return strings.NewReplacer(list...)
}

// words replaces texts that are written as a whole, as messages are. It passes everything else.
type words struct {
	w io.Writer
	r *strings.Replacer
}

func (w words) Write(b []byte) (int, error) {
	if !bytes.Contains(b, []byte("archive log")) {
		return w.w.Write(b)
	}
	if _, err := w.r.WriteString(w.w, string(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func (w words) Flush() error {
	if f, ok := w.w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
