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

// A Manager is told about the state of this process. The zero Manager ignores what it is told.
type Manager struct {
	socket   string
	watchdog time.Duration
}

// NewManager returns the one that the environment names in NOTIFY_SOCKET.
func NewManager(getenv func(string) string) Manager {
	m := Manager{socket: getenv("NOTIFY_SOCKET")}
	pid := getenv("WATCHDOG_PID")
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if err == nil && usec > 0 && usec <= int64(math.MaxInt64/time.Microsecond) && (pid == "" || pid == strconv.Itoa(os.Getpid())) {
		m.watchdog = time.Duration(usec) * time.Microsecond
	}
	return m
}

// Watchdog returns how often Alive is to be called: twice in the time after which the manager takes this
// process for dead. It is 0 if the manager does not watch.
func (m Manager) Watchdog() time.Duration {
	if m.socket == "" {
		return 0
	}
	return m.watchdog / 2
}

// Alive tells that this process does its work.
func (m Manager) Alive() error { return m.send("WATCHDOG=1") }

// Ready tells that this process, which need not be the one that was started,
// serves, and whom.
func (m Manager) Ready(status string) error {
	return m.send("READY=1", fmt.Sprintf("MAINPID=%d", os.Getpid()), "STATUS="+oneLine(status))
}

// Reloading tells that the configuration is read again; Ready ends that.
func (m Manager) Reloading() error {
	return m.send("RELOADING=1", fmt.Sprintf("MONOTONIC_USEC=%d", monotonic()))
}

// Stopping tells that this process is about to end.
func (m Manager) Stopping() error { return m.send("STOPPING=1") }

func oneLine(s string) string { return strings.ReplaceAll(s, "\n", " ") }

// send sends one datagram. A name that begins with @ is an abstract one.
func (m Manager) send(states ...string) error {
	if m.socket == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", m.socket)
	if err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("service manager: %w", err)
	}
	return nil
}
