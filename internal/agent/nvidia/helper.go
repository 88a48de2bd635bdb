package nvidia

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"time"

	"github.com/go-pcp/pcp/internal/agent/nvidia/reading"
)

// How long pcp-gpu may take to answer, and how long it is not started again after a failure. A driver that is loaded or a
// card that comes back is noticed after this time.
const (
	defaultWait  = 4 * time.Second
	defaultPause = 10 * time.Second
)

// A helper starts pcp-gpu, and asks it.
type helper struct {
	cfg     Config
	log     *slog.Logger
	run     *run // nil if it does not run
	failed  time.Time
	message string          // the last in the log
	stuck   <-chan struct{} // closed when a run that did not end has ended; may be nil
}

// A run is one of pcp-gpu.
type run struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	done    chan struct{} // closed when the process has ended
}

// An answer is a line of pcp-gpu.
type answer struct {
	reading *reading.Reading
	err     error
}

func newHelper(cfg Config) *helper {
	cfg.wait, cfg.pause = cmp.Or(cfg.wait, defaultWait), cmp.Or(cfg.pause, defaultPause)
	return &helper{cfg: cfg, log: cfg.Log}
}

// read asks for a reading. It reports false if there is none.
func (h *helper) read(processes bool) (*reading.Reading, bool) {
	if h.cfg.Program == "" || h.cfg.Library == "" && h.run == nil && !HasDriver(h.cfg.Root) {
		return nil, false
	}
	if h.run == nil && !h.failed.IsZero() && time.Since(h.failed) < h.cfg.pause {
		return nil, false
	}
	fresh := h.run == nil
	r, err := h.ask(processes)
	if errors.Is(err, errEnded) && !fresh { // it ends if it is not asked for long
		r, err = h.ask(processes)
	}
	if err == nil {
		h.message = ""
		return r, true
	}
	h.stop()
	h.failed = time.Now()
	if text := err.Error(); text != h.message {
		h.message = text
		h.log.Warn("there are no values of NVIDIA cards", "err", err)
	}
	return nil, false
}

// errEnded means that pcp-gpu has ended.
var errEnded = errors.New("it has ended")

// ask sends a request and waits for the answer.
func (h *helper) ask(processes bool) (*reading.Reading, error) {
	if h.run == nil {
		run, err := h.start()
		if err != nil {
			return nil, err
		}
		h.run = run
	}
	line, err := json.Marshal(reading.Request{Processes: processes})
	if err != nil {
		return nil, err
	}
	if _, err := h.run.in.Write(append(line, '\n')); err != nil {
		h.stop()
		return nil, fmt.Errorf("%s: %w", h.cfg.Program, errEnded)
	}
	timer := time.NewTimer(h.cfg.wait)
	defer timer.Stop()
	select {
	case a := <-h.run.answers:
		if a.err != nil {
			h.stop()
			return nil, fmt.Errorf("%s: %w", h.cfg.Program, a.err)
		}
		if a.reading.Error != "" {
			return nil, fmt.Errorf("%s: %s", h.cfg.Program, a.reading.Error)
		}
		return a.reading, nil
	case <-timer.C:
		return nil, fmt.Errorf("%s: no answer in %v", h.cfg.Program, h.cfg.wait)
	}
}

// start starts the program.
func (h *helper) start() (*run, error) {
	if h.stuck != nil {
		select {
		case <-h.stuck:
			h.stuck = nil
		default:
			return nil, fmt.Errorf("%s: the kernel does not let it end", h.cfg.Program)
		}
	}
	var args []string
	if h.cfg.Library != "" {
		args = []string{h.cfg.Library}
	}
	r := &run{cmd: exec.Command(h.cfg.Program, args...), answers: make(chan answer, 1), done: make(chan struct{})}
	var err error
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go r.receive(out)
	return r, nil
}

// receive sends the lines of the program to answers until it ends.
func (r *run) receive(out io.Reader) {
	defer close(r.done)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, reading.MaxLine)
	for lines.Scan() {
		x, err := reading.Parse(lines.Bytes())
		if !r.send(answer{x, err}) {
			break // it answers without a request
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, io.EOF) {
		r.send(answer{err: err})
	}
	r.send(answer{err: errEnded})
	r.cmd.Process.Kill()
	io.Copy(io.Discard, out)
	r.cmd.Wait()
}

// send reports false if an answer is there already.
func (r *run) send(a answer) bool {
	select {
	case r.answers <- a:
		return true
	default:
		return false
	}
}

// stop ends the program, also if it hangs. A program that the kernel does not let end is left.
func (h *helper) stop() {
	if h.run == nil {
		return
	}
	h.run.in.Close()
	h.run.cmd.Process.Kill()
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-h.run.done:
	case <-timer.C:
		h.stuck = h.run.done
	}
	h.run = nil
}
