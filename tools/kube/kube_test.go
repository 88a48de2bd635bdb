package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// cases are values with which the chart is rendered; want is text that the result has, and without text that it lacks.
var cases = []struct {
	name, values  string
	want, without []string
}{
	{name: "default", want: []string{"kind: DaemonSet", "--host-root=/host", "--hosts-dns=pcp-collector:44321"}, without: []string{"--fleet", "ServiceMonitor", "NetworkPolicy"}},
	{
		name:    "engine",
		values:  "{proxy: {engine: {url: 'http://victoria:8428', tokenSecret: {name: engine}}}, recorder: {remoteWrite: {url: 'http://victoria:8428'}}}",
		want:    []string{"--engine=http://victoria:8428", "--engine-token=/etc/pcp-token/token", "secretName: engine", "--remote-write=http://victoria:8428"},
		without: []string{"remote-write-config"},
	},
	{
		name:    "remote write with a token",
		values:  "{recorder: {remoteWrite: {url: 'https://victoria', tokenSecret: {name: writer, key: secret}}}}",
		want:    []string{"--remote-write-config=/etc/pcp-recorder/remote-write.yaml", "credentials_file: /etc/pcp-token/secret", "secretName: writer"},
		without: []string{"--remote-write="},
	},
	{
		name:   "servicemonitor",
		values: "{serviceMonitor: {enabled: true, labels: {release: prometheus}}}",
		want:   []string{"kind: ServiceMonitor", "release: prometheus", "pcp-proxy.pcp.svc:44322", "kernel.all,mem.util"},
	},
	{
		name:   "fleet",
		values: "{recorder: {replicas: 3, fleet: 's3://archives/site', ship: 's3://archives/site', keepLocal: 1day, lifecycle: 'raw=30d,1min=1y', processes: true}, s3: {endpoint: 'https://minio:9000', region: eu, existingSecret: s3}, proxy: {replicas: 2}}",
		want:   []string{"replicas: 3", "--fleet=s3://archives/site", "--ship=s3://archives/site", "--archives=s3://archives/site", "--keep-local=1day", "--lifecycle=raw=30d,1min=1y", "AWS_ENDPOINT_URL", "name: s3"},
	},
	{
		name:   "fleet by a shared volume",
		values: "{recorder: {replicas: 2, fleet: /shared/fleet, ship: /shared/archives}, shared: {existingClaim: nfs}}",
		want:   []string{"--fleet=/shared/fleet", "claimName: nfs", "mountPath: /shared"},
	},
	{
		name:   "capabilities",
		values: "{collector: {capabilities: [SYS_PTRACE, DAC_READ_SEARCH], hostNetwork: false, hostPID: true, extraArgs: ['--statsd=0.0.0.0:8125'], maxUnavailable: 1, priorityClassName: system-node-critical}}",
		want:   []string{"runAsUser: 0", "- SYS_PTRACE", "hostNetwork: false", "priorityClassName: system-node-critical"},
	},
	{
		name: "scheduling",
		values: `{image: {tag: 1.2.3, pullSecrets: [registry]}, fullnameOverride: metrics, serviceAccount: {name: other, annotations: {a: b}},
collector: {nodeSelector: {kubernetes.io/os: linux}, podAnnotations: {a: b}},
recorder: {tolerations: [{operator: Exists}], affinity: {nodeAffinity: {}}, podAnnotations: {a: b}, persistence: {storageClass: fast, size: 1Ti}, extraArgs: [--keep-days=3]},
proxy: {config: "[pmproxy]\nhttp.auth = required\n", service: {type: LoadBalancer, annotations: {a: b}}, podAnnotations: {a: b}, nodeSelector: {a: b}, extraArgs: [-A]},
networkPolicy: {enabled: true, proxyFrom: [{namespaceSelector: {matchLabels: {a: b}}}]}}`,
		want: []string{"pcp:1.2.3", "- name: registry", "name: metrics-collector", "serviceAccountName: other", "storageClassName: fast", "http.auth = required", "--config=/etc/pcp-proxy/pmproxy.conf", "type: LoadBalancer", "namespaceSelector"},
	},
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func TestRender(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			all := check(t, parse(t, c.values))
			for _, s := range c.want {
				if !strings.Contains(all, s) {
					t.Errorf("no %q in:\n%s", s, all)
				}
			}
			for _, s := range c.without {
				if strings.Contains(all, s) {
					t.Errorf("%q in:\n%s", s, all)
				}
			}
		})
	}
}

// TestSwitches turns each boolean value of the chart around.
func TestSwitches(t *testing.T) {
	b, err := os.ReadFile(filepath.Join(chartDir(root), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var walk func(values map[string]any, wrap func(any) map[string]any)
	walk = func(values map[string]any, wrap func(any) map[string]any) {
		for _, key := range slices.Sorted(maps.Keys(values)) {
			down := func(v any) map[string]any { return wrap(map[string]any{key: v}) }
			switch v := values[key].(type) {
			case map[string]any:
				walk(v, down)
			case bool:
				n++
				t.Run(fmt.Sprint(down(!v)), func(t *testing.T) { check(t, down(!v)) })
			}
		}
	}
	walk(parse(t, string(b)), func(v any) map[string]any { return v.(map[string]any) })
	if n < 8 {
		t.Errorf("%d switches", n)
	}
}

// check renders the chart, checks each document, and returns the text of all.
func check(t *testing.T, values map[string]any) string {
	t.Helper()
	texts, err := render(chartDir(root), values)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all.WriteString(texts[name])
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		if err := checkDocuments(texts[name], func(args []string) error { return parses(t, args) }); err != nil {
			t.Errorf("%s: %v:\n%s", name, err, texts[name])
		}
	}
	return all.String()
}

// A serviceMonitor has the fields of the ServiceMonitor of Prometheus' operator that the chart uses.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port        string              `json:"port"`
			Path        string              `json:"path"`
			Interval    string              `json:"interval"`
			Params      map[string][]string `json:"params"`
			Relabelings []struct {
				SourceLabels []string `json:"sourceLabels"`
				TargetLabel  string   `json:"targetLabel"`
				Replacement  string   `json:"replacement"`
			} `json:"relabelings"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// object returns the type of a document, and its pods if it has some.
func object(api, kind string) (any, *corev1.PodTemplateSpec, error) {
	switch api + " " + kind {
	case "apps/v1 DaemonSet":
		o := new(appsv1.DaemonSet)
		return o, &o.Spec.Template, nil
	case "apps/v1 Deployment":
		o := new(appsv1.Deployment)
		return o, &o.Spec.Template, nil
	case "apps/v1 StatefulSet":
		o := new(appsv1.StatefulSet)
		return o, &o.Spec.Template, nil
	case "v1 ConfigMap":
		return new(corev1.ConfigMap), nil, nil
	case "v1 Service":
		return new(corev1.Service), nil, nil
	case "v1 ServiceAccount":
		return new(corev1.ServiceAccount), nil, nil
	case "networking.k8s.io/v1 NetworkPolicy":
		return new(networkingv1.NetworkPolicy), nil, nil
	case "policy/v1 PodDisruptionBudget":
		return new(policyv1.PodDisruptionBudget), nil, nil
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return new(serviceMonitor), nil, nil
	}
	return nil, nil, fmt.Errorf("unexpected kind %s of %s", kind, api)
}

// checkDocuments decodes the documents of a file into the types of Kubernetes, without unknown or repeated fields, checks the
// containers, and passes the command lines of containers to args.
func checkDocuments(text string, args func([]string) error) error {
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		var meta metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(doc), &meta); err != nil {
			return err
		}
		if meta.Kind == "" {
			if blank(doc) {
				continue
			}
			return fmt.Errorf("a document without kind: %q", doc)
		}
		o, pods, err := object(meta.APIVersion, meta.Kind)
		if err != nil {
			return err
		}
		b, err := yaml.YAMLToJSONStrict([]byte(doc))
		if err != nil {
			return fmt.Errorf("%s: %w", meta.Kind, err)
		}
		// As the API server does it, with the case of names.
		faults, err := json.UnmarshalStrict(b, o)
		if err := errors.Join(append(faults, err)...); err != nil {
			return fmt.Errorf("%s: %w", meta.Kind, err)
		}
		if pods == nil {
			continue
		}
		if err := checkPod(pods.Spec, args); err != nil {
			return fmt.Errorf("%s: %w", meta.Kind, err)
		}
	}
	return nil
}

// blank reports whether a document has comments only.
func blank(doc string) bool {
	for line := range strings.Lines(doc) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

func checkPod(pod corev1.PodSpec, args func([]string) error) error {
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		return fmt.Errorf("the token of the service account is mounted")
	}
	volumes := make(map[string]bool)
	for _, v := range pod.Volumes {
		volumes[v.Name] = true
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation {
			return fmt.Errorf("%s: rights that it does not need", c.Name)
		}
		if s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			return fmt.Errorf("%s: capabilities are not dropped", c.Name)
		}
		// Added capabilities have an effect for root only.
		if user := pod.SecurityContext.RunAsUser; user == nil || (*user == 0) != (len(s.Capabilities.Add) > 0) {
			return fmt.Errorf("%s: user and capabilities do not fit", c.Name)
		}
		for _, m := range c.VolumeMounts {
			// The volume of a claim template is not in the list.
			if !volumes[m.Name] && m.Name != "archives" {
				return fmt.Errorf("%s: no volume %s", c.Name, m.Name)
			}
			if m.Name == "host" && !m.ReadOnly {
				return fmt.Errorf("%s: the host can be written", c.Name)
			}
		}
		if err := args(slices.Concat(c.Command, c.Args)); err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	return nil
}

// work is a temporary directory.
var work string

// program builds the program once.
var program = sync.OnceValues(func() (string, error) {
	path := filepath.Join(work, "pcp")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/pcp")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd, err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	var err error
	if work, err = os.MkdirTemp("", "kube"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(work)
	os.Exit(status)
}

var parsed = make(map[string]error)

// parses runs a container's command line with --help after the other arguments, so that pcp checks these and then prints its usage.
func parses(t *testing.T, args []string) error {
	t.Helper()
	key := strings.Join(args, "\x00")
	if err, ok := parsed[key]; ok {
		return err
	}
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	if len(args) < 2 || args[0] != "/usr/bin/pcp" {
		return fmt.Errorf("the command is %q", args)
	}
	out, _ := exec.Command(path, append(slices.Clone(args[1:]), "--help")...).CombinedOutput()
	if want := "Usage: pcp " + args[1]; !bytes.Contains(out, []byte(want)) {
		err = fmt.Errorf("%q: %s", args, out)
	}
	parsed[key] = err
	return err
}

// TestArguments checks that parses notices mistakes.
func TestArguments(t *testing.T) {
	for _, args := range [][]string{
		{"/usr/bin/pcp", "up", "--no-such-option"},
		{"/usr/bin/pcp", "record", "--keep-days=x"},
		{"/usr/bin/pcp", "proxy", "--no-such-option"},
		{"/usr/bin/pcp", "no-such-command"},
		{"/usr/bin/other", "up"},
	} {
		if err := parses(t, args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct{ values, want string }{
		{"{no-such-section: {}}", "no-such-section"},
		{"{collector: {hostNetwrk: true}}", "hostNetwrk"},
		{"{collector: {capabilities: [ALL]}}", "capabilities"},
		{"{collector: {port: 80}}", "port"},
		{"{collector: {maxUnavailable: many}}", "maxUnavailable"},
		{"{recorder: {replicas: 3}}", "fleet"},
		{"{recorder: {replicas: 0}}", "replicas"},
		{"{recorder: {fleet: /tmp/x}}", "fleet"},
		{"{recorder: {ship: 'ftp://x'}}", "ship"},
		{"{recorder: {interval: often}}", "interval"},
		{"{recorder: {maxSize: 1Gi}}", "maxSize"},
		{"{recorder: {remoteWrite: {token: secret}}}", "token"},
		{"{recorder: {remoteWrite: {url: victoria}}}", "url"},
		{"{recorder: {persistence: {size: big}}}", "size"},
		{"{proxy: {engine: {url: 'victoria:8428'}}}", "url"},
		{"{proxy: {service: {type: None}}}", "type"},
		{"{serviceMonitor: {names: []}}", "names"},
		{"{serviceMonitor: {enabled: true}, proxy: {enabled: false}}", "needs proxy.enabled"},
		{"{recorder: {fleet: /shared/fleet}}", "needs shared.existingClaim"},
	} {
		_, err := render(chartDir(root), parse(t, c.values))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.values, err, c.want)
		}
	}
}

// TestStrict checks that checkDocuments refuses mistakes.
func TestStrict(t *testing.T) {
	texts, err := render(chartDir(root), nil)
	if err != nil {
		t.Fatal(err)
	}
	text := texts["collector.yaml"]
	for _, c := range [][2]string{
		{"hostPID:", "hostPid:"},
		{"readOnlyRootFilesystem: true", "readOnlyRootFilesystem: false"},
		{"drop: [ALL]", "drop: [KILL]"},
		{"automountServiceAccountToken: false", "automountServiceAccountToken: true"},
		{"kind: Service\n", "kind: Servant\n"},
		{"runAsUser: 65532", "runAsUser: 0"},
		{"- name: state\n          emptyDir", "- name: other\n          emptyDir"},
		{"readOnly: true", "readOnly: false"},
	} {
		bad := strings.Replace(text, c[0], c[1], 1)
		if bad == text {
			t.Errorf("no %q", c[0])
		}
		if err := checkDocuments(bad, func([]string) error { return nil }); err == nil {
			t.Errorf("%s: no error", c[1])
		}
	}
}

func TestLint(t *testing.T) {
	for _, c := range cases {
		l := lint.All(chartDir(root), parse(t, c.values), "pcp", true)
		if l.HighestSeverity >= support.WarningSev {
			t.Errorf("%s: %v", c.name, l.Messages)
		}
	}
	bad := t.TempDir()
	if l := lint.All(bad, nil, "pcp", true); l.HighestSeverity < support.ErrorSev {
		t.Error("an empty directory has no faults")
	}
}

// TestManifests compares packaging/kubernetes with the chart.
func TestManifests(t *testing.T) {
	files, err := manifests(chartDir(root))
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "packaging", "kubernetes")
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range found {
		if _, ok := files[e.Name()]; !ok {
			t.Errorf("%s is not of the chart; run \"make kubernetes\"", e.Name())
		}
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not current (%v); run \"make kubernetes\"", name, err)
		}
		if name == "kustomization.yaml" {
			continue
		}
		if err := checkDocuments(string(got), func(args []string) error { return parses(t, args) }); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestVersion compares the versions of the chart with that of the program.
func TestVersion(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "up", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := strings.TrimSpace(strings.TrimPrefix(string(out), "pcp up version "))
	b, err := os.ReadFile(filepath.Join(chartDir(root), "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"version", "appVersion"} {
		if !strings.Contains(string(b), "\n"+key+": "+version+"\n") {
			t.Errorf("Chart.yaml: %s is not %s", key, version)
		}
	}
}

// TestPackage loads the chart that "make release" makes with Helm: it renders as that of the repository.
func TestPackage(t *testing.T) {
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(path, "up", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version, dir := strings.TrimSpace(strings.TrimPrefix(string(out), "pcp up version ")), t.TempDir()
	cmd := exec.Command("make", "-C", root, "release", "VERSION="+version, "DIRTY=1", "FORMATS=chart", "OUT="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("make release: %v\n%s", err, out)
	}
	packed, err := loader.Load(filepath.Join(dir, "pcp-"+version+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := loader.LoadDir(chartDir(root))
	if err != nil {
		t.Fatal(err)
	}
	if packed.Metadata.Version != version || packed.Metadata.AppVersion != version {
		t.Errorf("the chart has version %s and appVersion %s, want %s", packed.Metadata.Version, packed.Metadata.AppVersion, version)
	}
	if len(packed.Templates) != len(plain.Templates) || packed.Schema == nil {
		t.Errorf("the chart has %d templates and a schema of %d bytes", len(packed.Templates), len(packed.Schema))
	}
	for _, f := range plain.Raw {
		if !slices.ContainsFunc(packed.Raw, func(p *chart.File) bool { return p.Name == f.Name && bytes.Equal(p.Data, f.Data) }) {
			t.Errorf("%s is missing or differs", f.Name)
		}
	}
}
