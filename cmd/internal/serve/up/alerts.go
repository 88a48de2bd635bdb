package up

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/pmie/alert"
)

// alertsPath is the path of the alerts, for clients with the token.
const alertsPath = "/alerts"

// quietName is the name of the file of silences in the state directory.
const quietName = "alerts.json"

// maxAsked is the maximum length of a request about alerts in bytes.
const maxAsked = 64 << 10

// A shownAlert is an alert as the page gets it.
type shownAlert struct {
	*alert.Alert
	// Own is set for alerts of the rules of this process, which can be silenced and acknowledged here.
	Own          bool                   `json:"own,omitempty"`
	Silence      *alert.Silence         `json:"silence,omitempty"`
	Acknowledged *alert.Acknowledgement `json:"acknowledgement,omitempty"`
	Periods      []alert.Period         `json:"periods,omitempty"`
}

// serveAlerts serves the rules that are true, as "pcp alerts --json" does, with their silences and their past, and takes silences and
// acknowledgements.
func (set *settings) serveAlerts(w http.ResponseWriter, r *http.Request) {
	what, id, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, alertsPath), "/"), "/")
	switch {
	case what == "" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		set.listAlerts(w)
	case set.quiet == nil:
		answerAlerts(w, http.StatusNotFound, "this process evaluates no rules")
	case what == "silences" && r.Method == http.MethodPost && id == "":
		set.silence(w, r)
	case what == "silences" && r.Method == http.MethodDelete:
		done(w, set.quiet.EndSilence(id))
	case what == "acknowledgements" && (r.Method == http.MethodPut || r.Method == http.MethodDelete):
		set.acknowledge(w, r, id)
	default:
		answerAlerts(w, http.StatusMethodNotAllowed, "want GET, POST silences, DELETE silences/ID, or PUT or DELETE acknowledgements/ID")
	}
}

func answerAlerts(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]any{"success": status == http.StatusOK, "message": message}) // an error is an error of the connection
}

// done answers a request to change something.
func done(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"success":true}`+"\n")
	case errors.Is(err, alert.ErrNoSilence):
		answerAlerts(w, http.StatusNotFound, err.Error())
	case errors.Is(err, os.ErrPermission), errors.Is(err, os.ErrNotExist):
		answerAlerts(w, http.StatusInternalServerError, err.Error())
	default:
		answerAlerts(w, http.StatusBadRequest, err.Error())
	}
}

func (set *settings) listAlerts(w http.ResponseWriter) {
	states, errs := set.alerts()
	if len(states) == 0 && len(errs) == 0 {
		http.Error(w, "no rules are evaluated on this host", http.StatusNotFound)
		return
	}
	answer := struct {
		Alerts   []shownAlert    `json:"alerts"`
		Silences []alert.Silence `json:"silences,omitempty"`
		Past     []alert.Past    `json:"past,omitempty"` // of alerts that do not fire
		Success  bool            `json:"success"`
	}{Alerts: []shownAlert{}, Success: true}
	firing := make(map[alert.Subject]bool)
	for _, s := range states {
		for i := range s.Alerts {
			a := shownAlert{Alert: &s.Alerts[i]}
			if set.quiet != nil && s.PID == os.Getpid() {
				a.Own = true
				if k, ok := set.quiet.Silenced(a.Alert); ok {
					a.Silence = &k
				}
				if k, ok := set.quiet.Acknowledged(a.Alert); ok {
					a.Acknowledged = &k
				}
				a.Periods = set.quiet.Past(a.Alert)
				firing[alert.Subject{Rule: a.Rule, Host: a.Host, Instance: a.Instance, Series: a.Series}] = true
			}
			answer.Alerts = append(answer.Alerts, a)
		}
	}
	if set.quiet != nil {
		answer.Silences = set.quiet.Silences()
		answer.Past = slices.DeleteFunc(set.quiet.Pasts(), func(p alert.Past) bool { return firing[p.Subject] })
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer) // an error is an error of the connection
}

// decode reads the body of a request.
func decode(r *http.Request, v any) error {
	b, err := io.ReadAll(io.LimitReader(r.Body, maxAsked+1))
	if err != nil {
		return err
	}
	if len(b) > maxAsked {
		return fmt.Errorf("the request is longer than %d bytes", maxAsked)
	}
	if len(b) == 0 {
		return nil
	}
	return json.Unmarshal(b, v)
}

// silence adds a silence.
func (set *settings) silence(w http.ResponseWriter, r *http.Request) {
	var q struct {
		alert.Subject
		Seconds float64 `json:"seconds"`
		Comment string  `json:"comment"`
	}
	if err := decode(r, &q); err != nil {
		done(w, err)
		return
	}
	if !(q.Seconds >= 1 && q.Seconds <= alert.MaxSilence.Seconds()) {
		answerAlerts(w, http.StatusBadRequest, "seconds is not a number from 1 to a year")
		return
	}
	s, err := set.quiet.Silence(alert.Silence{Subject: q.Subject, Comment: q.Comment, Until: time.Now().Add(time.Duration(q.Seconds * float64(time.Second))).UTC()})
	if err != nil {
		done(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"success": true, "silence": s}) // an error is an error of the connection
}

// acknowledge acknowledges an alert of this process, by its ID, or takes that back.
func (set *settings) acknowledge(w http.ResponseWriter, r *http.Request, id string) {
	var q struct {
		Comment string `json:"comment"`
	}
	if err := decode(r, &q); err != nil {
		done(w, err)
		return
	}
	states, _ := set.alerts()
	for _, s := range states {
		if s.PID != os.Getpid() {
			continue
		}
		for i := range s.Alerts {
			if a := &s.Alerts[i]; a.ID == id {
				done(w, set.quiet.Acknowledge(a, q.Comment, r.Method == http.MethodPut))
				return
			}
		}
	}
	answerAlerts(w, http.StatusNotFound, "no alert of this process has that ID")
}
