package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// A source is the commit that is released.
type source struct {
	commit string
	time   time.Time // of the commit
}

// numberLine is the line of internal/version that has the version.
var numberLine = regexp.MustCompile(`(?m)^const Number = "(.*)"$`)

// inspect checks that the working directory is the root of the repository, that its version is the given one, and that
// all its files are committed, unless dirty.
func inspect(ctx context.Context, version string, dirty bool) (source, error) {
	const file = "internal/version/version.go"
	text, err := os.ReadFile(file)
	if err != nil {
		return source{}, fmt.Errorf("not in the root of the repository: %w", err)
	}
	m := numberLine.FindSubmatch(text)
	if m == nil {
		return source{}, fmt.Errorf("%s has no line %q", file, `const Number = "X.Y.Z"`)
	}
	if number := string(m[1]); number != version {
		return source{}, fmt.Errorf("version %s: the source has version %s; set Number in %s, and commit it", version, number, file)
	}
	out, err := git(ctx, "status", "--porcelain")
	if err != nil {
		return source{}, err
	}
	if out != "" && !dirty {
		lines := strings.Split(out, "\n")
		more := ""
		if len(lines) > 5 {
			lines, more = lines[:5], fmt.Sprintf("\n\tand %d more", len(lines)-5)
		}
		return source{}, fmt.Errorf("the working tree differs from the commit; commit or remove these files, or add DIRTY=1 to try packages:\n\t%s%s",
			strings.Join(lines, "\n\t"), more)
	}
	out, err = git(ctx, "log", "-1", "--format=%H %ct")
	if err != nil {
		return source{}, err
	}
	commit, seconds, _ := strings.Cut(out, " ")
	if s := os.Getenv("SOURCE_DATE_EPOCH"); s != "" {
		seconds = s
	}
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || n < 0 || n > 1<<33 {
		return source{}, fmt.Errorf("bad time %q of the source: want seconds since 1970", seconds)
	}
	return source{commit: commit, time: time.Unix(n, 0).UTC()}, nil
}

// git returns the output of git.
func git(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], withStderr(err))
	}
	return strings.TrimRight(string(out), "\n"), nil
}

// withStderr adds what the program wrote to standard error.
func withStderr(err error) error {
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	return err
}
