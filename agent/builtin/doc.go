// Package builtin is for programs that open the agents of package agent, and for the authors of these agents: a
// [Spec] describes an agent, and an [Env] is its environment. The package of an agent exports a Spec:
//
//	func Builtin() builtin.Spec {
//		return builtin.Spec{Name: "example", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
//			return New(Config{Domain: e.Domain, Dir: e.Config.Get("PCP_VAR_DIR"), Log: e.Log})
//		}}
//	}
//
// and has a line in the table of package agent. A program that runs agents opens it
// from there with an [Env].
package builtin
