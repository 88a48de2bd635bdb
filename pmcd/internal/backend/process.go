package backend

import (
	"os/exec"
	"strconv"
	"time"
)

// An agentProcess is an agent's process, whoever started it.
type agentProcess interface {
	// wait waits for its end, and returns an error unless that was exit(0). It
	// is called once.
	wait() error
	// ending returns how it ended, after wait.
	ending() ending
	kill()
	// interrupt asks it to end.
	interrupt()
}

// An ending is the way a process ended.
type ending struct {
	exited       bool // by itself
	code, signal int
	core         bool
}

// text returns the wording of pmcd's log.
func (e ending) text() string {
	switch {
	case e.exited:
		return ", exit(" + strconv.Itoa(e.code) + ")"
	case e.signal != 0:
		text := ", signal(" + strconv.Itoa(e.signal) + ")"
		if e.core {
			text += ", dumped core"
		}
		return text
	}
	return ""
}

// reason is its part of pmcd.agent.status.
func (e ending) reason() int {
	if e.exited {
		return e.code << 8
	}
	return e.signal << 16
}

// A child is a process of our own.
type child struct {
	cmd    *exec.Cmd
	output *outputLimiter
}

func (c child) wait() error {
	defer c.output.flush()
	return c.cmd.Wait()
}

func (c child) ending() ending { return endingOf(c.cmd.ProcessState) }
func (c child) kill()          { c.cmd.Process.Kill() }

// goneInterval is how often a process is looked for if the system cannot wait
// for it.
const goneInterval = 5 * time.Millisecond
