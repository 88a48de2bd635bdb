package val

import "github.com/go-pcp/pcp/cmd/internal/tool/cli"

func newEnv(vars map[string]string) *cli.Env {
	return &cli.Env{Getenv: func(name string) string { return vars[name] }}
}
