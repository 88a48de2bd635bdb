package agentadmin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/internal/pacing"
	"github.com/go-pcp/pcp/internal/safefile"
	"github.com/go-pcp/pcp/pmns"
)

// maxFile is the maximum size of a file of an agent in bytes.
const maxFile = 1 << 20

// kinds maps the suffixes of an agent's files that other programs read to their
// directory below $PCP_VAR_DIR/config, in which those of pmlogconf and pmieconf have a
// directory for each subject.
var kinds = []struct {
	ext, dir string
	own      bool
}{
	{".pmchart", "pmchart", false},
	{".pmlogconf", "pmlogconf", true},
	{".pmieconf", "pmieconf", true},
}

// A placed is a file of an agent and its destination.
type placed struct {
	from, to string
	own      bool // the directory is the agent's own
}

// placedFiles returns the files in dir that other programs read.
func placedFiles(dir, name, varDir string) ([]placed, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []placed
	for _, e := range entries {
		for _, k := range kinds {
			base, ok := strings.CutSuffix(e.Name(), k.ext)
			if !ok || base == "" || e.IsDir() {
				continue
			}
			to := filepath.Join(varDir, "config", k.dir)
			if k.own {
				to = filepath.Join(to, name)
			}
			list = append(list, placed{filepath.Join(dir, e.Name()), filepath.Join(to, base), k.own})
		}
	}
	return list, nil
}

// install copies a file to its destination.
func (p placed) install() error {
	text, err := readLimited(p.from)
	if err != nil {
		return err
	}
	if err := safefile.MkdirAll(filepath.Dir(p.to), 0o755, nil); err != nil {
		return err
	}
	return writeWhole(p.to, text, false)
}

// remove removes an installed file, unless it has been changed.
func (p placed) remove() (kept bool, err error) {
	is, err := readLimited(p.to)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	was, err2 := readLimited(p.from)
	if err = errors.Join(err, err2); err != nil {
		return false, err
	}
	if !bytes.Equal(is, was) {
		return true, nil
	}
	if err := os.Remove(p.to); err != nil {
		return false, err
	}
	if p.own {
		os.Remove(filepath.Dir(p.to)) // fails unless it was the last file there
	}
	return false, nil
}

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s: longer than %d bytes", path, maxFile)
	}
	return text, err
}

// writeWhole replaces the file at path in one step. With keep it keeps its mode and
// owner, as far as permitted; else all users may read it.
func writeWhole(path string, text []byte, keep bool) error {
	return safefile.ReplaceBytes(path, text, safefile.Replacement{Mode: 0o644, Uid: -1, Gid: -1, Keep: keep, Lenient: true})
}

// agentNames returns the names of an agent: those of the file NAME.pmns in dir, or if
// there is no such file, NAME with all names that the agent itself provides below it.
func agentNames(env *cli.Env, dir, name string, domain int) (*pmns.Tree, error) {
	path := filepath.Join(dir, name+".pmns")
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !pmns.ValidName(name) {
			return nil, fmt.Errorf("%q cannot be the name of a metric, and there is no %s with the names of the metrics", name, path)
		}
		return pmns.Parse(strings.NewReader(fmt.Sprintf("root {\n\t%s\t%d:*:*\n}\n", name, domain)), path, true)
	}
	if err != nil {
		return nil, err
	}
	loader := pmns.Loader{DupOK: true, Config: env.Config(), Stderr: env.Stderr}
	return loader.Load(path)
}

// lockTries times lockPause is the time limit for locks on the name space, two minutes
// as in scripts of PCP.
const (
	lockTries = 240
	lockPause = 500 * time.Millisecond
)

// editNames changes the name space at path under the lock that the scripts of PCP take,
// too: a lock file.
func editNames(ctx context.Context, path string, edit func(*pmns.Tree) error) error {
	lock := path + ".lock"
	for try := 1; ; try++ {
		f, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) // O_EXCL follows no link
		if err == nil {
			f.Close()
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if try == lockTries {
			return fmt.Errorf("%s: the name space is locked; remove this file if no one is editing it", lock)
		}
		if !pacing.Sleep(ctx, lockPause) {
			return ctx.Err()
		}
	}
	defer os.Remove(lock)
	loader := pmns.Loader{DupOK: true, Raw: true}
	tree, err := loader.Load(path)
	if err != nil {
		return err
	}
	if err := edit(tree); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var b bytes.Buffer
	if _, err := tree.WriteTo(&b); err != nil {
		return err
	}
	return writeWhole(path, b.Bytes(), true)
}

// addNames adds the names of an agent, which other metrics must not have.
func addNames(tree, names *pmns.Tree) error {
	var clash []string
	err := tree.Overlay(names, func(name string, kept, _ pcp.PMID) {
		clash = append(clash, fmt.Sprintf("%s is %v", name, kept))
	})
	if err == nil && len(clash) > 0 {
		err = fmt.Errorf("names that the agent brings are there already: %s", strings.Join(clash, ", "))
	}
	return err
}

// removeNames removes the existing names of an agent.
func removeNames(tree, names *pmns.Tree) error {
	for name := range names.All() {
		if err := tree.Remove(name); err != nil && !errors.Is(err, pcp.ErrName) {
			return err
		}
	}
	return nil
}

// bring installs or removes the files and names of an agent.
func (e *edit) bring(ctx context.Context, env *cli.Env, name string, domain int, here bool) error {
	cfg := env.Config()
	if err := cfg.Err(); err != nil {
		return err
	}
	list, err := placedFiles(e.files, name, cfg.Get("PCP_VAR_DIR"))
	if err != nil {
		return err
	}
	names, err := agentNames(env, e.files, name, domain)
	if err != nil {
		return err
	}
	root, change := pmns.DefaultPath(env.Config()), removeNames
	if here {
		change = addNames
	}
	if err := editNames(ctx, root, func(tree *pmns.Tree) error { return change(tree, names) }); err != nil {
		return err
	}
	what := map[bool]string{true: "the names of agent %s are there\n", false: "the names of agent %s are gone\n"}
	fmt.Fprintf(env.Stdout, "%s: "+what[here], root, name)
	if !here {
		slices.Reverse(list)
	}
	for _, p := range list {
		if here {
			if err := p.install(); err != nil {
				return err
			}
			fmt.Fprintf(env.Stdout, "%s: is there\n", p.to)
			continue
		}
		kept, err := p.remove()
		if err != nil {
			return err
		}
		if kept {
			fmt.Fprintf(env.Stdout, "%s: is kept, since it has been changed\n", p.to)
		} else {
			fmt.Fprintf(env.Stdout, "%s: is gone\n", p.to)
		}
	}
	return nil
}
