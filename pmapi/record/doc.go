// Package record is for programs that show metrics and also record them: pmlogger(1) writes the archives of a
// session, and a folio lists them (pmRecordSetup(3)).
//
//	s, err := record.Setup("session.folio", record.Config{Creator: "overview"})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//	h, err := s.AddHost("bozo", true)
//	if err != nil {
//		return err
//	}
//	fmt.Fprintln(h, "log mandatory on 10 sec kernel.all.load")
//	if err := s.On(); err != nil {
//		return err
//	}
//	// … until the user has seen enough
//	return s.Off()
//
// The order is that of pmRecordControl(3): hosts are added and their configurations
// written; then On starts a logger for each of them; and Off, Detach and Report talk to
// these, to all or to one. A call out of order fails with an error that is
// syscall.EINVAL. A logger that has ended, or does not listen, is pcp.ErrIPC.
//
// # Files
//
// In the directory of the folio, XXXXXX being six letters and digits:
//
//	XXXXXX                       the data written to Session.Replay, if the creator can replay
//	XXXXXX.HOST.config           configuration of pmlogger
//	XXXXXX.HOST.log              its messages
//	XXXXXX.HOST.{0,meta,index}   the archive
//
// A host that is added more than once has a letter behind the Xs: XXXXXXa.HOST.config, and so
// on to z.
//
// # Loggers
//
// The protocol between the two sides consists of lines, without answers; it is that of the
// C implementation, so that loggers of either kind work. A logger answers Report to the
// user: by pmconfirm(1), or in its log file. When the program ends without Off or Detach,
// each logger asks its user whether to continue, and ends where it cannot ask.
package record
