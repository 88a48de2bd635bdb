package pcptime_test

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pcptime"
)

func ExampleParseInterval() {
	d, err := pcptime.ParseInterval("1 hour 30 min")
	fmt.Println(d, err)
	_, err = pcptime.ParseInterval("1 hour 30 apples")
	fmt.Print(err)
	// Output:
	// 1h30m0s <nil>
	// 1 hour 30 apples
	//           ^ -- unexpected value
}

// The window from ten o'clock until five minutes before the end of an archive,
// with samples at full minutes.
func ExampleParseWindow() {
	loc := pcptime.Zone("Europe/Berlin")
	first := pcp.TimestampOf(time.Date(2026, 11, 21, 9, 17, 23, 0, loc))
	last := pcp.TimestampOf(time.Date(2026, 11, 21, 14, 30, 0, 0, loc))
	start, finish, align := "@10:00:30", "-5min", "1min"
	w, warn, err := pcptime.ParseWindow(pcptime.Bounds{Start: &start, Finish: &finish, Align: &align}, first, last, loc)
	if err != nil || warn != nil {
		fmt.Println(warn, err)
		return
	}
	fmt.Println(pcptime.Ctime(w.Start, loc))
	fmt.Println(pcptime.Ctime(w.Finish, loc))
	// Output:
	// Sat Nov 21 10:01:00 2026
	// Sat Nov 21 14:25:00 2026
}

func ExampleParseTime() {
	noon := pcp.Timestamp{Sec: 1795262400}
	for _, spec := range []string{"90sec", "@Nov 23 08:00", "2 hours ago"} {
		t, err := pcptime.ParseTime(spec, noon, noon, time.UTC)
		fmt.Println(t, err)
	}
	// Output:
	// 2026-11-21T12:01:30Z <nil>
	// 2026-11-23T08:00:00Z <nil>
	// 2026-11-21T10:00:00Z <nil>
}

func ExampleZone() {
	at := time.Unix(1795262400, 0)
	fmt.Println(at.In(pcptime.Zone("EST5EDT")))
	fmt.Println(at.In(pcptime.Zone("<+0530>-5:30")))
	// Output:
	// 2026-11-21 07:00:00 -0500 EST
	// 2026-11-21 17:30:00 +0530 +0530
}

// A program reports in the zone of its user, or in that of the source of the times: it can use any
// number of zones at a time, and none of them is a state of the library.
func ExampleLocal() {
	at := pcp.Timestamp{Sec: 1795262400}
	user := pcptime.Local("Asia/Tokyo")     // the value of TZ
	source := pcptime.Zone("AEST-10")       // from Context.TimeZone
	fmt.Println(pcptime.Ctime(at, user))    // pmUseZone, pmCtime
	fmt.Println(pcptime.Ctime(at, source))  // pmNewContextZone
	fmt.Println(at.Time().In(user).Clock()) // pmLocaltime
	fmt.Println(user, source)               // pmWhichZone
	// Output:
	// Sat Nov 21 21:00:00 2026
	// Sat Nov 21 22:00:00 2026
	// 21 0 0
	// Asia/Tokyo AEST-10
}

func ExampleStrftime() {
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	fmt.Println(pcptime.Strftime("%Y%m%d.%H.%M", at))
	// Output: 20260203.04.05
}
