package oracle

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// StartWith starts a process that gets sig when the test's process ends, as cmd.Start does. The
// other fields of cmd.SysProcAttr stay.
func StartWith(cmd *exec.Cmd, sig syscall.Signal) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	cmd.SysProcAttr.Pdeathsig = sig
	err := make(chan error)
	starts() <- func() { err <- cmd.Start() }
	return <-err
}

// starts returns the work of the one thread that starts processes: the kernel sends the signal when the
// thread ends that started the process, and threads that changed their user or name space end
// before the test does.
var starts = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go starter(work)
	return work
})

// starter starts processes. It never ends, nor does its thread.
func starter(work <-chan func()) {
	runtime.LockOSThread()
	for start := range work {
		start()
	}
}

// leadGroup has a process lead its own group.
func leadGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
