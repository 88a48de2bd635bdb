package prom

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects/objectstest"
	"github.com/go-pcp/pcp/cmd/internal/testing/docpage"
	"github.com/go-pcp/pcp/internal/testing/await"
	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// TestFleetPage runs the commands of docs/fleet.md: those of a section at the same time, and one section after another. The hosts alpha and beta
// are two addresses of one collector.
func TestFleetPage(t *testing.T) {
	page := docpage.Read(t, "docs/fleet.md")
	l := startLive(t, time.Second)
	l.recorded(t, "rate(kernel_all_pswitch[1m])")
	s3 := objectstest.Start(t, false)
	sh := l.shell(t)
	for name, value := range s3.Env() {
		sh.Env = append(sh.Env, name+"="+value)
	}
	port := func() string { return fmt.Sprint(oracle.FreePort(t)) }
	proxy, victoria := port(), port()
	mine := t.TempDir()
	sh.Env = append(sh.Env, "PCP_LOG_DIR="+mine)
	sh.Replace = append(sh.Replace,
		"/data", mine, "alpha", "127.0.0.1:"+l.port, "beta", "localhost:"+l.port, "s3://archives", "s3://"+objectstest.Bucket,
		"pcp proxy", "pcp proxy -i 127.0.0.1 -p "+proxy, "localhost:44322", "127.0.0.1:"+proxy, "https://collector:44322", "http://127.0.0.1:"+proxy, "push=www*", "push=*",
		"localhost:8428", "127.0.0.1:"+victoria, "-httpListenAddr", "-search.latencyOffset=1s -httpListenAddr",
		"pcp up --all", "pcp up --all --port "+port()+" --no-web --dir "+filepath.Join(mine, "all"), "pcp up --push", "pcp up --port "+port()+" --no-web --dir "+filepath.Join(mine, "up")+" --push",
	)
	for _, name := range []string{"hosts.txt", "pmproxy.conf"} {
		sh.Write(t, name, page.File(t, name))
	}
	commands, n := page.Commands(), 0
	lines := strings.Split(page.Text, "\n")
	for i, title := range lines {
		if !strings.HasPrefix(title, "## ") {
			continue
		}
		end := len(lines)
		if k := slices.IndexFunc(lines[i+1:], func(line string) bool { return strings.HasPrefix(line, "## ") }); k >= 0 {
			end = i + 1 + k
		}
		section := slices.DeleteFunc(slices.Clone(commands), func(c docpage.Command) bool { return c.Line <= i || c.Line > end })
		n += len(section)
		t.Run(title[3:], func(t *testing.T) {
			for _, c := range section {
				words := strings.Fields(c.Text)
				switch {
				case c.Text == "pcp up": // it runs
				case words[0] == "victoria-metrics":
					if _, err := exec.LookPath("victoria-metrics"); err != nil {
						t.Skip("SKIPPED: victoria-metrics is not installed (go install github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.151.0 makes it)")
					}
					sh.Start(t, c)
				case words[0] == "pcp" && (words[1] == "up" || words[1] == "proxy" || words[1] == "record" && words[2] != "--status"):
					sh.Start(t, c)
				case words[0] == "install" || words[0] == "printf":
					sh.Run(t, c)
				default:
					answered(t, sh, c)
				}
			}
			if strings.HasPrefix(title, "## Hosts behind NAT") {
				await.Until(t, "the archive is pushed", func() bool {
					list, err := filepath.Glob(filepath.Join(mine, "pmproxy", "*", "*.0"))
					return err == nil && len(list) > 0
				})
			}
		})
	}
	if n != len(commands) || n < 22 {
		t.Errorf("%d of %d commands are in sections", n, len(commands))
	}
}

// answered runs a command until it has a result, as soon as the commands before it have begun their work.
func answered(t *testing.T, sh *docpage.Shell, c docpage.Command) {
	t.Helper()
	text := ""
	await.Until(t, fmt.Sprintf("%s:%d: %s", c.Page, c.Line, c.Text), func() bool {
		cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", sh.Text(c.Text))
		cmd.Dir, cmd.Env = sh.Dir, sh.Env
		out, err := cmd.CombinedOutput()
		text = string(out)
		time.Sleep(100 * time.Millisecond) // others need the processor
		return err == nil && strings.TrimSpace(text) != "" && !strings.Contains(text, `"result":[]`) && !strings.Contains(text, `"hosts":[]`) && !strings.Contains(text, `"status":"error"`)
	})
	t.Logf("%s\n%.300s", c.Text, text)
}
