package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"
)

// A Status is the state of an Alert: firing or resolved.
type Status string

const (
	Firing   Status = "firing"
	Resolved Status = "resolved"
	Pending  Status = "pending" // only on a Board
)

// An Alert is the state of a rule for one host or instance. Web hooks get its JSON form.
type Alert struct {
	ID       string            `json:"id"` // of this occurrence, the same for all receivers
	Status   Status            `json:"status"`
	Rule     string            `json:"rule"`
	Expr     string            `json:"expression,omitempty"` // the rule's condition
	Host     string            `json:"host,omitempty"`
	Instance string            `json:"instance,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"` // the PCP labels of the value
	Value    string            `json:"value,omitempty"`  // as pmie prints it, when the notice was made
	Text     string            `json:"text,omitempty"`
	First    string            `json:"first_value,omitempty"` // the value when the rule became true; only on a Board
	Limit    string            `json:"limit,omitempty"`       // the operator and operand of the comparison, such as "> 0.9"; only on a Board
	Since    time.Time         `json:"since"`
	Until    time.Time         `json:"until,omitzero"` // if it is resolved
	// Series has the labels of an alert of a rule of Prometheus as text. It identifies the alert, and Labels has all labels.
	Series      string            `json:"series,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"` // of a rule of Prometheus
	// Notice is the number of earlier notifications, if the rule asks for repeated ones.
	Notice int `json:"notice,omitempty"`
}

// Limits of an alert, in bytes.
const (
	MaxText   = 16 << 10 // of Text, and of Expr
	MaxName   = 4 << 10  // of any other string
	MaxLabels = 200      // labels, a number, and annotations
)

// ErrTooLong is the error for an alert that exceeds a limit.
var ErrTooLong = errors.New("too long")

// check returns an error if an alert exceeds a limit or lacks a required field.
func (a *Alert) check() error {
	long := func(what string, n, limit int) error {
		if n > limit {
			return fmt.Errorf("alert %q: %s of %d, more than %d: %w", shorten(a.Rule, 60), what, n, limit, ErrTooLong)
		}
		return nil
	}
	errs := []error{
		long("text", len(a.Text), MaxText), long("expression", len(a.Expr), MaxText), long("name of a rule", len(a.Rule), MaxName),
		long("host name", len(a.Host), MaxName), long("instance name", len(a.Instance), MaxName), long("value", len(a.Value), MaxText),
		long("first value", len(a.First), MaxText), long("limit", len(a.Limit), MaxText),
		long("number of labels", len(a.Labels), MaxLabels), long("number of annotations", len(a.Annotations), MaxLabels), long("series", len(a.Series), MaxText),
	}
	for name, value := range a.Annotations {
		errs = append(errs, long("annotation", len(name)+len(value), MaxName+MaxText))
	}
	for name, value := range a.Labels {
		errs = append(errs, long("label", len(name)+len(value), MaxName))
	}
	switch {
	case !isID(a.ID):
		errs = append(errs, fmt.Errorf("alert with ID %q", shorten(a.ID, 60)))
	case a.Status != Firing && a.Status != Resolved:
		errs = append(errs, fmt.Errorf("alert with status %q", shorten(string(a.Status), 60)))
	case a.Since.IsZero():
		errs = append(errs, errors.New("alert without a beginning"))
	}
	return errors.Join(errs...)
}

// Key identifies a message about a: it is the same each time that message is sent.
func (a *Alert) Key() string {
	key := a.ID + "-" + string(a.Status)
	if a.Notice > 0 {
		key += "-" + strconv.Itoa(a.Notice)
	}
	return key
}

// key identifies the subject of alerts, as a map key.
func (a *Alert) key() string { return digest(a.subject()...) }

// subject returns what identifies the subject of alerts.
func (a *Alert) subject() []string {
	if a.Series != "" {
		return []string{a.Rule, a.Host, a.Instance, a.Series}
	}
	return []string{a.Rule, a.Host, a.Instance}
}

// newID returns the ID of an alert from its other fields.
func (a *Alert) newID() string {
	return digest(append(a.subject(), strconv.FormatInt(a.Since.UnixNano(), 10))...)
}

// idBytes is the length of an ID before it is written in hexadecimal.
const idBytes = 16

func digest(parts ...string) string {
	h := sha256.New()
	for _, s := range parts {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil)[:idBytes])
}

func isID(s string) bool {
	if len(s) != 2*idBytes {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Equal reports whether two alerts have the same contents.
func (a *Alert) Equal(b *Alert) bool {
	return a.ID == b.ID && a.Status == b.Status && a.Rule == b.Rule && a.Expr == b.Expr && a.Host == b.Host && a.Instance == b.Instance &&
		maps.Equal(a.Labels, b.Labels) && a.Value == b.Value && a.Text == b.Text && a.First == b.First && a.Limit == b.Limit && a.Since.Equal(b.Since) && a.Until.Equal(b.Until) && a.Notice == b.Notice &&
		a.Series == b.Series && maps.Equal(a.Annotations, b.Annotations)
}

// shorten returns the beginning of a string.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}
