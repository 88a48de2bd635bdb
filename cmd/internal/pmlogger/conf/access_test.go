package conf

import (
	"strings"
	"testing"
	"time"
)

// TestRulesBeforeMistake has a mistake after two rules, which are returned with the error.
func TestRulesBeforeMistake(t *testing.T) {
	const text = "[access]\nallow 10.1.2.3 : all;\ndisallow 10.1.2.4 : enquire;\nallow ::1 : all except;\n"
	rules, err := Parse(strings.NewReader(text), "config", time.Second, nil)
	if err == nil || len(rules) != 2 || rules[0].Host != "10.1.2.3" || rules[1].Place.Line != 3 {
		t.Errorf("%+v, %v", rules, err)
	}
}
