package verify

import "github.com/go-pcp/pcp/pcpjson"

// object prints a finding as JSON.
func (c *check) object(severity int, what string, hints []string) {
	c.env.Stdout.Write(pcpjson.Line(struct {
		Host     string   `json:"host,omitempty"`
		Severity string   `json:"severity"`
		Text     string   `json:"text"`
		Notes    []string `json:"notes,omitempty"` // the remedy
	}{c.host, [...]string{"note", "warning", "error"}[severity], what, hints}))
}

// verdict prints the last line of --json.
func (c *check) verdict() {
	c.env.Stdout.Write(pcpjson.Line(struct {
		Host     string `json:"host,omitempty"`
		OK       bool   `json:"ok"`
		Errors   int    `json:"errors"`
		Warnings int    `json:"warnings"`
	}{c.host, c.status == 0, c.counts[failure], c.counts[warning]}))
}
