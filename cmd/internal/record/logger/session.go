package logger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// maxRequest is the maximum size in bytes of a request of a recording session, with its
// newline (MAXPATHLEN in pmlogger.c).
const maxRequest = 4096

// errSession ends a recording whose session is over.
var errSession = errors.New("recording session terminated")

// A session is the recorder's end of a recording session (pmRecordSetup(3)). The program
// that launched the recorder writes requests to a pipe, one per line, and gets no
// answer:
//
//	V0        version of the protocol
//	Ffolio    name of the folio that the archive belongs to
//	Pname     name of the launcher
//	R         the launcher knows how to replay the folio
//	?         report the progress of the recording
//	D         detach: continue without the launcher
//	Q         quit
//
// At the end of the file the launcher has ended; the user then decides whether the
// recording continues. Part of the protocol; do not change.
type session struct {
	in      *os.File
	blocks  bool // closing it does not end a read
	trace   bool // each request is logged
	started time.Time
	folio   string
	program string // the launcher
	replay  bool

	w       io.Writer // the log
	confirm []string  // the command that shows dialogs
	tmp     string    // directory of the file with its text
	host    string
	size    func(context.Context) (int64, error) // of the archive so far
}

// joinSession takes the argument of -x, a file descriptor.
func joinSession(o *cli.Options, arg string) *session {
	fd, err := strconv.Atoi(arg)
	if err != nil || fd < 0 {
		o.Usagef("-x requires a non-negative numeric argument")
		return nil
	}
	var st unix.Stat_t
	// A descriptor that would not survive an exec is not from the launcher: it belongs to the
	// runtime.
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	if err != nil || flags&unix.FD_CLOEXEC != 0 || unix.Fstat(fd, &st) != nil {
		o.Usagef("-x %d is not an open file", fd)
		return nil
	}
	unix.CloseOnExec(fd)
	kind := st.Mode & unix.S_IFMT
	if kind == unix.S_IFIFO || kind == unix.S_IFSOCK {
		// So that closing it ends a read. Other processes share a terminal and do not expect
		// that.
		_ = unix.SetNonblock(fd, true)
	}
	return &session{
		in: os.NewFile(uintptr(fd), "-x "+arg), blocks: kind == unix.S_IFCHR,
		started: time.Now(), folio: "<unknown>", program: "<unknown>",
	}
}

// start serves the session of a recorder; see run.
func (s *session) start(ctx context.Context, env *cli.Env, r *recording, end func(error)) (wait func(err error)) {
	s.w, s.host = r.w, r.Host()
	s.confirm = strings.Fields(env.Config().Get("PCP_XCONFIRM_PROG"))
	s.tmp = env.Config().Get("PCP_TMPFILE_DIR")
	s.size = func(ctx context.Context) (n int64, err error) {
		err = r.Call(ctx, func() { n = r.Bytes() })
		return n, err
	}
	return s.run(ctx, end)
}

// run serves the session until ctx is done. If the session ends the recording, end is
// called. The function that run returns waits until the last dialog is closed; unless
// the session ended the recording, it stops the session first.
func (s *session) run(ctx context.Context, end func(error)) (wait func(err error)) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { s.in.Close() })
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve(ctx, end)
		stop()
		s.in.Close()
	}()
	return func(err error) {
		defer cancel()
		if !errors.Is(err, errSession) {
			cancel()
			if s.blocks {
				return // the read ends with the program
			}
		}
		<-done
	}
}

// serve takes requests until the session is over.
func (s *session) serve(ctx context.Context, end func(error)) {
	in := bufio.NewReaderSize(s.in, maxRequest)
	for {
		line, err := in.ReadSlice('\n')
		if ctx.Err() != nil {
			return
		}
		verb := s.take(line, err)
		if verb == 0 {
			continue
		}
		if s.dialog(ctx, verb, end); verb != '?' {
			return
		}
	}
}

// take takes a line from the launcher, or an incomplete line and the read error. It
// returns the request: '?', 'D' or 'Q', 'X' if the launcher cannot be reached any more,
// or 0 if the line needs no action.
func (s *session) take(line []byte, err error) byte {
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		fmt.Fprintf(s.w, "Error: absurd recording session control message: \"%.100s ...\"\n", line)
		return 'X'
	case err != nil:
		if s.trace {
			fmt.Fprintln(s.w, "recording session control: eof")
		}
		if len(line) > 0 {
			fmt.Fprintf(s.w, "Error: incomplete recording session control message: \"%s\"\n", line)
		}
		return 'X'
	}
	text := string(line[:len(line)-1])
	if s.trace {
		fmt.Fprintf(s.w, "recording session control: \"%s\"\n", text)
	}
	switch {
	case text == "Q", text == "D", text == "?":
		return text[0]
	case text == "R":
		s.replay = true
	case strings.HasPrefix(text, "F"):
		s.folio = text[1:]
	case strings.HasPrefix(text, "P"):
		s.program = text[1:]
	case strings.HasPrefix(text, "V0"):
	default:
		fmt.Fprintf(s.w, "Error: illegal recording session control message: \"%s\"\n", text)
		return 'X'
	}
	return 0
}

// dialog executes a request and informs the user. C stops recording while the user
// reads; this recorder continues.
func (s *session) dialog(ctx context.Context, verb byte, end func(error)) {
	size, err := s.size(ctx)
	if err != nil {
		return // the recording is over
	}
	text := s.message(verb, time.Since(s.started), size)
	if verb == 'Q' {
		end(errSession)
	}
	if answer := s.show(ctx, verb, text); verb == 'X' && answer == "Yes" && ctx.Err() == nil {
		end(errSession)
	}
}

// message returns the text for the user.
func (s *session) message(verb byte, since time.Duration, size int64) string {
	var b strings.Builder
	add := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	// The time is in full seconds, and at least one.
	seconds := max(int64(since/time.Second), 1)
	add("PCP recording for the archive folio \"%s\" and the host \"%s\" has been in progress for ", s.folio, s.host)
	if seconds < 240 {
		add("%d seconds", seconds)
	} else {
		add("%d minutes", (seconds+30)/60)
	}
	add(" and in that time the pmlogger process has created an archive of %s.", bytesText(float64(size)))
	if s.replay {
		add("\n\nThis archive may be replayed with the following command:\n  $ pmafm %s replay", s.folio)
	}
	grows := func() {
		add("grow at the rate of %s per hour or %s per day.", bytesText(float64(size)*3600/float64(seconds)), bytesText(float64(size)*24*3600/float64(seconds)))
	}
	switch verb {
	case 'D':
		add("\n\nThe application that launched pmlogger has asked pmlogger to continue independently and the PCP archive will ")
		grows()
	case 'X':
		add("\n\nThe application that launched pmlogger has exited and you must decide if the PCP recording session should be terminated or continued.  If recording is continued the PCP archive will ")
		grows()
	case 'Q':
		add("\n\nThe application that launched pmlogger has terminated this PCP recording session.\n")
	}
	if verb != 'Q' {
		add("\n\nAt any time this pmlogger process may be terminated with the following command:\n  $ pmsignal -s TERM %d\n", os.Getpid())
	}
	if verb == 'X' {
		add("\n\nTerminate this PCP recording session now?")
	}
	return b.String()
}

// bytesText formats a size for dialogs.
func bytesText(n float64) string {
	const k, m = 1 << 10, 1 << 20
	switch {
	case n < 10*k:
		return fmt.Sprintf("%d bytes", int64(n))
	case n < 10*m:
		return fmt.Sprintf("%.1f Kbytes", n/k)
	case n < 10*k*m:
		return fmt.Sprintf("%.1f Mbytes", n/m)
	}
	return fmt.Sprintf("%d Mbytes", int64(n)/m)
}

// show shows text to the user, by pmconfirm(1) or a program like it, and returns the
// chosen button. Without such a program, or without a display for it, the text is
// logged, and the answer is yes.
func (s *session) show(ctx context.Context, verb byte, text string) string {
	answer, err := s.ask(ctx, verb, text)
	switch {
	case ctx.Err() != nil:
		return ""
	case err != nil:
		fmt.Fprintf(s.w, "\nError: failed create temporary message file for recording session dialog\nReason? %s\n", cli.ErrText(err))
	case answer == "":
		kind := "Error"
		if verb == '?' {
			kind = "Warning"
		}
		fmt.Fprintf(s.w, "\n%s: pmconfirm(1) failed for recording session dialog\n", kind)
	default:
		button, _, _ := strings.Cut(answer, "\n")
		return button
	}
	fmt.Fprintf(s.w, "Dialog:\n%s", text)
	return "Yes"
}

// ask runs the dialog program and returns its output, which is empty if it cannot be
// run. The error is about the file with the text.
func (s *session) ask(ctx context.Context, verb byte, text string) (string, error) {
	f, err := os.CreateTemp(s.tmp, "msg")
	if err != nil {
		return "", err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	if len(s.confirm) == 0 {
		return "", nil
	}
	args := slices.Concat(s.confirm[1:], []string{"-c", "-header", "PCP Archive Recording Session - " + s.program, "-file", f.Name()})
	if verb == 'X' {
		args = append(args, "-icon", "question", "-B", "Yes", "-b", "No")
	} else {
		args = append(args, "-icon", "info", "-b", "Close")
	}
	cmd := exec.CommandContext(ctx, s.confirm[0], args...)
	cmd.Stderr = s.w
	cmd.WaitDelay = time.Second // for its remaining children
	out, _ := cmd.Output()      // if it fails, the output is empty
	return string(out), nil
}
