package pmns

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/debug"
	"github.com/go-pcp/pcp/internal/cpp"
	"github.com/go-pcp/pcp/internal/debugname"
	"github.com/go-pcp/pcp/internal/stdpmid"
)

// A Loader reads name spaces. Its zero value loads as pmLoadASCIINameSpace(3)
// with dupok 0.
type Loader struct {
	// DupOK allows several names for one PMID.
	DupOK bool
	// Raw reads the file without a preprocessor, as pmLoadNameSpace(3) does with
	// the installed name space. Lines are then numbered from 1, where the C
	// library numbers from 2.
	Raw bool
	// IncludeDirs are searched for included files after the directory of the
	// file. Nil means $PCP_VAR_DIR/pmns. Package stdpmid replaces a missing stdpmid.
	IncludeDirs []string
	// Config has PCP_VAR_DIR and similar settings; nil means config.Process.
	Config *config.Config
	// Stderr gets the standard error of commands of #shell lines, and warnings
	// about them; nil discards it.
	Stderr io.Writer
	// Debug prints, with the option pmns, the file that is read and its names; nil
	// prints nothing.
	Debug *debug.Log
}

// Load reads the file at path, as pmLoadASCIINameSpace(3) does. With dupOK
// false two names for one PMID are an error. An error is a *ParseError.
//
// A #shell line in the file runs a command: load only trusted files.
func Load(path string, dupOK bool) (*Tree, error) {
	l := Loader{DupOK: dupOK}
	return l.Load(path)
}

// Parse reads a name space in which no preprocessor is needed, such as the
// installed one. Errors use name for it.
func Parse(r io.Reader, name string, dupOK bool) (*Tree, error) {
	p := newParser(name)
	p.src = &rawLines{r: bufio.NewReader(r), name: name}
	return p.tree(dupOK)
}

// DefaultPath returns the path of the local name space, PM_NS_DEFAULT:
// $PMNS_DEFAULT, else root in $PCP_VAR_DIR/pmns.
func DefaultPath(cfg *config.Config) string {
	if path := cfg.Getenv("PMNS_DEFAULT"); path != "" {
		return path
	}
	return filepath.Join(cfg.Get("PCP_VAR_DIR"), "pmns", "root")
}

// Load reads the file at path; "" means DefaultPath, which implies Raw. An
// error is a *ParseError.
func (l *Loader) Load(path string) (*Tree, error) {
	cfg := cmp.Or(l.Config, config.Process())
	given, raw := path, l.Raw
	if path == "" {
		path, raw = DefaultPath(cfg), true
	}
	p := newParser(path)
	if l.Debug.On(debugname.PMNS) {
		p.debug = l.Debug
		p.announce(given, l.DupOK, !raw)
	}
	f, err := os.Open(path)
	if err != nil {
		var perr *fs.PathError
		if errors.As(err, &perr) {
			err = perr.Err
		}
		return nil, p.fail(err, fmt.Sprintf("Cannot open %q", path))
	}
	defer f.Close()
	if raw {
		p.src = &rawLines{r: bufio.NewReader(f), name: path}
		return p.tree(l.DupOK)
	}

	dirs := l.IncludeDirs
	if dirs == nil {
		dirs = []string{filepath.Join(cfg.Get("PCP_VAR_DIR"), "pmns")}
	}
	stderr := l.Stderr
	if stderr == nil {
		stderr = io.Discard
	}
	r, err := cpp.Open(path, cpp.Config{
		IncludeDirs: dirs,
		Builtin:     stdpmid.Include,
		Shell:       cpp.Shell(stderr),
		Warn:        func(msg string) { fmt.Fprintln(stderr, msg) },
	})
	if err != nil {
		return nil, p.preprocessorFailed(err)
	}
	defer r.Close()
	p.src = r
	return p.tree(l.DupOK)
}

// announce prints the file that is about to be read. A name that was not given, as
// that of the installed name space, is null in the C library.
func (p *parser) announce(given string, dupOK, preprocess bool) {
	if given == "" || !preprocess {
		given = "(null)"
	}
	p.debug.Printf("load(name=%s, dupok=%d, use_cpp=%d) lic case=0 fname=%s\n", given, digit(dupOK), digit(preprocess), p.file)
	p.debug.Printf("loadascii(dupok=%d, use_cpp=%d) fname=%s\n", digit(dupOK), digit(preprocess), p.file)
}

func digit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A ParseError is the error of a name space that was not loaded.
type ParseError struct {
	File string
	Line int    // 0 if it concerns the name space as a whole
	Msg  string // the first error, in the words of the C library
	// Diagnostic is the C library's output on standard error about it, lines with
	// their newlines.
	Diagnostic string
	Err        error // pcp.ErrPMNS, or the error of opening the file
}

// Error returns the place and the message, in one line without its newline.
func (e *ParseError) Error() string {
	msg := strings.TrimSpace(e.Msg)
	if e.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, msg)
	}
	return fmt.Sprintf("%s: %s", e.File, msg)
}

// Unwrap returns Err.
func (e *ParseError) Unwrap() error { return e.Err }

// rawLines reads lines without a preprocessor.
type rawLines struct {
	r    *bufio.Reader
	name string
	n    int
}

// errUnterminated comes with a line that is too long or has no newline.
var errUnterminated = errors.New("line without an end")

func (l *rawLines) Next() (cpp.Line, error) {
	b, err := l.r.ReadSlice('\n')
	if len(b) == 0 {
		return cpp.Line{}, err
	}
	l.n++
	line := cpp.Line{File: l.name, No: l.n, Text: bytes.TrimSuffix(b, []byte{'\n'})}
	if err == bufio.ErrBufferFull || err == io.EOF {
		err = errUnterminated
	}
	return line, err
}
