// Package oracle runs the real Performance Co-Pilot next to ours, for tests only:
// its tools, its Python module, and private collectors with real agents.
//
//	oracle.Require(t)
//	d := oracle.StartPMCD(t, oracle.Config{Agents: []string{"pmcd", "sample"}})
//	out := d.Run(t, "pminfo", "-f", "sample.bin")
//	c, err := pmapi.Dial(ctx, d.TCP)
//
// The tools are looked for in the directory that PCP_ORACLE names, else where
// packages install them. Without them, tests skip with a message; with PCP_ORACLE
// or CI set they fail instead, so that a CI run cannot skip by mistake.
// PCP_ORACLE=none hides the real tools from the tests.
package oracle
