package main

import (
	"strings"
	"testing"
)

// TestAgentGroups shows that the group files that come with an agent are found and used, and that the configuration
// loses them when the agent goes.
func TestAgentGroups(t *testing.T) {
	r := newPCPTree(t)
	if status, out := r.run("", r.pcp, "agent", "scripts"); status != 0 {
		t.Fatal(out)
	}
	if status, out := r.run("", r.pcp, "ns", "rebuild", "-u"); status != 0 {
		t.Fatal(out)
	}
	r.Write("files/simple.pmns", "root {\n\tsimple\n}\nsimple {\n\tnumfetch\t253:0:0\n\tcolor\t253:0:1\n}\n")
	r.Write("files/summary.pmlogconf", "#pmlogconf-setup 2.0\nident colours\nprobe simple.color values ? include : exclude\n\tsimple.color\n")
	r.Write("var/config/pmlogconf/other/group", "#pmlogconf-setup 2.0\nident something else\nprobe other.metric\n\tother\n")
	conf, files := r.Path+"/etc/pmcd.conf", r.Path+"/files"
	if status, out := r.run("", r.pcp, "agent", "enable", "-c", conf, "--files", files, "simple", r.Path+"/var/pmdas/simple/pmdasimple", "-d", "253"); status != 0 {
		t.Fatal(out)
	}
	r.collect()
	config := r.Path + "/config.default"
	if status, out := r.run("", r.pcp, "logconf", config); status != 0 {
		t.Fatal(out)
	}
	const group = "#+ simple/summary:y:default:\n## colours\nlog advisory on default {\n\tsimple.color\n}\n#----\n"
	text := r.Read("config.default")
	if !strings.Contains(text, group) || !strings.Contains(text, "#+ other/group:x::\n") || !strings.Contains(text, "#+ groupdir "+r.Path+"/var/config/pmlogconf\n") {
		t.Errorf("made:\n%s", text)
	}
	if status, out := r.run("", r.pcp, "logger", "-C", "-c", config); status != 0 {
		t.Errorf("the recorder refuses it: %s", out)
	}
	if status, out := r.run("", r.pcp, "agent", "disable", "-c", conf, "--files", files, "simple"); status != 0 {
		t.Fatal(out)
	}
	status, out := r.run("", r.pcp, "logconf", "-c", "-r", config)
	if status != 0 || !strings.Contains(out, "Warning: cannot find group file (simple/summary): deleting obsolete group\n") {
		t.Errorf("status %d: %s", status, out)
	}
	if text := r.Read("config.default"); strings.Contains(text, "simple") || !strings.Contains(text, "#+ other/group:x::\n") {
		t.Errorf("afterwards:\n%s", text)
	}
}
