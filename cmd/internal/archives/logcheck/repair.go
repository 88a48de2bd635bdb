package logcheck

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/go-pcp/pcp/archive"
	"github.com/go-pcp/pcp/cmd/internal/archives/internal/repair"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// question returns a function that reports whether an archive may be repaired: with -r it asks. It is nil without a terminal.
func (f *flags) question(env *cli.Env) func(name string) bool {
	if !f.ask {
		return func(string) bool { return true }
	}
	in, ok := env.Stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return nil
	}
	r := bufio.NewReader(in)
	return func(name string) bool {
		fmt.Fprintf(env.Stderr, "Repair %s, and keep the damaged archive as %[1]s%s? [y/N] ", name, repair.BackupSuffix)
		line, err := r.ReadString('\n')
		if err != nil {
			return false
		}
		line = strings.ToLower(strings.TrimSpace(line))
		return line == "y" || line == "yes"
	}
}

// mend repairs an archive in place if it is damaged, and reports whether it is whole then.
func mend(ctx context.Context, env *cli.Env, name string, ask func(string) bool) bool {
	if repair.Whole(name) {
		return true
	}
	failed := func(err error) bool {
		fmt.Fprintf(env.Stderr, "%s: %s: cannot repair: %s\n", env.ProgName(), name, cli.ErrText(err))
		return false
	}
	files, err := archive.FindFiles(name)
	if err != nil {
		return failed(err)
	}
	base := strings.TrimPrefix(files.Base, "./")
	if !ask(base) {
		return false
	}
	sum, err := repair.InPlace(ctx, files, repair.Options{Dropped: func(d repair.Drop) {
		d.File = strings.TrimPrefix(d.File, "./")
		fmt.Fprintf(env.Stderr, "Info: %v\n", d)
	}})
	if err != nil {
		return failed(err)
	}
	fmt.Fprintf(env.Stderr, "Info: %s: repaired, %d records kept; the damaged archive is %[1]s%[3]s\n", base, sum.Records, repair.BackupSuffix)
	return true
}
