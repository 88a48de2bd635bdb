package service

import (
	"fmt"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// A Manager receives notifications about the state of this process. The zero Manager discards them.
type Manager struct {
	socket   string
	watchdog time.Duration
}

// NewManager returns the Manager named by NOTIFY_SOCKET in the environment.
func NewManager(getenv func(string) string) Manager {
	m := Manager{socket: getenv("NOTIFY_SOCKET")}
	pid := getenv("WATCHDOG_PID")
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if err == nil && usec > 0 && usec <= int64(math.MaxInt64/time.Microsecond) && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.watchdog = time.Duration(usec) * time.Microsecond
	}
	return m
}

// Watchdog returns the interval for calling Alive: half the time after which the manager considers this
// process dead. It is 0 if the manager does not watch.
func (m Manager) Watchdog() time.Duration {
	if m.socket == "" {
		return 0
	}
	return m.watchdog / 2
}

// Alive reports that this process is working. It takes no longer than until the next call is due, or patience
// if that is less.
func (m Manager) Alive() error {
	within := patience
	if every := m.Watchdog(); every > 0 {
		within = min(within, every)
	}
	return m.sendWithin(within, "WATCHDOG=1")
}

// Ready reports that this process, which need not be the original one, is
// ready, with a status text.
func (m Manager) Ready(status string) error {
	return m.send("READY=1", fmt.Sprintf("MAINPID=%d", os.Getpid()), "STATUS="+oneLine(status))
}

// Reloading reports that the configuration is being reloaded; Ready ends that.
func (m Manager) Reloading() error {
	return m.send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", monotonic()))
}

// Stopping reports that this process is about to end.
func (m Manager) Stopping() error { return m.send("STOPPING=1") }

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// patience limits the wait for a manager that does not read. Its socket takes few messages, ten on most
// systems, and a write to a full one blocks: a daemon must not block for ever.
const patience = 5 * time.Second

func (m Manager) send(states ...string) error { return m.sendWithin(patience, states...) }

// sendWithin sends one datagram. A name that begins with @ is an abstract socket.
func (m Manager) sendWithin(limit time.Duration, states ...string) error {
	if m.socket == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", m.socket)
	if err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	if _, err := conn.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	return nil
}
