package send

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/relabel"
	"go.yaml.in/yaml/v3"

	"github.com/go-pcp/pcp/cmd/internal/prom/remote"
)

// Limits of a file of targets.
const (
	maxTargetsFile = 1 << 20
	maxTargets     = 100
	maxShards      = 100
)

// A Target is a server that recorders send to, or several that share the series.
type Target struct {
	// Name is the label recorder of the marker series.
	Name string
	// URLs are the servers. If there are several, each series is sent to Replicas of them.
	URLs     []string
	Replicas int

	client     remote.Config // without URL, secrets and certificates
	secrets    Secrets
	keep, drop []string
	rules      []*relabel.Config
}

// NewTarget returns the target of a URL.
func NewTarget(url string) (*Target, error) {
	t := &Target{Name: pushName, URLs: []string{url}, Replicas: 1}
	return t, t.check()
}

// check reports mistakes.
func (t *Target) check() error {
	for _, url := range t.URLs {
		cfg, err := t.config(url)
		if err != nil {
			return err
		}
		if _, err := remote.New(cfg); err != nil {
			return err
		}
	}
	return nil
}

// config returns the configuration for a server. It reads the files of secrets, which may have changed.
func (t *Target) config(url string) (remote.Config, error) {
	cfg := t.client
	cfg.URL = url
	err := t.secrets.Read(&cfg)
	return cfg, err
}

// ReadTargets reads a file of targets. Each mistake is an error that names the file.
func ReadTargets(path string) ([]*Target, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxTargetsFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxTargetsFile {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, maxTargetsFile)
	}
	list, err := parseTargets(b, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return list, nil
}

// A targetsFile is the contents of a file of targets, in the form of the section of that name of prometheus.yml.
type targetsFile struct {
	RemoteWrite []struct {
		Name     string   `yaml:"name"`
		URL      string   `yaml:"url"`
		Shards   []string `yaml:"shards"`
		Replicas int      `yaml:"replicas"`
		QueryURL string   `yaml:"query_url"`
		Keep     []string `yaml:"keep"`
		Drop     []string `yaml:"drop"`

		Headers         map[string]string `yaml:"headers"`
		Timeout         string            `yaml:"remote_timeout"`
		Message         string            `yaml:"protobuf_message"`
		BearerTokenFile string            `yaml:"bearer_token_file"`
		Authorization   *struct {
			Type            string `yaml:"type"`
			CredentialsFile string `yaml:"credentials_file"`
		} `yaml:"authorization"`
		BasicAuth *struct {
			Username     string `yaml:"username"`
			PasswordFile string `yaml:"password_file"`
		} `yaml:"basic_auth"`
		TLS *struct {
			CA   string `yaml:"ca_file"`
			Cert string `yaml:"cert_file"`
			Key  string `yaml:"key_file"`
		} `yaml:"tls_config"`
		Relabel []*relabel.Config `yaml:"write_relabel_configs"`
	} `yaml:"remote_write"`
}

// parseTargets parses a file of targets. Names of files in it are relative to a directory.
func parseTargets(b []byte, dir string) ([]*Target, error) {
	var file targetsFile
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	switch n := len(file.RemoteWrite); {
	case n == 0:
		return nil, errors.New("no target: the list remote_write is missing or empty")
	case n > maxTargets:
		return nil, fmt.Errorf("%d targets, more than %d", n, maxTargets)
	}
	abs := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	var list []*Target
	names := make(map[string]bool)
	for i := range file.RemoteWrite {
		w := &file.RemoteWrite[i]
		t := &Target{Name: cmp.Or(w.Name, pushName), URLs: w.Shards, Replicas: w.Replicas, keep: w.Keep, drop: w.Drop, rules: w.Relabel}
		fail := func(format string, args ...any) ([]*Target, error) {
			return nil, fmt.Errorf("target %s: %w", cmp.Or(w.Name, fmt.Sprint(i+1)), fmt.Errorf(format, args...))
		}
		if names[t.Name] {
			return fail("another target has the name %q; each needs a name of its own", t.Name)
		}
		names[t.Name] = true
		switch {
		case (w.URL == "") == (len(w.Shards) == 0):
			return fail("either url or shards is needed")
		case len(w.Shards) > maxShards:
			return fail("%d shards, more than %d", len(w.Shards), maxShards)
		case w.Replicas < 0 || w.Replicas > max(len(w.Shards), 1):
			return fail("replicas: %d is not between 1 and the number of shards", w.Replicas)
		case w.QueryURL != "" && len(w.Shards) > 1:
			return fail("query_url is for a target with one url")
		}
		if w.URL != "" {
			t.URLs = []string{w.URL}
		}
		t.Replicas = max(t.Replicas, 1)
		t.client.Query = w.QueryURL
		if w.Timeout != "" {
			d, err := model.ParseDuration(w.Timeout)
			if err != nil || d <= 0 {
				return fail("remote_timeout: %q is not a time such as 30s", w.Timeout)
			}
			t.client.Timeout = time.Duration(d)
		}
		switch w.Message {
		case "":
		case "prometheus.WriteRequest":
			t.client.Version = remote.V1
		case "io.prometheus.write.v2.Request":
			t.client.Version = remote.V2
		default:
			return fail("protobuf_message: %q is neither prometheus.WriteRequest nor io.prometheus.write.v2.Request", w.Message)
		}
		for name, value := range w.Headers {
			if err := AddHeader(&t.client, name, value); err != nil {
				return fail("headers: %w", err)
			}
		}
		t.secrets.Token = abs(w.BearerTokenFile)
		if a := w.Authorization; a != nil {
			if a.Type != "" && !strings.EqualFold(a.Type, "Bearer") {
				return fail("authorization: the type %q is not supported, only Bearer", a.Type)
			}
			if a.CredentialsFile == "" || w.BearerTokenFile != "" {
				return fail("authorization needs credentials_file, and excludes bearer_token_file")
			}
			t.secrets.Token = abs(a.CredentialsFile)
		}
		if a := w.BasicAuth; a != nil {
			if a.Username == "" || a.PasswordFile == "" || t.secrets.Token != "" {
				return fail("basic_auth needs username and password_file, and excludes tokens")
			}
			t.client.User, t.secrets.Password = a.Username, abs(a.PasswordFile)
		}
		if c := w.TLS; c != nil {
			if c.Key != "" && c.Cert == "" {
				return fail("tls_config: key_file needs cert_file")
			}
			t.secrets.CA, t.secrets.Cert, t.secrets.Key = abs(c.CA), abs(c.Cert), abs(c.Key)
		}
		for n, rule := range t.rules {
			if rule == nil {
				return fail("write_relabel_configs: rule %d is empty", n+1)
			}
			if err := rule.Validate(model.LegacyValidation); err != nil {
				return fail("write_relabel_configs: rule %d: %w", n+1, err)
			}
		}
		if err := t.check(); err != nil {
			return fail("%w", err)
		}
		list = append(list, t)
	}
	return list, nil
}

// AddHeader adds a header of all requests to a configuration.
func AddHeader(cfg *remote.Config, name, value string) error {
	name, value = http.CanonicalHeaderKey(strings.TrimSpace(name)), strings.TrimSpace(value)
	switch {
	case name == "" || strings.ContainsAny(name, " :\r\n") || strings.ContainsAny(value, "\r\n"):
		return fmt.Errorf("%q is not the name of a header with its value", name)
	case name == "Authorization":
		return errors.New("the header Authorization is set by tokens and users, with secrets in files")
	}
	if cfg.Header == nil {
		cfg.Header = make(http.Header)
	}
	cfg.Header.Add(name, value)
	return nil
}

// Secrets are the files of secrets and certificates, "" for those that are not used.
type Secrets struct{ Token, Password, CA, Cert, Key string }

// A SecretError is the error of a file of Secrets.
type SecretError struct {
	Setting string // "token", "password", "ca" or "cert"
	Err     error
}

func (e *SecretError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *SecretError) Unwrap() error { return e.Err }

// Read reads the files. The error of a file is a [*SecretError].
func (s *Secrets) Read(cfg *remote.Config) error {
	var err error
	if s.Token != "" {
		if cfg.Token, err = secret(s.Token); err != nil {
			return &SecretError{"token", err}
		}
	}
	if s.Password != "" {
		if cfg.Password, err = secret(s.Password); err != nil {
			return &SecretError{"password", err}
		}
	}
	if s.CA == "" && s.Cert == "" {
		return nil
	}
	cfg.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
	if s.CA != "" {
		b, err := os.ReadFile(s.CA)
		if err != nil {
			return &SecretError{"ca", err}
		}
		cfg.TLS.RootCAs = x509.NewCertPool()
		if !cfg.TLS.RootCAs.AppendCertsFromPEM(b) {
			return &SecretError{"ca", fmt.Errorf("%s: no certificate in it", s.CA)}
		}
	}
	if s.Cert != "" {
		pair, err := tls.LoadX509KeyPair(s.Cert, cmp.Or(s.Key, s.Cert))
		if err != nil {
			return &SecretError{"cert", fmt.Errorf("%s: %w", s.Cert, err)}
		}
		cfg.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// maxSecret limits the file of a secret.
const maxSecret = 64 << 10

// secret reads the first line of a file.
func secret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	text := strings.TrimSpace(string(line))
	if text == "" {
		return "", fmt.Errorf("%s: the first line is empty", path)
	}
	for _, c := range []byte(text) {
		if c < ' ' || c == 0x7f {
			return "", errors.New(path + ": not a line of text")
		}
	}
	return text, nil
}
