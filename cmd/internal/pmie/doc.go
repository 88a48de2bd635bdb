// Package pmie evaluates rules over metrics, as pmie(1) does.
//
//	e, err := pmie.New(ctx, pmie.Config{Out: os.Stdout, Err: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer e.Close()
//	if _, err := e.Load(ctx, file, "rules"); err != nil {
//		return err
//	}
//	return e.Run(ctx)
//
// A rule is an expression over metrics of hosts, instances and samples, and the actions to take if it is true.
// Values are in canonical units (bytes, seconds, counts), counters are rates. A condition that is unknown,
// because a host or an instance is missing, is neither true nor false.
//
// Besides the actions of pmie there are exec, which runs a program without a shell, and webhook, alertmanager and
// mail, which name a receiver; Config.Alert takes these. Package pmie/alert delivers them.
//
// An Engine reports errors to Config.Err, in the words of pmie. It does not connect twice to a host for rules of
// one interval.
package pmie
