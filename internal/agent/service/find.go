package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
)

const (
	tryLimit = 300 * time.Millisecond // for all tries together
	tryAgain = 10 * time.Minute       // after a try that failed, if nothing has changed
	maxComm  = 15                     // bytes of the name of a process that the kernel keeps
)

// ErrAbsent is the error of a try that found no service, for programs that may be something else, such as java.
var ErrAbsent = errors.New("the service does not run here")

// A Finder finds services and the files that agents read, and keeps the results: a service is asked only when its processes or the
// agent's configuration have changed, or after some minutes.
type Finder struct {
	env   builtin.Env // with the Config
	specs []builtin.Spec
	files []builtin.Spec // those with a Source
	now   func() time.Time

	mu    sync.Mutex
	tried map[string]try // by agent
}

type try struct {
	state string // of processes and files
	at    time.Time
	err   error
}

// NewFinder returns a finder for those of specs that are sought.
func NewFinder(specs []builtin.Spec, env builtin.Env) *Finder {
	f := &Finder{env: env, now: time.Now, tried: make(map[string]try)}
	for _, s := range specs {
		switch {
		case len(s.Programs) > 0:
			f.specs = append(f.specs, s)
		case s.Source != "":
			f.files = append(f.files, s)
		}
	}
	return f
}

// Find returns an entry for each agent whose service runs here, or that is configured: nil if the service answers, or why not; and nil for each
// agent whose Source exists.
func (f *Finder) Find(ctx context.Context) map[string]error {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	running := processes(f.env.HostRoot)
	results := make(map[string]error)
	for _, s := range f.files {
		if _, err := os.Stat(hostroot.Path(cmp.Or(f.env.HostRoot, "/"), strings.TrimPrefix(s.Source, "/"))); err == nil {
			results[s.Name] = nil
		}
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, s := range f.specs {
		state := f.state(s, running)
		mu.Lock()
		last, known := f.tried[s.Name]
		again := !known || last.state != state || last.err != nil && f.now().Sub(last.at) >= tryAgain
		if state != "" && !again && !errors.Is(last.err, ErrAbsent) {
			results[s.Name] = last.err
		}
		mu.Unlock()
		if state == "" || !again {
			continue
		}
		wg.Go(func() {
			err := s.Try(ctx, f.env)
			mu.Lock()
			defer mu.Unlock()
			if !errors.Is(err, ErrAbsent) {
				results[s.Name] = err
			}
			f.tried[s.Name] = try{state, f.now(), err}
		})
	}
	wg.Wait()
	return results
}

// state describes the processes of a service and the configuration of its agent, "" if there are no processes and no configuration
// of the user: that of the installation is there without a service too.
func (f *Finder) state(s builtin.Spec, running map[string][]int) string {
	var b strings.Builder
	own := ownFile(f.env.Config, s.Name)
	for _, p := range s.Programs {
		if pids := running[p[:min(len(p), maxComm)]]; len(pids) > 0 {
			fmt.Fprintf(&b, "%s %d\n", p, slices.Min(pids)) // its workers come and go
		}
	}
	for _, path := range Files(f.env.Config, s.Name) {
		if st, err := os.Stat(path); err == nil && (b.Len() > 0 || path == own) {
			fmt.Fprintf(&b, "%s %d %d\n", path, st.Size(), st.ModTime().UnixNano())
			break
		}
	}
	return b.String()
}

// processes returns the numbers of the processes by name.
func processes(root string) map[string][]int {
	dir := filepath.Join(root, "/proc")
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1)
	found := make(map[string][]int)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		comm, err := os.ReadFile(filepath.Join(dir, name, "comm"))
		if err != nil {
			continue
		}
		key := strings.TrimSuffix(string(comm), "\n")
		found[key] = append(found[key], pid)
	}
	return found
}

// Try opens an agent and asks its service once, for builtin.Spec.Try.
func Try(open func(builtin.Env) (*Agent, error)) func(context.Context, builtin.Env) error {
	return func(ctx context.Context, e builtin.Env) error {
		a, err := open(e)
		if err != nil {
			return err
		}
		defer a.Close()
		return a.Try(ctx)
	}
}
