package cli

import "fmt"

// Bytes returns a number of bytes as people write it: "812 bytes", "4.2 KB", "1.3 GB". A KB is 1024 bytes.
func Bytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	f := float64(n)
	for _, unit := range []string{"KB", "MB", "GB"} {
		f /= 1024
		if f < 999.5 {
			if f < 9.95 {
				return fmt.Sprintf("%.1f %s", f, unit)
			}
			return fmt.Sprintf("%.0f %s", f, unit)
		}
	}
	return fmt.Sprintf("%.1f TB", f/1024)
}
