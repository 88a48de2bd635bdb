package cli

import "github.com/go-pcp/pcp/internal/hostroot"

// OptHostRoot is the option of programs with agents that names the directory in which the root directory of the host is
// mounted. It takes precedence over the setting.
var OptHostRoot = Option{Long: "host-root", Arg: "DIR", Extra: true, Help: "read the files of the host below DIR, in a container [default $PCP_HOST_ROOT or /]"}

// WithHostRoot returns a copy of env with the directory of [OptHostRoot], dir, as its setting; env itself if dir is "". It
// checks the directory, or that of the setting, and returns env with the error.
func WithHostRoot(env *Env, dir string) (*Env, error) {
	other := env
	if dir != "" {
		getenv := env.Getenv
		other = env.WithGetenv(func(name string) string {
			if name == hostroot.Setting {
				return dir
			}
			return getenv(name)
		})
	}
	if root := other.Config().Get(hostroot.Setting); root != "" {
		if err := hostroot.Check(root); err != nil {
			return env, err
		}
	}
	return other, nil
}
