// Package deliver carries out the actions of rules.
//
//	r := deliver.Runner{Out: os.Stdout, Err: os.Stderr, Notify: notify}
//	err := r.Do(ctx, deliver.Action{Kind: deliver.Shell, Text: "echo busy"})
//
// An [Action] has its text, with the values of the rule in it, and the matches of the rule. Commands run in a session of their
// own; values are quoted for the shell by [AppendQuoted]. Actions that name a receiver are delivered by package alert.
package deliver
