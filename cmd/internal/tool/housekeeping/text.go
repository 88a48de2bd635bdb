package housekeeping

import (
	"path/filepath"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// lineWidth is how long lines of names are.
const lineWidth = 75

// Fill puts words into lines that are indented.
func Fill(words []string) string {
	var b strings.Builder
	n := 0
	for _, w := range words {
		switch {
		case n > 0 && n+1+len(w) > lineWidth:
			b.WriteString("\n    ")
			n = 0
		case n > 0:
			b.WriteByte(' ')
			n++
		default:
			b.WriteString("    ")
		}
		b.WriteString(w)
		n += len(w)
	}
	if len(words) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// Mailer returns the program that sends mail, "" if there is none.
func Mailer(env *cli.Env) string {
	for _, name := range []string{"Mail", "mail", "email"} {
		if path, err := env.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// ServiceOn reports whether the service manager starts a service, so that its processes should run.
// Its services are below the directory of PCP_RC_DIR, which is /etc unless pcp.conf has another.
func ServiceOn(env *cli.Env, name string) bool {
	if env.Getenv("PCP_DIR") != "" {
		return true
	}
	etc := "/etc"
	if dir := env.Config().Get("PCP_RC_DIR"); dir != "" {
		etc = filepath.Dir(dir)
	}
	for _, pattern := range []string{"systemd/system/*.wants/" + name + ".service", "rc[2-5].d/S[0-9][0-9]" + name} {
		if list, err := filepath.Glob(filepath.Join(etc, pattern)); err == nil && len(list) > 0 {
			return true
		}
	}
	return false
}
