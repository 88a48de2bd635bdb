package dm

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"
)

// Limits of a command.
const (
	runTime   = 10 * time.Second
	maxOutput = 16 << 20
)

// run returns the output of a command.
func run(command string) ([]byte, error) {
	args := words(command)
	if len(args) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), runTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.WaitDelay = time.Second
	out := limited{full: cancel}
	cmd.Stdout = &out
	err := cmd.Run()
	if out.err != nil {
		err = out.err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", command, err)
	}
	return out.buf.Bytes(), nil
}

// limited accepts up to maxOutput bytes, and then calls full. The buffer is not embedded: its ReadFrom
// would accept more.
type limited struct {
	buf  bytes.Buffer
	full func()
	err  error
}

// Write implements io.Writer.
func (l *limited) Write(b []byte) (int, error) {
	if l.buf.Len()+len(b) > maxOutput {
		l.err = fmt.Errorf("more than %d bytes of output", maxOutput)
		l.full()
		return 0, l.err
	}
	return l.buf.Write(b)
}
