package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"

	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/folio"
)

// maxText is the most bytes that a logger takes as the name of a folio or of a program.
const maxText = 4094

// A Config configures a session.
type Config struct {
	// Creator is the name of the program. With Replay it is the tool that
	// pmafm(1) starts to replay the session. It has no blanks.
	Creator string
	// Replay means that the creator can replay the recording from the data
	// written to Session.Replay.
	Replay bool
	// Logger is the path of the program that records. It is run with the name
	// pmlogger, which selects the tool in the program pcp. "" means pmlogger in
	// PCP_BINADM_DIR, or else pmlogger or pcp in PATH.
	Logger string
	// Env is the environment of loggers; nil means that of this process.
	Env []string
	// Stderr is where loggers write before they have a log file; nil means os.Stderr.
	Stderr *os.File
}

// A state is how far a session is, or the logger of a host.
type state int

const (
	begun    state = iota // there are no hosts
	hasHosts              // but loggers do not run
	on
	off
)

// A Session records metrics of some hosts. It may be used from many goroutines.
type Session struct {
	cfg   Config
	folio string
	dir   string // of all files
	base  string // how their names begin

	mu      sync.Mutex
	state   state
	created string
	file    *os.File // the folio
	replay  *os.File // nil if there is nothing to replay
	hosts   []*Host
	byOne   bool // there is a default host
}

// Setup begins a session, and creates its folio (pmRecordSetup). If there is a file of
// that name the error is fs.ErrExist.
func Setup(path string, cfg Config) (*Session, error) {
	if err := oneLine("folio", path, false); err != nil {
		return nil, err
	}
	if err := oneLine("creator", cfg.Creator, true); err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("folio %s: %w", path, err)
	}
	s := &Session{cfg: cfg, folio: path, dir: dir}
	if s.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666); err != nil {
		return nil, fmt.Errorf("folio: %w", err)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("folio %s: %w", path, err), s.discard())
	}
	return s, nil
}

// oneLine checks a text that must be a single line, or a single word, for other
// programs.
func oneLine(what, text string, word bool) error {
	problem := ""
	switch {
	case text == "":
		problem = "is empty"
	case len(text) > maxText:
		problem = "is too long"
	case strings.ContainsFunc(text, unicode.IsControl):
		problem = "has control characters"
	case word && strings.ContainsFunc(text, unicode.IsSpace):
		problem = "has blanks"
	default:
		return nil
	}
	return fmt.Errorf("%s %.100q %s: %w", what, text, problem, syscall.EINVAL)
}

// start chooses the names of files and writes the folio, as yet without archives.
func (s *Session) start() error {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	s.created = "on " + host + " at " + time.Now().Format("Mon Jan _2 15:04:05 2006")
	for try := 0; ; try++ {
		s.base = randomName()
		path := filepath.Join(s.dir, s.base)
		if s.cfg.Replay {
			s.replay, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		} else if _, err = os.Lstat(path); err == nil {
			err = fs.ErrExist
		} else if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) || try == 100 {
			return err
		}
	}
	return s.writeFolio()
}

// randomName returns six letters and digits.
func randomName() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, 6)
	for i := range b {
		b[i] = letters[rand.IntN(len(letters))]
	}
	return string(b)
}

// writeFolio writes the folio as far as it is known: the default host comes first.
func (s *Session) writeFolio() error {
	f := folio.Folio{Created: s.created, Creator: s.cfg.Creator}
	if s.cfg.Replay {
		f.Creator += " " + s.base
	}
	for _, first := range []bool{true, false} {
		for _, h := range s.hosts {
			if h.first == first {
				f.Archives = append(f.Archives, folio.Archive{Host: h.name, Base: h.base})
			}
		}
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := f.WriteTo(s.file) // it only grows
	return err
}

// Replay returns where to write the configuration with which the creator replays the
// session. It must be written before On. If Config.Replay is not set, nothing is kept.
func (s *Session) Replay() io.Writer {
	if s.replay == nil {
		return io.Discard
	}
	return s.replay
}

// Folio returns the path of the folio, as Setup got it.
func (s *Session) Folio() string { return s.folio }

// AddHost adds a host to be recorded (pmRecordAddHost), by the name that pmlogger takes
// with -h; in names of files a slash of it is a minus sign. The archive of
// the default host is the first of the folio; there can be only one.
func (s *Session) AddHost(name string, isDefault bool) (*Host, error) {
	if err := oneLine("host", name, true); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state != begun && s.state != hasHosts:
		return nil, fmt.Errorf("host %s: the session has begun to record: %w", name, syscall.EINVAL)
	case isDefault && s.byOne:
		return nil, fmt.Errorf("host %s: there is a default host: %w", name, syscall.EINVAL)
	}
	h := &Host{s: s, name: name, first: isDefault, status: -1, done: make(chan struct{})}
	var err error
	for _, letter := range " abcdefghijklmnopqrstuvwxyz" {
		h.base = s.base + strings.TrimSpace(string(letter)) + "." + strings.ReplaceAll(name, "/", "-")
		h.config, err = os.OpenFile(h.path(".config"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("host %s: %w", name, err)
	}
	s.hosts = append(s.hosts, h)
	s.state = hasHosts
	s.byOne = s.byOne || isDefault
	return h, nil
}

// SetArg adds an argument for the loggers of all hosts that have been added
// (PM_REC_SETARG). It comes before those that On gives them.
func (s *Session) SetArg(arg string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, h := range s.hosts {
		if err := h.setArg(arg); err != nil {
			return err
		}
	}
	if len(s.hosts) == 0 {
		return outOfOrder("argument "+arg, "there are no hosts")
	}
	return nil
}

// outOfOrder returns the error of a call that is too early or too late.
func outOfOrder(what, why string) error {
	return fmt.Errorf("%s: %s: %w", what, why, syscall.EINVAL)
}

// On ends the set-up, and starts a logger for each host (PM_REC_ON). If one cannot be started
// the others are stopped, and the session is over.
func (s *Session) On() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != hasHosts {
		return outOfOrder("recording session "+s.folio, "it is not ready to be turned on")
	}
	path, err := s.logger()
	if err != nil {
		return err
	}
	err = s.writeFolio()
	errs := []error{err, s.closeFiles()}
	for _, h := range s.hosts {
		if err == nil {
			err = h.launch(path)
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		s.hangUp()
		return fmt.Errorf("folio %s: %w", s.folio, err)
	}
	s.state = on
	return nil
}

// logger returns the path of the program that records.
func (s *Session) logger() (string, error) {
	if s.cfg.Logger != "" {
		return filepath.Abs(s.cfg.Logger)
	}
	path := filepath.Join(config.Process().Get("PCP_BINADM_DIR"), "pmlogger")
	for _, name := range []string{path, "pmlogger", "pcp"} {
		if found, err := exec.LookPath(name); err == nil {
			return filepath.Abs(found)
		}
	}
	return "", fmt.Errorf("%s: %w", path, fs.ErrNotExist)
}

// closeFiles closes the files written before the loggers start.
func (s *Session) closeFiles() error {
	err := s.file.Close()
	if s.replay != nil {
		err = errors.Join(err, s.replay.Close())
	}
	for _, h := range s.hosts {
		err = errors.Join(err, h.config.Close())
	}
	return err
}

// hangUp ends the session without a word to the loggers.
func (s *Session) hangUp() {
	s.state = off
	for _, h := range s.hosts {
		h.hangUp()
	}
}

// Off has all loggers that are on end their archives (PM_REC_OFF).
func (s *Session) Off() error { return s.all(quit) }

// Detach leaves all loggers that are on to themselves (PM_REC_DETACH): they continue
// when this process ends.
func (s *Session) Detach() error { return s.all(detach) }

// Report has all loggers that are on report their progress to the user
// (PM_REC_STATUS).
func (s *Session) Report() error { return s.all(report) }

// all sends a request to the loggers that are on.
func (s *Session) all(r request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != on {
		return outOfOrder("recording session "+s.folio, "it is not on")
	}
	var errs []error
	for _, h := range s.hosts {
		if h.state == on {
			errs = append(errs, h.send(r))
		}
	}
	return errors.Join(errs...)
}

// Close ends the session if it is not over. Loggers that are on are left as they would
// be if this process ended. A session that was never on leaves no files.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case begun, hasHosts:
		return s.discard()
	case on:
		s.hangUp()
	}
	return nil
}

// discard closes and removes the files of a session that was not turned on.
func (s *Session) discard() error {
	s.state = off
	errs := []error{s.closeFiles(), os.Remove(s.file.Name())}
	if s.replay != nil {
		errs = append(errs, os.Remove(s.replay.Name()))
	}
	for _, h := range s.hosts {
		errs = append(errs, os.Remove(h.config.Name()))
	}
	return errors.Join(errs...)
}
