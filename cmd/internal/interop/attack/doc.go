// Package attack runs our collector as the process that it is in production,
// and has tests do their worst to it.
//
//	c := attack.Start(t, attack.Options{})
//	cl := c.Dial(t, "tcp")
//	cl.Write([]byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0x70, 3, 0, 0, 0, 0})
//	cl.Gone(t)
//	c.Finish(t, 0)
//
// Each test must show the same: another client is served as if nothing happened,
// memory is bounded, one line of the log names the dropped client or agent, and
// when all is over there are no more descriptors and goroutines than before.
// Finish looks at the last of these, with numbers of the system and a dump of the
// goroutines that the process writes on SIGQUIT.
//
// The public flaws of the C implementation are rebuilt from their advisories, the
// change log and commit messages, none of them from code. With PCP_TEST_LONG=1 the
// bytes that clients send also go to the real collector, where it is installed,
// and the test reports whether it survived.
package attack
