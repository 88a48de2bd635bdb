package chroottest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stubs makes two packages in /repo: base, which provides to rpm what Debian has, and a pcp with a program and a file of configuration, as
// Fedora's has them.
const stubs = `
cd /tmp
cat >base.spec <<'END'
Name: base
Version: 1
Release: 1
Summary: Stub
License: none
BuildArch: noarch
Provides: /bin/sh shadow-utils
%description
Stub.
%files
END
cat >pcp.spec <<'END'
Name: pcp
Version: 6.0.3
Release: 1
Summary: Stub
License: none
BuildArch: noarch
%description
Stub.
%install
mkdir -p %{buildroot}/etc/pcp/pmcd %{buildroot}/usr/bin
echo '# of the distribution' >%{buildroot}/etc/pcp/pmcd/pmcd.options
printf '#!/bin/sh\necho stub\n' >%{buildroot}/usr/bin/pminfo
%files
%attr(755, root, root) /usr/bin/pminfo
%config(noreplace) /etc/pcp/pmcd/pmcd.options
END
rpmbuild --quiet -bb --define '_topdir /tmp/rpm' base.spec && rpmbuild --quiet -bb --define '_topdir /tmp/rpm' pcp.spec &&
mkdir -p /repo && mv rpm/RPMS/noarch/*.rpm /repo && rm -r rpm *.spec`

// TestDNF swaps a pcp of a distribution with rpm for ours, and goes back, with the commands of docs/install.md.
func TestDNF(t *testing.T) {
	long(t)
	r := unpackOthers(t)
	r.run(stubs)
	r.add(release(t, "pcp-go-[0-9]*.rpm"), "repo/pcp-go-VERSION.rpm")
	r.run("createrepo_c -q /repo")
	const dnf = "cd /repo && dnf -q -y --nogpgcheck --disablerepo='*' --repofrompath=local,/repo --enablerepo=local "
	r.run(dnf + "install base pcp && echo '# changed' >>/etc/pcp/pmcd/pmcd.options")
	if out := r.run("pminfo --version; rpm -qa --qf '%{NAME}\n' | sort"); out != "stub\nbase\npcp\n" {
		t.Fatalf("before: %s", out)
	}
	r.run(dnf + "swap pcp ./pcp-go-VERSION.rpm")
	if out := r.run("rpm -qa --qf '%{NAME}\n' | sort; readlink /usr/bin/pminfo; cat /etc/pcp/pmcd/pmcd.options"); out != "base\npcp-go\npcp\n# of the distribution\n# changed\n" {
		t.Errorf("after the swap: %s", out)
	}
	checkValues(t, r.run(collect))
	r.run(dnf + "swap pcp-go pcp")
	if out := r.run("pminfo --version; rpm -qa --qf '%{NAME}\n' | sort; cat /etc/pcp/pmcd/pmcd.options"); out != "stub\nbase\npcp\n# of the distribution\n# changed\n" {
		t.Errorf("after going back: %s", out)
	}
}

// TestPacman installs the package for Arch, collects, upgrades and removes it.
func TestPacman(t *testing.T) {
	long(t)
	r := unpackOthers(t)
	r.add(release(t, "pcp-go-[0-9]*.pkg.tar.zst"), "tmp/pcp-go.pkg.tar.zst")
	if err := os.WriteFile(filepath.Join(r.path, "etc/pacman.conf"), []byte("[options]\nArchitecture = auto\nSigLevel = Never\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.run("mkdir -p /var/lib/pacman /var/cache/pacman/pkg; ln -sf bash /bin/sh") // which it is on Arch
	before := r.files()
	pacman := func(args string) {
		t.Helper()
		if out := r.run("pacman --noconfirm " + args); strings.Contains(out, "error") {
			t.Errorf("pacman %s: %s", args, out)
		}
	}
	pacman("-U /tmp/pcp-go.pkg.tar.zst")
	// The only difference is the owner of a directory, which becomes the new user.
	out := r.run("pacman -Qkk pcp-go 2>&1 | cat")
	for line := range strings.Lines(out) {
		if !regexp.MustCompile(`^warning: pcp-go: /var/lib/pcp/ \([UG]ID mismatch\)|^pcp-go: \d+ total files, 1 altered file`).MatchString(line) {
			t.Errorf("pacman -Qkk: %s", line)
		}
	}
	checkValues(t, r.run(collect))
	r.run("echo '# changed' >>/etc/pcp/pmcd/pmcd.options")
	pacman("-U /tmp/pcp-go.pkg.tar.zst")
	if out := r.run("tail -1 /etc/pcp/pmcd/pmcd.options"); out != "# changed\n" {
		t.Errorf("after an upgrade pmcd.options ends with %q", out)
	}
	pacman("-R pcp-go")
	kept := regexp.MustCompile(`^(/var/log/(pcp|pacman)|/var/lib/(pcp|pacman)|/etc/pcp|/etc/(passwd|group|shadow|gshadow)[:-]?)`)
	remaining := func(list []string) []string { return slices.DeleteFunc(list, kept.MatchString) }
	if diff := cmp.Diff(remaining(before), remaining(r.files())); diff != "" {
		t.Errorf("after removing (-before +now):\n%s", diff)
	}
}

// unpackOthers returns the root directory with dnf and pacman.
func unpackOthers(t *testing.T) root {
	t.Helper()
	if _, err := os.Stat(filepath.Join(need(t), "others.tar")); err != nil {
		t.Skip("SKIPPED: there is no root directory with dnf and pacman; run scripts/chroot all, PCP_TEST_LONG")
	}
	return unpack(t, "others")
}
