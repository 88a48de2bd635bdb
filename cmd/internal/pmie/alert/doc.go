// Package alert delivers the alerts of rules to web hooks, to an Alertmanager and by mail.
//
//	settings, err := alert.ReadFile("receivers.conf")
//	if err != nil {
//		return err
//	}
//	m, err := alert.New(alert.Config{Receivers: settings.Receivers, Dir: "/var/lib/pcp/spool/pmie"})
//	if err != nil {
//		return err
//	}
//	defer m.Close()
//	e, err := pmie.New(ctx, pmie.Config{Alert: m.Act})
//
// An [Alert] is about one rule and one host or instance, from when the rule became true until it is not true
// any more. A receiver gets one message when it begins and one when it is over; an Alertmanager gets reminders
// meanwhile, since it considers an alert without reminders resolved.
//
// Alerts that a receiver has not accepted are kept in files, a file for each alert, which survive the process:
// the next [Manager] with the same directory delivers them. A receiver that is slow, or does not answer, holds
// up neither rules nor other receivers. If an answer is lost, the same message comes again, under the same key
// ([Alert.Key]): an Idempotency-Key in HTTP, the Message-ID of a mail.
//
// Texts, names and labels come from hosts and are not trusted: messages contain them as data.
package alert
