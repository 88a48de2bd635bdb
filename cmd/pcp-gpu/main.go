// Pcp-gpu reads NVIDIA's cards for the agent nvidia of pcp, which starts it. Package reading of that agent has their
// requests and answers. It is a program of its own because the library of the driver, libnvidia-ml (NVML), can only be loaded
// by a program that is linked dynamically.
//
//	pcp-gpu [LIBRARY]
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/go-pcp/pcp/internal/agent/nvidia/reading"
)

// idle is how long the program waits for a request. It then ends, so that the driver can be unloaded.
const idle = time.Minute

func main() {
	if len(os.Args) > 2 || len(os.Args) == 2 && len(os.Args[1]) > 0 && os.Args[1][0] == '-' {
		fmt.Fprintln(os.Stderr, "Usage: pcp-gpu [LIBRARY]\n\nThe agent nvidia of pcp starts it to read NVIDIA's cards.")
		os.Exit(1)
	}
	libraries := []string{"libnvidia-ml.so.1", "libnvidia-ml.so"}
	if len(os.Args) == 2 {
		libraries = os.Args[1:]
	}
	os.Exit(serve(os.Stdin, os.Stdout, libraries, idle))
}

// serve answers requests until the input ends, no request comes for some time, or there is nothing to read, and returns the exit status.
func serve(in io.Reader, out io.Writer, libraries []string, idle time.Duration) int {
	lines := make(chan []byte)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- append([]byte(nil), s.Bytes()...)
		}
	}()
	var lib *library
	defer func() {
		if lib != nil {
			lib.shutdown()
		}
	}()
	for {
		timer := time.NewTimer(idle)
		select {
		case line, ok := <-lines:
			timer.Stop()
			if !ok {
				return 0
			}
			var req reading.Request
			if err := json.Unmarshal(line, &req); err != nil {
				fmt.Fprintln(os.Stderr, "pcp-gpu: a request:", err)
				return 1
			}
			var r reading.Reading
			var err error
			if lib == nil {
				lib, err = load(libraries)
			}
			if err == nil {
				r.Cards, err = lib.cards(req.Processes)
			}
			if err != nil {
				r = reading.Reading{Error: err.Error()}
			}
			b, jsonErr := json.Marshal(&r)
			if jsonErr != nil {
				return 1
			}
			if _, writeErr := out.Write(append(b, '\n')); writeErr != nil || err != nil {
				return 1
			}
		case <-timer.C:
			return 0
		}
	}
}
