package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-pcp/pcp/internal/version"
)

// postWebhook posts an alert as a JSON object.
func (r *Receiver) postWebhook(ctx context.Context, a *Alert) error {
	said := *a
	said.Labels = r.labels(a)
	body, err := marshal(&said)
	if err != nil {
		return err
	}
	return r.post(ctx, r.URL.String(), a.Key(), body)
}

// marshal returns v as JSON. Receivers show texts to people, in which > stays as it is.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// An apiAlert is an alert in the API of Alertmanager (postableAlert).
type apiAlert struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
	StartsAt    time.Time         `json:"startsAt"`
	EndsAt      time.Time         `json:"endsAt"`
}

// lifetimes is the number of missed reminders after which an Alertmanager resolves an alert.
const lifetimes = 4

// postAlerts posts alerts to an Alertmanager.
func (r *Receiver) postAlerts(ctx context.Context, alerts []Alert) error {
	list := make([]apiAlert, len(alerts))
	keys := make([]string, len(alerts))
	now := time.Now()
	for i := range alerts {
		a := &alerts[i]
		keys[i] = a.Key()
		list[i] = apiAlert{Labels: r.apiLabels(a), Annotations: annotations(a), StartsAt: a.Since.UTC(), EndsAt: now.Add(lifetimes * r.resend()).UTC()}
		if a.Status == Resolved {
			list[i].EndsAt = a.Until.UTC()
		}
	}
	body, err := marshal(list)
	if err != nil {
		return err
	}
	return r.post(ctx, r.URL.JoinPath("api/v2/alerts").String(), digest(keys...), body)
}

// apiLabels returns the labels that identify an alert to an Alertmanager.
func (r *Receiver) apiLabels(a *Alert) map[string]string { return a.Prometheus(r.labels(a)) }

// Prometheus returns the labels that identify an alert in the Prometheus family: alertname, host, instance and the given
// ones, which are pcp_NAME if their name is one of these. An alert of a rule of Prometheus has the given ones.
func (a *Alert) Prometheus(labels map[string]string) map[string]string {
	if a.Series != "" {
		return labels // those of Prometheus
	}
	own := map[string]string{"alertname": a.Rule, "host": a.Host, "instance": a.Instance}
	all := make(map[string]string)
	put := func(name, value string) {
		if value = strings.ToValidUTF8(value, "\uFFFD"); value != "" {
			all[name] = value
		}
	}
	for name, value := range labels {
		if name = labelName(name); own[name] != "" {
			name = "pcp_" + name
		}
		put(name, value)
	}
	for name, value := range own {
		put(name, value)
	}
	return all
}

// labelName makes a name legal for an Alertmanager: letters, digits and underscores.
func labelName(name string) string {
	b := []byte(name)
	for i, c := range b {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			b[i] = '_'
		}
	}
	if len(b) == 0 || b[0] >= '0' && b[0] <= '9' {
		b = append([]byte("_"), b...)
	}
	return string(b)
}

func annotations(a *Alert) map[string]string {
	if a.Series != "" {
		return a.Annotations
	}
	all := make(map[string]string)
	for name, value := range map[string]string{"summary": a.Text, "value": a.Value, "expression": a.Expr, "id": a.ID} {
		if value != "" {
			all[name] = strings.ToValidUTF8(value, "\uFFFD")
		}
	}
	return all
}

// Limits of an answer.
const (
	maxAnswer = 512       // bytes of it in a message
	maxWait   = time.Hour // the longest pause that a receiver may ask for
)

// post posts JSON. Only an answer of 200 to 299 is a success.
func (r *Receiver) post(ctx context.Context, url, key string, body []byte) error {
	secret, err := r.secret()
	if err != nil {
		return err
	}
	if secret != "" && r.URL.Scheme != "https" && !loopback(r.URL.Hostname()) {
		return fmt.Errorf("%s is not encrypted: the secret would be readable; use https", r.URL.Redacted())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "pcp/"+version.Number)
	req.Header.Set("Idempotency-Key", key)
	switch {
	case secret == "":
	case r.User != "":
		req.SetBasicAuth(r.User, secret)
	case r.Header != "":
		req.Header.Set(r.Header, secret)
	default:
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	client, err := r.client()
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode >= 200 && res.StatusCode <= 299 {
		return nil
	}
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	err = fmt.Errorf("%s answers %d %s", r.URL.Redacted(), res.StatusCode, http.StatusText(res.StatusCode))
	if utf8.Valid(answer) && len(bytes.TrimSpace(answer)) > 0 {
		err = fmt.Errorf("%w: %q", err, bytes.TrimSpace(answer))
	}
	switch c := res.StatusCode; {
	case c == http.StatusTooManyRequests, c == http.StatusServiceUnavailable:
		if seconds, bad := strconv.Atoi(res.Header.Get("Retry-After")); bad == nil && seconds > 0 {
			err = waitError{err, min(time.Duration(min(seconds, 1<<20))*time.Second, maxWait)}
		}
	case c == http.StatusRequestTimeout, c == http.StatusTooEarly, c == http.StatusUnauthorized, c == http.StatusForbidden, c == http.StatusNotFound:
		// The fault may be ours, or a mistake that an administrator will find.
	case c >= 400 && c <= 499:
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return err
}
