package cli

import (
	"os"
	"path/filepath"
)

// OptTarget is the option of a command that makes links.
var OptTarget = Option{Short: 't', Long: "target", Arg: "FILE", Help: "what the links point to [this program]"}

// ParseTarget reads the options of a command that takes only OptTarget and the
// common ones, and no arguments. It returns the absolute path of the target, which
// is this program by default. If exit is true, the command must exit with status.
func ParseTarget(env *Env) (target string, status int, exit bool) {
	o := ParseArgs(env, ParseConfig{Own: func(_ *Options, opt *Option, arg string) bool {
		if opt.Long != OptTarget.Long {
			return false
		}
		target = arg
		return true
	}})
	if !o.WantsVersion() && !o.Errors() && len(o.Args) > 0 {
		o.WantUsage()
	}
	if status, exit = o.Done(); exit {
		return "", status, true
	}
	var err error
	if target == "" {
		target, err = os.Executable()
	} else {
		target, err = filepath.Abs(target)
	}
	if err != nil {
		return "", env.Fatalf("%v", err), true
	}
	return target, 0, false
}
